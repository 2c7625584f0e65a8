//! Resolves branches, tags and the first digits of a commit.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use crate::{Failure, MissingItem, Revision, UnmetPrecondition};
use git2::{Commit, ErrorCode, ObjectType, Oid};

/// The minimum number of digits of a commit.
const DIGITS: usize = 7;

/// A commit and the caller's name for it.
pub(super) struct ResolvedRevision {
    pub(super) id: Oid,
    pub(super) at: String,
}

pub(super) fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

impl OpenRepository {
    /// Resolves a revision to a commit.
    pub(super) fn resolve(&self, revision: &Revision) -> Result<ResolvedRevision, Failure> {
        let found = match revision {
            Revision::Default => {
                let name = self.default_branch()?;
                self.branch(&name)?.map(|id| (id, name))
            }
            Revision::Branch(name) => self.branch(name)?.map(|id| (id, name.clone())),
            Revision::Named(name) => self.named(name)?.map(|id| (id, name.clone())),
            Revision::Commit(digits) => self.by_digits(digits)?.map(|id| (id, digits.clone())),
        };
        match found {
            Some((id, at)) => Ok(ResolvedRevision { id, at }),
            None if self.is_empty()? => Err(Failure::Empty),
            None => Err(Failure::Missing(match revision {
                Revision::Default => MissingItem::Branch(self.default_branch()?),
                Revision::Branch(name) => MissingItem::Branch(name.clone()),
                Revision::Named(name) | Revision::Commit(name) => {
                    MissingItem::Revision(name.clone())
                }
            })),
        }
    }

    pub(super) fn commit(&self, revision: &Revision) -> Result<(Commit<'_>, String), Failure> {
        let ResolvedRevision { id, at } = self.resolve(revision)?;
        Ok((self.commit_at(id)?, at))
    }

    pub(super) fn commit_at(&self, id: Oid) -> Result<Commit<'_>, Failure> {
        let commit = self.git.find_commit(id);
        commit.or_broken("a commit could not be read")
    }

    /// Returns the head of a branch, and `None` if the branch does not exist.
    pub(super) fn branch(&self, name: &str) -> Result<Option<Oid>, Failure> {
        self.commit_of_ref(&branch_ref(name))
    }

    /// Returns the failure for a branch that does not exist.
    pub(super) fn missing_branch(&self, branch: &str) -> Failure {
        match self.is_empty() {
            Ok(true) => Failure::Empty,
            Ok(false) => MissingItem::Branch(branch.to_owned()).into(),
            Err(failure) => failure,
        }
    }

    fn named(&self, name: &str) -> Result<Option<Oid>, Failure> {
        if let Some(id) = self.branch(name)? {
            return Ok(Some(id));
        }
        match self.commit_of_ref(&format!("refs/tags/{name}"))? {
            Some(id) => Ok(Some(id)),
            None => self.by_digits(name),
        }
    }

    /// Returns the commit of a ref, through annotated tags.
    fn commit_of_ref(&self, name: &str) -> Result<Option<Oid>, Failure> {
        if name.contains('\0') {
            return Ok(None);
        }
        let found = self.git.find_reference(name);
        let found = found.and_then(|reference| reference.peel_to_commit());
        match found {
            Ok(commit) => Ok(Some(commit.id())),
            // An invalid name of a ref, or a tag of something that is not a commit.
            Err(error) => match error.code() {
                ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::Peel => Ok(None),
                _ => Err(error).or_broken("a ref could not be read"),
            },
        }
    }

    fn by_digits(&self, digits: &str) -> Result<Option<Oid>, Failure> {
        const WHAT: &str = "a commit could not be looked up";
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !hex || digits.len() < DIGITS || digits.len() > 40 {
            return Ok(None);
        }
        let digits = digits.to_ascii_lowercase();
        match self.git.find_object_by_prefix(&digits, None) {
            Ok(object) => Ok(object.peel_to_commit().ok().map(|commit| commit.id())),
            Err(error) => match error.code() {
                ErrorCode::NotFound => Ok(None),
                ErrorCode::Ambiguous => self.only_commit(&digits),
                _ => Err(error).or_broken(WHAT),
            },
        }
    }

    /// Returns the only commit among the objects with these digits.
    fn only_commit(&self, digits: &str) -> Result<Option<Oid>, Failure> {
        const WHAT: &str = "the commits that begin alike could not be told apart";
        let odb = self.git.odb().or_broken(WHAT)?;
        let mut alike = Vec::new();
        odb.foreach(|id| {
            if id.to_string().starts_with(digits) {
                alike.push(*id);
            }
            true
        })
        .or_broken(WHAT)?;
        alike.sort_unstable();
        alike.dedup();
        let is_commit = |id: &Oid| {
            let header = odb.read_header(*id);
            header.is_ok_and(|(_, kind)| kind == ObjectType::Commit)
        };
        alike.retain(is_commit);
        match alike.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            _ => Err(UnmetPrecondition::AmbiguousSha(digits.to_owned()).into()),
        }
    }

    /// Returns the branch that HEAD names, even if it has no commit yet. If HEAD names no branch, returns
    /// `main`, `master`, or else the first branch.
    pub(super) fn default_branch(&self) -> Result<String, Failure> {
        const WHAT: &str = "HEAD could not be read";
        let head = self.git.find_reference("HEAD").or_broken(WHAT)?;
        let target = head.symbolic_target_bytes().map(String::from_utf8_lossy);
        if let Some(branch) = target
            .as_deref()
            .and_then(|name| name.strip_prefix("refs/heads/"))
        {
            return Ok(branch.to_owned());
        }
        for usual in ["main", "master"] {
            if self.branch(usual)?.is_some() {
                return Ok(usual.to_owned());
            }
        }
        let first = self.branch_heads()?.into_iter().next();
        Ok(first.map_or_else(|| "main".to_owned(), |(name, _)| name))
    }

    /// Returns true if there are no branches.
    pub(super) fn is_empty(&self) -> Result<bool, Failure> {
        Ok(self.branch_heads()?.is_empty())
    }

    /// Returns all branches and their heads in the byte order of names. Refs that do not point to a commit
    /// are skipped; names that are not UTF-8 are shown with U+FFFD.
    pub(super) fn branch_heads(&self) -> Result<Vec<(String, Oid)>, Failure> {
        const WHAT: &str = "the branches could not be read";
        let mut heads = Vec::new();
        for reference in self.git.references_glob("refs/heads/*").or_broken(WHAT)? {
            let Ok(reference) = reference else { continue };
            let Ok(commit) = reference.peel_to_commit() else {
                continue;
            };
            let name = String::from_utf8_lossy(reference.name_bytes());
            if let Some(name) = name.strip_prefix("refs/heads/") {
                heads.push((name.to_owned(), commit.id()));
            }
        }
        heads.sort();
        Ok(heads)
    }
}
