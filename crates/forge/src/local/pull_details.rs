//! Reads the files of a pull request: the difference between its merge base and its head.

use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::pull_head::PullHead;
use super::repository_root::{OpenRepository, RepositoryRoot};
use super::stored_pulls::{StoredPull, StoredState};
use crate::{Failure, MissingItem, PullDetails, PullFileChange, PullRequest, RepoName};
use git2::{Delta, Diff, DiffFindOptions, DiffOptions, Oid, Patch};
use std::sync::Arc;

const WHAT: &str = "the difference could not be made";

/// The maximum number of files, as on GitHub.
pub const MAX_FILES: usize = 3000;

/// Larger files are treated as binary.
const MAX_DIFFED_BYTES: i64 = 8 << 20;

/// The maximum number of files on each side that are compared to find renames.
const MAX_RENAMES: usize = 1000;

impl OpenRepository {
    fn difference(&self, from: Oid, to: Oid) -> Result<Diff<'_>, Failure> {
        self.require_shallow(&[from, to])?;
        let (from, to) = (self.commit_at(from)?, self.commit_at(to)?);
        let (from, to) = (from.tree().or_broken(WHAT)?, to.tree().or_broken(WHAT)?);
        let mut options = DiffOptions::new();
        options.max_size(MAX_DIFFED_BYTES).include_typechange(true);
        let diff = self
            .git
            .diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options));
        let mut diff = diff.or_broken(WHAT)?;
        let mut renames = DiffFindOptions::new();
        renames.renames(true).rename_limit(MAX_RENAMES);
        diff.find_similar(Some(&mut renames)).or_broken(WHAT)?;
        Ok(diff)
    }
}

fn status(delta: Delta) -> &'static str {
    match delta {
        Delta::Added | Delta::Copied => "added",
        Delta::Deleted => "removed",
        Delta::Renamed => "renamed",
        Delta::Typechange => "changed",
        _ => "modified",
    }
}

/// Returns the files of a difference, with patches of at most `most` bytes in total.
fn files(diff: &Diff<'_>, most: usize) -> Result<(Vec<PullFileChange>, bool), Failure> {
    let mut order: Vec<(Vec<u8>, usize)> = diff
        .deltas()
        .enumerate()
        .map(|(index, delta)| {
            let new = delta.new_file().path_bytes();
            let path = new.or_else(|| delta.old_file().path_bytes());
            (path.unwrap_or_default().to_vec(), index)
        })
        .collect();
    order.sort();
    let mut truncated = order.len() > MAX_FILES;
    order.truncate(MAX_FILES);
    let mut left = most;
    let mut files = Vec::with_capacity(order.len());
    for (path, index) in order {
        let delta = diff.get_delta(index).map(|delta| delta.status());
        let mut file = PullFileChange {
            path: String::from_utf8_lossy(&path).into_owned(),
            status: status(delta.unwrap_or(Delta::Modified)).to_owned(),
            additions: 0,
            deletions: 0,
            patch: None,
        };
        if let Some(mut patch) = Patch::from_diff(diff, index).or_broken(WHAT)? {
            let (_, additions, deletions) = patch.line_stats().or_broken(WHAT)?;
            (file.additions, file.deletions) = (additions as u64, deletions as u64);
            if patch.num_hunks() > 0 {
                file.patch = text(&mut patch, left)?;
                truncated |= file.patch.is_none();
            }
        }
        left -= file.patch.as_ref().map_or(0, String::len).min(left);
        files.push(file);
    }
    Ok((files, truncated))
}

/// Returns a patch from its first hunk on, and `None` if it exceeds `most` bytes.
fn text(patch: &mut Patch<'_>, most: usize) -> Result<Option<String>, Failure> {
    if patch.size(true, true, false) > most {
        return Ok(None);
    }
    let whole = patch.to_buf().or_broken(WHAT)?;
    let lines = whole.split_inclusive(|&byte| byte == b'\n');
    let hunks = lines.skip_while(|line| !line.starts_with(b"@@"));
    let text = String::from_utf8_lossy(&hunks.collect::<Vec<_>>().concat()).into_owned();
    Ok(Some(text).filter(|text| text.len() <= most))
}

/// Returns the two commits between which a pull request changes files.
fn ends(
    root: &RepositoryRoot,
    base: &OpenRepository,
    pull: &StoredPull,
    head_sha: &str,
) -> Result<(Oid, Oid), Failure> {
    let id = |sha: &str| Oid::from_str(sha).or_broken("a head is no commit");
    PullHead::of(root, base, pull)?.share_objects(base)?;
    let head = id(head_sha)?;
    let onto = match (&pull.merging_from, pull.state) {
        // The base contains the changes now, so they are compared with the base before the merge.
        (Some(from), StoredState::Merged | StoredState::Merging) => id(from)?,
        _ => {
            let onto = base.branch(&pull.base)?;
            onto.ok_or_else(|| MissingItem::Branch(pull.base.clone()))?
        }
    };
    let from = base.merge_base(onto, head)?;
    Ok((from.unwrap_or(onto), head))
}

impl LocalForge {
    pub(super) async fn details_of(
        &self,
        repo: &RepoName,
        pull: &PullRequest,
        most: usize,
    ) -> Result<PullDetails, Failure> {
        let location = self.location(repo).await?;
        let row = self.row(repo, pull.number).await?;
        let (root, head_sha) = (Arc::clone(&self.root), pull.head_sha.clone());
        run_blocking(move || {
            let base = root.open_at(location)?;
            let (from, to) = ends(&root, &base, &row, &head_sha)?;
            let (files, truncated) = files(&base.difference(from, to)?, most)?;
            Ok(PullDetails {
                reviews: Vec::new(),
                files,
                truncated,
            })
        })
        .await
    }
}
