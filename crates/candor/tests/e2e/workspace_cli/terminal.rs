//! The owner's commands at a terminal: questions, hidden input, and refusals.

use crate::fixture::{CANDOR, LIMIT};
use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::{Exit, Process};
use serde_json::json;
use std::io::{Read, Write};

/// Runs a command at a terminal and types each answer after its question. Returns the output, and true
/// if the command succeeded.
pub(crate) fn run_at_terminal(
    fixture: &OwnerFixture,
    command: &str,
    answers: &[(&str, &str)],
) -> (String, bool) {
    at_terminal(fixture, &format!("{CANDOR} workspace {command}"), answers)
}

fn at_terminal(fixture: &OwnerFixture, command: &str, answers: &[(&str, &str)]) -> (String, bool) {
    let script = fixture.command(
        "script",
        &["--quiet", "--return", "--command", command, "/dev/null"],
    );
    let (mut process, mut keyboard, mut screen) = Process::start(script);
    let mut output = String::new();
    for (question, answer) in answers {
        let start = output.len();
        while !output[start..].contains(question) {
            let mut bytes = [0; 1];
            let read = screen.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "no {question:?} in {output:?}");
            output.push(char::from(bytes[0]));
        }
        keyboard.write_all(answer.as_bytes()).unwrap();
        keyboard.write_all(b"\n").unwrap();
        keyboard.flush().unwrap();
    }
    let mut rest = Vec::new();
    screen.read_to_end(&mut rest).unwrap();
    output.push_str(&String::from_utf8_lossy(&rest));
    let exit = process.exit_within(LIMIT).unwrap();
    (
        fixture.normalize(&output.replace('\r', "")),
        exit == Exit::Code(0),
    )
}

#[test]
fn new_passphrase_is_asked_twice_and_not_shown() {
    let fixture = OwnerFixture::empty();
    let (output, succeeded) = run_at_terminal(
        &fixture,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesamE"),
        ],
    );
    assert!(
        !succeeded && output.contains("no key was created: the two passphrases differ"),
        "{output}"
    );
    let (output, succeeded) =
        run_at_terminal(&fixture, "init --name anna", &[("for your new key: ", "")]);
    assert!(
        !succeeded && output.contains("the passphrase is empty"),
        "{output}"
    );
    assert!(!fixture.path("config/approver.key").exists());
    let (output, succeeded) = run_at_terminal(
        &fixture,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesame"),
        ],
    );
    assert!(succeeded && !output.contains("sesame"), "{output}");

    let (output, succeeded) =
        run_at_terminal(&fixture, "allow 'src/**'", &[("Sign it? [y/N] ", "")]);
    assert!(
        succeeded && output.ends_with("nothing was written\n"),
        "{output}"
    );
    assert!(!fixture.path("ws/docs").exists());
    let (output, succeeded) = run_at_terminal(
        &fixture,
        "allow 'src/**'",
        &[
            ("Sign it? [y/N] ", "y"),
            ("approver.key: ", "wrong"),
            ("approver.key: ", "open sesame"),
        ],
    );
    assert!(
        succeeded && output.contains("by anna until INSTANT"),
        "{output}"
    );
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
    let (output, succeeded) =
        run_at_terminal(&fixture, "review", &[(question, "no"), (question, "Y")]);
    assert!(
        succeeded && output.matches("by anna until INSTANT").count() == 1,
        "{output}"
    );
    let (output, succeeded) = run_at_terminal(&fixture, "approve", &[(question, "x")]);
    assert!(
        succeeded && output.ends_with("nothing was approved\n"),
        "{output}"
    );

    let agent = Agent::executor(&fixture).await;
    let hook = json!({ "path": ".git/hooks/pre-commit", "content": "x" });
    agent.call_err("write_file", hook).await;
    let (output, succeeded) = run_at_terminal(&fixture, "unlock", &[("Unlock it? [y/N] ", "")]);
    assert!(
        succeeded && output.ends_with("executor (WINDSURF) stays locked\n"),
        "{output}"
    );
    let edit = json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" });
    let locked = agent.call_err("write_file", edit.clone()).await;
    assert_eq!(locked["error_code"], "SESSION_LOCKED");
    let (output, succeeded) = run_at_terminal(&fixture, "unlock", &[("Unlock it? [y/N] ", "yes")]);
    assert!(
        succeeded && output.ends_with("executor (WINDSURF) is unlocked\n"),
        "{output}"
    );
    agent.call_ok("write_file", edit).await;
    agent.end().await;

    let status = fixture.run(&["status", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    let key = status["approvers"][0]["key_id"].as_str().unwrap();
    let (output, succeeded) = run_at_terminal(
        &fixture,
        &format!("revoke --key {key}"),
        &[("approved here? [y/N] ", "n")],
    );
    assert!(
        succeeded && output.ends_with("nothing was revoked\n"),
        "{output}"
    );
}

#[test]
fn colours_need_a_terminal() {
    let fixture = OwnerFixture::new();
    let coloured = run_at_terminal(&fixture, "status", &[]).0;
    assert!(coloured.contains("workspace BASE/ws"), "{coloured}");
    let command = format!("env --unset=NO_COLOR TERM=xterm {CANDOR} workspace status");
    let (coloured, succeeded) = at_terminal(&fixture, &command, &[]);
    assert!(
        succeeded && coloured.contains("\u{1b}[1mworkspace\u{1b}[0m BASE/ws"),
        "{coloured:?}"
    );
    assert!(!fixture.run_ok(&["status"]).contains('\u{1b}'));
}
