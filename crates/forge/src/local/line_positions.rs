//! Lines of a pull request: which of them can be commented on, and where a commented line is now.

use super::comments::StoredComment;
use super::errors::OrBroken;
use super::file_changes::MAX_DIFFED_BYTES;
use super::pull_details::ends;
use super::repository_root::{OpenRepository, RepositoryRoot};
use super::stored_pulls::StoredPull;
use crate::{DiffSide, Failure, LineComment, UnmetPrecondition};
use git2::{Blob, Diff, DiffOptions, ErrorCode, Oid, Patch};
use std::collections::BTreeMap;
use std::path::Path;

const WHAT: &str = "the commented lines could not be read";

/// The lines of one file that a difference shows, with three lines around each change.
#[derive(Debug, Default)]
struct ShownLines {
    left: Vec<u64>,
    right: Vec<u64>,
}

impl ShownLines {
    fn of(diff: &Diff<'_>, path: &str) -> Result<ShownLines, Failure> {
        let mut shown = ShownLines::default();
        let is_wanted = |index: &usize| {
            let delta = diff.get_delta(*index);
            let sides =
                delta.map(|delta| [delta.new_file().path_bytes(), delta.old_file().path_bytes()]);
            let name = sides.and_then(|[new, old]| new.or(old));
            name == Some(path.as_bytes())
        };
        let Some(index) = (0..diff.deltas().len()).find(is_wanted) else {
            return Ok(shown);
        };
        let Some(patch) = Patch::from_diff(diff, index).or_broken(WHAT)? else {
            return Ok(shown);
        };
        for hunk in 0..patch.num_hunks() {
            for line in 0..patch.num_lines_in_hunk(hunk).or_broken(WHAT)? {
                let line = patch.line_in_hunk(hunk, line).or_broken(WHAT)?;
                if !matches!(line.origin(), ' ' | '+' | '-') {
                    continue;
                }
                shown.left.extend(line.old_lineno().map(u64::from));
                shown.right.extend(line.new_lineno().map(u64::from));
            }
        }
        Ok(shown)
    }

    fn has(&self, side: DiffSide, line: u64) -> bool {
        // The lines of a difference are in order.
        match side {
            DiffSide::Left => self.left.binary_search(&line).is_ok(),
            DiffSide::Right => self.right.binary_search(&line).is_ok(),
        }
    }
}

/// Returns the line of a new file that an old line has become, `None` if it was changed or a file is too
/// large to be compared.
fn moved_line(old: &Blob<'_>, new: &Blob<'_>, line: u64) -> Result<Option<u64>, Failure> {
    let is_large = |blob: &Blob<'_>| blob.size() as i64 > MAX_DIFFED_BYTES;
    if is_large(old) || is_large(new) {
        return Ok(None);
    }
    let mut options = DiffOptions::new();
    options.context_lines(0);
    let patch = Patch::from_blobs(old, None, new, None, Some(&mut options)).or_broken(WHAT)?;
    let (mut added, mut removed) = (0, 0);
    for index in 0..patch.num_hunks() {
        let (hunk, _) = patch.hunk(index).or_broken(WHAT)?;
        let [start, before, after] =
            [hunk.old_start(), hunk.old_lines(), hunk.new_lines()].map(u64::from);
        // A hunk that only adds starts at the line before it.
        let first = if before == 0 { start + 1 } else { start };
        if line < first {
            break;
        }
        if line < first + before {
            return Ok(None);
        }
        added += after;
        removed += before;
    }
    Ok(Some(line + added - removed))
}

impl OpenRepository {
    /// Fails if a comment is on a line that a pull request does not show. Returns the merge base.
    pub(super) fn check_commented_lines(
        &self,
        root: &RepositoryRoot,
        pull: &StoredPull,
        head_sha: &str,
        comments: &[LineComment],
    ) -> Result<Oid, Failure> {
        let (from, to) = ends(root, self, pull, head_sha)?;
        if comments.is_empty() {
            return Ok(from);
        }
        let diff = self.difference(Some(from), to)?;
        let mut files = BTreeMap::new();
        for comment in comments {
            let path = comment.path.as_str();
            if !files.contains_key(path) {
                files.insert(path, ShownLines::of(&diff, path)?);
            }
            let first = comment.start_line.unwrap_or(comment.line);
            let outside = [first, comment.line].into_iter().find(|line| {
                let shown = files.get(path);
                !shown.is_some_and(|shown| shown.has(comment.side, *line))
            });
            let backwards = (first > comment.line).then_some(first);
            if let Some(line) = outside.or(backwards) {
                return Err(Failure::Unmet(UnmetPrecondition::LineOutsideDiff {
                    path: comment.path.clone(),
                    line,
                    side: comment.side,
                }));
            }
        }
        Ok(from)
    }

    /// Returns the line of each comment as it is now, `None` for a comment without a line and for one whose
    /// line has changed.
    pub(super) fn pull_positions(
        &self,
        root: &RepositoryRoot,
        pull: &StoredPull,
        comments: &[StoredComment],
    ) -> Result<Vec<Option<u64>>, Failure> {
        if comments.iter().all(|comment| comment.lines.is_none()) {
            return Ok(vec![None; comments.len()]);
        }
        let head = super::mergeability::PullStatus::of(root, self, pull, false)?.head_sha;
        // A base that was deleted leaves nothing to compare with.
        let Ok((base_now, head_now)) = ends(root, self, pull, &head) else {
            return Ok(vec![None; comments.len()]);
        };
        let position = |comment: &StoredComment| {
            let Some(lines) = &comment.lines else {
                return Ok(None);
            };
            let (then, now) = match lines.side {
                DiffSide::Left => (&lines.base_sha, base_now),
                DiffSide::Right => (&lines.commit_sha, head_now),
            };
            let then = Oid::from_str(then).or_broken(WHAT)?;
            self.line_now(&lines.path, lines.line, then, now)
        };
        comments.iter().map(position).collect()
    }

    fn line_now(&self, path: &str, line: u64, then: Oid, now: Oid) -> Result<Option<u64>, Failure> {
        if then == now {
            return Ok(Some(line));
        }
        match (self.blob_of(then, path)?, self.blob_of(now, path)?) {
            (Some(old), Some(new)) if old.id() == new.id() => Ok(Some(line)),
            (Some(old), Some(new)) => moved_line(&old, &new, line),
            _ => Ok(None),
        }
    }

    /// Returns a file of a commit. A commit that a collection of garbage has removed has none.
    fn blob_of(&self, commit: Oid, path: &str) -> Result<Option<Blob<'_>>, Failure> {
        let found = self
            .git
            .find_commit(commit)
            .and_then(|commit| commit.tree())
            .and_then(|tree| tree.get_path(Path::new(path)))
            .and_then(|entry| self.git.find_blob(entry.id()));
        match found {
            Ok(blob) => Ok(Some(blob)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).or_broken(WHAT),
        }
    }
}
