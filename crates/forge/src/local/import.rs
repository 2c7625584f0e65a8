//! Creates repositories in a temporary directory, syncs them and renames them, so that an incomplete
//! repository is never visible.

use super::database::Database;
use super::errors::{IntoFailure as _, LocalForgeError, OrBroken, run_blocking};
use super::git_files::{sync_all, sync_directory};
use super::object_files::ObjectFiles;
use super::repository_root::{OpenRepository, RepositoryLocation, RepositoryRoot, first_spelled};
use super::tables;
use crate::{Failure, RepoName, Repository};
use candor_fault::Cause;
use git2::{ErrorCode, ObjectType, Odb, Oid, Reference, Repository as Git, RepositoryInitOptions};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

pub(super) const WHAT: &str = "the repository could not be made";
pub(super) const READ: &str = "the clone could not be read";

/// The temporary directory. No owner can have this name: `~` is not allowed in names.
const WORKSHOP: &str = "~import";

/// The imported refs: branches and tags.
const KEPT: [&str; 2] = ["refs/heads/*", "refs/tags/*"];

/// Attempts to copy a clone whose files other programs move.
const TRIES: usize = 4;

impl RepositoryRoot {
    /// Creates a repository: empty at first, then filled by `fill`.
    pub(super) fn make(
        &self,
        repo: &RepoName,
        fill: impl FnOnce(&OpenRepository) -> Result<(), Failure>,
    ) -> Result<RepositoryLocation, LocalForgeError> {
        let workshop = self.root().join(WORKSHOP);
        fs::create_dir_all(&workshop).or_broken(WHAT)?;
        let lock = File::create(workshop.join("lock")).or_broken(WHAT)?;
        lock.lock().or_broken(WHAT)?;
        match self.find(repo) {
            Ok(there) => return Err(LocalForgeError::Exists(there.name)),
            Err(Failure::Missing(_)) => {}
            Err(failure) => return Err(failure.into()),
        }
        let path = workshop.join("repository.git");
        if path.exists() {
            // Left by an interrupted import.
            fs::remove_dir_all(&path).or_broken(WHAT)?;
        }
        let created = self.fill_new(repo, &path, fill);
        let moved = created.and_then(|()| self.move_in(repo, &path));
        if moved.is_err() {
            // The next import removes the files that cannot be removed now.
            drop(fs::remove_dir_all(&path));
        }
        Ok(moved?)
    }

    fn fill_new(
        &self,
        repo: &RepoName,
        path: &Path,
        fill: impl FnOnce(&OpenRepository) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut options = RepositoryInitOptions::new();
        options
            .bare(true)
            .no_reinit(true)
            .external_template(false)
            .initial_head("main");
        Git::init_opts(path, &options).or_broken(WHAT)?;
        let location = RepositoryLocation {
            name: repo.clone(),
            path: path.to_path_buf(),
        };
        fill(&self.open_at(location)?)?;
        sync_all(path).or_broken(WHAT)
    }

    fn move_in(&self, repo: &RepoName, path: &Path) -> Result<RepositoryLocation, Failure> {
        let owner = match first_spelled(self.root(), repo.owner())? {
            Some(owner) => self.root().join(owner),
            None => {
                let owner = self.root().join(repo.owner());
                fs::create_dir(&owner).or_broken(WHAT)?;
                owner
            }
        };
        let to = owner.join(format!("{}.git", repo.name()));
        fs::rename(path, &to).or_broken(WHAT)?;
        sync_directory(&owner).or_broken(WHAT)?;
        sync_directory(self.root()).or_broken(WHAT)?;
        self.find(repo)
    }
}

/// The bytes of objects that an import has copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportProgress {
    pub copied: u64,
    /// Grows if the clone is written to meanwhile.
    pub total: u64,
}

/// Gets the progress of an import.
pub type ImportObserver = dyn Fn(ImportProgress) + Send + Sync;

/// Copies all branches and tags of the repository at `from`, and its HEAD, into the forge in `dir`.
pub async fn import(
    dir: &Path,
    from: &Path,
    repo: &RepoName,
) -> Result<Repository, LocalForgeError> {
    import_observed(dir, from, repo, Arc::new(|_| {})).await
}

/// Copies like [`import`] and reports the progress.
pub async fn import_observed(
    dir: &Path,
    from: &Path,
    repo: &RepoName,
    observer: Arc<ImportObserver>,
) -> Result<Repository, LocalForgeError> {
    let database = Database::open(dir).await?;
    let root = RepositoryRoot::new(dir.to_path_buf())?;
    // Only if the repository does not exist, and before it is created.
    if let Err(Failure::Missing(_)) = root.find(repo) {
        forget(&database, repo).await?;
    }
    database.close().await;
    let (from, name) = (from.to_path_buf(), repo.clone());
    let created = run_blocking(move || Ok(copy_in(&root, &from, &name, &*observer))).await??;
    Ok(created)
}

/// Deletes the rows of a removed repository of the same name.
pub(super) async fn forget(database: &Database, repo: &RepoName) -> Result<(), Failure> {
    let mut writing = database.write().await?;
    tables::forget(&mut writing, &repo.folded(), WHAT).await?;
    writing.commit(WHAT).await
}

fn copy_in(
    root: &RepositoryRoot,
    from: &Path,
    repo: &RepoName,
    observer: &ImportObserver,
) -> Result<Repository, LocalForgeError> {
    let source = match Git::open(from) {
        Ok(source) => source,
        Err(error) if error.code() == ErrorCode::NotFound => {
            return Err(LocalForgeError::NotARepository(from.to_path_buf()));
        }
        Err(error) => return Err(error.broken(READ).into()),
    };
    if source.is_shallow() {
        let why = Cause::from("it is shallow: fetch its whole history first");
        return Err(Failure::Broken(READ, why).into());
    }
    let location = root.make(repo, |new| copy(&source, new, observer))?;
    Ok(root.open_at(location)?.summary()?)
}

/// Copies the refs that a clone has now, and all its objects. Objects are never changed, so a program that
/// writes to the clone meanwhile only adds some or moves them to another pack.
fn copy(source: &Git, new: &OpenRepository, observer: &ImportObserver) -> Result<(), Failure> {
    let head = source.find_reference("HEAD").or_broken(READ)?;
    let mut refs = BTreeMap::new();
    for kept in KEPT {
        for reference in source.references_glob(kept).or_broken(READ)? {
            let (name, id) = direct(&reference.or_broken(READ)?)?;
            refs.insert(name, id);
        }
    }
    let (from, to) = (
        source.commondir().join("objects"),
        new.git.path().join("objects"),
    );
    let mut files = ObjectFiles::new(&from, &to, observer)?;
    let mut tries = 0;
    let peeled = loop {
        tries += 1;
        let is_complete = files.copy()?;
        new.odb()?.refresh().or_broken(WHAT)?;
        match peeled_refs(new, &refs, head.target()) {
            Ok(peeled) if is_complete => break peeled,
            // `git gc` has moved objects meanwhile.
            Ok(_) | Err(_) if tries < TRIES => {}
            Ok(_) => {
                let cause = Cause::from("other programs keep changing its files; import it again");
                return Err(Failure::Broken(READ, cause));
            }
            Err(failure) => return Err(failure),
        }
    };
    files.check_packs()?;
    write_packed_refs(new, &refs, &peeled)?;
    match (head.symbolic_target(), head.target()) {
        (Ok(Some(branch)), _) => new.git.set_head(branch).or_broken(WHAT),
        (_, Some(id)) => new.git.set_head_detached(id).or_broken(WHAT),
        _ => Ok(()),
    }
}

/// Reads the object that each ref leads to. Returns the objects behind annotated tags.
fn peeled_refs(
    new: &OpenRepository,
    refs: &BTreeMap<String, Oid>,
    detached: Option<Oid>,
) -> Result<BTreeMap<Oid, Oid>, Failure> {
    let odb = new.odb()?;
    let mut peeled = BTreeMap::new();
    let refs = refs.iter().map(|(name, id)| (name.as_str(), *id));
    for (name, id) in refs.chain(detached.map(|id| ("HEAD", id))) {
        let read = read_behind_tags(new, &odb, id).map_err(|error| {
            let fsck = "run `git fsck` in the clone";
            let why = format!("{name} leads to an object that cannot be read; {fsck}: {error}");
            Failure::Broken(READ, Cause::Text(why))
        })?;
        if read != id {
            peeled.insert(id, read);
        }
    }
    Ok(peeled)
}

/// Reads an object; of a commit its tree too, of an annotated tag the object that it names.
fn read_behind_tags(new: &OpenRepository, odb: &Odb<'_>, id: Oid) -> Result<Oid, git2::Error> {
    let mut id = id;
    loop {
        match odb.read_header(id)?.1 {
            ObjectType::Tag => id = new.git.find_tag(id)?.target_id(),
            ObjectType::Commit => {
                new.git.find_commit(id)?.tree()?;
                return Ok(id);
            }
            _ => {
                odb.read(id)?;
                return Ok(id);
            }
        }
    }
}

/// Writes all refs as one file.
fn write_packed_refs(
    new: &OpenRepository,
    refs: &BTreeMap<String, Oid>,
    peeled: &BTreeMap<Oid, Oid>,
) -> Result<(), Failure> {
    if refs.is_empty() {
        return Ok(());
    }
    let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for (name, id) in refs {
        text += &format!("{id} {name}\n");
        if let Some(behind) = peeled.get(id) {
            text += &format!("^{behind}\n");
        }
    }
    fs::write(new.git.path().join("packed-refs"), text).or_broken(WHAT)
}

/// Returns the name of a ref and its target, through other refs but not through tags.
fn direct(reference: &Reference<'_>) -> Result<(String, Oid), Failure> {
    let name = reference.name().or_broken(READ)?.to_owned();
    let resolved = reference.resolve().or_broken(READ)?;
    match resolved.target() {
        Some(id) => Ok((name, id)),
        None => Err(Failure::Broken(READ, Cause::from("a ref leads nowhere"))),
    }
}
