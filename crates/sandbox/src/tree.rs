//! Plans the file tree of a process at the full level: the paths that are mounted, the links that lead to
//! them, and the hidden paths that are covered.

use crate::error::StartError;
use crate::grants::MAX_GRANTS;
use crate::job::OsText;
use crate::paths::{Links, ResolvedPath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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

/// Plans the tree of these paths. No hidden path lies in another one.
pub(crate) fn plan(
    read: &[ResolvedPath],
    write: &[ResolvedPath],
    hidden: &BTreeSet<PathBuf>,
    links: Links,
) -> Result<TreePlan, StartError> {
    let is_hidden = |path: &Path| path.ancestors().any(|above| hidden.contains(above));
    let mut writable = BTreeSet::new();
    for path in write {
        let unwritable = || StartError::Unwritable {
            path: path.typed.clone(),
        };
        let real = path.real.as_ref().ok_or_else(unwritable)?;
        if !is_hidden(real) {
            writable.insert(real.clone());
        }
    }
    let writable = top_paths(writable);
    let mut readable = BTreeSet::new();
    for real in read.iter().filter_map(|path| path.real.as_ref()) {
        // Both are made anew.
        let own = real.starts_with("/proc") || real.starts_with("/dev");
        let granted = real.ancestors().any(|above| writable.contains(above));
        if !own && !granted && !is_hidden(real) {
            readable.insert(real.clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::PathResolver;
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

    fn plan_paths(
        read: &[PathBuf],
        write: &[PathBuf],
        hide: &[PathBuf],
    ) -> Result<TreePlan, StartError> {
        let mut resolver = PathResolver::default();
        let mut links = Links::new();
        let read = resolver.resolve_all(read, &mut links)?;
        let write = resolver.resolve_all(write, &mut links)?;
        plan(
            &read,
            &write,
            &top_paths(hide.iter().cloned().collect()),
            links,
        )
    }

    fn planned(
        base: &Path,
        read: &[&str],
        write: &[&str],
        hide: &[&str],
    ) -> (Vec<String>, Vec<String>) {
        let paths =
            |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| base.join(name)).collect() };
        let plan = plan_paths(&paths(read), &paths(write), &paths(hide)).unwrap();
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
        let plan = plan_paths(&[base.join("second"), base.join("loop")], &[], &[]).unwrap();
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
            plan_paths(&[], &[base.join("missing")], &[]),
            Err(StartError::Unwritable { .. })
        ));
        assert!(matches!(
            plan_paths(&["/".into()], &[], &[]),
            Err(StartError::Malformed(_))
        ));
    }
}
