//! The tools `create_pull_request_review` and `request_pull_request_reviewers`.

use super::{PullNumber, ToolSpec, number, write_tool};
use crate::discussion_model::{DiffSide, LineComment, NewReview, RequestedReviewers, ReviewEvent};
use crate::fields::{
    self, answer, arguments, line_number, names, nullable, one_of, path, repo, sha, text,
};
use crate::forge::BackendContext;
use crate::server::ForgeServer;
use crate::{Failure, RepoName, UnmetPrecondition};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum number of comments of a review.
pub const MAX_REVIEW_COMMENTS: usize = 50;

#[derive(Deserialize)]
struct CommentArguments {
    path: String,
    line: PullNumber,
    start_line: Option<PullNumber>,
    #[serde(default)]
    side: DiffSide,
    body: String,
}

impl From<CommentArguments> for LineComment {
    fn from(arguments: CommentArguments) -> Self {
        LineComment {
            path: arguments.path,
            line: number(arguments.line),
            start_line: arguments.start_line.map(number),
            side: arguments.side,
            body: arguments.body,
        }
    }
}

#[derive(Deserialize)]
struct ReviewArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    event: ReviewEvent,
    body: Option<String>,
    #[serde(default)]
    comments: Vec<CommentArguments>,
    sha: Option<String>,
}

#[derive(Serialize)]
struct ReviewAnswer {
    id: u64,
    state: String,
    author: Option<String>,
    sha: String,
    comments: usize,
    url: String,
}

async fn review(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ReviewArguments,
) -> Result<ReviewAnswer, Failure> {
    let (repo, number) = (&arguments.repo, number(arguments.number));
    let pull = server.forge.pull_request(&context, repo, number).await?;
    let other = arguments.sha;
    if let Some(expected) = other.filter(|sha| !pull.head_sha.starts_with(sha.as_str())) {
        return Err(Failure::HeadMoved {
            expected,
            actual: Some(pull.head_sha),
            state: pull.mergeable_state,
        });
    }
    let comments = arguments.comments.into_iter().map(LineComment::from);
    let review = NewReview {
        event: arguments.event,
        body: arguments.body,
        comments: comments.collect(),
        head_sha: pull.head_sha,
    };
    if review.is_empty() {
        return Err(UnmetPrecondition::EmptyReview.into());
    }
    let made = server
        .forge
        .submit_review(&context, repo, number, &review)
        .await?;
    Ok(ReviewAnswer {
        id: made.id,
        state: made.state,
        author: made.author,
        sha: review.head_sha,
        comments: review.comments.len(),
        url: made.url,
    })
}

fn comment() -> Value {
    arguments(
        &["path", "line", "body"],
        json!({
            "path": path("A file that the pull request changes"),
            "line": line_number("A line that its patch shows"),
            "body": text(1, 10_000, "The comment"),
            "side": one_of(&["LEFT", "RIGHT"], "LEFT: a line before the change, such as a deleted one; RIGHT if absent"),
            "start_line": line_number("The first of several lines")
        }),
    )
}

pub(super) fn create_pull_request_review() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_pull_request_review",
        description: "Review a pull request: approve it, request changes, or comment, with comments on its lines. All comments are made or none. Nobody approves their own. Not for one remark: use add_issue_comment.",
        input: arguments(
            &["repo", "prNumber", "event"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "event": one_of(&["APPROVE", "REQUEST_CHANGES", "COMMENT"], "The verdict; all but APPROVE need body or comments"),
                "body": text(1, 10_000, "The text of the review"),
                "comments": {
                    "type": "array",
                    "maxItems": MAX_REVIEW_COMMENTS,
                    "items": comment(),
                    "description": "Comments on lines"
                },
                "sha": sha("Review only this head")
            }),
        ),
        output: answer(
            json!({
                "id": { "type": "integer" },
                "state": { "type": "string" },
                "author": nullable("string"),
                "sha": { "type": "string" },
                "comments": { "type": "integer" },
                "url": { "type": "string" }
            }),
            &[],
        ),
    };
    write_tool(spec, review).additive()
}

#[derive(Deserialize)]
struct RequestArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    #[serde(default)]
    reviewers: Vec<String>,
    #[serde(default)]
    team_reviewers: Vec<String>,
}

#[derive(Serialize)]
struct RequestAnswer {
    number: u64,
    #[serde(flatten)]
    requested: RequestedReviewers,
}

async fn request(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: RequestArguments,
) -> Result<RequestAnswer, Failure> {
    let number = number(arguments.number);
    let wanted = RequestedReviewers {
        requested_reviewers: arguments.reviewers,
        requested_teams: arguments.team_reviewers,
    };
    let requested = server
        .forge
        .request_reviewers(&context, &arguments.repo, number, &wanted)
        .await?;
    Ok(RequestAnswer { number, requested })
}

pub(super) fn request_pull_request_reviewers() -> Tool<ForgeServer> {
    let mut input = arguments(
        &["repo", "prNumber"],
        json!({
            "repo": repo(),
            "prNumber": fields::number(),
            "reviewers": names(1, "People"),
            "team_reviewers": names(1, "Teams of the owner, by their short names")
        }),
    );
    input["minProperties"] = json!(3);
    let spec = ToolSpec {
        name: "request_pull_request_reviewers",
        description: "Ask people or teams (at least one of the two) to review a pull request. Answers everybody whose review is awaited.",
        input,
        output: answer(
            json!({
                "number": { "type": "integer" },
                "requested_reviewers": { "type": "array" },
                "requested_teams": { "type": "array" }
            }),
            &[],
        ),
    };
    write_tool(spec, request).additive().idempotent()
}
