//! Resolves branches, tags and the first digits of a commit.

use super::errors::{OrBroken, damaged_ref};
use super::object_cache::{CachedFact, CachedValue};
use super::ref_cache::RefTarget;
use super::repository_root::OpenRepository;
use crate::{DamagedItem, Failure, MissingItem, Revision, UnmetPrecondition};
use git2::{Commit, ErrorCode, ObjectType, Oid, ReferenceType};

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

    /// Returns the tree of a revision. Refs are read each time; the tree of a commit is cached.
    pub(super) fn root_tree(&self, revision: &Revision) -> Result<(Oid, String), Failure> {
        if let Some((commit, at)) = self.direct_target(revision)?
            && let Some(CachedValue::Tree(tree)) = self.cached(commit, CachedFact::Tree)
        {
            return Ok((tree, at));
        }
        self.require_disk()?;
        let (commit, at) = self.commit(revision)?;
        let (id, tree) = (commit.id(), commit.tree_id());
        self.keep(id, CachedFact::Tree, CachedValue::Tree(tree));
        Ok((tree, at))
    }

    /// Returns the target of a branch without reading it. `None` if another way to resolve it is needed.
    fn direct_target(&self, revision: &Revision) -> Result<Option<(Oid, String)>, Failure> {
        let name = match revision {
            Revision::Default => self.head_branch()?,
            Revision::Branch(name) | Revision::Named(name) => Some(name.clone()),
            Revision::Commit(_) => None,
        };
        let Some(name) = name.filter(|name| !name.contains('\0')) else {
            return Ok(None);
        };
        match self.ref_target(&branch_ref(&name)) {
            Ok(Some(RefTarget::Object(id))) => Ok(Some((id, name))),
            _ => Ok(None),
        }
    }

    /// Returns what a ref names, from the cache if its file is unchanged.
    fn ref_target(&self, name: &str) -> Result<Option<RefTarget>, git2::Error> {
        let read = || {
            let reference = self.git.find_reference(name)?;
            let object = reference.target().map(RefTarget::Object);
            let other = reference.symbolic_target_bytes();
            let other = other.map(|other| String::from_utf8_lossy(other).into_owned());
            Ok(object.or_else(|| other.map(RefTarget::Ref)))
        };
        match &self.objects {
            Some(objects) => objects.refs.get(self.git.path(), name, read),
            None => read(),
        }
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
        let reference = match self.git.find_reference(name) {
            Ok(reference) => reference,
            Err(error) => {
                return match error.code() {
                    ErrorCode::NotFound | ErrorCode::InvalidSpec => Ok(None),
                    _ => Err(damaged_ref(DamagedItem::Ref, &error)),
                };
            }
        };
        let reference = match reference.kind() {
            Some(ReferenceType::Direct) => reference,
            _ => match reference.resolve() {
                Ok(reference) => reference,
                // Another ref that does not exist.
                Err(_) => return Ok(None),
            },
        };
        match reference.peel_to_commit() {
            Ok(commit) => Ok(Some(commit.id())),
            Err(error) => match error.code() {
                // The ref leads to something that is not a commit.
                ErrorCode::Peel | ErrorCode::InvalidSpec => Ok(None),
                _ => Err(damaged_ref(DamagedItem::Object, &error)),
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
        if let Some(branch) = self.head_branch()? {
            return Ok(branch);
        }
        for usual in ["main", "master"] {
            if self.branch(usual)?.is_some() {
                return Ok(usual.to_owned());
            }
        }
        let first = self.branch_heads()?.into_iter().next();
        Ok(first.map_or_else(|| "main".to_owned(), |(name, _)| name))
    }

    /// Returns the branch that HEAD names, if it names one.
    fn head_branch(&self) -> Result<Option<String>, Failure> {
        let head = self.ref_target("HEAD");
        let head = head.map_err(|error| damaged_ref(DamagedItem::Head, &error))?;
        let Some(RefTarget::Ref(target)) = head else {
            return Ok(None);
        };
        let branch = target.strip_prefix("refs/heads/");
        Ok(branch.map(str::to_owned))
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
