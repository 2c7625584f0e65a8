//! Filtered histories, new repositories, tags and releases.

use crate::{Commit, Revision};
use serde::Serialize;

/// The commits that are wanted. `None` is any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitFilter {
    /// Commits that change this path, as `git log -- path` finds them.
    pub path: Option<String>,
    /// A user name of GitHub, or the name or address of an author.
    pub author: Option<String>,
    /// In RFC 3339.
    pub since: Option<String>,
    /// In RFC 3339.
    pub until: Option<String>,
}

/// A page of filtered commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredCommits {
    pub commits: Vec<Commit>,
    pub more: bool,
    /// True if the history was not searched to its end.
    pub truncated: bool,
}

/// A repository to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRepository {
    pub description: Option<String>,
    /// True if only its owner sees it. The local forge makes no difference.
    pub private: bool,
    /// True if it begins with a commit that has a README.
    pub init: bool,
}

/// A tag and the commit that it leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tag {
    pub name: String,
    pub sha: String,
}

/// A page of tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPage {
    pub tags: Vec<Tag>,
    pub more: bool,
}

/// A tag to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTag {
    pub name: String,
    pub at: Revision,
    /// The message of an annotated tag. `None` makes a ref alone.
    pub message: Option<String>,
}

/// The result of making a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTag {
    pub sha: String,
    /// False if the tag was there already, at the same commit.
    pub created: bool,
}

/// A release of a tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Release {
    pub id: u64,
    pub tag: String,
    pub title: Option<String>,
    pub body: Option<String>,
    pub draft: bool,
    pub prerelease: bool,
    pub author: Option<String>,
    pub created_at: String,
    pub published_at: Option<String>,
    pub url: String,
}

/// A page of releases, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasePage {
    pub releases: Vec<Release>,
    pub more: bool,
}

/// A release to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRelease {
    pub tag: String,
    pub title: Option<String>,
    pub body: Option<String>,
    pub draft: bool,
    pub prerelease: bool,
}
