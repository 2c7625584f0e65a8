//! The tools `get_pull_request_comments`, `add_issue_comment` and `add_reply_to_pull_request_comment`.

use super::answer_size::cut_texts;
use super::{PageNumber, PullNumber, ToolSpec, number, paging, read_tool, write_tool};
use crate::discussion_model::Comment;
use crate::fields::{
    self, answer, arguments, id, issue_number, nullable, page, per_page, repo, text,
};
use crate::forge::BackendContext;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns the schema of a comment in an answer.
pub(super) fn comment() -> Value {
    answer(
        json!({
            "id": { "type": "integer" },
            "kind": { "enum": ["comment", "review"] },
            "author": nullable("string"),
            "body": { "type": "string" },
            "path": nullable("string"),
            "line": nullable("integer"),
            "side": nullable("string"),
            "commit_sha": nullable("string"),
            "in_reply_to": nullable("integer"),
            "outdated": { "type": "boolean" },
            "created_at": { "type": "string" },
            "url": { "type": "string" }
        }),
        &[],
    )
}

#[derive(Deserialize)]
struct ListArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct ListAnswer {
    comments: Vec<Comment>,
    page: u32,
    per_page: u32,
    more: bool,
    truncated: bool,
}

async fn list(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ListArguments,
) -> Result<ListAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let number = number(arguments.number);
    let found = server
        .forge
        .comments(&context, &arguments.repo, number, paging)
        .await?;
    let mut comments = found.comments;
    let is_cut = cut_texts(comments.iter_mut().map(|comment| &mut comment.body));
    Ok(ListAnswer {
        comments,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
        truncated: found.truncated || is_cut,
    })
}

pub(super) fn get_pull_request_comments() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "get_pull_request_comments",
        description: "Comments on a pull request and (`kind: review`) on its lines, oldest first. `outdated`: the line has changed since. Verdicts are in get_pull_request.",
        input: arguments(
            &["repo", "prNumber"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "comments": { "type": "array", "items": comment() },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" },
                "truncated": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, list)
}

#[derive(Deserialize)]
struct CommentArguments {
    repo: RepoName,
    number: PullNumber,
    body: String,
}

#[derive(Serialize)]
struct CommentAnswer {
    id: u64,
    number: u64,
    author: Option<String>,
    body: String,
    created_at: String,
    url: String,
}

async fn add(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CommentArguments,
) -> Result<CommentAnswer, Failure> {
    let number = number(arguments.number);
    let made = server
        .forge
        .add_comment(&context, &arguments.repo, number, &arguments.body)
        .await?;
    Ok(CommentAnswer {
        id: made.id,
        number,
        author: made.author,
        body: made.body,
        created_at: made.created_at,
        url: made.url,
    })
}

pub(super) fn add_issue_comment() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "add_issue_comment",
        description: "Comment on an issue or a whole pull request.",
        input: arguments(
            &["repo", "number", "body"],
            json!({
                "repo": repo(),
                "number": issue_number("Number of the issue or pull request"),
                "body": text(1, 10_000, "The comment")
            }),
        ),
        output: answer(
            json!({
                "id": { "type": "integer" },
                "number": { "type": "integer" },
                "author": nullable("string"),
                "body": { "type": "string" },
                "created_at": { "type": "string" },
                "url": { "type": "string" }
            }),
            &[],
        ),
    };
    write_tool(spec, add).additive()
}

#[derive(Deserialize)]
struct ReplyArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    comment_id: PullNumber,
    body: String,
}

async fn reply(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ReplyArguments,
) -> Result<Comment, Failure> {
    let (pull, comment) = (number(arguments.number), number(arguments.comment_id));
    server
        .forge
        .reply(&context, &arguments.repo, pull, comment, &arguments.body)
        .await
}

pub(super) fn add_reply_to_pull_request_comment() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "add_reply_to_pull_request_comment",
        description: "Answer a comment on a line of a pull request (`kind: review` in get_pull_request_comments). Not for other comments: use add_issue_comment.",
        input: arguments(
            &["repo", "prNumber", "comment_id", "body"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "comment_id": id("Id of the comment to answer"),
                "body": text(1, 10_000, "The answer")
            }),
        ),
        output: comment(),
    };
    write_tool(spec, reply).additive()
}
