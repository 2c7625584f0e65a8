//! The tools `list_issues`, `get_issue`, `create_issue`, `update_issue` and `search_issues`.

use super::answer_size::cut_texts;
use super::comments::comment;
use super::{PageNumber, PullNumber, ToolSpec, number, paging, read_tool, write_tool};
use crate::discussion_model::Comment;
use crate::fields::{
    answer, arguments, issue_number, issue_query, moment, name, names, nullable, one_of, page,
    per_page, repo, text,
};
use crate::forge::BackendContext;
use crate::issue_model::{Issue, IssueChange, IssueMatch, IssueQuery, NewIssue, StateReason};
use crate::model::{PullFilter, PullState};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// An issue in a list.
#[derive(Serialize)]
struct IssueSummary {
    number: u64,
    title: String,
    state: PullState,
    state_reason: Option<String>,
    author: Option<String>,
    labels: Vec<String>,
    assignees: Vec<String>,
    comment_count: u64,
    created_at: String,
    updated_at: String,
    closed_at: Option<String>,
    url: String,
}

/// An issue with its description.
#[derive(Serialize)]
struct IssueAnswer {
    #[serde(flatten)]
    summary: IssueSummary,
    body: Option<String>,
}

impl From<Issue> for IssueAnswer {
    fn from(issue: Issue) -> Self {
        IssueAnswer {
            body: issue.body,
            summary: IssueSummary {
                number: issue.number,
                title: issue.title,
                state: issue.state,
                state_reason: issue.state_reason,
                author: issue.author,
                labels: issue.labels,
                assignees: issue.assignees,
                comment_count: issue.comment_count,
                created_at: issue.created_at,
                updated_at: issue.updated_at,
                closed_at: issue.closed_at,
                url: issue.url,
            },
        }
    }
}

fn summary() -> Value {
    json!({
        "number": { "type": "integer" },
        "title": { "type": "string" },
        "state": { "enum": ["open", "closed"] },
        "state_reason": nullable("string"),
        "author": nullable("string"),
        "labels": { "type": "array" },
        "assignees": { "type": "array" },
        "comment_count": { "type": "integer" },
        "created_at": { "type": "string" },
        "updated_at": { "type": "string" },
        "closed_at": nullable("string"),
        "url": { "type": "string" }
    })
}

fn whole() -> Value {
    let mut whole = summary();
    whole["body"] = nullable("string");
    whole
}

#[derive(Deserialize)]
struct ListArguments {
    repo: RepoName,
    #[serde(default)]
    state: PullFilter,
    #[serde(default)]
    labels: Vec<String>,
    assignee: Option<String>,
    since: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct ListAnswer {
    issues: Vec<IssueSummary>,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn list(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: ListArguments,
) -> Result<ListAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let query = IssueQuery {
        state: arguments.state,
        labels: arguments.labels,
        assignee: arguments.assignee,
        since: arguments.since,
    };
    let found = server
        .forge
        .issues(&context, &arguments.repo, &query, paging)
        .await?;
    let issues = found.issues.into_iter().map(IssueAnswer::from);
    Ok(ListAnswer {
        issues: issues.map(|issue| issue.summary).collect(),
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn list_issues() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "list_issues",
        description: "List issues, the last opened first; never pull requests, so a page on GitHub may be short. Not for words: use search_issues.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "state": one_of(&["open", "closed", "all"], "open if absent"),
                "labels": names(1, "Labels that it has, all of them"),
                "assignee": name("Whom it is assigned to; * for anybody, none for nobody"),
                "since": moment("Changed at or after, RFC 3339"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "issues": { "type": "array", "items": answer(summary(), &[]) },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, list)
}

#[derive(Deserialize)]
struct GetArguments {
    repo: RepoName,
    number: PullNumber,
}

#[derive(Serialize)]
struct GetAnswer {
    #[serde(flatten)]
    issue: IssueAnswer,
    comments: Vec<Comment>,
    truncated: bool,
}

async fn get(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: GetArguments,
) -> Result<GetAnswer, Failure> {
    let number = number(arguments.number);
    let found = server
        .forge
        .issue(&context, &arguments.repo, number)
        .await?;
    let (mut issue, mut comments) = (found.issue, found.comments);
    let older = issue.comment_count > comments.len() as u64;
    let texts = comments.iter_mut().map(|comment| &mut comment.body);
    let texts: Vec<_> = texts.chain(issue.body.as_mut()).collect();
    let is_cut = cut_texts(texts.into_iter());
    Ok(GetAnswer {
        issue: issue.into(),
        comments,
        truncated: older || is_cut,
    })
}

pub(super) fn get_issue() -> Tool<ForgeServer> {
    let mut output = whole();
    output["comments"] = json!({ "type": "array", "items": comment() });
    output["truncated"] = json!({ "type": "boolean" });
    let spec = ToolSpec {
        name: "get_issue",
        description: "One issue with its description and its last 30 comments. Not for pull requests: use get_pull_request.",
        input: arguments(
            &["repo", "number"],
            json!({ "repo": repo(), "number": issue_number("Number of the issue") }),
        ),
        output: answer(output, &[]),
    };
    read_tool(spec, get)
}

#[derive(Deserialize)]
struct CreateArguments {
    repo: RepoName,
    title: String,
    body: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    assignees: Vec<String>,
}

async fn create(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CreateArguments,
) -> Result<IssueAnswer, Failure> {
    let new = NewIssue {
        title: arguments.title,
        body: arguments.body,
        labels: arguments.labels,
        assignees: arguments.assignees,
    };
    let made = server
        .forge
        .create_issue(&context, &arguments.repo, &new)
        .await?;
    Ok(made.into())
}

pub(super) fn create_issue() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "create_issue",
        description: "Open an issue. Not for changing one: use update_issue.",
        input: arguments(
            &["repo", "title"],
            json!({
                "repo": repo(),
                "title": text(1, 256, "Its title"),
                "body": text(1, 10_000, "Its description"),
                "labels": names(0, "Its labels"),
                "assignees": names(0, "Who works on it")
            }),
        ),
        output: answer(whole(), &[]),
    };
    write_tool(spec, create).additive()
}

#[derive(Deserialize)]
struct UpdateArguments {
    repo: RepoName,
    number: PullNumber,
    title: Option<String>,
    body: Option<String>,
    state: Option<PullState>,
    state_reason: Option<StateReason>,
    labels: Option<Vec<String>>,
    assignees: Option<Vec<String>>,
}

async fn update(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: UpdateArguments,
) -> Result<IssueAnswer, Failure> {
    let change = IssueChange {
        title: arguments.title,
        body: arguments.body,
        state: arguments.state,
        state_reason: arguments.state_reason,
        labels: arguments.labels,
        assignees: arguments.assignees,
    };
    let number = number(arguments.number);
    let made = server
        .forge
        .update_issue(&context, &arguments.repo, number, &change)
        .await?;
    Ok(made.into())
}

pub(super) fn update_issue() -> Tool<ForgeServer> {
    let mut input = arguments(
        &["repo", "number"],
        json!({
            "repo": repo(),
            "number": issue_number("Number of the issue"),
            "title": text(1, 256, "A new title"),
            "body": text(1, 10_000, "A new description"),
            "state": one_of(&["open", "closed"], "Open or close it"),
            "state_reason": one_of(&["completed", "not_planned"], "Why it is closed"),
            "labels": names(0, "All its labels from now on"),
            "assignees": names(0, "Everybody who works on it from now on")
        }),
    );
    input["minProperties"] = json!(3);
    let spec = ToolSpec {
        name: "update_issue",
        description: "Change title, description, state, labels or assignees of an issue; what is absent stays, lists are replaced. Not for pull requests: use update_pull_request.",
        input,
        output: answer(whole(), &[]),
    };
    write_tool(spec, update).idempotent()
}

#[derive(Deserialize)]
struct SearchArguments {
    repo: RepoName,
    query: String,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct SearchAnswer {
    results: Vec<IssueMatch>,
    total_count: u64,
    incomplete: bool,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn search(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: SearchArguments,
) -> Result<SearchAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .search_issues(&context, &arguments.repo, &arguments.query, paging)
        .await?;
    Ok(SearchAnswer {
        results: found.results,
        total_count: found.total_count,
        incomplete: found.incomplete,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn search_issues() -> Tool<ForgeServer> {
    let result = answer(
        json!({
            "number": { "type": "integer" },
            "kind": { "enum": ["issue", "pull_request"] },
            "title": { "type": "string" },
            "state": { "enum": ["open", "closed"] },
            "author": nullable("string"),
            "labels": { "type": "array" },
            "created_at": { "type": "string" },
            "updated_at": { "type": "string" },
            "url": { "type": "string" }
        }),
        &[],
    );
    let spec = ToolSpec {
        name: "search_issues",
        description: "Find issues and pull requests of one repository by words in title and description; is:issue, is:pr, is:open and is:closed narrow it down. A new one may be missing on GitHub for a minute: use list_issues or find_pull_requests.",
        input: arguments(
            &["repo", "query"],
            json!({
                "repo": repo(),
                "query": issue_query(),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "results": { "type": "array", "items": result },
                "total_count": { "type": "integer" },
                "incomplete": { "type": "boolean" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, search)
}
