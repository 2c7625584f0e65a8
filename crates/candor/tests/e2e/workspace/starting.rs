//! Starts that are refused: files that others could change, a process without files, and a log that others
//! could write.

use super::fixture::{EXECUTOR, WorkspaceFixture, failed_start};
use candor_testkit::user::with_settings_of;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn p3_loose_files_prevent_the_start() {
    let fixture = WorkspaceFixture::new();
    fs::write(fixture.path_beside("config/approver.key"), "").unwrap();
    set_mode(&fixture.path_beside("config/approver.key"), 0o600);
    for (name, mode, command) in [
        ("config/approvers", 0o666, "chmod go-w "),
        ("config/approvers", 0o664, "chmod go-w "),
        ("config", 0o777, "chmod go-w "),
        ("state", 0o770, "chmod go-w "),
        ("config/approver.key", 0o620, "chmod go-w "),
        ("config/approver.key", 0o644, "chmod go= "),
    ] {
        let path = fixture.path_beside(name);
        let before = fs::metadata(&path).unwrap().permissions();
        set_mode(&path, mode);
        let envelope = fixture.failed_start(&[]);
        assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE", "{name}");
        let message = envelope["human_message"].as_str().unwrap();
        for part in [path.to_str().unwrap(), command, &format!("{mode:04o}")] {
            assert!(message.contains(part), "{part}: {message}");
        }
        fs::set_permissions(&path, before).unwrap();
    }
    fixture.executor(&[]).end();
}

#[test]
fn p3_files_of_another_user_prevent_the_start() {
    if !rustix::process::geteuid().is_root() {
        candor_testkit::skip("only root can give files away");
        return;
    }
    let fixture = WorkspaceFixture::new();
    let approvers = fixture.path_beside("config/approvers");
    std::os::unix::fs::chown(&approvers, Some(1500), None).unwrap();
    let envelope = fixture.failed_start(&[]);
    assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE");
    assert!(
        envelope["human_message"]
            .as_str()
            .unwrap()
            .contains("belongs to the user 1500")
    );
}

#[test]
fn p3_log_that_others_can_write_is_refused() {
    let fixture = WorkspaceFixture::with_plan();
    fixture.executor(&[]).end();
    let log = fixture.path("audit-log.jsonl");
    set_mode(&log, 0o666);
    let mut client = fixture.serve(EXECUTOR, &[]);
    let failed = client.call_err("begin_session", json!({}));
    assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
    assert!(
        failed.message().contains("chmod go-w"),
        "{}",
        failed.message()
    );
    set_mode(&log, 0o600);
    client.begin_session();
}

#[test]
fn p14_few_open_files_are_a_bootstrap_failure() {
    let fixture = WorkspaceFixture::new();
    for files in [10, 12, 63] {
        let command = fixture.command(EXECUTOR, &[]);
        let mut limited = Command::new("prlimit");
        limited
            .arg(format!("--nofile={files}"))
            .arg(command.get_program());
        let envelope = failed_start(with_settings_of(&command, limited));
        assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE", "{files}");
        assert!(
            envelope["human_message"]
                .as_str()
                .unwrap()
                .contains("files open")
        );
    }
}

/// A library that moves the clock, for a program that is linked with the C library.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec = SECONDS;
    return done;
}
"#;

#[test]
fn p14_impossible_clock_is_a_bootstrap_failure() {
    let fixture = WorkspaceFixture::new();
    let source = fixture.path_beside("clock.c");
    fs::write(&source, CLOCK).unwrap();
    for seconds in ["253402300800", "300000000000000", "0"] {
        let library = fixture.path_beside(&format!("clock{seconds}.so"));
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", &format!("-DSECONDS={seconds}LL"), "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ldl")
            .status();
        if !built.is_ok_and(|status| status.success()) {
            candor_testkit::skip("there is no C compiler");
            return;
        }
        let mut command = fixture.command(EXECUTOR, &[]);
        command.env("LD_PRELOAD", &library);
        let envelope = failed_start(command);
        assert_eq!(envelope["error_code"], "BOOTSTRAP_FAILURE", "{seconds}");
        let message = envelope["human_message"].as_str().unwrap();
        assert!(message.contains("clock"), "{message}");
    }
}
