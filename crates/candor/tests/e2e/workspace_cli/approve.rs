//! `candor workspace review`, `approve` and `revoke`.

use crate::workspace_cli::agent::Agent;
use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// A plan of an agent that pretends to be another plan.
fn plan(title: &str) -> Value {
    json!({ "plan": {
        "title": title,
        "objective": "Tidy up.\nThen rest.",
        "phase": [{
            "id": "TIDY",
            "allow": ["src/**"],
            "operations": ["modify"],
            "verify": [["sh", "-c", "true; \u{1b}[2K"]],
        }],
    }})
}

fn edit() -> Value {
    json!({ "path": "src/a.rs", "content": "pub fn b() {}\n" })
}

#[tokio::test]
async fn revoked_plan_stays_revoked_after_a_restore() {
    let fixture = OwnerFixture::new();
    let planner = Agent::planner(&fixture).await;
    let saved = planner.call_ok("save_plan", plan("Tidy\u{202e}")).await;
    let hash = saved["plan_hash"].as_str().unwrap().to_owned();
    planner.end().await;

    let executor = Agent::executor(&fixture).await;
    let refused = executor.call_err("write_file", edit()).await;
    assert_eq!(refused["error_code"], "PLAN_NOT_APPROVED");
    let message = refused["human_message"].as_str().unwrap();
    let command = format!("candor workspace approve {} --root ", &hash[..12]);
    assert!(message.contains(&command), "{message}");

    let listed = fixture.run(&["review"]);
    assert_eq!(listed.exit, Exit::Code(0));
    assert_snapshot!(fixture.normalize(&String::from_utf8(listed.stdout).unwrap()), @r"
    plan a51cbe36e82f
      title      Tidy\u{202e}
      objective  Tidy up.
                 Then rest.
      phase      TIDY
      may        modify
      in         src/**
                 (1 file now)
                   src/a.rs
      runs       sh -c 'true; \x1b[2K'
      when       when the agent asks
      network    none
      warning    title has characters that a reader does not see
      warning    phase[0].verify[0] sh is a shell: it runs whatever its text or
                 script says
      warning    phase[0].verify[0] has characters that a reader does not see
      bound to   this path: BASE/ws
                 (and to no repository: HEAD has no commit yet)
      until      UNTIL
                 8 hours from now
      state      nobody has approved the plan yet
    ");
    assert_snapshot!(fixture.normalize(&listed.stderr), @r"
    hint: there is no terminal to ask for confirmation; to approve a plan, run:
      candor workspace approve a51cbe36e82f --yes --config-dir BASE/config --state-dir BASE/state
    ");
    executor.call_err("write_file", edit()).await;

    // A passphrase alone does not show that a person has read the plan.
    let unread = fixture.run_err(&["approve", "--passphrase-file", "../pass"]);
    assert!(
        unread.starts_with("error: there is no terminal to ask for confirmation\n"),
        "{unread}"
    );
    let unread = fixture.run_ok(&["review", "--passphrase-file", "../pass"]);
    assert!(!unread.contains("approved a51"), "{unread}");
    // The only waiting plan needs no name.
    let approved = fixture.run_signed(&["approve", "--yes", "--for", "1h"]);
    assert!(
        approved.ends_with(&format!("approved {} by anna until INSTANT\n", &hash[..12])),
        "{approved}"
    );
    executor.call_ok("write_file", edit()).await;
    assert_eq!(fixture.run_ok(&["review"]), "no plan waits for approval\n");

    let approvals = fs::read_dir(fixture.path("ws/docs/plans")).unwrap();
    let approval = approvals
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_str().unwrap().ends_with(".approval.json"))
        .unwrap();
    let old = fs::read(&approval).unwrap();
    assert_eq!(
        fixture.run_signed(&["revoke", &hash[..8]]),
        format!("revoked {} by anna\n", &hash[..12])
    );
    let line = fixture.last_line();
    assert_eq!(
        (&line["tool_name"], &line["plan_hash"]),
        (&json!("revoke"), &json!(hash))
    );
    fs::remove_file(&approval).unwrap();
    executor.call_err("write_file", edit()).await;
    fs::write(&approval, old).unwrap();
    let refused = executor.call_err("write_file", edit()).await;
    assert_eq!(refused["error_code"], "PLAN_NOT_APPROVED");
    assert!(
        refused["human_message"]
            .as_str()
            .unwrap()
            .contains("revoked by \"anna\"")
    );

    // A script that approves every waiting plan does not approve a revoked one.
    let all = fixture.run(&["review", "--yes", "--passphrase-file", "../pass"]);
    assert!(
        all.stderr
            .contains("was revoked; to approve it again, run:\n  candor workspace approve"),
        "{}",
        all.stderr
    );
    executor.call_err("write_file", edit()).await;
    fixture.run_signed(&["approve", &hash[..8], "--yes"]);
    executor.call_ok("write_file", edit()).await;
    executor.end().await;
}

#[tokio::test]
async fn review_asks_for_one_passphrase() {
    let fixture = OwnerFixture::new();
    let planner = Agent::planner(&fixture).await;
    planner.call_ok("save_plan", plan("One")).await;
    planner.call_ok("save_plan", plan("Two")).await;
    planner.end().await;
    assert_snapshot!(fixture.run_err(&["approve", "--passphrase-file", "../pass"]), @r"
    error: 2 plans wait for approval
    hint: name one by 8 digits or more of its hash; to show them, run:
      candor workspace review --config-dir BASE/config --state-dir BASE/state
    ");
    let output = fixture.run_signed(&["review", "--yes"]);
    assert_eq!(
        output.matches("by anna until INSTANT\n").count(),
        2,
        "{output}"
    );
    assert_snapshot!(fixture.run_err(&["approve", "--passphrase-file", "../pass"]), @"error: no plan waits for approval");
}

#[tokio::test]
async fn rsa_and_ecdsa_keys_sign_with_ssh_keygen() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    fixture.write("open", "open sesame\n");
    fixture.write("wrong", "open barley\n");
    for (kind, bits) in [("rsa", "2048"), ("ecdsa", "256")] {
        let status = Command::new("ssh-keygen")
            .args(["-q", "-t", kind, "-b", bits, "-N", "open sesame", "-f"])
            .arg(fixture.path(kind))
            .status();
        assert!(status.unwrap().success());
        let public = fixture.read(&format!("{kind}.pub"));
        fixture.write("team", &format!("carl {public}"));
        let file = format!("../{kind}");
        let allow = |passphrase: &[&str]| {
            let mut arguments = vec!["allow", "src/**", "--yes", "--ssh-key", &file];
            arguments.extend(["--approvers", "../team"].iter().chain(passphrase));
            fixture.run(&arguments)
        };
        let none = allow(&[]);
        assert_eq!(none.exit, Exit::Code(1), "{}", none.stderr);
        assert!(
            none.stderr.contains("needs its passphrase"),
            "{}",
            none.stderr
        );
        let wrong = allow(&["--passphrase-file", "../wrong"]);
        assert_eq!(wrong.exit, Exit::Code(1), "{}", wrong.stderr);
        assert!(wrong.stderr.contains("passphrase"), "{}", wrong.stderr);
        let good = allow(&["--passphrase-file", "../open"]);
        assert_eq!(good.exit, Exit::Code(0), "{}", good.stderr);
        let approved = String::from_utf8_lossy(&good.stdout);
        assert!(approved.contains("by carl until"), "{approved}");
    }
}

#[tokio::test]
async fn existing_ssh_key_can_sign() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    let status = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "carl", "-f"])
        .arg(fixture.path("id"))
        .status();
    assert!(status.unwrap().success());
    let with = |more: &[&'static str]| {
        let allow = ["allow", "src/**", "--yes", "--ssh-key", "../id"];
        allow
            .iter()
            .chain(more)
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let run = |arguments: Vec<String>| {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        fixture.run(&arguments)
    };
    let unknown = run(with(&[]));
    assert_eq!(unknown.exit, Exit::Code(1));
    assert_snapshot!(fixture.normalize(&unknown.stderr), @r"
    error: the key KEY may not approve: it is not in BASE/config/approvers
    hint: append a line with a name and the public key to that file, or create a new key:
      candor workspace init --config-dir BASE/config --state-dir BASE/state
    ");
    let public = fixture.read("id.pub");
    fixture.write("team", &format!("carl,charles {public}"));
    let team = run(with(&["--approvers", "../team"]));
    assert_snapshot!(fixture.normalize(&team.stderr), @r#"
    error: the key KEY has several names: "carl", "charles"
    hint: choose one with --name NAME
    "#);
    let other = run(with(&["--approvers", "../team", "--name", "anna"]));
    assert_snapshot!(fixture.normalize(&other.stderr), @r#"
    error: the key KEY does not belong to "anna"
    hint: its names are "carl", "charles"
    "#);
    let signed = run(with(&["--approvers", "../team", "--name", "carl"]));
    assert_eq!(signed.exit, Exit::Code(0), "{}", signed.stderr);
    assert_eq!(fixture.last_line()["approval"]["approver"], "carl");
    let status = fixture.run_ok(&["status", "--approvers", "../team"]);
    assert!(status.contains("approved by"), "{status}");

    fs::copy(fixture.path("id"), fixture.path("ws/id")).unwrap();
    let inside = fixture.run_err(&["allow", "src/**", "--yes", "--ssh-key", "id"]);
    assert_snapshot!(inside, @r"
    error: id is in the workspace, where an agent could read it
    hint: move it out of the workspace
    ");
}

#[tokio::test]
async fn revoked_key_approves_nothing() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    let status: Value = serde_json::from_str(&fixture.run_ok(&["status", "--json"])).unwrap();
    assert_eq!(status["plans"][0]["approved"], true);
    let json = fixture.run(&["status", "--json"]).stdout;
    let status: Value = serde_json::from_slice(&json).unwrap();
    let key = status["approvers"][0]["key_id"].as_str().unwrap();
    assert_snapshot!(fixture.run_err(&["revoke", "--key", key]), @r"
    error: there is no terminal to ask for confirmation
    hint: run it in a terminal, or give --yes, and --passphrase-file FILE if the key has a passphrase
    ");
    assert_eq!(
        fixture.run_signed(&["revoke", "--key", key]),
        "revoked the key KEY by anna\n"
    );
    let executor = Agent::executor(&fixture).await;
    let refused = executor.call_err("write_file", edit()).await;
    assert_eq!(refused["error_code"], "PLAN_NOT_APPROVED");
    executor.end().await;
    let again = fixture.run(&["allow", "src/**", "--passphrase-file", "../pass"]);
    assert_eq!(again.exit, Exit::Code(1));
    assert_snapshot!(fixture.normalize(&again.stderr), @r#"
    error: the plan 74ada96309d4 was not approved: the approval was revoked by "anna" at INSTANT
    "#);
}

#[test]
fn mistakes_are_explained() {
    let fixture = OwnerFixture::new();
    let approve = |plan| fixture.run_err(&["approve", plan, "--passphrase-file", "../pass"]);
    assert_snapshot!(approve("abc"), @r#"
    error: "abc" is not the name of a plan
    hint: name a plan by 8 digits or more of its hash; to list the plans, run:
      candor workspace status --config-dir BASE/config --state-dir BASE/state
    "#);
    assert_snapshot!(approve("abcdefgh"), @r#"
    error: "abcdefgh" is not the name of a plan
    hint: name a plan by 8 digits or more of its hash; to list the plans, run:
      candor workspace status --config-dir BASE/config --state-dir BASE/state
    "#);
    assert_snapshot!(approve("0123456789ab"), @r"
    error: no plan begins with 0123456789ab
    hint: to list the plans, run:
      candor workspace status --config-dir BASE/config --state-dir BASE/state
    ");
    assert_snapshot!(fixture.run_err(&["revoke", "0123456789ab"]), @r"
    error: no plan begins with 0123456789ab
    hint: to list the plans, run:
      candor workspace status --config-dir BASE/config --state-dir BASE/state
    ");
    assert_snapshot!(fixture.run_err(&["revoke"]), @r"
    error: the following required arguments were not provided:
      <PREFIX|--key <KEYID>>

    Usage: candor workspace revoke --config-dir <DIR> --state-dir <DIR> <PREFIX|--key <KEYID>>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["revoke", "--key", "anna"]), @r"
    error: invalid value 'anna' for '--key <KEYID>': write SHA256: and the fingerprint, as `candor workspace status` shows it

    For more information, try '--help'.
    ");
    fixture.write("ws/docs/plans/draft.toml", "title = 1");
    let review = fixture.run(&["review"]);
    assert_snapshot!(review.stderr, @"note: docs/plans/draft.toml is not shown: its name is no hash; save it as a plan");
}
