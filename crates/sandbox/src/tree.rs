//! Plans the file tree of a process at the full level: the paths that are mounted, the links that lead to
//! them, and the hidden paths that are covered.

use crate::error::{SetupStep, StartError};
use crate::grants::MAX_GRANTS;
use crate::job::OsText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links that are followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// A file tree. Every path is absolute and free of links.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreePlan {
    /// Parents precede what lies in them.
    pub(crate) mounts: Vec<MountPlan>,
    /// Symbolic links and their targets. Those that lie in a mount exist already.
    pub(crate) links: Vec<(OsText, OsText)>,
    /// Paths in a mount that are covered by an empty file or directory.
    pub(crate) covers: Vec<OsText>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MountPlan {
    pub(crate) path: OsText,
    pub(crate) writable: bool,
}

/// Plans the tree of these paths.
pub(crate) fn plan(
    read: &[PathBuf],
    write: &[PathBuf],
    hide: &[PathBuf],
) -> Result<TreePlan, StartError> {
    let mut links = BTreeSet::new();
    let hidden = top_paths(hide.iter().cloned().collect());
    let is_hidden = |path: &Path| path.ancestors().any(|above| hidden.contains(above));
    let mut writable = BTreeSet::new();
    for path in write {
        let real = resolve(path, &mut links).map_err(io_error)?;
        let real = real.ok_or_else(|| StartError::Unwritable { path: path.clone() })?;
        if !is_hidden(&real) {
            writable.insert(real);
        }
    }
    let writable = top_paths(writable);
    let mut readable = BTreeSet::new();
    for path in read {
        if let Some(real) = resolve(path, &mut links).map_err(io_error)? {
            // Both are made anew.
            let own = real.starts_with("/proc") || real.starts_with("/dev");
            let granted = real.ancestors().any(|above| writable.contains(above));
            if !own && !granted && !is_hidden(&real) {
                readable.insert(real);
            }
        }
    }
    let readable = top_paths(readable);
    if [&readable, &writable]
        .iter()
        .any(|all| all.contains(Path::new("/")))
    {
        return Err(StartError::Malformed(
            "the root of the file system cannot be granted",
        ));
    }
    let mounted: BTreeSet<&PathBuf> = readable.iter().chain(&writable).collect();
    let covers: Vec<OsText> = hidden
        .iter()
        .filter(|path| {
            path.ancestors()
                .skip(1)
                .any(|above| mounted.contains(&above.to_path_buf()))
        })
        .map(|path| OsText::from(path.clone()))
        .collect();
    if covers.len() > MAX_GRANTS {
        return Err(StartError::TooManyGrants);
    }
    let mounts = mounted.iter().map(|&path| MountPlan {
        path: OsText::from(path.clone()),
        writable: writable.contains(path),
    });
    Ok(TreePlan {
        mounts: mounts.collect(),
        links: links.into_iter().collect(),
        covers,
    })
}

/// Returns the paths that do not lie in another one.
pub(crate) fn top_paths(paths: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_top = |path: &PathBuf| !path.ancestors().skip(1).any(|above| paths.contains(above));
    paths.iter().filter(|path| is_top(path)).cloned().collect()
}

/// Follows the links in a path and records each of them. Returns `None` if the path does not exist.
fn resolve(path: &Path, links: &mut BTreeSet<(OsText, OsText)>) -> io::Result<Option<PathBuf>> {
    let mut todo: Vec<OsString> = components(path);
    let mut real = PathBuf::from("/");
    let mut followed = 0;
    while let Some(next) = todo.pop() {
        if next == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&next);
        let kind = match here.symlink_metadata() {
            Ok(found) => found.file_type(),
            // A path that this user cannot see cannot be granted either.
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !kind.is_symlink() {
            real = here;
            continue;
        }
        followed += 1;
        if followed > MAX_LINKS {
            return Ok(None);
        }
        let target = here.read_link()?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        todo.extend(components(&target));
        links.insert((OsText::from(here), OsText::from(target)));
    }
    Ok(Some(real))
}

/// Returns the components of a path, the last one first.
fn components(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    let named = parts.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).collect()
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

fn io_error(source: io::Error) -> StartError {
    StartError::Io {
        step: SetupStep::Paths,
        source,
    }
}

/// Resolves the links in the part of the path that exists.
pub(crate) fn resolve_existing(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(canonical), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return canonical.join(rest);
        }
    }
    path.to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn base() -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        for directory in [
            "tool/bin",
            "work/target/deep",
            "work/src",
            "own",
            "elsewhere",
        ] {
            fs::create_dir_all(path.join(directory)).unwrap();
        }
        (base, path)
    }

    fn planned(
        base: &Path,
        read: &[&str],
        write: &[&str],
        hide: &[&str],
    ) -> (Vec<String>, Vec<String>) {
        let paths =
            |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| base.join(name)).collect() };
        let plan = plan(&paths(read), &paths(write), &paths(hide)).unwrap();
        let short = |path: &OsText| {
            path.path()
                .strip_prefix(base)
                .unwrap()
                .display()
                .to_string()
        };
        let mounts = plan.mounts.iter().map(|mount| {
            let access = if mount.writable { "rw" } else { "ro" };
            format!("{access} {}", short(&mount.path))
        });
        (mounts.collect(), plan.covers.iter().map(short).collect())
    }

    #[test]
    fn hidden_wins_over_writable_and_writable_over_readable() {
        let (_base, base) = base();
        let (mounts, covers) = planned(
            &base,
            &[
                "work",
                "work/src",
                "work/target/deep",
                "own",
                "tool",
                "missing",
            ],
            &["work/target", "own"],
            &["own", "work/.env", "elsewhere", "tool/bin/x", "tool/bin"],
        );
        assert_eq!(mounts, ["ro tool", "ro work", "rw work/target"]);
        assert_eq!(covers, ["tool/bin", "work/.env"]);
    }

    #[test]
    fn links_on_the_way_are_recorded_and_their_targets_mounted() {
        let (_base, base) = base();
        symlink("tool", base.join("first")).unwrap();
        symlink(base.join("first/bin"), base.join("second")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        let plan = plan(&[base.join("second"), base.join("loop")], &[], &[]).unwrap();
        assert_eq!(plan.mounts.len(), 1);
        assert_eq!(plan.mounts[0].path.path(), base.join("tool/bin"));
        let links: Vec<&Path> = plan.links.iter().map(|(link, _)| link.path()).collect();
        assert_eq!(
            links,
            [base.join("first"), base.join("loop"), base.join("second")]
        );
    }

    #[test]
    fn a_missing_writable_path_and_the_whole_system_are_refused() {
        let (_base, base) = base();
        assert!(matches!(
            plan(&[], &[base.join("missing")], &[]),
            Err(StartError::Unwritable { .. })
        ));
        assert!(matches!(
            plan(&["/".into()], &[], &[]),
            Err(StartError::Malformed(_))
        ));
    }

    #[test]
    fn a_missing_directory_is_resolved_as_far_as_it_exists() {
        let (_base, base) = base();
        symlink("tool", base.join("link")).unwrap();
        assert_eq!(
            resolve_existing(&base.join("link/a/b")),
            base.join("tool/a/b")
        );
        assert_eq!(resolve_existing(&base.join("link")), base.join("tool"));
        assert_eq!(
            resolve_existing(Path::new("/no/such")),
            Path::new("/no/such")
        );
    }
}
