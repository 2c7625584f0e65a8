//! `candor workspace init`: the key, the approvers, and the configuration of a client.

use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::Exit;
use insta::assert_snapshot;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn init_creates_a_key_once_and_trusts_it() {
    let fixture = OwnerFixture::empty();
    let init = ["init", "--name", "anna", "--passphrase-file", "../pass"];
    let ended = fixture.run(&init);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_snapshot!(fixture.normalize(&ended.stderr), @r"
    hint: the calls of agents are recorded in audit-log.jsonl of the workspace; to keep it out of git, run:
      echo 'audit-log.jsonl*' >> BASE/ws/.gitignore
    ");
    assert_snapshot!(fixture.normalize(&String::from_utf8(ended.stdout).unwrap()), @r#"
    created the key BASE/config/approver.key
    anna may approve with it: KEY

    Next, allow an agent to change some files:
      candor workspace allow 'src/**' --config-dir BASE/config --state-dir BASE/state

    Then add this to the configuration of your MCP client:
    {
      "mcpServers": {
        "candor-workspace": {
          "command": "CANDOR",
          "args": [
            "workspace",
            "serve",
            "--role",
            "executor",
            "--root",
            "BASE/ws",
            "--config-dir",
            "BASE/config",
            "--state-dir",
            "BASE/state"
          ]
        }
      }
    }
    "#);
    let mode = |path| {
        fs::metadata(fixture.path(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        (mode("config"), mode("config/approver.key")),
        (0o700, 0o600)
    );
    let (key, approvers) = (
        fixture.read("config/approver.key"),
        fixture.read("config/approvers"),
    );
    assert!(approvers.starts_with("anna namespaces=\"candor-approval\" ssh-ed25519 "));
    assert_eq!(fs::read_dir(fixture.path("config")).unwrap().count(), 2);

    let again = fixture.run_ok(&["init", "--name", "bob"]);
    assert!(again.starts_with("the key BASE/config/approver.key exists already and was not changed\nanna may approve with it: "), "{again}");
    assert_eq!(fixture.read("config/approver.key"), key);
    assert_eq!(fixture.read("config/approvers"), approvers);

    // A missing list of approvers is written again, without a passphrase.
    fs::remove_file(fixture.path("config/approvers")).unwrap();
    fixture.run_ok(&["init", "--name", "anna"]);
    let parts = |text: &str| {
        text.trim_end()
            .split(' ')
            .take(4)
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(parts(&fixture.read("config/approvers")), parts(&approvers));
    // Others in it stay.
    let other =
        "carl ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBYjQ5vNfkOSUhHVKC0YPy8bJ8R5wJTQo2NfZk1yZ0vA";
    fs::write(fixture.path("config/approvers"), other).unwrap();
    fixture.run_ok(&["init", "--name", "anna"]);
    assert!(
        fixture
            .read("config/approvers")
            .starts_with(&format!("{other}\nanna "))
    );
}

#[test]
fn key_without_a_passphrase_needs_an_option() {
    let fixture = OwnerFixture::empty();
    fixture.write("none", "\n");
    assert_snapshot!(fixture.run_err(&["init", "--passphrase-file", "../none"]), @r"
    error: no key was created: the passphrase is empty
    hint: choose a passphrase, or give --no-passphrase if every program that you run may approve
    ");
    assert_snapshot!(fixture.run_err(&["init"]), @r"
    error: no key was created: there is no terminal to ask for a passphrase
    hint: run it in a terminal, or name a file that contains the passphrase with --passphrase-file FILE
    ");
    assert!(!fixture.path("config/approver.key").exists());
    let ended = fixture.run(&["init", "--name", "anna", "--no-passphrase"]);
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(ended.stderr.starts_with(
        "note: the key has no passphrase: every program that you run can approve with it\n"
    ));
    let allowed = fixture.run_ok(&["allow", "src/**", "--yes"]);
    assert!(allowed.contains("by anna until"), "{allowed}");
}

#[test]
fn secrets_in_the_workspace_are_refused() {
    let fixture = OwnerFixture::empty();
    fixture.write("ws/pass", "x");
    assert_snapshot!(fixture.run_err(&["init", "--passphrase-file", "pass"]), @r"
    error: pass is in the workspace, where an agent could read it
    hint: move it out of the workspace
    ");
    assert_snapshot!(fixture.run_err(&["init", "--config-dir", "keys", "--passphrase-file", "../pass"]), @r"
    error: the workspace BASE/ws contains BASE/ws/keys, which an agent must not reach
    hint: run this in a repository, or name one with --root DIR; --config-dir and --state-dir name other directories
    ");
    assert_snapshot!(fixture.run_err(&["init", "--root", "..", "--passphrase-file", "../pass"]), @r"
    error: the workspace BASE contains BASE/config, which an agent must not reach
    hint: run this in a repository, or name one with --root DIR; --config-dir and --state-dir name other directories
    ");
    assert!(!fixture.path("ws/keys").exists() && !fixture.path("config/approver.key").exists());
}

#[test]
fn mistakes_are_explained() {
    let fixture = OwnerFixture::empty();
    let with = |more: &[&'static str]| {
        let init = ["init", "--passphrase-file", "../pass"];
        fixture.run_err(&init.iter().chain(more).copied().collect::<Vec<_>>())
    };
    assert_snapshot!(with(&["--name", "a,b"]), @r#"
    error: the list of approvers cannot contain the name "a,b"
    hint: choose a name without commas and quotes with --name NAME
    "#);
    assert_snapshot!(with(&["--root", "nowhere"]), @r"
    error: cannot open the workspace BASE/ws/nowhere: No such file or directory (os error 2)
    hint: name a directory with --root DIR
    ");
    assert!(!fixture.path("config/approver.key").exists());
    fixture.write("config/approver.key", "no key");
    assert_snapshot!(with(&[]), @r"
    error: BASE/config/approver.key is not an OpenSSH private key
    hint: move it to another directory, then run the command again
    ");
    assert_snapshot!(fixture.run_err(&["inti"]), @r"
    error: unrecognized subcommand 'inti'

      tip: a similar subcommand exists: 'init'

    Usage: candor workspace [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}
