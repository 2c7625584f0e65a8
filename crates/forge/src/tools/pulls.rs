//! `list_pull_requests`, `create_pull_request`, `update_pull_request` and `get_pull_request`.

use super::{About, Number, Page, number, paging, reading, writing};
use crate::fields::{
    self, answer, arguments, base, flag, head, one_of, page, per_page, repo, text,
};
use crate::forge::Turn;
use crate::model::{FileChange, NewPull, PullChange, PullRequest, PullState, Review, Wanted};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many bytes of patches `get_pull_request` answers.
pub const PATCHES_MAX: usize = 256 * 1024;

/// A pull request as it is answered.
#[derive(Serialize)]
struct Summary {
    number: u64,
    title: String,
    state: PullState,
    draft: bool,
    merged: bool,
    head: String,
    head_repo: Option<String>,
    head_sha: String,
    base: String,
    author: Option<String>,
    created_at: String,
    updated_at: String,
    url: String,
}

impl From<PullRequest> for Summary {
    fn from(pull: PullRequest) -> Self {
        Summary {
            number: pull.number,
            title: pull.title,
            state: pull.state,
            draft: pull.draft,
            merged: pull.merged,
            head: pull.head,
            head_repo: pull.head_repo.map(|repo| repo.to_string()),
            head_sha: pull.head_sha,
            base: pull.base,
            author: pull.author,
            created_at: pull.created_at,
            updated_at: pull.updated_at,
            url: pull.url,
        }
    }
}

fn summary() -> Value {
    json!({
        "number": { "type": "integer" },
        "title": { "type": "string" },
        "state": { "enum": ["open", "closed"] },
        "draft": { "type": "boolean" },
        "merged": { "type": "boolean" },
        "head": { "type": "string" },
        "head_repo": { "type": ["string", "null"] },
        "head_sha": { "type": "string" },
        "base": { "type": "string" },
        "author": { "type": ["string", "null"] },
        "created_at": { "type": "string" },
        "updated_at": { "type": "string" },
        "url": { "type": "string" }
    })
}

#[derive(Deserialize)]
struct Listing {
    repo: RepoName,
    #[serde(default)]
    state: Wanted,
    page: Page,
    per_page: Page,
}

#[derive(Serialize)]
struct Listed {
    pull_requests: Vec<Summary>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn list_all(server: Arc<ForgeServer>, turn: Turn, asked: Listing) -> Result<Listed, Failure> {
    let paging = paging(asked.page, asked.per_page);
    let found = server
        .forge
        .pull_requests(&turn, &asked.repo, asked.state, paging)
        .await?;
    Ok(Listed {
        pull_requests: found.pulls.into_iter().map(Summary::from).collect(),
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list() -> Tool<ForgeServer> {
    let about = About {
        name: "list_pull_requests",
        description: "List pull requests, the last opened first. Not for whether one can be merged: use get_pr_mergeability.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "state": one_of(&["open", "closed", "all"], "open if absent"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "pull_requests": { "type": "array", "items": answer(summary(), &[]) },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    reading(about, list_all)
}

#[derive(Deserialize)]
struct Create {
    repo: RepoName,
    title: String,
    head: String,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
}

async fn open(server: Arc<ForgeServer>, turn: Turn, asked: Create) -> Result<Summary, Failure> {
    let (owner, head) = match asked.head.split_once(':') {
        Some((owner, head)) => (Some(owner), head),
        None => (None, asked.head.as_str()),
    };
    let elsewhere = owner.filter(|owner| !owner.eq_ignore_ascii_case(asked.repo.owner()));
    let new = NewPull {
        title: asked.title,
        head_owner: elsewhere.map(String::from),
        head: head.to_owned(),
        base: asked.base,
        body: asked.body,
        draft: asked.draft,
    };
    let pull = server
        .forge
        .create_pull_request(&turn, &asked.repo, &new)
        .await?;
    Ok(pull.into())
}

pub(super) fn create() -> Tool<ForgeServer> {
    let about = About {
        name: "create_pull_request",
        description: "Open a pull request. Not for changing one: use update_pull_request.",
        input: arguments(
            &["repo", "title", "head", "base"],
            json!({
                "repo": repo(),
                "title": text(1, 256, "Its title"),
                "head": head(),
                "base": base(),
                "body": text(0, 10_000, "Its description"),
                "draft": flag("Open it as a draft")
            }),
        ),
        output: answer(summary(), &[]),
    };
    writing(about, open).additive()
}

#[derive(Deserialize)]
struct Update {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: Number,
    title: Option<String>,
    body: Option<String>,
    state: Option<PullState>,
    draft: Option<bool>,
}

async fn change(server: Arc<ForgeServer>, turn: Turn, asked: Update) -> Result<Summary, Failure> {
    let change = PullChange {
        title: asked.title,
        body: asked.body,
        state: asked.state,
        draft: asked.draft,
    };
    let number = number(asked.number);
    let pull = server
        .forge
        .update_pull_request(&turn, &asked.repo, number, &change)
        .await?;
    Ok(pull.into())
}

pub(super) fn update() -> Tool<ForgeServer> {
    let mut input = arguments(
        &["repo", "prNumber"],
        json!({
            "repo": repo(),
            "prNumber": fields::number(),
            "title": text(1, 256, "A new title"),
            "body": text(0, 10_000, "A new description; \"\" clears it"),
            "state": one_of(&["open", "closed"], "Open or close it"),
            "draft": flag("Make it a draft, or ready for review")
        }),
    );
    input["minProperties"] = json!(3);
    let about = About {
        name: "update_pull_request",
        description: "Change title, description, state or draft of a pull request; what is absent stays. Not for merging: use merge_pull_request.",
        input,
        output: answer(summary(), &[]),
    };
    writing(about, change).idempotent()
}

#[derive(Deserialize)]
struct Get {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: Number,
}

#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    summary: Summary,
    body: Option<String>,
    reviews: Vec<Review>,
    files: Vec<FileChange>,
    truncated: bool,
}

async fn get_one(server: Arc<ForgeServer>, turn: Turn, asked: Get) -> Result<Whole, Failure> {
    let pull = server
        .forge
        .pull_request(&turn, &asked.repo, number(asked.number))
        .await?;
    let details = server
        .forge
        .details(&turn, &asked.repo, &pull, PATCHES_MAX)
        .await?;
    Ok(Whole {
        body: pull.body.clone(),
        summary: pull.into(),
        reviews: details.reviews,
        files: details.files,
        truncated: details.truncated,
    })
}

pub(super) fn get() -> Tool<ForgeServer> {
    let mut output = summary();
    output["body"] = json!({ "type": ["string", "null"] });
    output["reviews"] = json!({ "type": "array", "items": { "type": "object" } });
    output["files"] = json!({ "type": "array", "items": { "type": "object" } });
    output["truncated"] = json!({ "type": "boolean" });
    let about = About {
        name: "get_pull_request",
        description: "One pull request: description, reviews, and what it does to which files (256 KiB of patches at most).",
        input: arguments(
            &["repo", "prNumber"],
            json!({ "repo": repo(), "prNumber": fields::number() }),
        ),
        output: answer(output, &[]),
    };
    reading(about, get_one)
}
