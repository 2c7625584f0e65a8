//! Creates repositories in a temporary directory, syncs them and renames them, so that an incomplete
//! repository is never visible.

use super::database::Database;
use super::errors::{IntoFailure as _, LocalForgeError, OrBroken, run_blocking};
use super::git_files::{sync_all, sync_directory};
use super::object_copy::ObjectCopy;
use super::repository_root::{OpenRepository, RepositoryLocation, RepositoryRoot, first_spelled};
use crate::{Failure, RepoName, Repository};
use candor_fault::Cause;
use git2::{ErrorCode, ObjectType, Oid, Reference, Repository as Git, RepositoryInitOptions};
use std::fs::{self, File};
use std::path::Path;

pub(super) const WHAT: &str = "the repository could not be made";
const READ: &str = "the clone could not be read";

/// The temporary directory. No owner can have this name: `~` is not allowed in names.
const WORKSHOP: &str = "~import";

/// The imported refs: branches and tags.
const KEPT: [&str; 2] = ["refs/heads/*", "refs/tags/*"];

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

/// Copies all branches and tags of the repository at `from`, and its HEAD, into the forge in `dir`.
pub async fn import(
    dir: &Path,
    from: &Path,
    repo: &RepoName,
) -> Result<Repository, LocalForgeError> {
    let database = Database::open(dir).await?;
    let root = RepositoryRoot::new(dir.to_path_buf())?;
    // Only if the repository does not exist, and before it is created.
    if let Err(Failure::Missing(_)) = root.find(repo) {
        forget(&database, repo).await?;
    }
    database.close().await;
    let (from, name) = (from.to_path_buf(), repo.clone());
    let created = run_blocking(move || Ok(copy_in(&root, &from, &name))).await??;
    Ok(created)
}

/// Deletes the rows of a removed repository of the same name.
async fn forget(database: &Database, repo: &RepoName) -> Result<(), Failure> {
    let mut writing = database.write().await?;
    for left in [
        "DELETE FROM pulls WHERE repo = ?",
        "DELETE FROM statuses WHERE repo = ?",
        "DELETE FROM protections WHERE repo = ?",
    ] {
        let gone = sqlx::query(left).bind(repo.folded()).execute(&mut *writing);
        gone.await.or_broken(WHAT)?;
    }
    writing.commit().await.or_broken(WHAT)
}

fn copy_in(
    root: &RepositoryRoot,
    from: &Path,
    repo: &RepoName,
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
    // The pack is written with the configuration of the source repository.
    root.configure(&source)?;
    let location = root.make(repo, |new| copy(&source, new))?;
    Ok(root.open_at(location)?.summary()?)
}

fn copy(source: &Git, new: &OpenRepository) -> Result<(), Failure> {
    let head = source.find_reference("HEAD").or_broken(READ)?;
    let mut refs = Vec::new();
    for kept in KEPT {
        for reference in source.references_glob(kept).or_broken(READ)? {
            refs.push(direct(&reference.or_broken(READ)?)?);
        }
    }
    let detached = head.target();
    let mut walk = source.revwalk().or_broken(READ)?;
    let mut packing = ObjectCopy::new(source, &new.git)?;
    for tip in refs.iter().map(|(_, id)| *id).chain(detached) {
        let mut object = source.find_object(tip, None).or_broken(READ)?;
        while let Some(tag) = object.as_tag() {
            packing.add(tag.id())?;
            object = tag.target().or_broken(READ)?;
        }
        match object.kind() {
            Some(ObjectType::Commit) => walk.push(object.id()).or_broken(READ)?,
            Some(ObjectType::Tree) => packing.add_tree(object.id())?,
            _ => packing.add(object.id())?,
        }
    }
    packing.add_commits(walk)?;
    packing.write()?;
    for (name, id) in &refs {
        new.git
            .reference(name, *id, true, "import")
            .or_broken(WHAT)?;
    }
    match (head.symbolic_target(), detached) {
        (Ok(Some(branch)), _) => new.git.set_head(branch).or_broken(WHAT),
        (_, Some(id)) => new.git.set_head_detached(id).or_broken(WHAT),
        _ => Ok(()),
    }
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
