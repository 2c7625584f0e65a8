//! Creates one commit of several files: blobs, a tree, a commit, and only then moves the branch. Nothing
//! is visible before the branch moves, so only that step counts as the change.

use super::api::Api;
use super::branch_changes::head;
use super::exchange_failure::ExchangeFailure;
use super::raw_types::{GitCommit, RawEntry, RawTree, Sha};
use super::requests::{GithubRead, GithubWrite};
use super::route::Route;
use crate::{
    BackendContext, CreatedCommit, Failure, GithubErrorResponse, MissingItem, NewFile, RepoName,
    RequestKind, UnmetPrecondition,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_http_client::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PLAIN: &str = "100644";

pub(super) async fn commit(
    api: &Api,
    context: &BackendContext,
    repo: &RepoName,
    branch: &str,
    message: &str,
    files: &[NewFile],
) -> Result<CreatedCommit, Failure> {
    let work = CommitSteps {
        api,
        context,
        repo,
        branch,
    };
    if let Some(path) = nested(files) {
        return Err(UnmetPrecondition::PathConflict(path).into());
    }
    let parent = head(api, context, repo, branch).await?;
    let base: GitCommit = work.read("git/commits", &parent).await?;
    let modes = work.modes(&base.tree.sha, files).await?;
    let tree = work.tree(&base.tree.sha, files, &modes).await?;
    if tree == base.tree.sha {
        return Err(UnmetPrecondition::NothingToCommit.into());
    }
    let body = json!({ "message": message, "tree": tree, "parents": [parent] });
    let made: GitCommit = work.make("git/commits", body).await?;
    work.advance(&parent, &made.sha).await?;
    Ok(CreatedCommit {
        sha: made.sha,
        parent,
        url: made.html_url.unwrap_or_default(),
    })
}

/// Returns a path that another one uses as a directory.
fn nested(files: &[NewFile]) -> Option<String> {
    let paths = files.iter().map(|file| file.path.as_str());
    let mut paths: Vec<&str> = paths.collect();
    // Byte order would put `a.b` between `a` and `a/b`.
    paths.sort_by(|left, right| left.split('/').cmp(right.split('/')));
    let mut pairs = paths.iter().zip(paths.iter().skip(1));
    let found = pairs.find(|(above, below)| {
        let rest = below.strip_prefix(**above);
        rest.is_some_and(|rest| rest.starts_with('/'))
    });
    found.map(|(above, _)| (*above).to_owned())
}

/// The steps of one commit.
pub(super) struct CommitSteps<'a> {
    pub(super) api: &'a Api,
    pub(super) context: &'a BackendContext,
    pub(super) repo: &'a RepoName,
    pub(super) branch: &'a str,
}

impl CommitSteps<'_> {
    fn missing(&self) -> MissingItem {
        MissingItem::Branch(self.branch.to_owned())
    }

    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        what: &'static str,
        sha: &str,
    ) -> Result<T, Failure> {
        let route = Route::of(self.repo).then(what).name(sha);
        let request = GithubRead::new(route, self.missing());
        self.api.read_json(self.context, request).await
    }

    /// Creates an object that nothing points to yet, so no mark is set.
    pub(super) async fn make<T: DeserializeOwned>(
        &self,
        what: &'static str,
        body: Value,
    ) -> Result<T, Failure> {
        let change = GithubWrite {
            method: Method::POST,
            route: Route::of(self.repo).then(what),
            body: Some(body),
            step: RequestKind::Write,
            missing: self.missing(),
        };
        let sent = self.api.send(self.context, change).await;
        sent.map_err(|failed| failed.failure)?.json()
    }

    /// Returns the modes of the files that exist already.
    async fn modes(
        &self,
        root: &str,
        files: &[NewFile],
    ) -> Result<BTreeMap<String, String>, Failure> {
        let mut directories = BTreeMap::new();
        directories.insert(String::new(), self.entries(root).await?);
        let mut modes = BTreeMap::new();
        for file in files {
            if let Some(mode) = self.mode(&mut directories, &file.path).await? {
                modes.insert(file.path.clone(), mode);
            }
        }
        Ok(modes)
    }

    /// Returns the mode of a file if it exists. Directories that were read on the way are kept.
    async fn mode(
        &self,
        directories: &mut BTreeMap<String, Vec<RawEntry>>,
        path: &str,
    ) -> Result<Option<String>, Failure> {
        let mut above = String::new();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let entries = directories.get(&above).into_iter().flatten();
            let Some(entry) = entries.into_iter().find(|one| one.path == name) else {
                return Ok(None);
            };
            let here = match above.is_empty() {
                true => name.to_owned(),
                false => format!("{above}/{name}"),
            };
            match (entry.kind.as_str(), names.peek()) {
                ("blob", None) => return Ok(Some(entry.mode.clone())),
                ("commit", _) => return Err(UnmetPrecondition::IsSubmodule(here).into()),
                ("tree", Some(_)) => {
                    let sha = entry.sha.clone();
                    if !directories.contains_key(&here) {
                        directories.insert(here.clone(), self.entries(&sha).await?);
                    }
                }
                // The path is a file instead of a directory, or a directory instead of a file.
                _ => return Err(UnmetPrecondition::PathConflict(here).into()),
            }
            above = here;
        }
        Ok(None)
    }

    /// Returns all entries of a directory. A part would not prove that a file is absent.
    pub(super) async fn entries(&self, sha: &str) -> Result<Vec<RawEntry>, Failure> {
        let tree: RawTree = self.read("git/trees", sha).await?;
        match tree.truncated {
            false => Ok(tree.tree),
            true => Err(ExchangeFailure::large().into()),
        }
    }

    /// Creates the base's tree with the files in it and returns its SHA.
    async fn tree(
        &self,
        base: &str,
        files: &[NewFile],
        modes: &BTreeMap<String, String>,
    ) -> Result<String, Failure> {
        let mut entries = Vec::with_capacity(files.len());
        for file in files {
            let content = STANDARD.encode(&file.bytes);
            let body = json!({ "content": content, "encoding": "base64" });
            let Sha { sha } = self.make("git/blobs", body).await?;
            let mode = modes.get(&file.path).map_or(PLAIN, String::as_str);
            entries.push(json!({ "path": file.path, "mode": mode, "type": "blob", "sha": sha }));
        }
        let body = json!({ "base_tree": base, "tree": entries });
        let Sha { sha } = self.make("git/trees", body).await?;
        Ok(sha)
    }

    /// Moves the branch from the parent to the new commit. Fails if it is at another commit.
    pub(super) async fn advance(&self, parent: &str, sha: &str) -> Result<(), Failure> {
        let change = GithubWrite {
            method: Method::PATCH,
            route: Route::of(self.repo)
                .then("git/refs/heads")
                .names(self.branch),
            body: Some(json!({ "sha": sha, "force": false })),
            step: RequestKind::Write,
            missing: self.missing(),
        };
        let failure = match self.api.change(self.context, change).await {
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        if let Failure::GithubErrorResponse(GithubErrorResponse {
            status: 409 | 422, ..
        }) = failure
        {
            let now = head(self.api, self.context, self.repo, self.branch).await;
            if now.is_ok_and(|now| now != parent) {
                return Err(UnmetPrecondition::BranchMoved(self.branch.to_owned()).into());
            }
        }
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_cannot_be_a_directory_of_another() {
        let of = |paths: &[&str]| {
            let files = paths.iter().map(|path| NewFile {
                path: (*path).to_owned(),
                bytes: Vec::new(),
            });
            nested(&files.collect::<Vec<_>>())
        };
        assert_eq!(of(&["a", "a.b", "b/c", "ab"]), None);
        assert_eq!(of(&["a/b", "a.b", "a"]), Some("a".to_owned()));
        assert_eq!(of(&["x/y/z", "x/y"]), Some("x/y".to_owned()));
        assert_eq!(of(&[]), None);
    }
}
