//! The plans of a workspace: `docs/plans/<hash>.toml` below its root.

use super::durable::{self, Existing};
use super::error::PlanError;
use super::hash::{PlanHash, PlanRef, hash};
use super::lint::{Lint, Severity, lint};
use super::model::Plan;
use super::text::{is_canonical, parse, render};
use candor_disk::{Disk, DiskFile, Open};
use rustix::io::Errno;
use std::fmt;
use std::io;

/// The directory that plans and their approvals lie in, relative to the root.
pub const PLANS_DIR: &str = "docs/plans";

/// How many plans are listed.
pub const LISTED_MAX: usize = 256;

/// How many names an ambiguous reference is told.
const CANDIDATES_MAX: usize = 8;

/// How many bytes a stored plan may have: each line may have got a CR.
const FILE_BYTES_MAX: usize = 2 * super::bounds::PLAN_BYTES_MAX;

const DIR_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// A plan as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub hash: PlanHash,
    /// What it says.
    pub plan: Plan,
    /// Its canonical text.
    pub text: String,
}

/// Why a stored plan cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Its bytes are no longer those that its name was made from.
    Hash {
        /// What the bytes hash to.
        actual: PlanHash,
    },
    /// It is no text.
    NotUtf8,
    /// It is no plan.
    Plan(PlanError),
    /// It says the plan in another way than the canonical one.
    NotCanonical,
    /// It is a plan that nobody could enforce; the first reason.
    Lint(Lint),
    /// The name of a file that ends in `.toml` is no hash.
    Name,
    /// It is no regular file, or cannot be read.
    Unreadable(String),
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Hash { actual } => write!(
                out,
                "it was changed: its text hashes to {actual}; restore it, or save it as a new plan"
            ),
            Damage::NotUtf8 => out.write_str("it is not UTF-8"),
            Damage::Plan(error) => write!(out, "it is no plan: {error}"),
            Damage::NotCanonical => {
                out.write_str("its text is not the canonical one; save it as a new plan")
            }
            Damage::Lint(lint) => write!(out, "{} {}", lint.at, lint.message),
            Damage::Name => out.write_str("its name is no hash; save it as a plan"),
            Damage::Unreadable(why) => write!(out, "it cannot be read: {why}"),
        }
    }
}

/// Why a plan was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// There is no such plan.
    Missing,
    /// There is one, and it cannot be enforced.
    Damaged(Damage),
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

/// Why a reference means no plan.
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
pub struct Listing {
    /// Those that can be enforced, by hash.
    pub plans: Vec<Stored>,
    /// Those that cannot, by file name.
    pub damaged: Vec<(String, Damage)>,
    /// How many more there are.
    pub omitted: usize,
}

/// What saving did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The plan is new.
    New,
    /// It was there already.
    Already,
    /// It was there, but damaged, and is whole again.
    Repaired,
}

/// The file of a plan, relative to the root.
pub fn path(hash: &PlanHash) -> String {
    format!("{PLANS_DIR}/{hash}.toml")
}

/// The names in the plans' directory; none where it is missing. What is no text is left out.
pub(crate) fn names(disk: &impl Disk) -> io::Result<Vec<String>> {
    let names = match disk.list(PLANS_DIR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let names = names.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// All plans, sorted by hash, and the damaged ones by name.
pub fn list(disk: &impl Disk, protected: &dyn Fn(&[u8]) -> bool) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let names = names(disk)?.into_iter();
    let names = names.filter(|name| name.ends_with(".toml"));
    for (place, name) in names.enumerate() {
        if place >= LISTED_MAX {
            listing.omitted += 1;
            continue;
        }
        let Some(hash) = name.strip_suffix(".toml").and_then(PlanHash::read) else {
            listing.damaged.push((name, Damage::Name));
            continue;
        };
        match load(disk, &hash, protected) {
            Ok(stored) => listing.plans.push(stored),
            Err(LoadError::Missing) => {}
            Err(LoadError::Damaged(damage)) => listing.damaged.push((name, damage)),
            Err(LoadError::Io(error)) => {
                let damage = Damage::Unreadable(error.to_string());
                listing.damaged.push((name, damage));
            }
        }
    }
    Ok(listing)
}

/// The plan that a reference means. It need not be whole.
pub fn find(disk: &impl Disk, reference: &PlanRef) -> Result<PlanHash, FindError> {
    let names = names(disk).map_err(FindError::Io)?;
    let hashes = names.iter().filter_map(|name| name.strip_suffix(".toml"));
    let hashes = hashes.filter_map(PlanHash::read);
    let mut found: Vec<_> = hashes.filter(|hash| reference.matches(hash)).collect();
    found.truncate(CANDIDATES_MAX);
    match found.len() {
        0 => Err(FindError::Missing),
        1 => found.pop().ok_or(FindError::Missing),
        _ => Err(FindError::Ambiguous(found)),
    }
}

/// A plan by its hash: whole, canonical and without an error.
pub fn load(
    disk: &impl Disk,
    hash: &PlanHash,
    protected: &dyn Fn(&[u8]) -> bool,
) -> Result<Stored, LoadError> {
    let bytes = match read(disk, &path(hash)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LoadError::Missing),
        Err(error) => return Err(refused(error)),
        Ok(bytes) => bytes,
    };
    judge(bytes, hash, protected).map_err(LoadError::Damaged)
}

fn read(disk: &impl Disk, path: &str) -> io::Result<Vec<u8>> {
    disk.open(path, Open::Read)?.read_all(FILE_BYTES_MAX)
}

/// What the disk says about something that is no plan is damage; the rest is the disk's trouble.
fn refused(error: io::Error) -> LoadError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::FBIG) => LoadError::Damaged(Damage::Plan(PlanError::TooLarge {
            bytes: FILE_BYTES_MAX,
            max: super::bounds::PLAN_BYTES_MAX,
        })),
        Some(Errno::ISDIR | Errno::LOOP | Errno::INVAL) => {
            LoadError::Damaged(Damage::Unreadable(error.to_string()))
        }
        _ => LoadError::Io(error),
    }
}

fn judge(
    bytes: Vec<u8>,
    name: &PlanHash,
    protected: &dyn Fn(&[u8]) -> bool,
) -> Result<Stored, Damage> {
    let text = String::from_utf8(bytes).map_err(|_| Damage::NotUtf8)?;
    let actual = hash(&text);
    if actual != *name {
        return Err(Damage::Hash { actual });
    }
    let text = super::hash::unix_lines(&text);
    let plan = parse(&text).map_err(Damage::Plan)?;
    if !is_canonical(&text, &plan) {
        return Err(Damage::NotCanonical);
    }
    let lints = lint(&plan, protected).into_iter();
    if let Some(error) = lints.into_iter().find(|l| l.severity == Severity::Error) {
        return Err(Damage::Lint(error));
    }
    Ok(Stored {
        hash: actual,
        plan,
        text,
    })
}

/// Stores a plan under the hash of its text: when this succeeds it is on the disk, whole.
///
/// Whether the plan has errors is for the caller to ask first, see [`lint`].
pub fn save(disk: &impl Disk, plan: &Plan) -> io::Result<(PlanHash, Saved)> {
    let text = render(plan);
    let hash = hash(&text);
    let name = format!("{hash}.toml");
    durable::ensure_dir(disk, "", "docs", DIR_MODE)?;
    durable::ensure_dir(disk, "docs", PLANS_DIR, DIR_MODE)?;
    let write =
        |existing| durable::write(disk, PLANS_DIR, &name, FILE_MODE, text.as_bytes(), existing);
    match write(Existing::Keep) {
        Ok(()) => return Ok((hash, Saved::New)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if holds(disk, &hash)? {
        disk.sync_dir(PLANS_DIR)?;
        return Ok((hash, Saved::Already));
    }
    write(Existing::Replace)?;
    Ok((hash, Saved::Repaired))
}

/// Whether the file of a plan holds the text that its name was made from.
fn holds(disk: &impl Disk, name: &PlanHash) -> io::Result<bool> {
    let bytes = match read(disk, &path(name)) {
        Err(error) if error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) => return Ok(false),
        bytes => bytes?,
    };
    Ok(std::str::from_utf8(&bytes).is_ok_and(|text| hash(text) == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_disk::RealDisk;
    use candor_testkit::sim_disk::{SimDisk, Survival, Trials};
    use serde_json::json;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn plan(title: &str) -> Plan {
        let phase = json!({"id": "A", "allow": ["src/**", "a"], "operations": ["create"]});
        Plan::from_value(json!({"title": title, "objective": "o", "phase": [phase]})).unwrap()
    }

    fn free(path: &[u8]) -> bool {
        path.starts_with(b".git")
    }

    fn damage(disk: &impl Disk, hash: &PlanHash) -> Damage {
        match load(disk, hash, &free) {
            Err(LoadError::Damaged(damage)) => damage,
            other => panic!("{other:?}"),
        }
    }

    fn fresh() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::at(dir.path()).unwrap();
        (dir, disk)
    }

    #[test]
    fn a_plan_is_found_again_by_its_hash() {
        let (dir, disk) = fresh();
        assert_eq!(list(&disk, &free).unwrap(), Listing::default());
        let (hash, saved) = save(&disk, &plan("one")).unwrap();
        assert_eq!(saved, Saved::New);
        assert_eq!(
            save(&disk, &plan("one")).unwrap(),
            (hash.clone(), Saved::Already)
        );
        let stored = load(&disk, &hash, &free).unwrap();
        assert_eq!(stored.plan, plan("one"));
        assert_eq!(super::hash(&stored.text), hash);
        let prefix = PlanRef::read(&hash.as_str()[..8]).unwrap();
        assert_eq!(find(&disk, &prefix).unwrap(), hash);
        let file = fs::metadata(dir.path().join(path(&hash))).unwrap();
        assert_eq!(file.permissions().mode() & 0o444, 0o444);
        assert_eq!(disk.list(PLANS_DIR).unwrap().len(), 1);

        save(&disk, &plan("two")).unwrap();
        let listing = list(&disk, &free).unwrap();
        assert_eq!(listing.plans.len(), 2);
        assert!(listing.plans[0].hash < listing.plans[1].hash);
        let other = PlanRef::read("00000000").unwrap();
        assert!(matches!(find(&disk, &other), Err(FindError::Missing)));
        assert!(matches!(
            load(&disk, &super::hash("x"), &free),
            Err(LoadError::Missing)
        ));
    }

    #[test]
    fn a_reference_that_means_two_plans_means_none() {
        let (dir, disk) = fresh();
        save(&disk, &plan("one")).unwrap();
        let plans = dir.path().join(PLANS_DIR);
        for end in ["a", "b"] {
            let name = format!("{}{}{end}.toml", "01234567", "0".repeat(55));
            fs::write(plans.join(name), "x").unwrap();
        }
        let Err(FindError::Ambiguous(found)) = find(&disk, &PlanRef::read("0123456700").unwrap())
        else {
            panic!();
        };
        assert_eq!(found.len(), 2);
        let whole = PlanRef::from(&found[0]);
        assert_eq!(find(&disk, &whole).unwrap(), found[0]);
    }

    #[test]
    fn a_checkout_with_other_line_ends_verifies_and_one_byte_does_not() {
        let (dir, disk) = fresh();
        let (hash, _) = save(&disk, &plan("one")).unwrap();
        let file = dir.path().join(path(&hash));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace('\n', "\r\n")).unwrap();
        assert_eq!(load(&disk, &hash, &free).unwrap().text, text);
        assert_eq!(save(&disk, &plan("one")).unwrap().1, Saved::Already);
        for place in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            fs::write(&file, &bytes).unwrap();
            let found = damage(&disk, &hash);
            assert!(matches!(found, Damage::Hash { .. }), "{place}: {found:?}");
        }
        for changed in [
            format!("\u{feff}{text}"),
            text.replacen('\n', "\r", 1),
            text.repeat(2),
        ] {
            fs::write(&file, changed).unwrap();
            assert!(matches!(damage(&disk, &hash), Damage::Hash { .. }));
        }
        assert_eq!(
            save(&disk, &plan("one")).unwrap(),
            (hash.clone(), Saved::Repaired)
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn what_cannot_be_enforced_is_named() {
        let (dir, disk) = fresh();
        save(&disk, &plan("one")).unwrap();
        let plans = dir.path().join(PLANS_DIR);
        let put = |text: &str| {
            let hash = super::hash(text);
            fs::write(plans.join(format!("{hash}.toml")), text).unwrap();
            hash
        };
        let canonical = render(&plan("two"));
        let comment = put(&format!("# all is well\n{canonical}"));
        assert_eq!(damage(&disk, &comment), Damage::NotCanonical);
        let broken = put("title = ");
        assert!(matches!(
            damage(&disk, &broken),
            Damage::Plan(PlanError::Text { .. })
        ));
        let bad = put(&canonical.replace("src/**", "../**"));
        assert!(
            matches!(damage(&disk, &bad), Damage::Lint(lint) if lint.at == "phase[0].allow[0]")
        );
        let git = put(&canonical.replace("src/**", ".git/*"));
        assert!(matches!(damage(&disk, &git), Damage::Lint(_)));
        let large = put(&format!("title = \"{}\"\n", "x".repeat(1 << 20)));
        assert!(matches!(
            damage(&disk, &large),
            Damage::Plan(PlanError::TooLarge { .. })
        ));
        fs::write(plans.join("mine.toml"), "x").unwrap();
        fs::write(plans.join("README.md"), "x").unwrap();
        let (dir_hash, link_hash) = (super::hash("d"), super::hash("l"));
        fs::create_dir(plans.join(format!("{dir_hash}.toml"))).unwrap();
        symlink("mine.toml", plans.join(format!("{link_hash}.toml"))).unwrap();
        for hash in [dir_hash, link_hash] {
            assert!(matches!(damage(&disk, &hash), Damage::Unreadable(_)));
        }
        let listing = list(&disk, &free).unwrap();
        assert_eq!((listing.plans.len(), listing.damaged.len()), (1, 8));
        assert!(listing.damaged.is_sorted_by_key(|(name, _)| name.clone()));
        assert!(
            listing
                .damaged
                .contains(&("mine.toml".to_owned(), Damage::Name))
        );
    }

    #[test]
    fn only_so_many_plans_are_read() {
        let disk = SimDisk::new(1);
        save(&disk, &plan("one")).unwrap();
        for number in 0..LISTED_MAX + 3 {
            let name = format!("{PLANS_DIR}/{number:064x}.toml");
            disk.open(name, Open::CreateNew(0o600)).unwrap();
        }
        let listing = list(&disk, &free).unwrap();
        assert_eq!(listing.plans.len() + listing.damaged.len(), LISTED_MAX);
        assert_eq!(listing.omitted, 4);
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let (dir, disk) = fresh();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), dir.path().join("docs")).unwrap();
        assert!(save(&disk, &plan("one")).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(list(&disk, &free).is_err());
    }

    /// Saves a plan, twice where it fails, and notes it when it is promised.
    fn saving(disk: &SimDisk) {
        let again = || save(disk, &plan("one"));
        if again().or_else(|_| again()).is_ok() {
            disk.mark("saved");
        }
    }

    fn whole_or_absent(disk: &SimDisk, promised: &[String]) {
        let text = render(&plan("one"));
        match load(disk, &hash(&text), &free) {
            Ok(stored) => assert_eq!(stored.text, text),
            Err(LoadError::Missing) => assert!(promised.is_empty()),
            Err(other) => panic!("{other}"),
        }
        assert!(list(disk, &free).unwrap().damaged.is_empty());
    }

    #[test]
    fn a_plan_is_there_whole_or_not_at_all() {
        let tried = Trials::new()
            .crash_after_faults()
            .run(saving, whole_or_absent)
            .unwrap();
        assert!(tried.runs > 30, "{tried:?}");
    }

    #[test]
    fn a_plan_that_is_there_survives_being_saved_again() {
        let disk = SimDisk::new(0);
        save(&disk, &plan("one")).unwrap();
        let after = disk.after(Survival::Synced);
        let there = |disk: &SimDisk, _: &[String]| {
            whole_or_absent(disk, &["saved".to_owned()]);
        };
        Trials::new()
            .starting_from(&after)
            .run(saving, there)
            .unwrap();
    }

    #[test]
    fn what_a_dead_writer_left_hinders_nobody() {
        let disk = SimDisk::new(0);
        let (hash, _) = save(&disk, &plan("one")).unwrap();
        disk.unlink(path(&hash)).unwrap();
        let left = format!("{PLANS_DIR}/.{hash}.toml.0.tmp");
        let file = disk.open(left, Open::CreateNew(0o600)).unwrap();
        file.append_all(b"half").unwrap();
        assert_eq!(
            save(&disk, &plan("one")).unwrap(),
            (hash.clone(), Saved::New)
        );
        assert_eq!(load(&disk, &hash, &free).unwrap().plan, plan("one"));
        assert_eq!(list(&disk, &free).unwrap().plans.len(), 1);
    }
}
