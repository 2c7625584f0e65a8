//! Generic errors.

use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::limit;
use candor_testkit::{with_matching_calls_refused, with_refused_call};
use rustix::process::Resource;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
use serde_json::json;
use std::fs;

#[cfg(target_arch = "x86_64")]
const GETRANDOM: i64 = 318;
#[cfg(target_arch = "aarch64")]
const GETRANDOM: i64 = 278;
#[cfg(target_arch = "x86_64")]
const RENAMEAT2: i64 = 316;
#[cfg(target_arch = "aarch64")]
const RENAMEAT2: i64 = 276;
const EIO: u32 = 5;
const ENOMEM: u32 = 12;

/// Without random bytes there is no new id, which is a panic. The panic becomes a failure, and the
/// server continues.
#[test]
fn internal_error() {
    let fixture = WorkspaceFixture::with_plan();
    let is = |argument, value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap()
    };
    // Only requests for the bytes of an id have no flags; those of hash maps have some.
    let ids = SeccompRule::new(vec![is(1, 16), is(2, 0)]).unwrap();
    let mut client =
        with_matching_calls_refused(GETRANDOM, vec![ids], EIO, || fixture.serve(EXECUTOR, &[]));
    for _ in 0..2 {
        let root = json!({ "workspace_root": fixture.root_text() });
        let failed = client.call_err("begin_session", root);
        assert_eq!(failed.code(), "INTERNAL_ERROR", "{failed:?}");
    }
    let failed = client.call_err("session_status", json!({}));
    assert_eq!(failed.code(), "SESSION_NOT_INITIALIZED");
    client.end();
}

/// A kernel without memory for the last step of a write: nothing was changed, and the cause has the reason.
#[test]
fn unknown_tool_failure() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = with_refused_call(RENAMEAT2, ENOMEM, || fixture.executor(&[]));
    for path in ["src/a.txt", "src/b.txt"] {
        let failed = client.call_err("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(failed.code(), "UNKNOWN_TOOL_FAILURE", "{failed:?}");
        assert_eq!(failed.cause()["code"], "ENOMEM");
        assert_eq!(failed.effect(), "none");
    }
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    assert_eq!(fs::read_dir(fixture.path("src")).unwrap().count(), 1);
}

/// A process that can open hardly any files: the call succeeds, or the file is unchanged.
#[test]
fn unknown_tool_failure_without_handles() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    let pid = client.server.process().pid();
    let had = rustix::process::getrlimit(Resource::Nofile).current;
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
    let mut answers = Vec::new();
    // Checkpoints sometimes need handles too, so this is repeated.
    for round in 0..50 {
        let text = format!("{round}\n");
        let before = fixture.read("src/a.txt");
        limit(pid, Resource::Nofile, Some(open + round % 5));
        let answer = client.call(
            "write_file",
            &json!({ "path": "src/a.txt", "content": text }),
        );
        limit(pid, Resource::Nofile, had);
        if answer["result"]["isError"] != true {
            assert_eq!(fixture.read("src/a.txt"), text);
            continue;
        }
        let failed = client.parse_failure(&answer);
        assert_eq!(
            (failed.effect(), fixture.read("src/a.txt")),
            ("none", before)
        );
        assert!(failed.text.contains("EMFILE"), "{failed:?}");
        answers.push(failed.code().to_owned());
        if failed.code() == "UNKNOWN_TOOL_FAILURE" {
            assert_eq!(failed.cause()["code"], "EMFILE");
            break;
        }
        assert_eq!(failed.code(), "AUDIT_LOG_FAILED");
    }
    assert!(
        answers.iter().any(|code| code == "UNKNOWN_TOOL_FAILURE"),
        "{answers:?}"
    );
    fixture.verify();
}
