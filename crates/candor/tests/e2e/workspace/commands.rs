//! `run_command`: what a plan grants, what the answer has, and what is refused.

use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::lacks_sandbox;
use serde_json::{Value, json};
use std::fs;

/// Approves a phase that grants these patterns.
fn grant(fixture: &WorkspaceFixture, patterns: Value) {
    fixture.allow_phase(json!({ "allow": ["src/**"], "commands": patterns }));
}

#[test]
fn granted_command_runs_and_its_answer_is_complete() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["bash", "-c", "*"], ["cat", "**"]]));
    let mut client = fixture.executor(&[]);
    let script = "echo out; echo err >&2; exit 3";
    let mut answer = client.call_ok("run_command", json!({ "argv": ["bash", "-c", script] }));
    assert!(answer["duration_ms"].take().is_u64());
    answer["plan"].take();
    assert_eq!(
        answer,
        json!({
            "argv": ["bash", "-c", script],
            "exit_code": 3,
            "signal": null,
            "timed_out": false,
            "output": "out\nerr\n",
            "output_bytes": 8,
            "omitted_bytes": 0,
            "changes": [],
            "duration_ms": null,
            "sandbox": { "level": "full" },
            "plan": null,
        })
    );
    let lines = fixture.log_lines();
    let line = lines.last().unwrap();
    assert_eq!(line["commands"][0]["exit_code"], 3);
    assert_eq!(
        (&line["result"], &line["effect"]),
        (&json!("ok"), &json!("none"))
    );

    let fed = json!({ "argv": ["cat"], "stdin": "grüß\n" });
    assert_eq!(client.call_ok("run_command", fed)["output"], "grüß\n");
    let cwd = json!({ "argv": ["cat", "a.txt"], "cwd": "src" });
    assert_eq!(
        client.call_ok("run_command", cwd)["output"],
        "one\ntwo\nthree\n"
    );
    let killed = json!({ "argv": ["bash", "-c", "kill -9 $$"] });
    assert_eq!(client.call_ok("run_command", killed)["signal"], 9);
    let slow = json!({ "argv": ["bash", "-c", "echo begun; sleep 60"], "timeout_s": 1 });
    let slow = client.call_ok("run_command", slow);
    assert_eq!(
        (&slow["timed_out"], &slow["output"]),
        (&json!(true), &json!("begun\n"))
    );
    fixture.verify();
}

#[test]
fn long_output_keeps_its_beginning_and_its_end() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["seq", "*"]]));
    let mut client = fixture.executor(&[]);
    let answer = client.call_ok("run_command", json!({ "argv": ["seq", "100000"] }));
    let output = answer["output"].as_str().unwrap();
    assert!(output.starts_with("1\n2\n3\n") && output.ends_with("99999\n100000\n"));
    let (bytes, omitted) = (588_895, 588_895 - 64 * 1024);
    assert_eq!(
        (&answer["output_bytes"], &answer["omitted_bytes"]),
        (&json!(bytes), &json!(omitted))
    );
    assert!(output.contains(&format!("\n[{omitted} bytes are left out]\n")));
}

#[test]
fn secrets_in_the_output_are_redacted() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["echo", "*"]]));
    let mut client = fixture.executor(&[]);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let answer = client.call_ok("run_command", json!({ "argv": ["echo", token] }));
    assert!(
        !answer["output"].as_str().unwrap().contains(&token),
        "{answer}"
    );
    let log = std::fs::read_to_string(fixture.path("audit-log.jsonl")).unwrap();
    assert!(!log.contains(&token));
}

#[test]
fn ungranted_command_is_no_strike() {
    let fixture = WorkspaceFixture::new();
    grant(
        &fixture,
        json!([["cargo", "test", "**"], ["git", "show", "*"]]),
    );
    let mut client = fixture.executor(&[]);
    for argv in [
        json!(["cargo", "build"]),
        json!(["rm", "-r", "src"]),
        json!(["cargo"]),
        json!(["git", "show"]),
    ] {
        let failed = client.call_err("run_command", json!({ "argv": argv }));
        assert_eq!(
            (failed.code(), failed.effect()),
            ("PLAN_SCOPE_VIOLATION", "none")
        );
        let granted = &failed.cause()["granted"];
        assert_eq!(
            *granted,
            json!([["cargo", "test", "**"], ["git", "show", "*"]])
        );
    }
    let status = client.call_ok("session_status", json!({}));
    assert_eq!(
        (&status["strikes"], &status["locked"]),
        (&json!(0), &json!(false))
    );
    assert!(
        fixture
            .log_lines()
            .iter()
            .all(|line| line["tool_name"] != "command_start")
    );
}

#[test]
fn bad_arguments_of_commands_are_refused() {
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["**"]]));
    let mut client = fixture.executor(&[]);
    let long = "é".repeat(2049);
    for (arguments, code) in [
        (json!({}), "MISSING_REQUIRED_FIELD"),
        (json!({ "argv": [] }), "INVALID_INPUT_VALUE"),
        (json!({ "argv": [" "] }), "INVALID_INPUT_VALUE"),
        (json!({ "argv": ["a\u{0}b"] }), "INVALID_INPUT_VALUE"),
        (json!({ "argv": [long] }), "INVALID_INPUT_VALUE"),
        (
            json!({ "argv": ["true"], "stdin": "x".repeat(1024 * 1024 + 1) }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "argv": ["true"], "timeout_s": 0 }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "argv": ["true"], "timeout_s": 601 }),
            "INVALID_INPUT_VALUE",
        ),
        (
            json!({ "argv": ["true"], "cwd": "missing" }),
            "FILE_NOT_FOUND",
        ),
        (
            json!({ "argv": ["true"], "cwd": "src/a.txt" }),
            "INVALID_PATH",
        ),
        (
            json!({ "argv": ["true"], "cwd": "../x" }),
            "PATH_TRAVERSAL_BLOCKED",
        ),
    ] {
        assert_eq!(
            client.call_code("run_command", arguments.clone()),
            code,
            "{arguments}"
        );
    }
}

#[test]
fn missing_program_is_a_failed_preflight() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["**"]]));
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("run_command", json!({ "argv": ["no-such-program"] }));
    assert_eq!(
        (failed.code(), failed.effect()),
        ("PREFLIGHT_FAILED", "none")
    );
    // A program that the server finds and the sandbox does not show.
    let tools = fixture.path_beside("tools");
    fs::create_dir(&tools).unwrap();
    fs::copy("/bin/true", tools.join("tool")).unwrap();
    let tool = tools.join("tool");
    let failed = client.call_err("run_command", json!({ "argv": [tool] }));
    assert_eq!(failed.code(), "PREFLIGHT_FAILED");
    let (tool, tools) = (tool.display(), tools.display());
    let message = format!(
        "The program {tool} lies outside of the paths that commands may read. A person can show it to them: candor workspace serve --preflight-read {tools}"
    );
    assert_eq!(failed.message(), message);
}

/// Plans with malformed patterns, hosts and placeholders are neither saved nor called valid.
#[test]
fn malformed_plans_are_refused() {
    let fixture = WorkspaceFixture::new();
    let mut planner = fixture.planner(&[]);
    for (member, value, rule) in [
        ("commands", json!([["cargo", "**", "x"]]), "bad_command"),
        ("commands", json!([["*", "x"]]), "bad_command"),
        ("commands", json!([["a", "{nope}"]]), "bad_command"),
        ("env", json!(["OUT={nope}/x"]), "bad_command"),
        ("network", json!(["https://example.org"]), "bad_host"),
        ("network", json!(["example.org/path"]), "bad_host"),
    ] {
        let mut phase = json!({ "id": "A", "allow": ["src/**"], "operations": ["modify"], "verify": [["true"]] });
        phase[member] = value;
        let plan = json!({ "title": "t", "objective": "o", "phase": [phase] });
        let lint = planner.call_ok("lint_plan", json!({ "plan": plan }));
        assert_eq!(lint["valid"], false, "{lint}");
        let lints = lint["lints"].as_array().unwrap();
        assert!(lints.iter().any(|lint| lint["rule"] == rule), "{lints:?}");
        assert_eq!(
            planner.call_code("save_plan", json!({ "plan": plan })),
            "INVALID_INPUT_FORMAT"
        );
    }
    let phase = json!({ "id": "A", "allow": ["src/**"], "operations": ["modify"],
        "commands": [["**"], ["python3", "**"]], "network": ["*.example.net:8443"] });
    let plan = json!({ "title": "t", "objective": "o", "phase": [phase] });
    let lint = planner.call_ok("lint_plan", json!({ "plan": plan }));
    assert_eq!(lint["valid"], true, "{lint}");
    let rules = lint["lints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lint| lint["rule"].as_str().unwrap());
    assert_eq!(
        rules.collect::<Vec<_>>(),
        ["any_command", "interpreter", "network"]
    );
}

/// A host that the list does not name is refused by the proxy.
#[test]
fn only_listed_hosts_are_reached() {
    if lacks_sandbox() {
        return;
    }
    let fixture = WorkspaceFixture::new();
    let script = "at=${HTTP_PROXY#http://}; at=${at%/}; exec 3<>/dev/tcp/${at%:*}/${at#*:}; \
        printf 'GET http://other.example/ HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n' >&3; \
        head -c 12 <&3";
    fixture.allow_phase(json!({
        "allow": ["src/**"],
        "commands": [["bash", "-c", "*"]],
        "network": ["api.example.org"],
    }));
    let mut client = fixture.executor(&[]);
    let answer = client.call_ok("run_command", json!({ "argv": ["bash", "-c", script] }));
    assert_eq!(answer["output"], "HTTP/1.1 403", "{answer}");
    let lines = fixture.log_lines();
    let network = &lines.last().unwrap()["sandbox"]["network"];
    assert_eq!(
        *network,
        json!({ "mode": "proxy", "connections": 0, "refused": 1 })
    );
}

/// The tool is the executor's, and a read-only server runs nothing.
#[test]
fn planner_and_read_only_server_run_nothing() {
    let fixture = WorkspaceFixture::new();
    grant(&fixture, json!([["**"]]));
    let mut planner = fixture.planner(&[]);
    let call = json!({ "argv": ["true"] });
    assert_eq!(
        planner.call_code("run_command", call.clone()),
        "UNAUTHORIZED_ACTION"
    );
    let mut reader = fixture.executor(&["--read-only"]);
    assert_eq!(
        reader.call_code("run_command", call),
        "INSUFFICIENT_PERMISSIONS"
    );
}
