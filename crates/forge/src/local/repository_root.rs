//! The directory of the repositories: `owner/name.git`, found without case, opened without following
//! links.
//!
//! If two directories differ only in case, the first in byte order is the repository and the other is
//! ignored.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::git_files;
use super::object_cache::RepositoryObjects;
use super::repository_pool::{DirectoryStamp, FoundRepository, ParentStamps, RepositoryPool};
use crate::{Failure, MissingItem, RepoName};
use git2::{Config, ErrorCode, Repository};
use std::cell::Cell;
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

/// Attempts to write objects while `git gc` moves others.
const BUILD_TRIES: usize = 3;

/// Attempts to find a repository whose directories are being replaced.
const FIND_TRIES: usize = 3;

/// The directory of the repositories.
pub(super) struct RepositoryRoot {
    root: PathBuf,
    pub(super) pool: RepositoryPool,
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
    /// The cached objects of the repository, if it was found by its name.
    pub(super) objects: Option<RepositoryObjects>,
    /// True if git has cached so many objects for this handle that it is closed after the call.
    pub(super) is_spent: Cell<bool>,
    /// True if only refs may be read from the disk. What is not cached is a failure then.
    pub(super) is_cached_only: bool,
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
        Ok(RepositoryRoot {
            root,
            pool: RepositoryPool::default(),
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Finds the repository of a name. Lists no directory if it was found before and nothing has changed.
    pub(super) fn find(&self, repo: &RepoName) -> Result<RepositoryLocation, Failure> {
        Ok(self.find_pooled(&repo.folded(), repo)?.location)
    }

    fn find_pooled(&self, name: &str, repo: &RepoName) -> Result<FoundRepository, Failure> {
        if let Some(found) = self.find_unchanged(name) {
            return Ok(found);
        }
        // The stamps are older than the lists, so that a change meanwhile is noticed by the next call.
        for _ in 0..FIND_TRIES {
            let root = DirectoryStamp::follow(&self.root);
            let (location, owner) = match self.find_listed(repo) {
                Ok(listed) => listed,
                Err(failure) => {
                    self.pool.forget(name);
                    return Err(failure);
                }
            };
            let stamp = DirectoryStamp::read(&location.path);
            if let (Ok(root), Ok(stamp)) = (root, stamp) {
                return Ok(self.pool.found(name, location, [root, owner], stamp));
            }
        }
        Err(MissingItem::Repository.into())
    }

    /// Finds a repository that was found before, if the directories above it are unchanged.
    fn find_unchanged(&self, name: &str) -> Option<FoundRepository> {
        let (location, parents) = self.pool.known(name)?;
        if self.parent_stamps(&location.path)? != parents {
            return None;
        }
        let stamp = DirectoryStamp::read(&location.path).ok()?;
        Some(self.pool.found(name, location, parents, stamp))
    }

    fn parent_stamps(&self, path: &Path) -> Option<ParentStamps> {
        let root = DirectoryStamp::follow(&self.root).ok()?;
        Some([root, DirectoryStamp::read(path.parent()?).ok()?])
    }

    /// Finds the repository of a name in the lists of directories, and the stamp of its owner's directory
    /// before it was listed.
    fn find_listed(
        &self,
        repo: &RepoName,
    ) -> Result<(RepositoryLocation, DirectoryStamp), Failure> {
        let missing = || Failure::Missing(MissingItem::Repository);
        let owner = first_spelled(&self.root, repo.owner())?.ok_or_else(missing)?;
        let within = self.root.join(&owner);
        let stamp = DirectoryStamp::read(&within).map_err(|_| missing())?;
        let file = first_spelled(&within, &format!("{}.git", repo.name()))?.ok_or_else(missing)?;
        let name = spelled(&owner, &file).ok_or_else(missing)?;
        let path = within.join(file);
        Ok((RepositoryLocation { name, path }, stamp))
    }

    /// Reads from a repository, with a handle that was opened before if there is one.
    ///
    /// Such a handle may know packs that are gone and may not know new alternates, so what seems to be
    /// damaged or absent is looked up again with a new handle.
    pub(super) fn read<T>(
        &self,
        repo: &RepoName,
        read: impl Fn(&OpenRepository) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let name = repo.folded();
        let found = self.find_pooled(&name, repo)?;
        if let Some(git) = self.pool.take(&name, &found) {
            let opened = OpenRepository {
                location: found.location.clone(),
                git,
                objects: Some(found.objects.clone()),
                is_spent: Cell::new(false),
                is_cached_only: false,
            };
            let result = read(&opened);
            if !needs_new_handle(&result) {
                self.give_back(&name, &found, opened);
                return result;
            }
        }
        let mut opened = self.open_at(found.location.clone())?;
        opened.objects = Some(found.objects.clone());
        let result = read(&opened);
        if !needs_new_handle(&result) {
            self.give_back(&name, &found, opened);
        }
        result
    }

    /// Reads from a repository that is open and whose objects are cached, so that nothing but a few small
    /// files is read from the disk. Returns `None` if that is not possible or does not succeed.
    pub(super) fn read_cached<T>(
        &self,
        repo: &RepoName,
        read: impl Fn(&OpenRepository) -> Result<T, Failure>,
    ) -> Option<T> {
        let name = repo.folded();
        let is_unchanged = |path: &Path, parents: &ParentStamps, stamp: &DirectoryStamp| {
            self.parent_stamps(path).is_some_and(|now| now == *parents)
                && DirectoryStamp::read(path).is_ok_and(|now| now == *stamp)
        };
        let (found, git) = self.pool.take_unchanged(&name, is_unchanged)?;
        let FoundRepository {
            location,
            stamp,
            objects,
        } = found;
        let opened = OpenRepository {
            location,
            git,
            objects: Some(objects),
            is_spent: Cell::new(false),
            is_cached_only: true,
        };
        let result = read(&opened);
        self.pool.give_back(&name, &stamp, opened.git);
        result.ok()
    }

    fn give_back(&self, name: &str, found: &FoundRepository, opened: OpenRepository) {
        if !opened.is_spent.get() {
            self.pool.give_back(name, &found.stamp, opened.git);
        }
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

    /// Reads from a repository and writes objects to it, but moves nothing that a retry would find moved.
    ///
    /// `git gc` removes packs and empty directories between the moment at which git finds them and the one at
    /// which it uses them, so a failure is tried again with a new handle.
    pub(super) fn build<T>(
        &self,
        location: &RepositoryLocation,
        build: impl Fn(&OpenRepository) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut tries = 1;
        loop {
            match build(&self.open_at(location.clone())?) {
                Err(Failure::Broken(..) | Failure::Damaged(..)) if tries < BUILD_TRIES => {
                    tries += 1
                }
                built => return built,
            }
        }
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
        Ok(OpenRepository {
            location,
            git,
            objects: None,
            is_spent: Cell::new(false),
            is_cached_only: false,
        })
    }

    /// Makes git use only our configuration.
    pub(super) fn configure(&self, git: &Repository) -> Result<(), Failure> {
        Config::open(&self.root.join(GIT_CONFIG_FILE))
            .and_then(|config| git.set_config(&config))
            .or_broken("the configuration for git could not be read")
    }
}

/// Returns true if a failure may be that of an outdated handle.
fn needs_new_handle<T>(result: &Result<T, Failure>) -> bool {
    matches!(
        result,
        Err(Failure::Damaged(..)
            | Failure::Broken(..)
            | Failure::Missing(MissingItem::Revision(_)))
    )
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

#[cfg(test)]
mod tests {
    use super::super::history::MAX_POOLED_COMMITS;
    use super::*;
    use crate::{Paging, Revision};
    use tempfile::TempDir;

    fn root(dir: &TempDir) -> (RepositoryRoot, RepoName) {
        let path = dir.path().join("owner/name.git");
        Repository::init_bare(&path).unwrap();
        let root = RepositoryRoot::new(dir.path().to_path_buf()).unwrap();
        (root, RepoName::parse("Owner/Name").unwrap())
    }

    #[test]
    fn handle_that_read_many_commits_is_closed() {
        let dir = TempDir::new().unwrap();
        let (root, repo) = root(&dir);
        let git = Repository::open_bare(dir.path().join("owner/name.git")).unwrap();
        let tree = git
            .find_tree(git.treebuilder(None).unwrap().write().unwrap())
            .unwrap();
        let by = git2::Signature::new("a", "a@b", &git2::Time::new(1, 0)).unwrap();
        let mut head: Option<git2::Commit<'_>> = None;
        for _ in 0..=MAX_POOLED_COMMITS {
            let parents: Vec<_> = head.iter().collect();
            let commit = git.commit(None, &by, &by, "m", &tree, &parents).unwrap();
            head = Some(git.find_commit(commit).unwrap());
        }
        let head = head.unwrap().id();
        git.reference("refs/heads/main", head, true, "").unwrap();
        let is_kept = |page| {
            let per_page = 100;
            let page = Paging { page, per_page };
            let main = Revision::Branch("main".to_owned());
            let read = root
                .read(&repo, |opened| opened.commits(&main, page))
                .unwrap();
            let found = root.find_pooled("owner/name", &repo).unwrap();
            (
                read.commits.len(),
                root.pool.take("owner/name", &found).is_some(),
            )
        };
        let last = u32::try_from(MAX_POOLED_COMMITS / 100).unwrap();
        assert_eq!(is_kept(last - 1), (100, true));
        assert_eq!(is_kept(last), (100, false));
    }

    #[test]
    fn outdated_handle_is_replaced_before_an_object_is_called_missing() {
        let dir = TempDir::new().unwrap();
        let (root, repo) = root(&dir);
        root.read(&repo, |_| Ok(())).unwrap();
        let reads = Cell::new(0);
        let read = root.read(&repo, |_| {
            reads.set(reads.get() + 1);
            match reads.get() {
                1 => Err(Failure::Missing(MissingItem::Revision("abc".to_owned()))),
                _ => Ok(reads.get()),
            }
        });
        assert_eq!(read, Ok(2));
        // A new handle is not replaced again.
        let dir = TempDir::new().unwrap();
        let (root, repo) = self::root(&dir);
        let read = root.read(&repo, |_| {
            reads.set(reads.get() + 1);
            Err::<(), _>(Failure::Missing(MissingItem::Revision("abc".to_owned())))
        });
        assert!(read.is_err());
        assert_eq!(reads.get(), 3);
    }
}
