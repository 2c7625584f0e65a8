//! The directory of the repositories: `owner/name.git`, found without case, opened without following
//! links.
//!
//! If two directories differ only in case, the first in byte order is the repository and the other is
//! ignored.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::git_files;
use crate::{Failure, MissingItem, RepoName};
use git2::{Config, ErrorCode, Repository};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The configuration of libgit2 for every repository, instead of the user's and the repository's own:
/// objects and refs are synced before anything points to them, and names that some system treats as
/// `.git` are refused.
const GIT_CONFIG: &str = concat!(
    "[core]\n\tbare = true\n\tfsyncObjectFiles = true\n\tlogAllRefUpdates = false\n",
    "\tprotectHFS = true\n\tprotectNTFS = true\n",
);

/// The file of that configuration. No owner can have this name: `~` is not allowed in names.
const GIT_CONFIG_FILE: &str = "~gitconfig";

/// The directory of the repositories.
#[derive(Debug)]
pub(super) struct RepositoryRoot {
    root: PathBuf,
}

/// The location of a repository.
#[derive(Debug, Clone)]
pub(super) struct RepositoryLocation {
    /// As the directories spell it.
    pub(super) name: RepoName,
    pub(super) path: PathBuf,
}

/// An open repository.
pub(super) struct OpenRepository {
    pub(super) location: RepositoryLocation,
    pub(super) git: Repository,
}

impl RepositoryRoot {
    /// Opens an existing directory and writes the configuration for git.
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

    /// Finds the repository of a name.
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

    /// Returns all repositories in the order of their folded names.
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

    /// Makes git use only our configuration.
    pub(super) fn configure(&self, git: &Repository) -> Result<(), Failure> {
        Config::open(&self.root.join(GIT_CONFIG_FILE))
            .and_then(|config| git.set_config(&config))
            .or_broken("the configuration for git could not be read")
    }
}

/// Returns true if objects and refs are the repository's own: not links, and not those of another
/// repository that the file `commondir` names.
fn stays_inside(git: &Repository) -> bool {
    let own = |name: &str| {
        let found = fs::symlink_metadata(git.path().join(name));
        found.is_ok_and(|found| found.is_dir())
    };
    git.commondir() == git.path() && own("objects") && own("refs")
}

impl LocalForge {
    /// Finds the location of a repository.
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

/// Returns the first directory with a name, in any case.
pub(super) fn first_spelled(dir: &Path, name: &str) -> Result<Option<String>, Failure> {
    let mut named = directories(dir)?;
    named.retain(|found| found.eq_ignore_ascii_case(name));
    Ok(named.into_iter().min())
}

/// Returns the names of the directories in a directory, without links.
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
