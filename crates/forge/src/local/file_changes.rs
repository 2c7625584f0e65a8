//! Reads the changes of files between two commits. Renames are found as git finds them by default.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::tree_merge::TreeMerger;
use crate::{Failure, FileChange, FileChanges};
use git2::{Delta, Diff, DiffDelta, DiffFindOptions, DiffOptions, Oid, Patch};

const WHAT: &str = "the difference could not be made";

/// Larger files are treated as binary.
pub(super) const MAX_DIFFED_BYTES: i64 = 8 << 20;

/// The maximum number of files on each side that are compared to find renames.
const MAX_RENAMES: usize = 1000;

impl OpenRepository {
    /// Returns the difference between two commits. A commit without a parent differs from nothing. New
    /// objects of this handle stay in memory from now on.
    pub(super) fn difference(&self, from: Option<Oid>, to: Oid) -> Result<Diff<'_>, Failure> {
        self.write_to_memory()?;
        let (from, to) = TreeMerger::new(self)?.differing_parts(from, to)?;
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

/// Returns the first files of a difference, with whole patches as long as they fit into `room` bytes.
pub(super) fn file_changes(
    diff: &Diff<'_>,
    max_files: usize,
    mut room: usize,
) -> Result<FileChanges, Failure> {
    let mut order = ordered(diff);
    let mut truncated = order.len() > max_files;
    order.truncate(max_files);
    let mut files = Vec::with_capacity(order.len());
    for (path, index) in order {
        let delta = diff.get_delta(index);
        let mut file = FileChange {
            path: lossy(&path),
            previous_path: delta.as_ref().and_then(previous_path),
            status: status(delta.map_or(Delta::Modified, |delta| delta.status())).to_owned(),
            additions: 0,
            deletions: 0,
            patch: None,
        };
        if let Some(mut patch) = Patch::from_diff(diff, index).or_broken(WHAT)? {
            let (_, additions, deletions) = patch.line_stats().or_broken(WHAT)?;
            (file.additions, file.deletions) = (additions as u64, deletions as u64);
            if patch.num_hunks() > 0 {
                file.patch = patch_text(&mut patch, room)?;
                truncated |= file.patch.is_none();
            }
        }
        room -= file.patch.as_ref().map_or(0, String::len).min(room);
        files.push(file);
    }
    Ok(FileChanges { files, truncated })
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Returns the files of a difference in the byte order of their paths.
fn ordered(diff: &Diff<'_>) -> Vec<(Vec<u8>, usize)> {
    let deltas = diff.deltas().enumerate();
    let mut order: Vec<(Vec<u8>, usize)> = deltas
        .map(|(index, delta)| {
            let new = delta.new_file().path_bytes();
            let path = new.or_else(|| delta.old_file().path_bytes());
            (path.unwrap_or_default().to_vec(), index)
        })
        .collect();
    order.sort();
    order
}

fn previous_path(delta: &DiffDelta<'_>) -> Option<String> {
    let moved = matches!(delta.status(), Delta::Renamed | Delta::Copied);
    let old = delta.old_file().path_bytes().filter(|_| moved)?;
    Some(lossy(old))
}

/// Returns GitHub's word for a change.
fn status(delta: Delta) -> &'static str {
    match delta {
        Delta::Added | Delta::Copied => "added",
        Delta::Deleted => "removed",
        Delta::Renamed => "renamed",
        Delta::Typechange => "changed",
        _ => "modified",
    }
}

/// Returns a patch from its first hunk on, and `None` if it exceeds `most` bytes.
fn patch_text(patch: &mut Patch<'_>, most: usize) -> Result<Option<String>, Failure> {
    if patch.size(true, true, false) > most {
        return Ok(None);
    }
    let whole = patch.to_buf().or_broken(WHAT)?;
    let lines = whole.split_inclusive(|&byte| byte == b'\n');
    let hunks = lines.skip_while(|line| !line.starts_with(b"@@"));
    let text = String::from_utf8_lossy(&hunks.collect::<Vec<_>>().concat()).into_owned();
    Ok(Some(text).filter(|text| text.len() <= most))
}
