//! Where the repositories are: `owner/name.git` below one directory, found without case, opened
//! without following a link.
//!
//! Two directories that differ in case only are one name to the rest of the program; the first in
//! byte order is the repository, the other is not seen.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::git_files;
use crate::{Failure, MissingItem, RepoName};
use git2::{Config, ErrorCode, Repository};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What libgit2 is to do in every repository, whatever the user's or the repository's own
/// configuration says: objects and refs are on the disk before anything points to them, and no name is
/// written that some system takes for `.git`.
const GIT_CONFIG: &str = concat!(
    "[core]\n\tbare = true\n\tfsyncObjectFiles = true\n\tlogAllRefUpdates = false\n",
    "\tprotectHFS = true\n\tprotectNTFS = true\n",
);

/// The file of that configuration. No owner has this name: `~` is not in the alphabet of names.
const GIT_CONFIG_FILE: &str = "~gitconfig";

/// The directory of a forge.
#[derive(Debug)]
pub(super) struct RepositoryRoot {
    root: PathBuf,
}

/// A repository that was found.
#[derive(Debug, Clone)]
pub(super) struct RepositoryLocation {
    /// Its name as the directories spell it.
    pub(super) name: RepoName,
    pub(super) path: PathBuf,
}

/// A repository that is open.
pub(super) struct OpenRepository {
    pub(super) location: RepositoryLocation,
    pub(super) git: Repository,
}

impl RepositoryRoot {
    /// The place in a directory that is there.
    pub(super) fn new(root: PathBuf) -> Result<RepositoryRoot, LocalForgeError> {
        let config = root.join(GIT_CONFIG_FILE);
        let same = fs::read(&config).is_ok_and(|bytes| bytes == GIT_CONFIG.as_bytes());
        if !same {
            git_files::replace(&config, GIT_CONFIG.as_bytes())
                .or_broken("the configuration for git could not be written")?;
        }
        Ok(RepositoryRoot { root })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The repository of a name.
    pub(super) fn find(&self, repo: &RepoName) -> Result<RepositoryLocation, Failure> {
        let missing = || Failure::Missing(MissingItem::Repository);
        let owner = first_spelled(&self.root, repo.owner())?.ok_or_else(missing)?;
        let within = self.root.join(&owner);
        let file = first_spelled(&within, &format!("{}.git", repo.name()))?.ok_or_else(missing)?;
        let name = spelled(&owner, &file).ok_or_else(missing)?;
        Ok(RepositoryLocation {
            name,
            path: within.join(file),
        })
    }

    /// All repositories, in the order of their folded names.
    pub(super) fn all(&self) -> Result<Vec<RepositoryLocation>, Failure> {
        let mut all = Vec::new();
        for owner in directories(&self.root)? {
            let within = self.root.join(&owner);
            for file in directories(&within)? {
                if let Some(name) = spelled(&owner, &file) {
                    let path = within.join(&file);
                    all.push(RepositoryLocation { name, path });
                }
            }
        }
        all.sort_by_cached_key(|location| (location.name.folded(), location.name.to_string()));
        all.dedup_by(|later, first| later.name == first.name);
        Ok(all)
    }

    pub(super) fn open(&self, repo: &RepoName) -> Result<OpenRepository, Failure> {
        self.open_at(self.find(repo)?)
    }

    pub(super) fn open_at(&self, location: RepositoryLocation) -> Result<OpenRepository, Failure> {
        let git = match Repository::open_bare(&location.path) {
            Ok(git) => git,
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Err(MissingItem::Repository.into());
            }
            Err(error) => return Err(error).or_broken("the repository could not be opened"),
        };
        if !stays_inside(&git) {
            return Err(MissingItem::Repository.into());
        }
        self.configure(&git)?;
        Ok(OpenRepository { location, git })
    }

    /// Lets git know our configuration alone.
    pub(super) fn configure(&self, git: &Repository) -> Result<(), Failure> {
        Config::open(&self.root.join(GIT_CONFIG_FILE))
            .and_then(|config| git.set_config(&config))
            .or_broken("the configuration for git could not be read")
    }
}

/// Whether objects and refs are the repository's own: neither links, nor those of another that the
/// file `commondir` names.
fn stays_inside(git: &Repository) -> bool {
    let own = |name: &str| {
        let found = fs::symlink_metadata(git.path().join(name));
        found.is_ok_and(|found| found.is_dir())
    };
    git.commondir() == git.path() && own("objects") && own("refs")
}

impl LocalForge {
    /// Where a repository is.
    pub(super) async fn location(&self, repo: &RepoName) -> Result<RepositoryLocation, Failure> {
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        run_blocking(move || root.find(&repo)).await
    }
}

fn spelled(owner: &str, file: &str) -> Option<RepoName> {
    let name = file.len().checked_sub(".git".len())?;
    let (name, ending) = file.split_at_checked(name)?;
    if !ending.eq_ignore_ascii_case(".git") {
        return None;
    }
    RepoName::parse(&format!("{owner}/{name}"))
}

/// The first directory of a name, whatever its case.
pub(super) fn first_spelled(dir: &Path, name: &str) -> Result<Option<String>, Failure> {
    let mut named = directories(dir)?;
    named.retain(|found| found.eq_ignore_ascii_case(name));
    Ok(named.into_iter().min())
}

/// The names of directories in a directory; links are none.
fn directories(dir: &Path) -> Result<Vec<String>, Failure> {
    const WHAT: &str = "the directory of repositories could not be read";
    let mut names = Vec::new();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(error).or_broken(WHAT),
    };
    for entry in entries {
        let entry = entry.or_broken(WHAT)?;
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let (true, Ok(name)) = (is_dir, entry.file_name().into_string()) {
            names.push(name);
        }
    }
    Ok(names)
}
