//! Plans a commit: which entries of a tree are written and which are removed. The plan depends only on
//! the parent's tree, so a file never becomes a directory, or the reverse, in one commit.

use crate::{Failure, ItemKind, MissingItem, PathChange, PathOperation, UnmetPrecondition};
use std::collections::BTreeMap;

/// The modes of plain files.
const PLAIN: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;

/// Occurrences of a text are counted up to this number.
pub const MAX_OCCURRENCES: usize = 100;

/// An entry of the parent's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) kind: ItemKind,
    pub(crate) mode: u32,
    pub(crate) id: String,
}

/// The state of a path in the parent's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathState {
    Missing(MissingItem),
    /// A part of the path before the last is not a directory.
    BelowFile,
    Found(FoundEntry),
}

/// The content of a planned entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlannedContent {
    Bytes(Vec<u8>),
    /// An object that exists.
    Object(String),
}

/// An entry to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedEntry {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: PlannedContent,
}

/// The entries to write and to remove.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangePlan {
    pub(crate) written: Vec<PlannedEntry>,
    /// Each path with its mode.
    pub(crate) removed: Vec<(String, u32)>,
}

/// Returns every path of the changes, and whether it must exist.
pub(crate) fn paths(changes: &[PathChange]) -> impl Iterator<Item = (&str, bool)> {
    changes.iter().flat_map(|change| {
        let must_exist = !matches!(change.operation, PathOperation::Write { .. });
        let to = match &change.operation {
            PathOperation::Move { to, .. } => Some((to.as_str(), false)),
            _ => None,
        };
        [(change.path.as_str(), must_exist)].into_iter().chain(to)
    })
}

/// Returns the paths whose content is edited.
pub(crate) fn edited(changes: &[PathChange]) -> impl Iterator<Item = &str> {
    let edits = changes
        .iter()
        .filter(|change| matches!(change.operation, PathOperation::Edit { .. }));
    edits.map(|change| change.path.as_str())
}

/// Returns the entry whose text is edited.
pub(crate) fn editable<'a>(path: &str, state: &'a PathState) -> Result<&'a FoundEntry, Failure> {
    let found = existing(path, state)?;
    match found.kind {
        ItemKind::Dir => Err(UnmetPrecondition::DirectoryChanged(path.to_owned()).into()),
        ItemKind::Submodule => Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into()),
        ItemKind::File | ItemKind::Symlink => Ok(found),
    }
}

fn existing<'a>(path: &str, state: &'a PathState) -> Result<&'a FoundEntry, Failure> {
    match state {
        PathState::Found(found) => Ok(found),
        PathState::Missing(missing) => Err(missing.clone().into()),
        PathState::BelowFile => Err(MissingItem::Path(path.to_owned()).into()),
    }
}

fn mode(executable: bool) -> u32 {
    match executable {
        true => EXECUTABLE,
        false => PLAIN,
    }
}

/// The parent's tree as far as the changes need it.
pub(crate) struct ParentTree<'a> {
    pub(crate) states: BTreeMap<&'a str, PathState>,
    /// The bytes of edited files.
    pub(crate) contents: BTreeMap<&'a str, Vec<u8>>,
}

impl ParentTree<'_> {
    /// Plans the changes. Fails with the first change that is refused.
    pub(crate) fn plan(&self, changes: &[PathChange]) -> Result<ChangePlan, Failure> {
        let mut plan = ChangePlan::default();
        for change in changes {
            self.add(change, &mut plan)?;
        }
        match nested(&plan.written) {
            Some(path) => Err(UnmetPrecondition::PathConflict(path).into()),
            None => Ok(plan),
        }
    }

    fn state(&self, path: &str) -> PathState {
        let state = self.states.get(path).cloned();
        state.unwrap_or_else(|| PathState::Missing(MissingItem::Path(path.to_owned())))
    }

    fn add(&self, change: &PathChange, plan: &mut ChangePlan) -> Result<(), Failure> {
        let path = change.path.as_str();
        let state = self.state(path);
        match &change.operation {
            PathOperation::Write { bytes, executable } => {
                let mode = written_mode(path, &state, *executable)?;
                let content = PlannedContent::Bytes(bytes.clone());
                plan.write(path, mode, content);
            }
            PathOperation::Edit { old_text, new_text } => {
                let mode = editable(path, &state)?.mode;
                let bytes = self.contents.get(path).map(Vec::as_slice);
                let text = replace_only(path, bytes.unwrap_or_default(), old_text, new_text)?;
                plan.write(path, mode, PlannedContent::Bytes(text.into_bytes()));
            }
            PathOperation::Delete => {
                let found = existing(path, &state)?;
                refuse_directory(path, found)?;
                plan.removed.push((path.to_owned(), found.mode));
            }
            PathOperation::Move { to, bytes } => {
                let found = existing(path, &state)?;
                refuse_directory(path, found)?;
                if found.kind == ItemKind::Submodule && bytes.is_some() {
                    return Err(UnmetPrecondition::IsSubmodule(path.to_owned()).into());
                }
                match self.state(to) {
                    PathState::Missing(_) => {}
                    PathState::BelowFile => {
                        return Err(UnmetPrecondition::PathConflict(to.clone()).into());
                    }
                    PathState::Found(_) => {
                        return Err(UnmetPrecondition::PathExists(to.clone()).into());
                    }
                }
                let same = || PlannedContent::Object(found.id.clone());
                let content = bytes.clone().map_or_else(same, PlannedContent::Bytes);
                plan.removed.push((path.to_owned(), found.mode));
                plan.write(to, found.mode, content);
            }
            PathOperation::Chmod { executable } => {
                let found = existing(path, &state)?;
                if found.kind != ItemKind::File {
                    return Err(UnmetPrecondition::NotAPlainFile(path.to_owned()).into());
                }
                let content = PlannedContent::Object(found.id.clone());
                plan.write(path, mode(*executable), content);
            }
        }
        Ok(())
    }
}

impl ChangePlan {
    fn write(&mut self, path: &str, mode: u32, content: PlannedContent) {
        self.written.push(PlannedEntry {
            path: path.to_owned(),
            mode,
            content,
        });
    }
}

fn refuse_directory(path: &str, found: &FoundEntry) -> Result<(), Failure> {
    match found.kind {
        ItemKind::Dir => Err(UnmetPrecondition::DirectoryChanged(path.to_owned()).into()),
        ItemKind::File | ItemKind::Symlink | ItemKind::Submodule => Ok(()),
    }
}

/// Returns the mode of a written file. An existing one keeps its mode unless `executable` is given.
fn written_mode(path: &str, state: &PathState, executable: Option<bool>) -> Result<u32, Failure> {
    let path = || path.to_owned();
    match state {
        PathState::Missing(_) => Ok(mode(executable.unwrap_or(false))),
        PathState::BelowFile => Err(UnmetPrecondition::PathConflict(path()).into()),
        PathState::Found(found) => match (found.kind, executable) {
            (ItemKind::Dir, _) => Err(UnmetPrecondition::PathConflict(path()).into()),
            (ItemKind::Submodule, _) => Err(UnmetPrecondition::IsSubmodule(path()).into()),
            (ItemKind::Symlink, Some(_)) => Err(UnmetPrecondition::NotAPlainFile(path()).into()),
            (ItemKind::File, Some(executable)) => Ok(mode(executable)),
            (ItemKind::File | ItemKind::Symlink, None) => Ok(found.mode),
        },
    }
}

/// Replaces the only occurrence of a text. Overlapping occurrences count.
fn replace_only(path: &str, bytes: &[u8], old: &str, new: &str) -> Result<String, Failure> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(UnmetPrecondition::NotText(path.to_owned()).into());
    };
    let first = text.find(old);
    match (first, occurrences(text, old)) {
        (Some(at), 1) => Ok([&text[..at], new, &text[at + old.len()..]].concat()),
        (_, occurrences) => Err(UnmetPrecondition::NotOneOccurrence {
            path: path.to_owned(),
            occurrences,
        }
        .into()),
    }
}

fn occurrences(text: &str, wanted: &str) -> usize {
    let (mut count, mut rest) = (0, text);
    while count < MAX_OCCURRENCES {
        let Some(at) = rest.find(wanted) else { break };
        count += 1;
        let step = rest[at..].chars().next().map_or(1, char::len_utf8);
        rest = &rest[at + step..];
    }
    count
}

/// Returns a written path that another one uses as a directory.
fn nested(written: &[PlannedEntry]) -> Option<String> {
    let mut paths: Vec<&str> = written.iter().map(|entry| entry.path.as_str()).collect();
    // Byte order would put `a.b` between `a` and `a/b`.
    paths.sort_by(|left, right| left.split('/').cmp(right.split('/')));
    let mut pairs = paths.iter().zip(paths.iter().skip(1));
    let found = pairs.find(|(above, below)| {
        let rest = below.strip_prefix(**above);
        rest.is_some_and(|rest| rest.starts_with('/'))
    });
    found.map(|(above, _)| (*above).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: ItemKind, mode: u32) -> PathState {
        PathState::Found(FoundEntry {
            kind,
            mode,
            id: String::from("id"),
        })
    }

    fn plan(operations: &[(&str, PathOperation)]) -> Result<ChangePlan, Failure> {
        let changes: Vec<_> = operations
            .iter()
            .map(|(path, operation)| PathChange {
                path: (*path).to_owned(),
                operation: operation.clone(),
            })
            .collect();
        let states = BTreeMap::from([
            ("file", entry(ItemKind::File, EXECUTABLE)),
            ("dir", entry(ItemKind::Dir, 0o040_000)),
            ("link", entry(ItemKind::Symlink, 0o120_000)),
            ("sub", entry(ItemKind::Submodule, 0o160_000)),
            ("file/below", PathState::BelowFile),
        ]);
        let contents = BTreeMap::from([
            ("file", b"one two one".to_vec()),
            ("link", b"target".to_vec()),
        ]);
        ParentTree { states, contents }.plan(&changes)
    }

    fn write(text: &str, executable: Option<bool>) -> PathOperation {
        PathOperation::Write {
            bytes: text.as_bytes().to_vec(),
            executable,
        }
    }

    fn edit(old: &str, new: &str) -> PathOperation {
        PathOperation::Edit {
            old_text: old.to_owned(),
            new_text: new.to_owned(),
        }
    }

    fn to(path: &str) -> PathOperation {
        PathOperation::Move {
            to: path.to_owned(),
            bytes: None,
        }
    }

    fn refusal(path: &str, operation: PathOperation) -> Failure {
        plan(&[(path, operation)]).unwrap_err()
    }

    #[test]
    fn modes_are_kept_unless_given() {
        let made = plan(&[
            ("new", write("a", None)),
            ("tool", write("b", Some(true))),
            ("file", write("c", None)),
        ]);
        let modes: Vec<_> = made
            .unwrap()
            .written
            .into_iter()
            .map(|one| one.mode)
            .collect();
        assert_eq!(modes, [PLAIN, EXECUTABLE, EXECUTABLE]);
        let made = plan(&[("file", PathOperation::Chmod { executable: false })]).unwrap();
        let entry = &made.written[0];
        assert_eq!(
            (entry.mode, &entry.content),
            (PLAIN, &PlannedContent::Object(String::from("id")))
        );
        let made = plan(&[("link", to("other"))]).unwrap();
        assert_eq!(made.removed, [(String::from("link"), 0o120_000)]);
        assert_eq!(made.written[0].mode, 0o120_000);
    }

    #[test]
    fn kinds_of_entries_are_respected() {
        let unmet = |unmet: UnmetPrecondition| Failure::Unmet(unmet);
        let text = String::from;
        let missing = |path: &str| Failure::Missing(MissingItem::Path(path.to_owned()));
        let chmod = || PathOperation::Chmod { executable: true };
        for (path, operation, expected) in [
            (
                "dir",
                write("", None),
                unmet(UnmetPrecondition::PathConflict(text("dir"))),
            ),
            (
                "file/below",
                write("", None),
                unmet(UnmetPrecondition::PathConflict(text("file/below"))),
            ),
            (
                "sub",
                write("", None),
                unmet(UnmetPrecondition::IsSubmodule(text("sub"))),
            ),
            (
                "link",
                write("", Some(true)),
                unmet(UnmetPrecondition::NotAPlainFile(text("link"))),
            ),
            ("none", edit("a", "b"), missing("none")),
            ("file/below", edit("a", "b"), missing("file/below")),
            (
                "dir",
                edit("a", "b"),
                unmet(UnmetPrecondition::DirectoryChanged(text("dir"))),
            ),
            ("none", PathOperation::Delete, missing("none")),
            (
                "dir",
                PathOperation::Delete,
                unmet(UnmetPrecondition::DirectoryChanged(text("dir"))),
            ),
            ("none", to("x"), missing("none")),
            (
                "dir",
                to("x"),
                unmet(UnmetPrecondition::DirectoryChanged(text("dir"))),
            ),
            (
                "file",
                to("link"),
                unmet(UnmetPrecondition::PathExists(text("link"))),
            ),
            (
                "link",
                to("file/below"),
                unmet(UnmetPrecondition::PathConflict(text("file/below"))),
            ),
            ("none", chmod(), missing("none")),
            (
                "link",
                chmod(),
                unmet(UnmetPrecondition::NotAPlainFile(text("link"))),
            ),
            (
                "dir",
                chmod(),
                unmet(UnmetPrecondition::NotAPlainFile(text("dir"))),
            ),
        ] {
            assert_eq!(
                refusal(path, operation.clone()),
                expected,
                "{path} {operation:?}"
            );
        }
    }

    #[test]
    fn text_is_replaced_if_it_occurs_once() {
        let made = plan(&[("file", edit("two", "2")), ("link", edit("get", "sk"))]).unwrap();
        let texts: Vec<_> = made.written.into_iter().map(|one| one.content).collect();
        let bytes = |text: &str| PlannedContent::Bytes(text.as_bytes().to_vec());
        assert_eq!(texts, [bytes("one 2 one"), bytes("tarsk")]);
        for (old, count) in [("one", 2), ("three", 0)] {
            let path = String::from("file");
            let occurrences = count;
            let expected = UnmetPrecondition::NotOneOccurrence { path, occurrences };
            assert_eq!(refusal("file", edit(old, "")), expected.into());
        }
        assert_eq!(occurrences("aaa", "aa"), 2);
        assert_eq!(occurrences("üü", "ü"), 2);
        assert_eq!(occurrences(&"a".repeat(1000), "a"), MAX_OCCURRENCES);
        assert_eq!(occurrences("a\r\nb", "a\nb"), 0);
    }

    #[test]
    fn written_paths_do_not_contain_each_other() {
        let conflict =
            |path: &str| Failure::Unmet(UnmetPrecondition::PathConflict(path.to_owned()));
        let both = plan(&[("a/b", write("", None)), ("a", write("", None))]);
        assert_eq!(both, Err(conflict("a")));
        let moved = plan(&[("file", to("new/x")), ("new", write("", None))]);
        assert_eq!(moved, Err(conflict("new")));
        assert!(plan(&[("a", write("", None)), ("a.b", write("", None))]).is_ok());
    }
}
