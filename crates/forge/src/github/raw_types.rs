//! The used parts of GitHub's responses. A member is optional if GitHub may leave it out, or if it is
//! null for a deleted account or fork.

use super::exchange_failure::ExchangeFailure;
use crate::{
    AutoMerge, Branch, Commit, CommitPerson, Failure, MergeMethod, PullAttributes, PullRequest,
    PullState, RepoName, Repository, Review,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct RawRepositoryName {
    pub(super) full_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawRepository {
    full_name: String,
    description: Option<String>,
    default_branch: String,
    stargazers_count: u64,
    language: Option<String>,
    html_url: String,
}

impl RawRepository {
    pub(super) fn into_model(self) -> Result<Repository, Failure> {
        Ok(Repository {
            name: repo_name(&self.full_name)?,
            description: self.description,
            default_branch: self.default_branch,
            stars: self.stargazers_count,
            language: self.language,
            url: self.html_url,
        })
    }
}

fn repo_name(full_name: &str) -> Result<RepoName, Failure> {
    RepoName::parse(full_name)
        .ok_or_else(|| ExchangeFailure::nonsense("a repository without owner/name").into())
}

#[derive(Debug, Deserialize)]
pub(super) struct RawFound {
    pub(super) total_count: u64,
    pub(super) incomplete_results: bool,
    pub(super) items: Vec<RawRepository>,
}

/// The item at a path, requested as one object.
#[derive(Debug, Deserialize)]
pub(super) struct RawContent {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) size: u64,
    #[serde(default)]
    pub(super) sha: String,
    pub(super) encoding: Option<String>,
    pub(super) content: Option<String>,
    pub(super) target: Option<String>,
    pub(super) html_url: Option<String>,
    pub(super) submodule_git_url: Option<String>,
    pub(super) entries: Option<Vec<RawItem>>,
}

/// The item at a path. Older Enterprise servers list a directory although one object was requested.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawPath {
    Listing(Vec<RawItem>),
    Content(RawContent),
}

impl From<RawPath> for RawContent {
    fn from(path: RawPath) -> RawContent {
        match path {
            RawPath::Content(content) => content,
            RawPath::Listing(entries) => RawContent {
                kind: "dir".to_owned(),
                size: 0,
                sha: String::new(),
                encoding: None,
                content: None,
                target: None,
                html_url: None,
                submodule_git_url: None,
                entries: Some(entries),
            },
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RawItem {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) path: String,
    #[serde(default)]
    pub(super) size: u64,
    pub(super) html_url: Option<String>,
    pub(super) git_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawTree {
    pub(super) sha: String,
    #[serde(default)]
    pub(super) truncated: bool,
    pub(super) tree: Vec<RawEntry>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawEntry {
    pub(super) path: String,
    pub(super) mode: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) size: Option<u64>,
    pub(super) sha: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sha {
    pub(super) sha: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawRef {
    pub(super) object: Sha,
}

/// A commit of the git database.
#[derive(Debug, Deserialize)]
pub(super) struct GitCommit {
    pub(super) sha: String,
    pub(super) tree: Sha,
    pub(super) html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawCommit {
    pub(super) sha: String,
    pub(super) commit: RawCommitBody,
    #[serde(default)]
    parents: Vec<Sha>,
    html_url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawCommitBody {
    #[serde(default)]
    message: String,
    author: Option<RawSignature>,
    committer: Option<RawSignature>,
    pub(super) tree: Sha,
}

#[derive(Debug, Deserialize)]
struct RawSignature {
    name: Option<String>,
    email: Option<String>,
    date: Option<String>,
}

impl From<RawSignature> for CommitPerson {
    fn from(raw: RawSignature) -> CommitPerson {
        CommitPerson {
            name: raw.name,
            email: raw.email,
            date: raw.date,
        }
    }
}

impl From<RawCommit> for Commit {
    fn from(raw: RawCommit) -> Commit {
        Commit {
            sha: raw.sha,
            message: raw.commit.message,
            author: raw.commit.author.map(CommitPerson::from),
            committer: raw.commit.committer.map(CommitPerson::from),
            parents: raw.parents.into_iter().map(|parent| parent.sha).collect(),
            url: raw.html_url,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RawBranch {
    name: String,
    #[serde(default)]
    protected: bool,
    commit: Sha,
}

impl From<RawBranch> for Branch {
    fn from(raw: RawBranch) -> Branch {
        Branch {
            name: raw.name,
            protected: raw.protected,
            sha: raw.commit.sha,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

/// Returns the name of an account, `None` if it was deleted.
pub(super) fn login(user: Option<User>) -> Option<String> {
    user.map(|user| user.login)
}

#[derive(Debug, Deserialize)]
struct Team {
    slug: String,
}

#[derive(Debug, Deserialize)]
struct RawAutoMerge {
    merge_method: MergeMethod,
    enabled_by: Option<User>,
}

/// A label: an object, or only its name in older answers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawLabel {
    Name(String),
    Label { name: Option<String> },
}

/// Returns the names of labels.
pub(super) fn label_names(labels: Vec<RawLabel>) -> Vec<String> {
    let names = labels.into_iter().filter_map(|label| match label {
        RawLabel::Name(name) => Some(name),
        RawLabel::Label { name } => name,
    });
    names.collect()
}

/// The members of a pull request that people attach to it. Older servers leave some out.
#[derive(Debug, Deserialize)]
pub(super) struct RawAttributes {
    #[serde(default)]
    labels: Vec<RawLabel>,
    requested_reviewers: Option<Vec<User>>,
    requested_teams: Option<Vec<Team>>,
    auto_merge: Option<RawAutoMerge>,
}

impl From<RawAttributes> for PullAttributes {
    fn from(raw: RawAttributes) -> PullAttributes {
        let users = raw.requested_reviewers.unwrap_or_default().into_iter();
        let teams = raw.requested_teams.unwrap_or_default().into_iter();
        PullAttributes {
            labels: label_names(raw.labels),
            requested_reviewers: users.map(|user| user.login).collect(),
            requested_teams: teams.map(|team| team.slug).collect(),
            auto_merge: raw.auto_merge.map(|auto_merge| AutoMerge {
                merge_method: auto_merge.merge_method,
                enabled_by: login(auto_merge.enabled_by),
            }),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<RawRepositoryName>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawPull {
    number: u64,
    title: String,
    body: Option<String>,
    state: PullState,
    #[serde(default)]
    draft: bool,
    merged: Option<bool>,
    merged_at: Option<String>,
    head: Side,
    base: Side,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
    user: Option<User>,
    created_at: String,
    updated_at: String,
    html_url: String,
    node_id: Option<String>,
    #[serde(flatten)]
    attributes: RawAttributes,
}

impl RawPull {
    pub(super) fn into_model(self) -> Result<PullRequest, Failure> {
        let head_repo = self.head.repo.map(|repo| repo_name(&repo.full_name));
        Ok(PullRequest {
            number: self.number,
            title: self.title,
            body: self.body,
            state: self.state,
            draft: self.draft,
            // A list contains only the time of the merge.
            merged: self.merged.unwrap_or(self.merged_at.is_some()),
            head: self.head.name,
            head_repo: head_repo.transpose()?,
            head_sha: self.head.sha,
            base: self.base.name,
            mergeable: self.mergeable,
            mergeable_state: self.mergeable_state,
            author: self.user.map(|user| user.login),
            created_at: self.created_at,
            updated_at: self.updated_at,
            url: self.html_url,
            node_id: self.node_id,
            attributes: self.attributes.into(),
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Number {
    pub(super) number: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawStatuses {
    pub(super) sha: String,
    #[serde(default)]
    pub(super) total_count: u64,
    pub(super) statuses: Vec<RawStatus>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawStatus {
    pub(super) context: String,
    pub(super) state: String,
    pub(super) target_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawRuns {
    #[serde(default)]
    pub(super) total_count: u64,
    pub(super) check_runs: Vec<RawRun>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawApp {
    pub(super) slug: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawRun {
    pub(super) id: Option<u64>,
    pub(super) app: Option<RawApp>,
    pub(super) name: String,
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawReview {
    user: Option<User>,
    state: String,
    body: Option<String>,
}

impl From<RawReview> for Review {
    fn from(raw: RawReview) -> Review {
        Review {
            author: raw.user.map(|user| user.login),
            state: raw.state,
            body: raw.body.unwrap_or_default(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RawFile {
    pub(super) filename: String,
    pub(super) previous_filename: Option<String>,
    pub(super) status: String,
    pub(super) additions: u64,
    pub(super) deletions: u64,
    pub(super) patch: Option<String>,
}
