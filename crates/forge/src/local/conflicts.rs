//! Names the paths that stop a merge. The merge is made again in memory, because only a merge that fails
//! needs them.

use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::pull_head::PullHead;
use super::repository_root::OpenRepository;
use super::tree_merge::{TreeMerge, TreeMerger};
use crate::{Conflict, ConflictKind, ConflictReport, Failure, PullRequest, RepoName};
use git2::{Index, IndexConflict, IndexEntry, Oid};
use std::sync::Arc;

const WHAT: &str = "the conflicts could not be read";

/// Returns the kind of a conflict by the sides that have an entry.
fn conflict_kind(conflict: &IndexConflict) -> ConflictKind {
    let path = |entry: &Option<IndexEntry>| entry.as_ref().map(|entry| entry.path.clone());
    let sides = [&conflict.ancestor, &conflict.our, &conflict.their];
    let paths: Vec<_> = sides.iter().filter_map(|side| path(side)).collect();
    if paths.windows(2).any(|pair| pair[0] != pair[1]) {
        return ConflictKind::Rename;
    }
    match (&conflict.ancestor, &conflict.our, &conflict.their) {
        (None, Some(_), Some(_)) => ConflictKind::AddAdd,
        (Some(_), Some(ours), Some(theirs)) if ours.id == theirs.id => ConflictKind::Mode,
        (Some(_), Some(_), Some(_)) => ConflictKind::Content,
        (Some(_), Some(_), None) | (Some(_), None, Some(_)) => ConflictKind::DeleteModify,
        // The two ends of a rename stand alone.
        _ => ConflictKind::Rename,
    }
}

/// Returns the conflicts of an index, sorted by path.
pub(super) fn of_index(index: &Index) -> Result<Vec<Conflict>, Failure> {
    let mut conflicts = Vec::new();
    for conflict in index.conflicts().or_broken(WHAT)? {
        let conflict = conflict.or_broken(WHAT)?;
        let sides = [&conflict.our, &conflict.their, &conflict.ancestor];
        let Some(entry) = sides.into_iter().flatten().next() else {
            continue;
        };
        conflicts.push(Conflict {
            path: String::from_utf8_lossy(&entry.path).into_owned(),
            kind: conflict_kind(&conflict),
        });
    }
    conflicts.sort();
    conflicts.dedup_by(|later, first| later.path == first.path);
    Ok(conflicts)
}

impl OpenRepository {
    /// Returns the conflicts between two commits. Those without a common history have no list.
    pub(super) fn conflict_report(
        &self,
        ours: Oid,
        theirs: Oid,
    ) -> Result<ConflictReport, Failure> {
        self.write_to_memory()?;
        let conflicts = match TreeMerger::new(self)?.commits(ours, theirs)? {
            TreeMerge::Conflicts(conflicts) => Some(conflicts),
            TreeMerge::Tree(_) => None,
        };
        Ok(ConflictReport {
            conflicts,
            changed_on_both: None,
        })
    }
}

impl LocalForge {
    pub(super) async fn conflicts_of(
        &self,
        repo: &RepoName,
        pull: &PullRequest,
    ) -> Result<ConflictReport, Failure> {
        let location = self.location(repo).await?;
        let row = self.row(repo, pull.number).await?;
        let root = Arc::clone(&self.root);
        run_blocking(move || {
            let base = root.open_at(location)?;
            let head = PullHead::of(&root, &base, &row)?;
            let (Some(id), Some(onto)) = (head.id, base.branch(&row.base)?) else {
                return Ok(ConflictReport::default());
            };
            head.share_objects(&base)?;
            base.conflict_report(onto, id)
        })
        .await
    }
}
