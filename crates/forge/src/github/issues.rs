//! Issues on GitHub.

use super::GithubForge;
use super::api::Api;
use super::discussion::{RawComment, issue_route};
use super::pulls::state_word;
use super::raw_types::{RawLabel, User, label_names, login};
use super::requests::{GithubRead, GithubWrite};
use super::route::Route;
use crate::{
    BackendContext, BackendFuture, Comment, Failure, Issue, IssueChange, IssueDetails, IssueForge,
    IssueKind, IssueMatch, IssueMatches, IssuePage, IssueQuery, LAST_COMMENTS, MissingItem,
    NewIssue, Paging, PullState, RepoName, RequestKind, UnmetPrecondition,
};
use candor_http_client::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

#[derive(Debug, Deserialize)]
struct RawIssue {
    number: u64,
    title: String,
    body: Option<String>,
    state: PullState,
    state_reason: Option<String>,
    user: Option<User>,
    #[serde(default)]
    labels: Vec<RawLabel>,
    assignees: Option<Vec<User>>,
    #[serde(default)]
    comments: u64,
    created_at: String,
    updated_at: String,
    closed_at: Option<String>,
    html_url: String,
    /// Present if it is a pull request.
    pull_request: Option<IgnoredAny>,
    repository_url: Option<String>,
}

impl From<RawIssue> for Issue {
    fn from(raw: RawIssue) -> Issue {
        let assignees = raw.assignees.unwrap_or_default().into_iter();
        Issue {
            number: raw.number,
            title: raw.title,
            body: raw.body,
            state: raw.state,
            state_reason: raw.state_reason,
            author: login(raw.user),
            labels: label_names(raw.labels),
            assignees: assignees.map(|user| user.login).collect(),
            comment_count: raw.comments,
            created_at: raw.created_at,
            updated_at: raw.updated_at,
            closed_at: raw.closed_at,
            url: raw.html_url,
        }
    }
}

/// Lists issues. GitHub's list has pull requests too, which are left out, so a page may be short.
async fn list(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    query: &IssueQuery,
    paging: Paging,
) -> Result<IssuePage, Failure> {
    let mut route = Route::of(repo)
        .then("issues")
        .query("state", state_word(query.state))
        .query("sort", "created")
        .query("direction", "desc");
    if !query.labels.is_empty() {
        route = route.query("labels", &query.labels.join(","));
    }
    if let Some(assignee) = &query.assignee {
        route = route.query("assignee", assignee);
    }
    if let Some(since) = &query.since {
        route = route.query("since", since);
    }
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let reply = api.read(context, request).await?;
    let issues = reply.json::<Vec<RawIssue>>()?.into_iter();
    let issues = issues.filter(|issue| issue.pull_request.is_none());
    Ok(IssuePage {
        issues: issues.map(Issue::from).collect(),
        more: reply.more,
    })
}

/// Reads an issue. GitHub answers with a pull request too, which is another thing.
async fn read(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
) -> Result<Issue, Failure> {
    let request = GithubRead::new(issue_route(repo, number), MissingItem::Issue(number));
    let found: RawIssue = api.read_json(context, request).await?;
    match found.pull_request {
        Some(_) => Err(UnmetPrecondition::IsPullRequest(number).into()),
        None => Ok(found.into()),
    }
}

/// Reads an issue and the pages with its last comments.
async fn one(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
) -> Result<IssueDetails, Failure> {
    let issue = read(api, context, repo, number).await?;
    let most = LAST_COMMENTS as u64;
    let last_page = issue.comment_count.div_ceil(most);
    let first_page = (issue.comment_count.saturating_sub(most) / most) + 1;
    let mut comments: Vec<Comment> = Vec::new();
    for page in first_page..=last_page {
        let page = u32::try_from(page).unwrap_or(u32::MAX);
        let route = issue_route(repo, number).then("comments");
        let route = route.page(page, LAST_COMMENTS as u32);
        let request = GithubRead::new(route, MissingItem::Issue(number));
        let found: Vec<RawComment> = api.read_json(context, request).await?;
        comments.extend(found.into_iter().map(Comment::from));
    }
    let older = comments.len().saturating_sub(LAST_COMMENTS);
    Ok(IssueDetails {
        issue,
        comments: comments.split_off(older),
    })
}

fn write(
    method: Method,
    route: Route,
    body: Map<String, Value>,
    missing: MissingItem,
) -> GithubWrite {
    GithubWrite {
        method,
        route,
        body: Some(Value::Object(body)),
        step: RequestKind::Write,
        missing,
    }
}

async fn create(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    new: &NewIssue,
) -> Result<Issue, Failure> {
    let mut body = Map::new();
    body.insert("title".to_owned(), json!(new.title));
    if let Some(text) = &new.body {
        body.insert("body".to_owned(), json!(text));
    }
    if !new.labels.is_empty() {
        body.insert("labels".to_owned(), json!(new.labels));
    }
    if !new.assignees.is_empty() {
        body.insert("assignees".to_owned(), json!(new.assignees));
    }
    let route = Route::of(repo).then("issues");
    let change = write(Method::POST, route, body, MissingItem::Repository);
    let reply = api.change(context, change).await?;
    Ok(reply.json::<RawIssue>()?.into())
}

async fn update(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    order: &IssueChange,
) -> Result<Issue, Failure> {
    // GitHub would change a pull request of that number.
    read(api, context, repo, number).await?;
    let members = [
        ("title", order.title.as_ref().map(|title| json!(title))),
        ("body", order.body.as_ref().map(|body| json!(body))),
        ("state", order.state.map(|state| json!(state))),
        (
            "state_reason",
            order.state_reason.map(|reason| json!(reason)),
        ),
        ("labels", order.labels.as_ref().map(|labels| json!(labels))),
        (
            "assignees",
            order.assignees.as_ref().map(|names| json!(names)),
        ),
    ];
    let members = members.into_iter();
    let body = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let (route, missing) = (issue_route(repo, number), MissingItem::Issue(number));
    let change = write(Method::PATCH, route, body.collect(), missing);
    let reply = api.change(context, change).await?;
    Ok(reply.json::<RawIssue>()?.into())
}

#[derive(Debug, Deserialize)]
struct RawIssueMatches {
    total_count: u64,
    incomplete_results: bool,
    items: Vec<RawIssue>,
}

async fn search(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    query: &str,
    paging: Paging,
) -> Result<IssueMatches, Failure> {
    let wanted = format!("{query} repo:{repo}");
    let route = Route::root("search/issues").query("q", &wanted);
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let found: RawIssueMatches = api.read_json(context, request).await?;
    let shown = u64::from(paging.page) * u64::from(paging.per_page);
    let is_inside = |item: &RawIssue| {
        let url = item.repository_url.as_deref().unwrap_or_default();
        let mut parts = url.rsplit('/');
        let (name, owner) = (parts.next(), parts.next());
        let named = owner
            .zip(name)
            .map(|(owner, name)| format!("{owner}/{name}"));
        named.and_then(|named| RepoName::parse(&named)).as_ref() == Some(repo)
    };
    let items = found.items.into_iter().filter(is_inside);
    let results = items.map(|item| IssueMatch {
        number: item.number,
        kind: match item.pull_request {
            Some(_) => IssueKind::PullRequest,
            None => IssueKind::Issue,
        },
        title: item.title,
        state: item.state,
        author: login(item.user),
        labels: label_names(item.labels),
        created_at: item.created_at,
        updated_at: item.updated_at,
        url: item.html_url,
    });
    Ok(IssueMatches {
        results: results.collect(),
        total_count: found.total_count,
        incomplete: found.incomplete_results,
        more: found.total_count > shown,
    })
}

impl IssueForge for GithubForge {
    fn issues<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a IssueQuery,
        paging: Paging,
    ) -> BackendFuture<'a, IssuePage> {
        self.filtered(list(&self.0, context, repo, query, paging))
    }

    fn issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, IssueDetails> {
        self.filtered(one(&self.0, context, repo, number))
    }

    fn create_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewIssue,
    ) -> BackendFuture<'a, Issue> {
        self.filtered(create(&self.0, context, repo, new))
    }

    fn update_issue<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a IssueChange,
    ) -> BackendFuture<'a, Issue> {
        self.filtered(update(&self.0, context, repo, number, change))
    }

    fn search_issues<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, IssueMatches> {
        self.filtered(search(&self.0, context, repo, query, paging))
    }
}
