//! `candor workspace unlock` and `status`.

use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

#[tokio::test]
async fn unlock_shows_the_reason_and_unlocks() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    assert_eq!(fixture.run_ok(&["unlock"]), "nothing is locked\n");
    let agent = Agent::executor(&fixture).await;
    let hook = json!({ "path": ".git/hooks/pre-commit", "content": "x" });
    let refused = agent.call_err("write_file", hook).await;
    assert_eq!(refused["error_code"], "UNAUTHORIZED_ACTION");
    let edit = json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" });
    let locked = agent.call_err("write_file", edit.clone()).await;
    assert_eq!(locked["error_code"], "SESSION_LOCKED");
    agent.end().await;
    assert_snapshot!(fixture.status(), @r"
    workspace BASE/ws
      approver  anna  KEY
      session   executor (WINDSURF)  SESSION  CLIENT, last call INSTANT
      lock      executor (WINDSURF) is locked: UNAUTHORIZED_ACTION at line 3
                .git/hooks/pre-commit is protected: no agent may change it
                the agent can unlock it with a failure report; to unlock it yourself, run:
                  candor workspace unlock

    plans
      74ada96309d4  Work on src/**
                    approved by anna until INSTANT

    log  lines: 4, all valid
      checkpoint BASE/state/ROOT/checkpoint.json at line 4, not signed
           1  INSTANT  a person     approve               ok  74ada96309d4
           2  INSTANT  WINDSURF     begin_session         ok
           3  INSTANT  WINDSURF     write_file            UNAUTHORIZED_ACTION  .git/hooks/pre-commit
           4  INSTANT  WINDSURF     write_file            SESSION_LOCKED
    ");

    let agent = Agent::executor(&fixture).await;
    let unasked = fixture.run(&["unlock"]);
    assert_eq!(unasked.exit, Exit::Code(1));
    assert_snapshot!(unasked.stderr, @r"
    error: there is no terminal to ask for confirmation
    hint: run it in a terminal, or confirm with --yes
    ");
    assert_eq!(
        fixture.run_ok(&["unlock", "--role", "planner", "--yes"]),
        "nothing is locked\n"
    );
    agent.call_err("write_file", edit.clone()).await;
    assert_snapshot!(fixture.run_ok(&["unlock", "--yes"]), @r"
    executor (WINDSURF) is locked since INSTANT: UNAUTHORIZED_ACTION at line 3
      .git/hooks/pre-commit is protected: no agent may change it
    executor (WINDSURF) is unlocked
    ");
    let line = fixture.last_line();
    assert_eq!(line["tool_name"], "unlock");
    assert_eq!(
        line["cause"]["message"],
        "executor (WINDSURF) was unlocked; UNAUTHORIZED_ACTION at line 3 had locked it"
    );
    agent.call_ok("write_file", edit).await;
    agent.end().await;
    assert!(fixture.run_ok(&["status"]).contains("lock      none"));
    assert_snapshot!(fixture.run_err(&["unlock", "--role", "boss"]), @r"
    error: invalid value 'boss' for '--role <ROLE>': give executor or WINDSURF, or planner or ANTIGRAVITY

    For more information, try '--help'.
    ");
}

#[test]
fn empty_workspace_has_hints() {
    let fixture = OwnerFixture::empty();
    assert_snapshot!(fixture.status(), @r"
    workspace BASE/ws
      approver  none; to create a key, run:
                  candor workspace init
      session   none yet
      lock      none

    plans
      none; to create one, run:
        candor workspace allow 'src/**'

    log  lines: 0, all valid
    ");
    assert!(!fixture.path("state").exists() && !fixture.path("config").exists());
}

#[test]
fn log_without_lines_lacks_no_checkpoint() {
    let fixture = OwnerFixture::empty();
    fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    let status = fixture.run_ok(&["status"]);
    assert!(status.ends_with("log  lines: 0, all valid\n"), "{status}");
}

#[test]
fn changed_log_is_reported_with_its_line() {
    let fixture = OwnerFixture::new();
    for glob in ["a/**", "b/**", "c/**"] {
        fixture.run_signed(&["allow", glob]);
    }
    let log = fixture.read("ws/audit-log.jsonl");
    fs::write(
        fixture.path("ws/audit-log.jsonl"),
        log.replacen("\"anna\"", "\"hans\"", 2),
    )
    .unwrap();
    assert!(
        fixture
            .run_ok(&["status"])
            .contains("log  lines: 0 valid, then line 1 is wrong: it was changed\n")
    );
    let cut: String = log.split_inclusive('\n').take(2).collect();
    fs::write(fixture.path("ws/audit-log.jsonl"), cut).unwrap();
    let output = fixture.run_ok(&["status"]);
    assert!(output.contains("log  lines: 2 valid, then line 3 is wrong: it is missing at the end, where the checkpoint has seen it or a later one\n  checkpoint BASE/state/ROOT/checkpoint.json at line 3, not signed\n"), "{output}");
    let status: Value = serde_json::from_str(&fixture.run_ok(&["status", "--json"])).unwrap();
    assert_eq!(
        status["log"]["verified"]["why"],
        "it is missing at the end, where the checkpoint has seen it or a later one"
    );
    // The owner's action is done, with a note that it is not recorded.
    let revoked = fixture.run(&["allow", "d/**", "--passphrase-file", "../pass"]);
    assert_eq!(revoked.exit, Exit::Code(0));
    assert!(
        revoked.stderr.contains(
            "note: this action is not in the audit log: the log is broken behind its line 2"
        ),
        "{}",
        revoked.stderr
    );
}

#[test]
fn damaged_state_is_shown() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    let states = fs::read_dir(fixture.path("state")).unwrap();
    let state = states
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    fs::write(state.join("checkpoint.json"), "{}").unwrap();
    fs::write(state.join("lock.WINDSURF.json"), "{}").unwrap();
    fs::create_dir(state.join("revocations")).unwrap();
    fs::write(state.join("revocations/x"), "{}").unwrap();
    assert_snapshot!(fixture.status(), @r"
    workspace BASE/ws
      approver  anna  KEY
      session   none yet
      lock      executor (WINDSURF) is locked: the lock is damaged
                to unlock it, run:
                  candor workspace unlock

    plans
      74ada96309d4  Work on src/**
                    not approved: the revocation x is unsound: the members are wrong: there is no key_id

    log  lines: 1 valid, but the checkpoint BASE/state/ROOT/checkpoint.json cannot be read: the file is no checkpoint
      checkpoint BASE/state/ROOT/checkpoint.json is not a checkpoint
           1  INSTANT  a person     approve               ok  74ada96309d4
    ");
    assert_snapshot!(fixture.run_ok(&["unlock", "--yes"]), @r"
    executor (WINDSURF) is locked; the reason cannot be read because the file is damaged
    executor (WINDSURF) is unlocked
    ");
}
