//! The tools of the toolset `releases`: `list_tags`, `create_tag`, `list_releases` and `create_release`.

use super::answer_size::fitting;
use super::{PageNumber, ToolSpec, paging, read_tool, write_tool};
use crate::fields::{answer, arguments, flag, nullable, page, per_page, repo, revision, text};
use crate::forge::BackendContext;
use crate::model::Revision;
use crate::repository_model::{NewRelease, NewTag, Release, Tag};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct ListArguments {
    repo: RepoName,
    page: PageNumber,
    per_page: PageNumber,
}

fn list_input() -> Value {
    arguments(
        &["repo"],
        json!({ "repo": repo(), "page": page(), "per_page": per_page() }),
    )
}

/// Returns the schema of a page of entries under a name.
fn list_output(name: &str, entry: &Value) -> Value {
    answer(
        json!({
            name: { "type": "array", "items": entry },
            "page": { "type": "integer" },
            "per_page": { "type": "integer" },
            "more": { "type": "boolean" },
            "truncated": { "type": "boolean" }
        }),
        &["truncated"],
    )
}

#[derive(Serialize)]
struct TagsAnswer {
    tags: Vec<Tag>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn tags(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ListArguments,
) -> Result<TagsAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server.forge.tags(&context, &arguments.repo, paging).await?;
    Ok(TagsAnswer {
        tags: found.tags,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list_tags() -> Tool<ForgeServer> {
    let tag = answer(
        json!({ "name": { "type": "string" }, "sha": { "type": "string" } }),
        &[],
    );
    let spec = ToolSpec {
        name: "list_tags",
        description: "List tags with the commits that they lead to.",
        input: list_input(),
        output: list_output("tags", &tag),
    };
    read_tool(spec, tags)
}

#[derive(Deserialize)]
struct TagArguments {
    repo: RepoName,
    tag: String,
    r#ref: Option<String>,
    message: Option<String>,
}

#[derive(Serialize)]
struct TagAnswer {
    tag: String,
    sha: String,
    created: bool,
}

async fn make_tag(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: TagArguments,
) -> Result<TagAnswer, Failure> {
    let new = NewTag {
        name: arguments.tag,
        at: arguments.r#ref.map_or(Revision::Default, Revision::Named),
        message: arguments.message,
    };
    let made = server
        .forge
        .create_tag(&context, &arguments.repo, &new)
        .await?;
    Ok(TagAnswer {
        tag: new.name,
        sha: made.sha,
        created: made.created,
    })
}

pub(super) fn create_tag() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_tag",
        description: "Make a tag at a branch, tag or SHA (the default branch if absent); with a message an annotated one. A tag that is there already is never moved.",
        input: arguments(
            &["repo", "tag"],
            json!({
                "repo": repo(),
                "tag": revision("The tag to make"),
                "ref": revision("A branch, tag or SHA"),
                "message": text(1, 10_000, "The message of the tag")
            }),
        ),
        output: answer(
            json!({
                "tag": { "type": "string" },
                "sha": { "type": "string" },
                "created": { "type": "boolean" }
            }),
            &[],
        ),
    };
    write_tool(spec, make_tag).additive()
}

fn release() -> Value {
    answer(
        json!({
            "id": { "type": "integer" },
            "tag": { "type": "string" },
            "title": nullable("string"),
            "body": nullable("string"),
            "draft": { "type": "boolean" },
            "prerelease": { "type": "boolean" },
            "author": nullable("string"),
            "created_at": { "type": "string" },
            "published_at": nullable("string"),
            "url": { "type": "string" }
        }),
        &[],
    )
}

#[derive(Serialize)]
struct ReleasesAnswer {
    releases: Vec<Release>,
    page: u32,
    per_page: u32,
    more: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

async fn releases(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ListArguments,
) -> Result<ReleasesAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .releases(&context, &arguments.repo, paging)
        .await?;
    let all = found.releases.len();
    let releases = fitting(found.releases);
    Ok(ReleasesAnswer {
        truncated: releases.len() < all,
        releases,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list_releases() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "list_releases",
        description: "List releases, the newest first.",
        input: list_input(),
        output: list_output("releases", &release()),
    };
    read_tool(spec, releases)
}

#[derive(Deserialize)]
struct ReleaseArguments {
    repo: RepoName,
    tag: String,
    title: Option<String>,
    body: Option<String>,
    draft: Option<bool>,
    prerelease: Option<bool>,
}

async fn make_release(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ReleaseArguments,
) -> Result<Release, Failure> {
    let new = NewRelease {
        tag: arguments.tag,
        title: arguments.title,
        body: arguments.body,
        draft: arguments.draft.unwrap_or(false),
        prerelease: arguments.prerelease.unwrap_or(false),
    };
    server
        .forge
        .create_release(&context, &arguments.repo, &new)
        .await
}

pub(super) fn create_release() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_release",
        description: "Make a release of a tag that exists. For the tag use create_tag.",
        input: arguments(
            &["repo", "tag"],
            json!({
                "repo": repo(),
                "tag": revision("The tag"),
                "title": text(1, 256, "The tag if absent"),
                "body": text(1, 10_000, "What is new, in Markdown"),
                "draft": flag("Only seen by those who may write"),
                "prerelease": flag("Not ready for everybody")
            }),
        ),
        output: release(),
    };
    write_tool(spec, make_release).additive()
}
