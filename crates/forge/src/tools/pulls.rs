//! The tools `list_pull_requests`, `create_pull_request`, `update_pull_request` and `get_pull_request`.

use super::answer_size::cut_reviews;
use super::{PageNumber, PullNumber, ToolSpec, number, paging, read_tool, write_tool};
use crate::fields::{
    self, answer, arguments, base, flag, head, nullable, one_of, page, per_page, repo, text,
};
use crate::forge::BackendContext;
use crate::model::{
    NewPullRequest, PullFileChange, PullFilter, PullRequest, PullRequestChange, PullState, Review,
};
use crate::server::ForgeServer;
use crate::{AutoMerge, Failure, RepoName, ReviewDecision};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum number of bytes of patches in an answer of `get_pull_request`.
pub const MAX_PATCH_BYTES: usize = 256 * 1024;

/// A pull request in an answer.
#[derive(Serialize)]
pub(super) struct PullSummary {
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

impl From<PullRequest> for PullSummary {
    fn from(pull: PullRequest) -> Self {
        PullSummary {
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

pub(super) fn summary() -> Value {
    json!({
        "number": { "type": "integer" },
        "title": { "type": "string" },
        "state": { "enum": ["open", "closed"] },
        "draft": { "type": "boolean" },
        "merged": { "type": "boolean" },
        "head": { "type": "string" },
        "head_repo": nullable("string"),
        "head_sha": { "type": "string" },
        "base": { "type": "string" },
        "author": nullable("string"),
        "created_at": { "type": "string" },
        "updated_at": { "type": "string" },
        "url": { "type": "string" }
    })
}

#[derive(Deserialize)]
struct ListPullsArguments {
    repo: RepoName,
    #[serde(default)]
    state: PullFilter,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct ListPullsAnswer {
    pull_requests: Vec<PullSummary>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn list_all(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ListPullsArguments,
) -> Result<ListPullsAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .pull_requests(&context, &arguments.repo, arguments.state, paging)
        .await?;
    Ok(ListPullsAnswer {
        pull_requests: found.pulls.into_iter().map(PullSummary::from).collect(),
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list() -> Tool<ForgeServer> {
    let spec = ToolSpec {
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
    read_tool(spec, list_all)
}

#[derive(Deserialize)]
struct CreatePullArguments {
    repo: RepoName,
    title: String,
    head: String,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
}

async fn open(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CreatePullArguments,
) -> Result<PullSummary, Failure> {
    let (owner, head) = match arguments.head.split_once(':') {
        Some((owner, head)) => (Some(owner), head),
        None => (None, arguments.head.as_str()),
    };
    let elsewhere = owner.filter(|owner| !owner.eq_ignore_ascii_case(arguments.repo.owner()));
    let new = NewPullRequest {
        title: arguments.title,
        head_owner: elsewhere.map(String::from),
        head: head.to_owned(),
        base: arguments.base,
        body: arguments.body,
        draft: arguments.draft,
    };
    let pull = server
        .forge
        .create_pull_request(&context, &arguments.repo, &new)
        .await?;
    Ok(pull.into())
}

pub(super) fn create() -> Tool<ForgeServer> {
    let spec = ToolSpec {
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
    write_tool(spec, open).additive()
}

#[derive(Deserialize)]
struct UpdatePullArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    title: Option<String>,
    body: Option<String>,
    state: Option<PullState>,
    draft: Option<bool>,
}

async fn change(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: UpdatePullArguments,
) -> Result<PullSummary, Failure> {
    let change = PullRequestChange {
        title: arguments.title,
        body: arguments.body,
        state: arguments.state,
        draft: arguments.draft,
    };
    let number = number(arguments.number);
    let pull = server
        .forge
        .update_pull_request(&context, &arguments.repo, number, &change)
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
    let spec = ToolSpec {
        name: "update_pull_request",
        description: "Change title, description, state or draft of a pull request; what is absent stays. Not for merging: use merge_pull_request.",
        input,
        output: answer(summary(), &[]),
    };
    write_tool(spec, change).idempotent()
}

#[derive(Deserialize)]
struct GetPullArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
}

#[derive(Serialize)]
struct GetPullAnswer {
    #[serde(flatten)]
    summary: PullSummary,
    body: Option<String>,
    labels: Vec<String>,
    requested_reviewers: Vec<String>,
    auto_merge: Option<AutoMerge>,
    review_decision: Option<ReviewDecision>,
    reviews: Vec<Review>,
    files: Vec<PullFileChange>,
    truncated: bool,
}

async fn get_one(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: GetPullArguments,
) -> Result<GetPullAnswer, Failure> {
    let pull = server
        .forge
        .pull_request(&context, &arguments.repo, number(arguments.number))
        .await?;
    let details = server
        .forge
        .details(&context, &arguments.repo, &pull, MAX_PATCH_BYTES)
        .await?;
    let attributes = pull.attributes.clone();
    let mut reviews = details.reviews;
    let is_cut = cut_reviews(&mut reviews);
    Ok(GetPullAnswer {
        body: pull.body.clone(),
        summary: pull.into(),
        labels: attributes.labels,
        requested_reviewers: attributes.requested_reviewers,
        auto_merge: attributes.auto_merge,
        review_decision: details.review_decision,
        reviews,
        files: details.files,
        truncated: details.truncated || is_cut,
    })
}

pub(super) fn get() -> Tool<ForgeServer> {
    let mut output = summary();
    output["body"] = nullable("string");
    output["labels"] = json!({ "type": "array" });
    output["requested_reviewers"] = json!({ "type": "array" });
    output["auto_merge"] = nullable("object");
    output["review_decision"] = nullable("string");
    output["reviews"] = json!({ "type": "array", "items": { "type": "object" } });
    output["files"] = json!({ "type": "array", "items": { "type": "object" } });
    output["truncated"] = json!({ "type": "boolean" });
    let spec = ToolSpec {
        name: "get_pull_request",
        description: "One pull request: description, reviews, and what it does to which files (256 KiB of patches at most).",
        input: arguments(
            &["repo", "prNumber"],
            json!({ "repo": repo(), "prNumber": fields::number() }),
        ),
        output: answer(output, &[]),
    };
    read_tool(spec, get_one)
}
