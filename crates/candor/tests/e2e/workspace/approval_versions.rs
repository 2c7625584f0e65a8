//! Approvals of version 1 and 2, and the repository that those of version 2 are bound to.

use crate::workspace::codes::authority::command_as_other_user;
use crate::workspace::fixture::{WorkspaceFixture, plan};
use crate::workspace::kernel::lacks_sandbox;
use candor_testkit::Process;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

fn edit() -> serde_json::Value {
    json!({ "path": "src/a.txt", "content": "four\n" })
}

fn git(fixture: &WorkspaceFixture, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args(arguments)
        .current_dir(fixture.root())
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let ended = Process::run(command, crate::fixture::LIMIT);
    assert_eq!(
        ended.exit,
        candor_testkit::Exit::Code(0),
        "{}",
        ended.stderr
    );
}

#[test]
fn approval_of_version_1_holds_until_it_ends() {
    let fixture = WorkspaceFixture::new();
    git(&fixture, &["init", "-q"]);
    git(&fixture, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let hash = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    fixture.sign_version_1(&hash, -60, 3600);
    let mut client = fixture.executor(&[]);
    let done = client.call_ok("write_file", edit());
    assert_eq!(done["plan"]["plan_hash"], hash);
    // It is bound to no repository: another history changes nothing, and git is not asked.
    git(&fixture, &["checkout", "-q", "--orphan", "other"]);
    client.call_ok("write_file", edit());
    assert!(!fixture.state().join("repository").exists());
    fixture.sign_version_1(&hash, -60, -1);
    let refused = client.call_err("write_file", edit());
    assert_eq!(refused.code(), "PLAN_NOT_APPROVED");
    assert!(refused.message().contains("ended at"), "{refused:?}");
    // The next approval of the plan is of version 2.
    fixture.approve(&hash);
    client.call_ok("write_file", edit());
}

/// Plans that `allow` wrote for cargo made `target` writable.
#[test]
fn plan_with_a_writable_target_that_was_signed_before_still_runs() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    git(&fixture, &["init", "-q"]);
    fixture.write(".gitignore", "/target\n");
    let hash = fixture.save_plan(plan(json!({
        "allow": ["src/**"],
        "writable": ["target"],
        "verify": [["bash", "-c", "echo built > target/out"]],
    })));
    fixture.sign_version_1(&hash, -60, 3600);
    let mut client = fixture.executor(&[]);
    let done = client.call_ok("run_preflight", json!({}));
    assert_eq!(done["preflight"][0]["exit_code"], 0, "{done}");
    assert_eq!(fixture.read("target/out"), "built\n");
    fixture.verify();
}

#[test]
fn repository_that_the_server_cannot_read_is_not_the_approved_one() {
    let fixture = WorkspaceFixture::new();
    git(&fixture, &["init", "-q"]);
    git(&fixture, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let hash = fixture.save_plan(plan(json!({ "allow": ["src/**"] })));
    fixture.sign_here(&hash);
    fs::set_permissions(fixture.path_beside(""), Permissions::from_mode(0o755)).unwrap();
    let command = command_as_other_user(&fixture);
    let mut client = fixture.client(command);
    client.begin_session();
    client.call_ok("write_file", edit());
    if rustix::process::geteuid().is_root() {
        chown(fixture.path(".git"), Some(0), Some(0)).unwrap();
        fs::set_permissions(fixture.path(".git"), Permissions::from_mode(0o700)).unwrap();
        let refused = client.call_err("write_file", edit());
        assert_eq!(refused.code(), "PLAN_NOT_APPROVED");
        assert!(refused.message().contains("is not known"), "{refused:?}");
    }
}
