//! The way from a new repository to the first approved edit and its record.

use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Returns the configuration of the client that `init` prints.
fn configuration(output: &str) -> Value {
    let start = output.find('{').unwrap();
    serde_json::from_str(&output[start..]).unwrap()
}

#[tokio::test]
async fn from_a_fresh_repository_to_the_first_approved_edit_in_three_commands() {
    // `git init` is the first command; no hash is typed in any.
    let fixture = OwnerFixture::empty();

    let init = fixture.run(&["init", "--name", "anna", "--passphrase-file", "../pass"]);
    let config = configuration(&String::from_utf8(init.stdout).unwrap());
    fixture.run_signed(&["allow", "src/**"]);

    let agent = Agent::configured(&fixture, &config).await;
    agent.begin(&fixture).await;
    let edit = json!({ "path": "src/a.rs", "content": "pub fn a() -> u8 { 1 }\n" });
    let written = agent.call_ok("write_file", edit).await;
    assert_eq!(written["plan"]["approver"], "anna", "{written}");
    let outside = json!({ "path": "README.md", "content": "x" });
    let refused = agent.call_err("write_file", outside).await;
    assert_eq!(refused["error_code"], "PLAN_SCOPE_VIOLATION");
    agent.end().await;
    assert_eq!(fixture.read("ws/src/a.rs"), "pub fn a() -> u8 { 1 }\n");
    assert!(!fixture.path("ws/README.md").exists());

    assert_snapshot!(fixture.status(), @r"
    workspace BASE/ws
      approver  anna  KEY
      session   executor (WINDSURF)  SESSION  CLIENT, last call INSTANT
      lock      none

    plans
      74ada96309d4  Work on src/**
                    approved by anna until INSTANT

    log  lines: 4, all valid
      checkpoint BASE/state/ROOT/checkpoint.json at line 4, not signed
           1  INSTANT  a person     approve               ok  74ada96309d4
           2  INSTANT  WINDSURF     begin_session         ok
           3  INSTANT  WINDSURF     write_file            ok  src/a.rs
           4  INSTANT  WINDSURF     write_file            PLAN_SCOPE_VIOLATION  README.md
    ");
    let status: Value = serde_json::from_str(&fixture.run_ok(&["status", "--json"])).unwrap();
    assert_eq!(status["plans"][0]["approved"], true);
    assert_eq!(status["log"]["verified"]["ok"], true);
    let sandbox = &status["sandbox"];
    let keys: Vec<&String> = sandbox.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["level", "namespaces", "landlock", "seccomp", "missing"]
    );
    if sandbox["level"] == "full" {
        let all = ["user", "mount", "pid", "ipc", "net", "uts"];
        assert_eq!(sandbox["namespaces"], json!(all));
    }
}
