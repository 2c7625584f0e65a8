//! Files: what must stay as it is stays, what must stay unread stays unread, and a build still works.

use crate::place::Place;
use candor_workspace::preflight::{RunError, WritableFault};
use std::fs;

#[test]
fn the_log_cannot_be_touched() {
    let place = Place::new();
    let before = place.everything_else();
    assert_eq!(
        place.attack("log", |_| {}),
        "truncate: EACCES
create: EACCES
append: EACCES
remove: EACCES
move away: EACCES
restore over it: EACCES
hard link: EXDEV
through a link: EACCES
rotated name: EACCES
read: done
"
    );
    assert_eq!(before, place.everything_else());
    assert!(!place.at("work/audit-log.jsonl.1").exists());
}

#[test]
fn hooks_plans_and_secrets_are_out_of_reach() {
    let place = Place::new();
    let before = place.everything_else();
    let said = place.attack("workspace", |_| {});
    let refused = said
        .lines()
        .filter(|line| line.ends_with(": EACCES") || line.ends_with(": EXDEV"));
    assert_eq!(refused.count(), 17, "{said}");
    assert_eq!(before, place.everything_else());
    assert!(!place.at("work/new").exists());
}

#[test]
fn our_own_directories_are_out_of_reach_though_their_parent_is_readable() {
    let place = Place::new();
    let before = place.everything_else();
    let said = place.attack("own", |_| {});
    let refused = said
        .lines()
        .filter(|line| line.ends_with(": EACCES") || line.ends_with(": EXDEV"));
    assert_eq!(refused.count(), 14, "{said}");
    assert_eq!(before, place.everything_else());
}

#[test]
fn what_a_build_does_works() {
    let place = Place::new();
    let before = place.everything_else();
    let said = place.attack("allowed", |_| {});
    assert_eq!(said.lines().count(), 22, "{said}");
    assert!(said.lines().all(|line| line.ends_with(": done")), "{said}");
    assert_eq!(before, place.everything_else());
}

#[test]
fn a_writable_directory_is_made_and_one_that_holds_something_protected_is_refused() {
    let place = Place::new();
    let mut order = place.order(&["sh", "-c", "echo x > build/deep/file"]);
    order.writable = vec!["build/deep".into()];
    assert!(place.run(&order).passed());
    assert_eq!(fs::read(place.at("work/build/deep/file")).unwrap(), b"x\n");

    for path in ["docs", ".git/hooks", ".candor", "audit-log.jsonl"] {
        order.writable = vec!["target".into(), path.into()];
        let refused = place.try_run(&order).unwrap_err();
        assert!(
            matches!(&refused, RunError::Writable { path: told, fault: WritableFault::Protected } if told.as_os_str() == path),
            "{refused:?}"
        );
    }
}

#[test]
fn a_root_that_overlaps_with_our_own_directory_is_refused() {
    let place = Place::new();
    let mut order = place.order(&["true"]);
    for never in ["work/inside", "", "work"] {
        order.never = vec![place.at(never)];
        assert!(matches!(
            place.try_run(&order),
            Err(RunError::RootHoldsOwn { .. })
        ));
    }
}

#[test]
fn a_file_may_not_grow_beyond_its_limit() {
    let place = Place::new();
    let mut order = place.order(&["sh", "-c", "exec head -c 100000 /dev/zero > target/big"]);
    order.limits.file = 4096;
    let ran = place.run(&order);
    assert_eq!((ran.exit_code, ran.signal), (None, Some(25)), "SIGXFSZ");
    assert_eq!(
        fs::metadata(place.at("work/target/big")).unwrap().len(),
        4096
    );
}
