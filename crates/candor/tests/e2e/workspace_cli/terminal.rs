//! The owner's commands at a terminal: questions, hidden input, and refusals.

use crate::fixture::{CANDOR, LIMIT};
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::{Exit, Process};
use serde_json::json;
use std::io::{Read, Write};

/// Runs a command at a terminal; each answer is typed when its question is there. All that was to be
/// seen, and whether it went well.
fn typed(fixture: &OwnerFixture, command: &str, answers: &[(&str, &str)]) -> (String, bool) {
    at_terminal(fixture, &format!("{CANDOR} workspace {command}"), answers)
}

fn at_terminal(fixture: &OwnerFixture, command: &str, answers: &[(&str, &str)]) -> (String, bool) {
    let script = fixture.command(
        "script",
        &["--quiet", "--return", "--command", command, "/dev/null"],
    );
    let (mut process, mut keyboard, mut screen) = Process::start(script);
    let mut seen = String::new();
    for (question, answer) in answers {
        let start = seen.len();
        while !seen[start..].contains(question) {
            let mut bytes = [0; 1];
            let read = screen.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "no {question:?} in {seen:?}");
            seen.push(char::from(bytes[0]));
        }
        keyboard.write_all(answer.as_bytes()).unwrap();
        keyboard.write_all(b"\n").unwrap();
        keyboard.flush().unwrap();
    }
    let mut rest = Vec::new();
    screen.read_to_end(&mut rest).unwrap();
    seen.push_str(&String::from_utf8_lossy(&rest));
    let exit = process.exit_within(LIMIT).unwrap();
    (
        fixture.normalize(&seen.replace('\r', "")),
        exit == Exit::Code(0),
    )
}

#[test]
fn new_passphrase_is_asked_twice_and_not_shown() {
    let fixture = OwnerFixture::empty();
    let (said, well) = typed(
        &fixture,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesamE"),
        ],
    );
    assert!(
        !well && said.contains("no key was created: the two passphrases differ"),
        "{said}"
    );
    let (said, well) = typed(&fixture, "init --name anna", &[("for your new key: ", "")]);
    assert!(!well && said.contains("the passphrase is empty"), "{said}");
    assert!(!fixture.path("config/approver.key").exists());
    let (said, well) = typed(
        &fixture,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesame"),
        ],
    );
    assert!(well && !said.contains("sesame"), "{said}");

    let (said, well) = typed(&fixture, "allow 'src/**'", &[("Sign it? [y/N] ", "")]);
    assert!(well && said.ends_with("nothing was written\n"), "{said}");
    assert!(!fixture.path("ws/docs").exists());
    let (said, well) = typed(
        &fixture,
        "allow 'src/**'",
        &[
            ("Sign it? [y/N] ", "y"),
            ("approver.key: ", "wrong"),
            ("approver.key: ", "open sesame"),
        ],
    );
    assert!(well && said.contains("by anna until INSTANT"), "{said}");
}

#[tokio::test]
async fn every_plan_and_lock_is_confirmed() {
    let fixture = OwnerFixture::empty();
    fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    let planner = Agent::planner(&fixture).await;
    for title in ["One", "Two"] {
        let phase = json!({ "id": "A", "allow": ["src/**"], "operations": ["modify"] });
        let plan = json!({ "title": title, "objective": "o", "phase": [phase] });
        planner.call_ok("save_plan", json!({ "plan": plan })).await;
    }
    planner.end().await;
    let question = "Approve it? [y/N] ";
    let (said, well) = typed(&fixture, "review", &[(question, "no"), (question, "Y")]);
    assert!(
        well && said.matches("by anna until INSTANT").count() == 1,
        "{said}"
    );
    let (said, well) = typed(&fixture, "approve", &[(question, "x")]);
    assert!(well && said.ends_with("nothing was approved\n"), "{said}");

    let agent = Agent::executor(&fixture).await;
    let hook = json!({ "path": ".git/hooks/pre-commit", "content": "x" });
    agent.call_err("write_file", hook).await;
    let (said, well) = typed(&fixture, "unlock", &[("Unlock it? [y/N] ", "")]);
    assert!(well && said.ends_with("WINDSURF stays locked\n"), "{said}");
    let edit = json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" });
    let locked = agent.call_err("write_file", edit.clone()).await;
    assert_eq!(locked["error_code"], "SESSION_LOCKED");
    let (said, well) = typed(&fixture, "unlock", &[("Unlock it? [y/N] ", "yes")]);
    assert!(well && said.ends_with("WINDSURF is unlocked\n"), "{said}");
    agent.call_ok("write_file", edit).await;
    agent.end().await;

    let status = fixture.run(&["status", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    let key = status["approvers"][0]["key_id"].as_str().unwrap();
    let (said, well) = typed(
        &fixture,
        &format!("revoke --key {key}"),
        &[("approved here? [y/N] ", "n")],
    );
    assert!(well && said.ends_with("nothing was revoked\n"), "{said}");
}

#[test]
fn colours_need_a_terminal() {
    let fixture = OwnerFixture::new();
    let coloured = typed(&fixture, "status", &[]).0;
    assert!(coloured.contains("workspace BASE/ws"), "{coloured}");
    let command = format!("env --unset=NO_COLOR TERM=xterm {CANDOR} workspace status");
    let (coloured, well) = at_terminal(&fixture, &command, &[]);
    assert!(
        well && coloured.contains("\u{1b}[1mworkspace\u{1b}[0m BASE/ws"),
        "{coloured:?}"
    );
    assert!(!fixture.run_ok(&["status"]).contains('\u{1b}'));
}
