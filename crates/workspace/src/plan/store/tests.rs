//! Plans on a disk: lookup, damage and power failures.

use super::*;
use candor_disk::RealDisk;
use candor_sim_disk::{SimDisk, Survival, Trials};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

fn plan(title: &str) -> Plan {
    let phase = json!({"id": "A", "allow": ["src/**", "a"], "operations": ["create"]});
    Plan::from_value(json!({"title": title, "objective": "o", "phase": [phase]})).unwrap()
}

fn is_protected(path: &[u8]) -> bool {
    path.starts_with(b".git")
}

fn damage(disk: &impl Disk, hash: &PlanHash) -> PlanDamage {
    match load(disk, hash, &is_protected) {
        Err(LoadError::Damaged(damage)) => damage,
        other => panic!("{other:?}"),
    }
}

fn temporary_disk() -> (tempfile::TempDir, RealDisk) {
    let dir = tempfile::tempdir().unwrap();
    let disk = RealDisk::at(dir.path()).unwrap();
    (dir, disk)
}

#[test]
fn plan_is_found_by_its_hash() {
    let (dir, disk) = temporary_disk();
    assert_eq!(list(&disk, &is_protected).unwrap(), PlanList::default());
    let (hash, saved) = save(&disk, &plan("one")).unwrap();
    assert_eq!(saved, SaveOutcome::New);
    assert_eq!(
        save(&disk, &plan("one")).unwrap(),
        (hash.clone(), SaveOutcome::Already)
    );
    let stored = load(&disk, &hash, &is_protected).unwrap();
    assert_eq!(stored.plan, plan("one"));
    assert_eq!(super::hash(&stored.text), hash);
    let prefix = PlanRef::read(&hash.as_str()[..8]).unwrap();
    assert_eq!(find(&disk, &prefix).unwrap(), hash);
    let file = fs::metadata(dir.path().join(path(&hash))).unwrap();
    assert_eq!(file.permissions().mode() & 0o444, 0o444);
    assert_eq!(disk.list(PLANS_DIR).unwrap().len(), 1);

    save(&disk, &plan("two")).unwrap();
    let listing = list(&disk, &is_protected).unwrap();
    assert_eq!(listing.plans.len(), 2);
    assert!(listing.plans[0].hash < listing.plans[1].hash);
    let other = PlanRef::read("00000000").unwrap();
    assert!(matches!(find(&disk, &other), Err(FindError::Missing)));
    assert!(matches!(
        load(&disk, &super::hash("x"), &is_protected),
        Err(LoadError::Missing)
    ));
}

#[test]
fn ambiguous_reference_is_refused() {
    let (dir, disk) = temporary_disk();
    save(&disk, &plan("one")).unwrap();
    let plans = dir.path().join(PLANS_DIR);
    for end in ["a", "b"] {
        let name = format!("{}{}{end}.toml", "01234567", "0".repeat(55));
        fs::write(plans.join(name), "x").unwrap();
    }
    let Err(FindError::Ambiguous(hashes)) = find(&disk, &PlanRef::read("0123456700").unwrap())
    else {
        panic!();
    };
    assert_eq!(hashes.len(), 2);
    let whole = PlanRef::from(&hashes[0]);
    assert_eq!(find(&disk, &whole).unwrap(), hashes[0]);
}

#[test]
fn other_line_ends_verify_and_changed_bytes_do_not() {
    let (dir, disk) = temporary_disk();
    let (hash, _) = save(&disk, &plan("one")).unwrap();
    let file = dir.path().join(path(&hash));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace('\n', "\r\n")).unwrap();
    assert_eq!(load(&disk, &hash, &is_protected).unwrap().text, text);
    assert_eq!(save(&disk, &plan("one")).unwrap().1, SaveOutcome::Already);
    for index in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[index] ^= 1;
        fs::write(&file, &bytes).unwrap();
        let damage = damage(&disk, &hash);
        assert!(
            matches!(damage, PlanDamage::Hash { .. }),
            "{index}: {damage:?}"
        );
    }
    for changed in [
        format!("\u{feff}{text}"),
        text.replacen('\n', "\r", 1),
        text.repeat(2),
    ] {
        fs::write(&file, changed).unwrap();
        assert!(matches!(damage(&disk, &hash), PlanDamage::Hash { .. }));
    }
    assert_eq!(
        save(&disk, &plan("one")).unwrap(),
        (hash.clone(), SaveOutcome::Repaired)
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn unenforceable_plans_are_reported() {
    let (dir, disk) = temporary_disk();
    save(&disk, &plan("one")).unwrap();
    let plans = dir.path().join(PLANS_DIR);
    let write_plan = |text: &str| {
        let hash = super::hash(text);
        fs::write(plans.join(format!("{hash}.toml")), text).unwrap();
        hash
    };
    let canonical = render(&plan("two"));
    let comment = write_plan(&format!("# all is well\n{canonical}"));
    assert_eq!(damage(&disk, &comment), PlanDamage::NotCanonical);
    let broken = write_plan("title = ");
    assert!(matches!(
        damage(&disk, &broken),
        PlanDamage::Plan(PlanError::Text { .. })
    ));
    let bad = write_plan(&canonical.replace("src/**", "../**"));
    assert!(
        matches!(damage(&disk, &bad), PlanDamage::Lint(lint) if lint.at == "phase[0].allow[0]")
    );
    let git = write_plan(&canonical.replace("src/**", ".git/*"));
    assert!(matches!(damage(&disk, &git), PlanDamage::Lint(_)));
    let large = write_plan(&format!("title = \"{}\"\n", "x".repeat(1 << 20)));
    assert!(matches!(
        damage(&disk, &large),
        PlanDamage::Plan(PlanError::TooLarge { .. })
    ));
    fs::write(plans.join("mine.toml"), "x").unwrap();
    fs::write(plans.join("README.md"), "x").unwrap();
    let (dir_hash, link_hash) = (super::hash("d"), super::hash("l"));
    fs::create_dir(plans.join(format!("{dir_hash}.toml"))).unwrap();
    symlink("mine.toml", plans.join(format!("{link_hash}.toml"))).unwrap();
    for hash in [dir_hash, link_hash] {
        assert!(matches!(damage(&disk, &hash), PlanDamage::Unreadable(_)));
    }
    let listing = list(&disk, &is_protected).unwrap();
    assert_eq!((listing.plans.len(), listing.damaged.len()), (1, 8));
    assert!(listing.damaged.is_sorted_by_key(|(name, _)| name.clone()));
    assert!(
        listing
            .damaged
            .contains(&("mine.toml".to_owned(), PlanDamage::Name))
    );
}

#[test]
fn plans_that_are_read_are_limited() {
    let disk = SimDisk::new(1);
    save(&disk, &plan("one")).unwrap();
    for number in 0..MAX_READ_PLANS + 3 {
        let name = format!("{PLANS_DIR}/{number:064x}.toml");
        disk.open(name, Open::CreateNew(0o600)).unwrap();
    }
    let listing = list(&disk, &is_protected).unwrap();
    assert_eq!(listing.plans.len() + listing.damaged.len(), MAX_READ_PLANS);
    assert_eq!(listing.omitted, 4);
}

#[test]
fn link_to_the_plans_is_not_followed() {
    let (dir, disk) = temporary_disk();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), dir.path().join("docs")).unwrap();
    assert!(save(&disk, &plan("one")).is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(list(&disk, &is_protected).is_err());
}

/// Saves a plan, twice if it fails, and remembers it if saving succeeded.
fn save_with_retry(disk: &SimDisk) {
    let again = || save(disk, &plan("one"));
    if again().or_else(|_| again()).is_ok() {
        disk.mark("saved");
    }
}

fn check_complete_or_absent(disk: &SimDisk, acknowledged: &[String]) {
    let text = render(&plan("one"));
    match load(disk, &hash(&text), &is_protected) {
        Ok(stored) => assert_eq!(stored.text, text),
        Err(LoadError::Missing) => assert!(acknowledged.is_empty()),
        Err(other) => panic!("{other}"),
    }
    assert!(list(disk, &is_protected).unwrap().damaged.is_empty());
}

#[test]
fn interrupted_save_leaves_a_complete_plan_or_none() {
    let tried = Trials::new()
        .crash_after_faults()
        .run(save_with_retry, check_complete_or_absent)
        .unwrap();
    assert!(tried.runs > 30, "{tried:?}");
}

#[test]
fn saved_plan_survives_another_save() {
    let disk = SimDisk::new(0);
    save(&disk, &plan("one")).unwrap();
    let after = disk.after(Survival::Synced);
    let there = |disk: &SimDisk, _: &[String]| {
        check_complete_or_absent(disk, &["saved".to_owned()]);
    };
    Trials::new()
        .starting_from(&after)
        .run(save_with_retry, there)
        .unwrap();
}

#[test]
fn leftover_of_a_killed_writer_is_harmless() {
    let disk = SimDisk::new(0);
    let (hash, _) = save(&disk, &plan("one")).unwrap();
    disk.unlink(path(&hash)).unwrap();
    let left = format!("{PLANS_DIR}/.{hash}.toml.0.tmp");
    let file = disk.open(left, Open::CreateNew(0o600)).unwrap();
    file.append_all(b"half").unwrap();
    assert_eq!(
        save(&disk, &plan("one")).unwrap(),
        (hash.clone(), SaveOutcome::New)
    );
    assert_eq!(load(&disk, &hash, &is_protected).unwrap().plan, plan("one"));
    assert_eq!(list(&disk, &is_protected).unwrap().plans.len(), 1);
}
