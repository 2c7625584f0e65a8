//! A full disk, on a small file system of the server's own.

use crate::requests::call;
use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use crate::workspace::kernel::lacks_sandbox;
use crate::workspace::requests::AgentClient;
use candor_testkit::on_small_disk;
use candor_testkit::user::with_settings_of;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The size of the file system in bytes.
const SIZE: usize = 6 * 1024 * 1024;

/// Returns the code of a call. This process cannot see the files of the server.
fn code(client: &mut AgentClient, tool: &str, arguments: Value) -> String {
    let answer = client.call(tool, &arguments);
    if answer["result"]["isError"] != true {
        return String::from("ok");
    }
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap();
    assert!(text.contains("ENOSPC"), "{text}");
    assert_eq!(
        answer["result"]["_meta"]["dev.candor/fault"]["effect"],
        "none"
    );
    envelope["error_code"].as_str().unwrap().to_owned()
}

#[test]
fn full_disk_is_reported_and_loses_nothing() {
    let fixture = WorkspaceFixture::with_plan();
    let command = fixture.command(EXECUTOR, &[]);
    let Some(command) = on_small_disk(&command, &fixture.root(), SIZE) else {
        return;
    };
    let mut client = fixture.client(command);
    client.begin_session();
    let write = |path: &str, bytes: usize| json!({ "path": path, "content": "x".repeat(bytes) });
    for path in ["src/a.txt", "src/new"] {
        let failed = code(&mut client, "write_file", write(path, SIZE));
        assert_eq!(failed, "FILE_WRITE_FAILED");
    }
    let read = client.call_ok("read_file", json!({ "path": "src/a.txt" }));
    assert_eq!(read["content"], "one\ntwo\nthree\n");
    let names = client
        .call_ok("list_files", json!({ "path": "src" }))
        .to_string();
    assert!(
        !names.contains("new") && !names.contains(".candor"),
        "{names}"
    );
    // Another program fills the file system.
    let pid = client.server.process().pid();
    let filler = format!("/proc/{pid}/root{}/filler", fixture.root_text());
    let full = fs::write(&filler, vec![0; SIZE]);
    assert!(full.is_err());
    assert_eq!(
        code(&mut client, "write_file", write("src/new", 5)),
        "FILE_WRITE_FAILED"
    );
    // The space reserved for the log is used up last.
    let mut lines = 0;
    let refused = loop {
        for id in 0..64 {
            client
                .server
                .send_line(call(id, "session_status", json!({})));
        }
        let answers: Vec<_> = (0..64).map(|_| client.server.line().unwrap()).collect();
        lines += answers
            .iter()
            .filter(|text| !text.contains("isError"))
            .count();
        if let Some(refused) = answers
            .into_iter()
            .find(|text| text.contains("AUDIT_LOG_FAILED"))
        {
            break refused;
        }
        assert!(lines < 10_000, "the disk is not full");
    };
    assert!(refused.contains("ENOSPC"), "{refused}");
    assert!(lines > 256 * 1024 / 2048, "{lines}");
    fs::remove_file(&filler).unwrap();
    client.call_ok("write_file", write("src/new", 5));
    assert_eq!(
        client.call_ok("verify_audit_log", json!({}))["verified"],
        true
    );
    client.end();
}

/// Commands fill the disk of workspace, state and build directory. Every answer has a code, changes that are not
/// allowed are put back as soon as there is space, and the same server goes on.
#[test]
fn commands_that_fill_the_disk_lose_nothing() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let old = "old\n".repeat(50_000);
    fixture.write("src/b.txt", &old);
    let plain = json!({ "allow": ["src/**"], "commands": [["true"]] });
    let plain = fixture.allow_phase(plain);
    let governed = fixture.allow_phase(json!({
        "allow": ["README.md"],
        "commands": [["bash", "-c", "*"]],
        "writable": ["src"],
    }));
    let command = fixture.command(EXECUTOR, &[]);
    let disk = fixture.root().parent().unwrap().to_owned();
    let Some(small) = on_small_disk(&command, &disk, SIZE) else {
        return;
    };
    let mut client = fixture.client(small);
    client.begin_session();
    let pid = client.server.process().pid();
    let inside = |path: &str| PathBuf::from(format!("/proc/{pid}/root{}/{path}", disk.display()));
    let run_true = json!({ "argv": ["true"], "plan_hash": plain });

    // There is no space for the build directory of a new approval.
    assert!(fs::write(inside("filler"), vec![0; SIZE]).is_err());
    let failed = client.call("run_command", &run_true).to_string();
    assert!(failed.contains("PREFLIGHT_FAILED"), "{failed}");
    let message = "making the private build directory: No space left on device";
    assert!(failed.contains(message), "{failed}");
    fs::remove_file(inside("filler")).unwrap();
    client.call_ok("run_command", run_true.clone());

    // There is no space for the copies of files that a command may change.
    let fill = "printf new > src/b.txt; head -c 9000000 /dev/zero > $CANDOR_BUILD_DIR/x; true";
    let fill = json!({ "argv": ["bash", "-c", fill], "plan_hash": governed });
    assert!(fs::write(inside("filler"), vec![0; SIZE]).is_err());
    let failed = client.call("run_command", &fill).to_string();
    assert!(failed.contains("PREFLIGHT_FAILED"), "{failed}");
    fs::remove_file(inside("filler")).unwrap();

    // The command changes a file that it may not change, and leaves no space to put it back.
    let stuck = client.call("run_command", &fill);
    let fault = &stuck["result"]["_meta"]["dev.candor/fault"];
    assert_eq!(fault["effect"], "unknown", "{stuck}");
    let write = json!({ "path": "src/new", "content": "x", "plan_hash": plain });
    assert_eq!(
        code(&mut client, "write_file", write.clone()),
        "FILE_WRITE_FAILED"
    );
    // A session that begins now can read. It is not locked, because space may come back.
    let mut enter = Command::new("nsenter");
    enter.args(["--user", "--mount", "--preserve-credentials", "--target"]);
    enter.arg(pid.to_string()).arg(command.get_program());
    let mut other = fixture.client(with_settings_of(&command, enter));
    let session = other.begin_session();
    assert_eq!(session["locked"], false, "{session}");
    other.call_ok("read_file", json!({ "path": "src/a.txt" }));
    other.end();

    for approval in fs::read_dir(inside("cache/candor/build")).unwrap() {
        for directory in fs::read_dir(approval.unwrap().path()).unwrap() {
            // Only one of them has the file.
            let _ = fs::remove_file(directory.unwrap().path().join("x"));
        }
    }
    client.call_ok("write_file", write);
    assert_eq!(fs::read_to_string(inside("ws/src/b.txt")).unwrap(), old);
    client.call_ok("run_command", run_true);
    let verified = client.call_ok("verify_audit_log", json!({}));
    assert_eq!(verified["verified"], true);
    client.end();
}
