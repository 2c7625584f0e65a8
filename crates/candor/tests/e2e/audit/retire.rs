//! `candor audit retire`, and the verification of both parts.

use crate::audit::tampering::RecordFixture;
use crate::fixture::{self, LIMIT};
use candor_testkit::{Exit, Process};
use std::fs;
use std::process::Command;

fn retire(record: &RecordFixture, keep: &str) -> Command {
    let mut command = fixture::candor(&["audit", "retire"]);
    command
        .arg(record.log())
        .args(["--keep", keep, "--to"])
        .arg(record.path("away"))
        .arg("--state-dir")
        .arg(record.path("state"));
    command
}

#[test]
fn p12_old_files_are_moved_and_both_parts_verify() {
    let record = RecordFixture::new();
    let flags = record.flags();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    record.session(&flags, 0);
    record.append(60);
    let full = record.full_files().len();
    assert!(full >= 4);
    let moved = fixture::run_ok(retire(&record, "30d"));
    assert!(moved.starts_with("moved lines 1 to "), "{moved}");
    assert_eq!(record.full_files().len(), 1, "the newest full file stays");
    let away = record.path("away").display().to_string();
    assert_eq!(fs::read_dir(&away).unwrap().count(), full - 1);
    let line = record.last_line();
    assert_eq!(
        (&line["kind"], &line["range"]["first"]),
        (&"retire".into(), &1.into())
    );
    let (exit, text, errors) = record.verify(&[]);
    assert_eq!(exit, Exit::Code(0), "{errors}");
    assert!(
        text.contains(&format!("were moved to {away}; --with {away}")),
        "{text}"
    );
    assert_eq!(record.verify(&["--with", &away]).0, Exit::Code(0));
    assert_eq!(record.status()["completeness"], "checked");
    let log = record.begin(&flags).unwrap();
    assert_eq!(log["completeness"], "checked");
    assert_eq!(
        fixture::run_ok(retire(&record, "30d")),
        "nothing was moved: no full file has only lines of that age\n"
    );
    // The verification covers the files that were moved.
    let mut names: Vec<_> = fs::read_dir(&away)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let last = names.last().unwrap();
    let cut = fs::read_to_string(last).unwrap();
    fs::write(last, &cut[..cut.trim_end().rfind('\n').unwrap() + 1]).unwrap();
    let (exit, _, errors) = record.verify(&["--with", &away]);
    assert_eq!(exit, Exit::Code(3), "{errors}");
    assert_eq!(record.verify(&[]).0, Exit::Code(0));
    // Without the anchor, the first lines are missing.
    fs::remove_file(record.workspace.state().join("retired.json")).unwrap();
    let (exit, _, errors) = record.verify(&[]);
    assert_eq!(exit, Exit::Code(3), "{errors}");
    assert!(errors.contains("is broken at line 1"), "{errors}");
}

#[test]
fn unchecked_and_broken_logs_are_not_retired() {
    let record = RecordFixture::new();
    let flags = record.flags();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    record.session(&flags, 0);
    record.append(60);
    record.save("whole");
    fs::remove_file(record.near()).unwrap();
    fixture::run_err_with(4, retire(&record, "30d"));
    record.restore("whole");
    record.edit(|_| String::new());
    let refused = fixture::run_err_with(3, retire(&record, "30d"));
    assert!(refused.contains("is broken at line"), "{refused}");
    record.restore("whole");
    let inside = record.workspace.path("away").display().to_string();
    let mut command = fixture::candor(&["audit", "retire"]);
    command
        .arg(record.log())
        .args(["--keep", "30d", "--to", &inside, "--state-dir"]);
    command.arg(record.path("state"));
    let ended = Process::run(command, LIMIT);
    assert_eq!(ended.exit, Exit::Code(1));
    assert!(
        ended.stderr.contains("where an agent could change it"),
        "{}",
        ended.stderr
    );
}
