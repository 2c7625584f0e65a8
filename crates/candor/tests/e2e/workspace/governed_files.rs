//! Files of the tree that commands change: judged like edits, on record, and put back if they are not allowed.

use crate::requests::call;
use crate::workspace::fixture::{WorkspaceFixture, sha256};
use crate::workspace::kernel::lacks_sandbox;
use candor_testkit::Exit;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Contains two files in `src`, and a plan that allows some files and makes `src` writable.
fn fixture(allow: Value, more: &Value) -> WorkspaceFixture {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/b.txt", "old b\n");
    fixture.write(".gitignore", "*.log\n");
    let mut phase = json!({
        "allow": allow,
        "commands": [["bash", "-c", "*"]],
        "writable": ["src"],
    });
    for (name, value) in more.as_object().unwrap() {
        phase[name] = value.clone();
    }
    fixture.allow_phase(phase);
    fixture
}

fn bash(script: &str) -> Value {
    json!({ "argv": ["bash", "-c", script] })
}

#[test]
fn p6_changes_outside_the_phase_are_put_back() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["README.md"]), &json!({}));
    let mut client = fixture.executor(&[]);
    let script = "echo new > src/b.txt; echo 'fn f() { g().unwrap() }' > src/new.rs; rm src/a.txt; \
        echo ignored > src/x.log; mkdir src/dir; echo x > src/dir/y";
    let failed = client.call_err("run_command", bash(script));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("PLAN_SCOPE_VIOLATION", "none")
    );
    assert_eq!(
        failed.cause()["paths"],
        json!(["src/a.txt", "src/b.txt", "src/dir/y", "src/new.rs"])
    );
    assert_eq!(fixture.read("src/b.txt"), "old b\n");
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    assert!(!fixture.path("src/new.rs").exists() && !fixture.path("src/dir").exists());
    assert_eq!(fixture.read("src/x.log"), "ignored\n");
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(
        (&status["strikes"], &status["locked"]),
        (&json!(0), &json!(false))
    );
    fixture.verify();
}

#[test]
fn p6_allowed_changes_are_on_record() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["src/**"]), &json!({}));
    let mut client = fixture.executor(&[]);
    let script = "echo new > src/b.txt; mkdir src/dir; echo tool > src/dir/t; chmod 755 src/dir/t; rm src/a.txt";
    let answer = client.call_ok("run_command", bash(script));
    let (old_a, old_b) = (sha256(b"one\ntwo\nthree\n"), sha256(b"old b\n"));
    let (new_b, tool) = (sha256(b"new\n"), sha256(b"tool\n"));
    assert_eq!(
        answer["changes"],
        json!([
            { "path": "src/a.txt", "operation": "delete", "before": old_a, "after": null },
            { "path": "src/b.txt", "operation": "modify", "before": old_b, "after": new_b },
            { "path": "src/dir/t", "operation": "create", "before": null, "after": tool },
        ])
    );
    let lines = fixture.log_lines();
    let line = lines.last().unwrap();
    assert_eq!(line["effect"], "done");
    assert_eq!(
        line["subject"],
        json!([
            { "path": "src/a.txt", "before": old_a, "after": null, "bytes": null, "mode": null },
            { "path": "src/b.txt", "before": old_b, "after": new_b, "bytes": 4, "mode": "100644" },
            { "path": "src/dir/t", "before": null, "after": tool, "bytes": 5, "mode": "100755" },
        ])
    );
    assert_eq!(fixture.read("src/b.txt"), "new\n");
    client.end();
    let left = fs::read_dir(fixture.state().join("governed")).unwrap();
    assert_eq!(left.count(), 0);
    fixture.verify();
}

#[test]
fn p6_policy_judges_what_commands_write() {
    if lacks_sandbox() {
        return;
    }
    let more = json!({ "policy": { "profiles": ["rust-strict"] } });
    let fixture = fixture(json!(["src/**"]), &more);
    let mut client = fixture.executor(&[]);
    let failed = client.call_err(
        "run_command",
        bash("echo 'fn f() { g().unwrap() }' > src/new.rs"),
    );
    assert_eq!(
        (failed.code(), failed.effect()),
        ("RUST_POLICY_VIOLATION", "none")
    );
    assert!(!fixture.path("src/new.rs").exists());
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let failed = client.call_err("run_command", bash(&format!("echo {token} > src/b.txt")));
    assert_eq!(failed.code(), "POLICY_VIOLATION");
    assert_eq!(fixture.read("src/b.txt"), "old b\n");
}

/// Executed files, links that lead out, pipes and files of the server itself are refused, whatever the globs say.
#[test]
fn forbidden_things_are_put_back() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["**"]), &json!({}));
    let mut client = fixture.executor(&[]);
    for (script, path) in [
        ("echo x > src/build.rs", "src/build.rs"),
        ("ln -s /etc/passwd src/out", "src/out"),
        ("ln -s ../../x src/up", "src/up"),
        ("ln -s nowhere/../../../x src/up", "src/up"),
        // Each link alone stays in the root.
        ("ln -s .. src/top; ln -s top/../x src/up", "src/up"),
        ("mkfifo src/pipe", "src/pipe"),
        ("echo x > src/.candor-x", "src/.candor-x"),
        ("touch $'src/a\\xff'", "src/a\u{fffd}"),
    ] {
        let failed = client.call_err("run_command", bash(script));
        assert_eq!(
            (failed.code(), failed.effect()),
            ("PLAN_SCOPE_VIOLATION", "none"),
            "{script}"
        );
        assert_eq!(failed.cause()["paths"], json!([path]), "{script}");
        assert_eq!(
            fs::read_dir(fixture.path("src")).unwrap().count(),
            2,
            "{script}"
        );
    }
    let inside = client.call_ok("run_command", bash("ln -s b.txt src/in"));
    assert_eq!(inside["changes"][0]["path"], "src/in");
    let huge = "mkdir src/many && cd src/many && seq 10001 | xargs touch; cd ..; \
        perl -e 'for (1..300) { mkdir \"d\"; chdir \"d\" }'";
    let huge = client.call_err("run_command", bash(huge));
    assert_eq!(
        (huge.code(), huge.effect()),
        ("PLAN_SCOPE_VIOLATION", "none")
    );
    let many = client.call_err(
        "run_command",
        bash("for i in $(seq 501); do echo > src/$i; done"),
    );
    assert_eq!(many.code(), "PLAN_SCOPE_VIOLATION");
    assert_eq!(fs::read_dir(fixture.path("src")).unwrap().count(), 3);
}

#[test]
fn setuid_bits_do_not_stay() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["src/**"]), &json!({}));
    let mut client = fixture.executor(&[]);
    // The mode argument of openat2 passes every filter of system calls.
    let script = "perl -e 'for my $name (\"src/own\", \"src/x.log\") { \
        my $path = \"$name\\0\"; my $how = pack(\"QQQ\", 0101, 04755, 0); \
        syscall(437, -100, $path, $how, 24) }'";
    client.call_ok("run_command", bash(script));
    for path in ["src/own", "src/x.log"] {
        let mode = fs::metadata(fixture.path(path)).map(|found| found.mode() & 0o7777);
        assert!(mode.is_ok_and(|mode| mode & 0o6000 == 0), "{path}");
    }
}

/// A single file can be writable. One that is missing is made, and removed again if it stays empty.
#[test]
fn single_file_is_writable() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(
        json!(["Cargo.lock"]),
        &json!({ "writable": ["Cargo.lock"] }),
    );
    let mut client = fixture.executor(&[]);
    let none = client.call_ok("run_command", bash("cat Cargo.lock"));
    assert_eq!(
        (&none["exit_code"], &none["changes"]),
        (&json!(0), &json!([]))
    );
    assert!(!fixture.path("Cargo.lock").exists());
    let made = client.call_ok("run_command", bash("echo locked > Cargo.lock"));
    assert_eq!(made["changes"][0]["operation"], "create");
    assert_eq!(fixture.read("Cargo.lock"), "locked\n");
}

/// A preflight that fails after it changed files changes nothing, and neither does the write before it.
#[test]
fn failing_checks_put_everything_back() {
    if lacks_sandbox() {
        return;
    }
    let verify = json!({
        "verify": [["bash", "-c", "echo formatted > src/b.txt; grep -q good src/a.txt"]],
        "preflight": "each_write",
    });
    let fixture = fixture(json!(["src/**"]), &verify);
    let mut client = fixture.executor(&[]);
    let bad = client.call_err(
        "write_file",
        json!({ "path": "src/a.txt", "content": "bad" }),
    );
    assert_eq!((bad.code(), bad.effect()), ("PREFLIGHT_FAILED", "none"));
    assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
    assert_eq!(fixture.read("src/b.txt"), "old b\n");
    client.call_ok(
        "write_file",
        json!({ "path": "src/a.txt", "content": "good" }),
    );
    assert_eq!(fixture.read("src/b.txt"), "formatted\n");
    let lines = fixture.log_lines();
    let subjects = lines.last().unwrap()["subject"].as_array().unwrap().clone();
    let paths: Vec<_> = subjects.iter().map(|subject| &subject["path"]).collect();
    assert_eq!(paths, ["src/a.txt", "src/b.txt"]);
    // A file that the call wrote and a command formatted is one subject.
    let both = json!({ "path": "src/b.txt", "content": "unformatted" });
    client.call_ok("write_file", both);
    let lines = fixture.log_lines();
    let subject = &lines.last().unwrap()["subject"];
    assert_eq!(subject["after"], sha256(b"formatted\n"));
    fixture.verify();
}

/// The server dies while a command has changed files: the next session puts them back, on record.
#[test]
fn killed_server_leaves_no_change_behind() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["src/**"]), &json!({}));
    for round in 0..3 {
        let mut client = fixture.executor(&[]);
        let script = "echo new > src/b.txt; rm src/a.txt; echo x > src/made; echo > src/ready.log; sleep 600";
        client
            .server
            .send_line(call(7, "run_command", bash(script)));
        while !fixture.path("src/ready.log").exists() {
            std::thread::yield_now();
        }
        let pid = Pid::from_raw(client.server.process().pid().try_into().unwrap());
        kill_process(pid.unwrap(), Signal::KILL).unwrap();
        assert_eq!(client.server.end().1, Exit::Signal(9));
        fixture.executor(&[]).end();
        assert_eq!(fixture.read("src/b.txt"), "old b\n");
        assert_eq!(fixture.read("src/a.txt"), "one\ntwo\nthree\n");
        assert!(!fixture.path("src/made").exists());
        fs::remove_file(fixture.path("src/ready.log")).unwrap();
        let lines = fixture.log_lines();
        let recoveries: Vec<_> = lines
            .iter()
            .filter(|line| line["tool_name"] == "recovery")
            .collect();
        assert_eq!(recoveries.len(), round + 1, "{recoveries:?}");
        let last = recoveries.last().unwrap();
        let paths: Vec<_> = last["subject"]
            .as_array()
            .unwrap()
            .iter()
            .map(|subject| &subject["path"])
            .collect();
        assert_eq!(paths, ["src/a.txt", "src/b.txt", "src/made"]);
        assert!(last["cause"]["start_seq"].is_u64());
    }
    fixture.verify();
}

/// Rules that a command writes do not hide its own files, and a tracked file is governed although it is ignored.
#[test]
fn command_cannot_hide_its_changes() {
    if lacks_sandbox() {
        return;
    }
    let fixture = fixture(json!(["src/b.txt"]), &json!({}));
    fixture.write("src/tracked.log", "tracked\n");
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-C", &fixture.root_text()]).args(arguments);
        assert!(git.output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "-f", "src/tracked.log"]);
    let mut client = fixture.executor(&[]);
    let hidden = client.call_err(
        "run_command",
        bash("echo '*' > src/.gitignore; echo x > src/hidden"),
    );
    assert_eq!(
        hidden.cause()["paths"],
        json!(["src/.gitignore", "src/hidden"])
    );
    let tracked = client.call_err(
        "run_command",
        bash("echo x > src/tracked.log; echo x > src/other.log"),
    );
    assert_eq!(tracked.cause()["paths"], json!(["src/tracked.log"]));
    assert_eq!(fixture.read("src/tracked.log"), "tracked\n");
}
