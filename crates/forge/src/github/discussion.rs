//! Comments, reviews, requested reviewers and auto-merge on GitHub.

use super::GithubForge;
use super::api::Api;
use super::graphql;
use super::limits::{MAX_COMMENT_PAGES, MAX_PAGE_ENTRIES};
use super::pulls::{route, state_word};
use super::raw_types::{RawAttributes, RawPull, User, login};
use super::requests::{GithubRead, GithubWrite};
use super::route::Route;
use crate::{
    AutoMerge, BackendContext, BackendFuture, Comment, CommentKind, CommentPage, DiffSide,
    DiscussionForge, Failure, FoundPulls, LineComment, MAX_FILTERED_PULLS, MergeMethod,
    MissingItem, NewReview, Paging, PullAttributes, PullQuery, PullRequest, RepoName, RequestKind,
    RequestedReviewers, SubmittedReview,
};
use candor_http_client::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A comment of an issue or a pull request, or one on a line.
#[derive(Debug, Deserialize)]
pub(super) struct RawComment {
    id: u64,
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    created_at: String,
    html_url: String,
    path: Option<String>,
    line: Option<u64>,
    original_line: Option<u64>,
    side: Option<DiffSide>,
    commit_id: Option<String>,
    original_commit_id: Option<String>,
    in_reply_to_id: Option<u64>,
    subject_type: Option<String>,
    pull_request_url: Option<String>,
}

impl From<RawComment> for Comment {
    fn from(raw: RawComment) -> Comment {
        let is_on_line = raw.path.is_some();
        // GitHub clears the line when it has changed; a comment on a whole file never has one.
        let is_on_file = raw.subject_type.as_deref() == Some("file");
        Comment {
            id: raw.id,
            kind: match is_on_line {
                true => CommentKind::Review,
                false => CommentKind::Comment,
            },
            author: login(raw.user),
            body: raw.body.unwrap_or_default(),
            outdated: is_on_line && raw.line.is_none() && !is_on_file,
            line: raw.line.or(raw.original_line),
            side: raw.side.filter(|_| is_on_line),
            commit_sha: raw.original_commit_id.or(raw.commit_id),
            path: raw.path,
            in_reply_to: raw.in_reply_to_id,
            created_at: raw.created_at,
            url: raw.html_url,
        }
    }
}

#[derive(Debug, Deserialize)]
struct RawSubmitted {
    id: u64,
    user: Option<User>,
    state: String,
    html_url: String,
}

pub(super) fn issue_route(repo: &RepoName, number: u64) -> Route {
    Route::of(repo).then("issues").number(number)
}

/// Reads the first `wanted` comments of one kind, and whether there are more. At least one is read.
async fn first_comments(
    api: &Api,
    context: &BackendContext,
    list: impl Fn() -> Route,
    number: u64,
    wanted: usize,
) -> Result<(Vec<Comment>, bool), Failure> {
    let mut all = Vec::new();
    for page in 1..=MAX_COMMENT_PAGES {
        let request = GithubRead::new(
            list().page(page, MAX_PAGE_ENTRIES),
            MissingItem::PullRequest(number),
        );
        let reply = api.read(context, request).await?;
        let comments: Vec<RawComment> = reply.json()?;
        all.extend(comments.into_iter().map(Comment::from));
        if !reply.more {
            return Ok((all, false));
        }
        if all.len() >= wanted {
            break;
        }
    }
    Ok((all, true))
}

/// Lists comments of both kinds by their time. GitHub has a list of each.
async fn comments(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    paging: Paging,
) -> Result<CommentPage, Failure> {
    let per_page = paging.per_page as usize;
    let skip = (paging.page as usize - 1) * per_page;
    let wanted = skip + per_page + 1;
    let on_lines = || {
        let list = route(repo, number).then("comments");
        list.query("sort", "created").query("direction", "asc")
    };
    // This list is missing if the number is an issue's.
    let (lines, more_lines) = first_comments(api, context, on_lines, number, wanted).await?;
    let whole = || issue_route(repo, number).then("comments");
    let (whole, more_whole) = first_comments(api, context, whole, number, wanted).await?;
    // An unread comment may be older than a read one of the other kind, but not than the last of its own.
    let ends = [(&lines, more_lines), (&whole, more_whole)];
    let known_until = ends
        .iter()
        .filter(|(_, more)| *more)
        .filter_map(|(list, _)| list.last().map(|last| last.created_at.clone()))
        .min();
    let mut all: Vec<Comment> = lines.into_iter().chain(whole).collect();
    all.sort_by(|left, right| (&left.created_at, left.id).cmp(&(&right.created_at, right.id)));
    if let Some(until) = known_until {
        all.retain(|comment| comment.created_at <= until);
    }
    let is_cut = (more_lines || more_whole) && all.len() < wanted;
    let more = all.len() > skip + per_page;
    Ok(CommentPage {
        comments: all.into_iter().skip(skip).take(per_page).collect(),
        more,
        truncated: is_cut,
    })
}

fn write(method: Method, route: Route, body: Value, missing: MissingItem) -> GithubWrite {
    GithubWrite {
        method,
        route,
        body: Some(body),
        step: RequestKind::Write,
        missing,
    }
}

async fn add_comment(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    body: &str,
) -> Result<Comment, Failure> {
    let change = write(
        Method::POST,
        issue_route(repo, number).then("comments"),
        json!({ "body": body }),
        MissingItem::IssueOrPull(number),
    );
    let reply = api.change(context, change).await?;
    Ok(reply.json::<RawComment>()?.into())
}

/// Lists pull requests. Those that are filtered here are read to the bound.
async fn find(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    query: &PullQuery,
    paging: Paging,
) -> Result<FoundPulls, Failure> {
    if !query.needs_filter() {
        let (pulls, more) = find_page(api, context, repo, query, paging).await?;
        return Ok(FoundPulls {
            pulls,
            more,
            incomplete: false,
        });
    }
    let per_page = paging.per_page as usize;
    let skip = (paging.page as usize - 1) * per_page;
    let (mut found, mut unread) = (Vec::new(), true);
    let pages = MAX_FILTERED_PULLS.div_ceil(MAX_PAGE_ENTRIES as usize);
    for page in 1..=u32::try_from(pages).unwrap_or(1) {
        let paging = Paging {
            page,
            per_page: MAX_PAGE_ENTRIES,
        };
        let (pulls, more) = find_page(api, context, repo, query, paging).await?;
        found.extend(
            pulls
                .into_iter()
                .filter(|pull| query.admits_names(pull.author.as_deref(), &pull.attributes.labels)),
        );
        unread = more;
        if !more || found.len() > skip + per_page {
            break;
        }
    }
    let more = found.len() > skip + per_page;
    Ok(FoundPulls {
        pulls: found.into_iter().skip(skip).take(per_page).collect(),
        more,
        incomplete: unread && !more,
    })
}

async fn find_page(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    query: &PullQuery,
    paging: Paging,
) -> Result<(Vec<PullRequest>, bool), Failure> {
    let mut route = Route::of(repo)
        .then("pulls")
        .query("state", state_word(query.state))
        .query("sort", "created")
        .query("direction", "desc");
    if let Some(head) = &query.head {
        // GitHub ignores a head without an owner.
        let owner = query.head_owner.as_deref().unwrap_or(repo.owner());
        route = route.query("head", &format!("{owner}:{head}"));
    }
    if let Some(base) = &query.base {
        route = route.query("base", base);
    }
    let route = route.page(paging.page, paging.per_page);
    let request = GithubRead::new(route, MissingItem::Repository);
    let reply = api.read(context, request).await?;
    let pulls = reply.json::<Vec<RawPull>>()?.into_iter();
    let pulls: Result<_, Failure> = pulls.map(RawPull::into_model).collect();
    Ok((pulls?, reply.more))
}

fn line_comment(comment: &LineComment) -> Value {
    let mut body = Map::new();
    body.insert("path".to_owned(), json!(comment.path));
    body.insert("line".to_owned(), json!(comment.line));
    body.insert("side".to_owned(), json!(comment.side));
    if let Some(start) = comment.start_line.filter(|start| *start != comment.line) {
        body.insert("start_line".to_owned(), json!(start));
        body.insert("start_side".to_owned(), json!(comment.side));
    }
    body.insert("body".to_owned(), json!(comment.body));
    Value::Object(body)
}

async fn submit_review(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    review: &NewReview,
) -> Result<SubmittedReview, Failure> {
    let mut body = Map::new();
    body.insert("commit_id".to_owned(), json!(review.head_sha));
    body.insert("event".to_owned(), json!(review.event));
    if let Some(text) = &review.body {
        body.insert("body".to_owned(), json!(text));
    }
    if !review.comments.is_empty() {
        let comments: Vec<_> = review.comments.iter().map(line_comment).collect();
        body.insert("comments".to_owned(), Value::Array(comments));
    }
    let change = write(
        Method::POST,
        route(repo, number).then("reviews"),
        Value::Object(body),
        MissingItem::PullRequest(number),
    );
    let submitted: RawSubmitted = api.change(context, change).await?.json()?;
    Ok(SubmittedReview {
        id: submitted.id,
        state: submitted.state,
        author: login(submitted.user),
        url: submitted.html_url,
    })
}

/// Replies to a comment. It is read first: a comment of another pull request is missing, and a reply to a
/// reply, which GitHub refuses, belongs to the same first comment.
async fn reply(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    comment: u64,
    body: &str,
) -> Result<Comment, Failure> {
    let missing = || MissingItem::LineComment(comment);
    let found = Route::of(repo).then("pulls/comments").number(comment);
    let found: RawComment = api
        .read_json(context, GithubRead::new(found, missing()))
        .await?;
    let of = found.pull_request_url.unwrap_or_default();
    if of.rsplit('/').next() != Some(number.to_string().as_str()) {
        return Err(missing().into());
    }
    let first = found.in_reply_to_id.unwrap_or(found.id);
    let replies = route(repo, number).then("comments").number(first);
    let change = write(
        Method::POST,
        replies.then("replies"),
        json!({ "body": body }),
        missing(),
    );
    let reply = api.change(context, change).await?;
    Ok(reply.json::<RawComment>()?.into())
}

async fn request_reviewers(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    number: u64,
    wanted: &RequestedReviewers,
) -> Result<RequestedReviewers, Failure> {
    let mut body = Map::new();
    if !wanted.requested_reviewers.is_empty() {
        body.insert("reviewers".to_owned(), json!(wanted.requested_reviewers));
    }
    if !wanted.requested_teams.is_empty() {
        body.insert("team_reviewers".to_owned(), json!(wanted.requested_teams));
    }
    let change = write(
        Method::POST,
        route(repo, number).then("requested_reviewers"),
        Value::Object(body),
        MissingItem::PullRequest(number),
    );
    let reply = api.change(context, change).await?;
    let attributes: PullAttributes = reply.json::<RawAttributes>()?.into();
    Ok(RequestedReviewers {
        requested_reviewers: attributes.requested_reviewers,
        requested_teams: attributes.requested_teams,
    })
}

async fn set_auto_merge(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    pull: &PullRequest,
    method: Option<MergeMethod>,
) -> Result<Option<AutoMerge>, Failure> {
    let now = pull.attributes.auto_merge.as_ref();
    if now.map(|auto_merge| auto_merge.merge_method) == method {
        return Ok(now.cloned());
    }
    context.mark.begins()?;
    match graphql::set_auto_merge(api, context, pull, method).await {
        Ok(auto_merge) => {
            context.mark.done();
            Ok(auto_merge)
        }
        Err(failed) => {
            let failure = failed.into_failure(context);
            let route = route(repo, pull.number);
            Err(api.explain_not_found(context, &route, failure).await)
        }
    }
}

impl DiscussionForge for GithubForge {
    fn comments<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        paging: Paging,
    ) -> BackendFuture<'a, CommentPage> {
        self.filtered(comments(&self.0, context, repo, number, paging))
    }

    fn add_comment<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment> {
        self.filtered(add_comment(&self.0, context, repo, number, body))
    }

    fn find_pulls<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        query: &'a PullQuery,
        paging: Paging,
    ) -> BackendFuture<'a, FoundPulls> {
        self.filtered(find(&self.0, context, repo, query, paging))
    }

    fn submit_review<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        review: &'a NewReview,
    ) -> BackendFuture<'a, SubmittedReview> {
        self.filtered(submit_review(&self.0, context, repo, number, review))
    }

    fn reply<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        comment: u64,
        body: &'a str,
    ) -> BackendFuture<'a, Comment> {
        self.filtered(reply(&self.0, context, repo, number, comment, body))
    }

    fn request_reviewers<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        wanted: &'a RequestedReviewers,
    ) -> BackendFuture<'a, RequestedReviewers> {
        self.filtered(request_reviewers(&self.0, context, repo, number, wanted))
    }

    fn set_auto_merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        method: Option<MergeMethod>,
    ) -> BackendFuture<'a, Option<AutoMerge>> {
        self.filtered(set_auto_merge(&self.0, context, repo, pull, method))
    }
}
