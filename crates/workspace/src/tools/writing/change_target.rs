//! The first checks of a change: its paths resolve to files beneath the root that may be written.

use super::RequestedChange;
use crate::failure::Failure;
use crate::notes::Subject;
use crate::path::{
    FileKind, MAX_MADE_DIRS, PathError, ResolvedPath, TypedPath, resolve_new_path, resolve_path,
};
use crate::protected::is_write_protected;
use crate::tools::ToolContext;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A resolved path that may be written.
pub(super) struct WriteTarget {
    pub(super) path: String,
    pub(super) kind: Option<FileKind>,
    pub(super) located: ResolvedPath,
}

/// Makes the first checks: the path resolves to a file beneath the root that is not protected.
fn resolve_target(
    work: &ToolContext,
    typed: &str,
    may_make_dirs: bool,
) -> Result<WriteTarget, Failure> {
    let root = &work.session.root;
    let typed = TypedPath::read(typed, root)?;
    let located = match may_make_dirs {
        true => resolve_new_path(root, &typed)?,
        false => resolve_path(root, &typed)?,
    };
    let path = match located.real.to_str() {
        Some(path) => path.to_owned(),
        None => return Err(Failure::PathNotText(located.real)),
    };
    work.cx.notes.update(|notes| {
        if !notes.subjects.iter().any(|subject| subject.path == path) {
            let path = path.clone();
            notes.subjects.push(Subject {
                path,
                ..Subject::default()
            });
        }
    });
    if located.any(is_write_protected) {
        return Err(Failure::Protected(path));
    }
    if located.real.as_os_str().is_empty() {
        return Err(PathError::Invalid(crate::path::InvalidPath::Root).into());
    }
    let kind = located.file_stat.map(|stat| stat.kind);
    if kind == Some(FileKind::Directory) {
        return Err(Failure::IsDirectory(path));
    }
    Ok(WriteTarget {
        path,
        kind,
        located,
    })
}

/// The resolved paths of a requested change.
pub(super) struct ChangeTarget {
    /// The file that is moved.
    pub(super) from: Option<WriteTarget>,
    pub(super) to: WriteTarget,
}

impl ChangeTarget {
    pub(super) fn resolve(
        work: &ToolContext,
        requested: &RequestedChange,
    ) -> Result<ChangeTarget, Failure> {
        let from = requested.from.as_deref();
        let from = from.map(|from| resolve_target(work, from, false));
        Ok(ChangeTarget {
            from: from.transpose()?,
            to: resolve_target(work, &requested.path, requested.can_create())?,
        })
    }

    /// Returns the paths that are changed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let from = self.from.iter();
        let from = from.filter(|from| from.path != self.to.path);
        from.chain([&self.to]).map(|target| target.path.as_str())
    }

    pub(super) fn length(&self) -> usize {
        let dirs = self.to.located.missing_dirs.iter();
        let dirs = dirs.map(|dir| dir.as_os_str().len());
        self.paths().map(str::len).chain(dirs).sum()
    }

    /// Returns the directories to make that no earlier change of the call makes.
    pub(super) fn missing_dirs(&self, made: &mut BTreeSet<String>) -> Result<Vec<String>, Failure> {
        let mut dirs = Vec::new();
        for dir in &self.to.located.missing_dirs {
            let text = dir.to_str();
            let text = text.ok_or_else(|| Failure::PathNotText(dir.clone()))?;
            if made.insert(text.to_owned()) {
                dirs.push(text.to_owned());
            }
        }
        match made.len() > MAX_MADE_DIRS {
            true => Err(PathError::ParentMissing {
                parent: PathBuf::from(dirs.pop().unwrap_or_default()),
            }
            .into()),
            false => Ok(dirs),
        }
    }
}
