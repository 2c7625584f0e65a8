//! Resolves the links in the paths of one process. Each directory and link on the way is looked up once,
//! however many paths lead through it.

use crate::error::{SetupStep, StartError};
use crate::job::OsText;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links that are followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Symbolic links and their targets.
pub(crate) type Links = BTreeSet<(OsText, OsText)>;

/// A path that was asked for, and the path without links that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    pub(crate) typed: PathBuf,
    /// `None` if it does not exist.
    pub(crate) real: Option<PathBuf>,
}

/// An entry of a directory, as it was when it was looked up.
#[derive(Debug, Clone)]
enum Entry {
    Absent,
    Link(PathBuf),
    Other,
}

/// Remembers the entries that were looked up. It is used for one start, because entries change.
#[derive(Debug, Default)]
pub(crate) struct PathResolver {
    entries: HashMap<PathBuf, Entry>,
}

impl PathResolver {
    /// Resolves paths and records each link on their way.
    pub(crate) fn resolve_all(
        &mut self,
        paths: &[PathBuf],
        links: &mut Links,
    ) -> Result<Vec<ResolvedPath>, StartError> {
        let resolve = |path: &PathBuf| {
            let real = self.resolve(path, links).map_err(|source| StartError::Io {
                step: SetupStep::Paths,
                source,
            })?;
            Ok(ResolvedPath {
                typed: path.clone(),
                real,
            })
        };
        paths.iter().map(resolve).collect()
    }

    /// Resolves the links in the part of the path that exists.
    pub(crate) fn resolve_existing(&mut self, path: &Path) -> PathBuf {
        for above in path.ancestors() {
            let real = self.resolve(above, &mut Links::new());
            if let (Ok(Some(real)), Ok(rest)) = (real, path.strip_prefix(above)) {
                // Joining nothing would add a slash.
                return match rest.as_os_str().is_empty() {
                    true => real,
                    false => real.join(rest),
                };
            }
        }
        path.to_path_buf()
    }

    /// Follows the links in a path and records each of them. Returns `None` if the path does not exist.
    fn resolve(&mut self, path: &Path, links: &mut Links) -> io::Result<Option<PathBuf>> {
        let mut todo: Vec<OsString> = components(path);
        let mut real = PathBuf::from("/");
        let mut followed = 0;
        while let Some(next) = todo.pop() {
            if next == ".." {
                real.pop();
                continue;
            }
            let here = real.join(&next);
            match self.look_up(&here)? {
                Entry::Absent => return Ok(None),
                Entry::Other => real = here,
                Entry::Link(target) => {
                    followed += 1;
                    if followed > MAX_LINKS {
                        return Ok(None);
                    }
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    todo.extend(components(target));
                    links.insert((OsText::from(here), OsText::from(target.clone())));
                }
            }
        }
        Ok(Some(real))
    }

    fn look_up(&mut self, path: &Path) -> io::Result<&Entry> {
        if !self.entries.contains_key(path) {
            let entry = match path.symlink_metadata() {
                Ok(found) if found.is_symlink() => Entry::Link(path.read_link()?),
                Ok(_) => Entry::Other,
                // A path that this user cannot see cannot be granted either.
                Err(error) if is_absent(&error) => Entry::Absent,
                Err(error) => return Err(error),
            };
            self.entries.insert(path.to_path_buf(), entry);
        }
        Ok(self.entries.get(path).unwrap_or(&Entry::Absent))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn base() -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("tool/bin")).unwrap();
        (base, path)
    }

    #[test]
    fn links_on_the_way_are_recorded() {
        let (_base, base) = base();
        symlink("tool", base.join("first")).unwrap();
        symlink(base.join("first/bin"), base.join("second")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        let typed = ["second", "loop", "first/../first", "missing/x"].map(|name| base.join(name));
        let mut links = Links::new();
        let all = PathResolver::default().resolve_all(&typed, &mut links);
        let real: Vec<_> = all.unwrap().into_iter().map(|path| path.real).collect();
        let expected = [Some("tool/bin"), None, Some("tool"), None];
        assert_eq!(real, expected.map(|name| Some(base.join(name?))));
        let links: Vec<&Path> = links.iter().map(|(link, _)| link.path()).collect();
        assert_eq!(
            links,
            ["first", "loop", "second"].map(|name| base.join(name))
        );
    }

    #[test]
    fn each_entry_is_looked_up_once() {
        let (_base, base) = base();
        symlink("tool", base.join("link")).unwrap();
        let mut resolver = PathResolver::default();
        let first = resolver.resolve_existing(&base.join("link/bin"));
        fs::remove_file(base.join("link")).unwrap();
        fs::remove_dir_all(base.join("tool")).unwrap();
        assert_eq!(first, base.join("tool/bin"));
        assert_eq!(resolver.resolve_existing(&base.join("link/bin")), first);
        let anew = PathResolver::default().resolve_existing(&base.join("link/bin"));
        assert_eq!(anew, base.join("link/bin"));
    }

    #[test]
    fn a_missing_directory_is_resolved_as_far_as_it_exists() {
        let (_base, base) = base();
        symlink("tool", base.join("link")).unwrap();
        let resolved = |path: &Path| PathResolver::default().resolve_existing(path);
        assert_eq!(resolved(&base.join("link/a/b")), base.join("tool/a/b"));
        assert_eq!(resolved(&base.join("link")), base.join("tool"));
        assert_eq!(resolved(Path::new("/no/such")), Path::new("/no/such"));
    }
}
