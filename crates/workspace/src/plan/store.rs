//! The plans of a workspace: `docs/plans/<hash>.toml` below its root.

use super::bounds::MAX_PLAN_BYTES;
use super::durable::{self, IfExists};
use super::error::PlanError;
use super::hash::{PlanHash, PlanRef, hash};
use super::lint::{Lint, Severity, lint_stored};
use super::model::Plan;
use super::plan_names::PlanNames;
use super::text::{is_canonical, parse, render};
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::fmt;
use std::io;

/// The directory that plans and their approvals lie in, relative to the root.
pub const PLANS_DIR: &str = "docs/plans";

/// The maximum number of plans without an approval.
pub const MAX_DRAFTS: usize = 4096;

/// The maximum number of plans in one answer of `list_plans`.
pub const MAX_LISTED_PLANS: usize = 256;

/// The maximum number of plans that a command of the owner reads.
pub const MAX_READ_PLANS: usize = 2 * MAX_DRAFTS;

/// The maximum number of hashes that are named for an ambiguous reference.
pub(super) const MAX_CANDIDATES: usize = 8;

/// The maximum size of a stored plan in bytes: each line may have got a CR.
const MAX_FILE_BYTES: usize = 2 * MAX_PLAN_BYTES;

const DIR_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// A plan as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPlan {
    pub hash: PlanHash,
    pub plan: Plan,
    /// Its canonical text.
    pub text: String,
}

/// The reason why a stored plan cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanDamage {
    /// The hash of its bytes is not its name.
    Hash { actual: PlanHash },
    /// It is not text.
    NotUtf8,
    /// It is not a plan.
    Plan(PlanError),
    /// Its text is not the canonical text of its plan.
    NotCanonical,
    /// It is a plan that cannot be enforced; the first reason.
    Lint(Lint),
    /// The name of a file that ends in `.toml` is not a hash.
    Name,
    /// It is not a regular file, or cannot be read.
    Unreadable(String),
}

impl fmt::Display for PlanDamage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanDamage::Hash { actual } => write!(
                out,
                "it was changed: its text hashes to {actual}; restore it, or save it as a new plan"
            ),
            PlanDamage::NotUtf8 => out.write_str("it is not UTF-8"),
            PlanDamage::Plan(error) => write!(out, "it is no plan: {error}"),
            PlanDamage::NotCanonical => {
                out.write_str("its text is not the canonical one; save it as a new plan")
            }
            PlanDamage::Lint(lint) => write!(out, "{} {}", lint.at, lint.message),
            PlanDamage::Name => out.write_str("its name is no hash; save it as a plan"),
            PlanDamage::Unreadable(why) => write!(out, "it cannot be read: {why}"),
        }
    }
}

/// The reason why a plan was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// There is no such plan.
    Missing,
    /// There is one, and it cannot be enforced.
    Damaged(PlanDamage),
    /// The disk did not answer.
    Io(io::Error),
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Missing => out.write_str("there is no such plan"),
            LoadError::Damaged(damage) => write!(out, "the stored plan is damaged: {damage}"),
            LoadError::Io(error) => write!(out, "the plan cannot be read: {error}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// The reason why a reference means no plan.
#[derive(Debug)]
pub enum FindError {
    /// No plan has such a hash.
    Missing,
    /// Several do; some of them.
    Ambiguous(Vec<PlanHash>),
    /// The disk did not answer.
    Io(io::Error),
}

impl fmt::Display for FindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindError::Missing => out.write_str("there is no such plan"),
            FindError::Ambiguous(all) => {
                let all: Vec<_> = all.iter().map(PlanHash::as_str).collect();
                write!(out, "several plans begin so: {}", all.join(", "))
            }
            FindError::Io(error) => write!(out, "the plans cannot be read: {error}"),
        }
    }
}

impl std::error::Error for FindError {}

/// The plans of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanList {
    /// Those that can be enforced, by hash.
    pub plans: Vec<StoredPlan>,
    /// Those that cannot, by file name.
    pub damaged: Vec<(String, PlanDamage)>,
    /// The number of further ones.
    pub omitted: usize,
}

/// The outcome of saving a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    /// The plan is new.
    New,
    /// It was stored already.
    Already,
    /// It was stored, but damaged, and is repaired.
    Repaired,
}

/// Returns the path of a plan's file, relative to the root.
pub fn path(hash: &PlanHash) -> String {
    format!("{PLANS_DIR}/{hash}.toml")
}

/// Returns the names in the directory of plans, without those that are not UTF-8. A missing
/// directory has none.
pub fn names(disk: &impl Disk) -> io::Result<Vec<String>> {
    let names = match disk.list(PLANS_DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let names = names.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// Lists all plans, sorted by hash, and the damaged ones by name.
pub fn list(disk: &impl Disk, protected: &dyn Fn(&[u8]) -> bool) -> io::Result<PlanList> {
    let mut listing = PlanList::default();
    let names = names(disk)?.into_iter();
    let names = names.filter(|name| name.ends_with(".toml"));
    for (index, name) in names.enumerate() {
        if index >= MAX_READ_PLANS {
            listing.omitted += 1;
            continue;
        }
        let Some(hash) = name.strip_suffix(".toml").and_then(PlanHash::read) else {
            listing.damaged.push((name, PlanDamage::Name));
            continue;
        };
        match load(disk, &hash, protected) {
            Ok(stored) => listing.plans.push(stored),
            Err(LoadError::Missing) => {}
            Err(LoadError::Damaged(damage)) => listing.damaged.push((name, damage)),
            Err(LoadError::Io(error)) => {
                let damage = PlanDamage::Unreadable(error.to_string());
                listing.damaged.push((name, damage));
            }
        }
    }
    Ok(listing)
}

/// Finds the plan that a reference means. The plan may be damaged.
pub fn find(disk: &impl Disk, reference: &PlanRef) -> Result<PlanHash, FindError> {
    let names = names(disk).map_err(FindError::Io)?;
    PlanNames::new(names).find(reference)
}

/// Loads a plan by its hash and checks that it is whole, canonical and without an error.
pub fn load(
    disk: &impl Disk,
    hash: &PlanHash,
    protected: &dyn Fn(&[u8]) -> bool,
) -> Result<StoredPlan, LoadError> {
    let file = match disk.open(path(hash), Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LoadError::Missing),
        opened => opened.map_err(refused)?,
    };
    let length = usize::try_from(file.len().map_err(LoadError::Io)?).unwrap_or(usize::MAX);
    if length > MAX_FILE_BYTES {
        return Err(LoadError::Damaged(PlanDamage::Plan(PlanError::TooLarge {
            bytes: length,
            max: MAX_PLAN_BYTES,
        })));
    }
    let bytes = file.read_all(MAX_FILE_BYTES).map_err(LoadError::Io)?;
    judge(bytes, hash, protected).map_err(LoadError::Damaged)
}

/// Errors about something that is not a regular file are damage; the rest are I/O errors.
fn refused(error: io::Error) -> LoadError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ISDIR | Errno::LOOP | Errno::INVAL) => {
            LoadError::Damaged(PlanDamage::Unreadable(error.to_string()))
        }
        _ => LoadError::Io(error),
    }
}

fn judge(
    bytes: Vec<u8>,
    name: &PlanHash,
    protected: &dyn Fn(&[u8]) -> bool,
) -> Result<StoredPlan, PlanDamage> {
    let text = String::from_utf8(bytes).map_err(|_| PlanDamage::NotUtf8)?;
    let actual = hash(&text);
    if actual != *name {
        return Err(PlanDamage::Hash { actual });
    }
    let text = super::hash::unix_lines(&text);
    let plan = parse(&text).map_err(PlanDamage::Plan)?;
    if !is_canonical(&text, &plan) {
        return Err(PlanDamage::NotCanonical);
    }
    let lints = lint_stored(&plan, protected).into_iter();
    if let Some(error) = lints.into_iter().find(|l| l.severity == Severity::Error) {
        return Err(PlanDamage::Lint(error));
    }
    Ok(StoredPlan {
        hash: actual,
        plan,
        text,
    })
}

/// Stores a plan under the hash of its text; durable and complete when this succeeds.
///
/// The caller must check for errors first, see [`lint`](super::lint).
pub fn save(disk: &impl Disk, plan: &Plan) -> io::Result<(PlanHash, SaveOutcome)> {
    let text = render(plan);
    let hash = hash(&text);
    let name = format!("{hash}.toml");
    durable::ensure_dir(disk, "", "docs", DIR_MODE)?;
    durable::ensure_dir(disk, "docs", PLANS_DIR, DIR_MODE)?;
    let write =
        |existing| durable::write(disk, PLANS_DIR, &name, FILE_MODE, text.as_bytes(), existing);
    match write(IfExists::Keep) {
        Ok(()) => return Ok((hash, SaveOutcome::New)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if holds(disk, &hash)? {
        disk.sync_dir(PLANS_DIR)?;
        return Ok((hash, SaveOutcome::Already));
    }
    write(IfExists::Replace)?;
    Ok((hash, SaveOutcome::Repaired))
}

/// Returns true if the file of a plan holds the text that its name was made from.
fn holds(disk: &impl Disk, name: &PlanHash) -> io::Result<bool> {
    let file = disk.open(path(name), Open::Read)?;
    let bytes = match file.read_all(MAX_FILE_BYTES) {
        Err(error) if error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) => return Ok(false),
        bytes => bytes?,
    };
    Ok(std::str::from_utf8(&bytes).is_ok_and(|text| hash(text) == *name))
}

#[cfg(test)]
mod tests;
