//! `candor workspace allow`: a plan in one step, and its mistakes.

use crate::workspace_cli::fixture::OwnerFixture;
use candor_testkit::Exit;
use insta::assert_snapshot;

#[test]
fn allow_writes_shows_and_signs_a_plan() {
    let fixture = OwnerFixture::new();
    fixture.write("ws/src/b/c.rs", "");
    fixture.write("ws/src/b/d.txt", "");
    let output = fixture.run_signed(&[
        "allow",
        "src/**/*.rs",
        "Cargo.toml",
        "--for",
        "30m",
        "--operations",
        "modify,create",
        "--title",
        "Sort it",
        "--rust-strict",
        "--verify",
        "make 'a test'",
        "--writable",
        "out",
        "--env",
        "CI=true",
        "--network",
        "--each-write",
    ]);
    assert_snapshot!(output, @r"
    plan 66a37dc7e69b
      title      Sort it
      objective  Let an agent change src/**/*.rs, Cargo.toml.
      phase      WORK
      may        create, modify
      in         src/**/*.rs
                 Cargo.toml
                 (2 files now)
                   src/a.rs
                   src/b/c.rs
      runs       make 'a test'
      when       after each write, which is undone if one fails
      writable   no tracked file in out
      network    every public host, on every port
      with       CI=true
      policy     rust-strict
      warning    phase[0].writable[0] the commands may change files of the tree
                 there
      warning    phase[0].network the commands may use the network: what they read
                 can leave this machine
      bound to   this path: BASE/ws
                 (and to no repository: HEAD has no commit yet)
      until      UNTIL
                 30 minutes from now
    approved 66a37dc7e69b by anna until INSTANT
    ");
    let plan = std::fs::read_dir(fixture.path("ws/docs/plans")).unwrap();
    assert_eq!(plan.count(), 2);
    let line = fixture.last_line();
    assert_eq!(line["tool_name"], "approve");
    assert_eq!(line["approval"]["approver"], "anna");
    assert_eq!(
        (&line["role"], &line["session_id"]),
        (&None::<u8>.into(), &None::<u8>.into())
    );
    assert!(output.contains(&line["plan_hash"].as_str().unwrap()[..12]));
}

#[test]
fn second_approved_plan_causes_a_note() {
    let fixture = OwnerFixture::new();
    fixture.run_signed(&["allow", "src/**"]);
    let again = fixture.run(&["allow", "src/**", "--passphrase-file", "../pass"]);
    assert_eq!(again.stderr, "");
    let other = fixture.run(&["allow", "tests/**", "--passphrase-file", "../pass"]);
    assert_eq!(other.exit, Exit::Code(0));
    assert_snapshot!(fixture.normalize(&other.stderr), @r"
    note: other plans are approved too, so an agent must name the plan that it uses; to revoke one, run:
      candor workspace revoke 74ada96309d4 --config-dir BASE/config --state-dir BASE/state
    ");
}

#[test]
fn misleading_globs_and_commands_are_refused() {
    let fixture = OwnerFixture::new();
    fixture.write("ws/src/b.rs", "");
    let with = |more: &[&'static str]| {
        let allow = ["allow", "--passphrase-file", "../pass"];
        fixture.run_err(&allow.iter().chain(more).copied().collect::<Vec<_>>())
    };
    assert_snapshot!(with(&["src"]), @r#"
    error: "src" is a directory
    hint: to allow every file in it, write 'src/**'
    "#);
    assert_snapshot!(with(&["."]), @r#"
    error: "." is a directory
    hint: to allow every file in it, write '**'
    "#);
    assert_snapshot!(with(&["../**"]), @"error: the plan cannot be enforced: phase[0].allow[0] the glob has `..`; globs cannot lead out of the root");
    assert_snapshot!(with(&[".git/**"]), @"error: the plan cannot be enforced: phase[0].allow[0] names protected files only, which nobody may write");
    assert_snapshot!(with(&["src/**", "--verify", "cargo test | tee log"]), @r"
    error: invalid value 'cargo test | tee log' for '--verify <COMMAND>': no shell runs it, so | has no meaning: give each command in its own --verify, or quote it to pass it on

    For more information, try '--help'.
    ");
    assert_snapshot!(with(&["src/**", "--verify", "CI=1 cargo test"]), @r"
    error: invalid value 'CI=1 cargo test' for '--verify <COMMAND>': it begins with a variable; set it with --env CI=1

    For more information, try '--help'.
    ");
    assert_snapshot!(with(&["src/**", "--for", "soon"]), @r"
    error: invalid value 'soon' for '--for <DURATION>': write a number and a unit: 30m, 4h or 7d

    For more information, try '--help'.
    ");
    assert_snapshot!(with(&["src/**", "--operations", "create,change"]), @r"
    error: invalid value 'change' for '--operations <LIST>': give a list of create, modify and delete, separated by commas

    For more information, try '--help'.
    ");
    assert_snapshot!(with(&["src/**", "--each-write"]), @r"
    error: the following required arguments were not provided:
      --verify <COMMAND>

    Usage: candor workspace allow --verify <COMMAND> --passphrase-file <FILE> --each-write --config-dir <DIR> --state-dir <DIR> <GLOB>...

    For more information, try '--help'.
    ");
    assert_snapshot!(with(&["src/**", "--verfy", "x"]), @r"
    error: unexpected argument '--verfy' found

      tip: a similar argument exists: '--verify'

    Usage: candor workspace allow --passphrase-file <FILE> --verify <COMMAND> <GLOB>...

    For more information, try '--help'.
    ");
    assert!(!fixture.path("ws/docs").exists() && !fixture.path("ws/audit-log.jsonl").exists());
}

#[test]
fn signing_needs_key_passphrase_and_consent() {
    let fixture = OwnerFixture::empty();
    assert_snapshot!(fixture.run_err(&["allow", "src/**", "--yes"]), @r"
    error: there is no key BASE/config/approver.key
    hint: name your key with --ssh-key FILE, or create one:
      candor workspace init
    ");
    let fixture = OwnerFixture::new();
    assert_snapshot!(fixture.run_err(&["allow", "src/**"]), @r"
    error: there is no terminal to ask for confirmation
    hint: run it in a terminal, or give --yes, and --passphrase-file FILE if the key has a passphrase
    ");
    fixture.write("wrong", "open sesamE\n");
    let wrong = fixture.run(&["allow", "src/**", "--passphrase-file", "../wrong"]);
    assert_eq!(wrong.exit, Exit::Code(1));
    assert_snapshot!(fixture.normalize(&wrong.stderr), @"error: cannot use the key BASE/config/approver.key: the passphrase is wrong");
    let none = fixture.run(&["allow", "src/**", "--yes"]);
    assert_eq!(none.exit, Exit::Code(1));
    assert_snapshot!(fixture.normalize(&none.stderr), @r"
    error: cannot use the key BASE/config/approver.key: the key needs its passphrase
    hint: run it in a terminal, or name a file that contains the passphrase with --passphrase-file FILE
    ");
    let gone = fixture.run(&["allow", "src/**", "--passphrase-file", "../gone"]);
    assert_snapshot!(fixture.normalize(&gone.stderr), @"error: cannot read the passphrase in ../gone: No such file or directory (os error 2)");
    std::fs::write(fixture.path("config/approvers"), "").unwrap();
    assert_snapshot!(fixture.run_err(&["allow", "src/**", "--passphrase-file", "../pass"]), @r"
    error: the key KEY may not approve: it is not in BASE/config/approvers
    hint: append a line with a name and the public key to that file, or create a new key:
      candor workspace init --config-dir BASE/config --state-dir BASE/state
    ");
    assert!(!fixture.path("ws/docs").exists() && !fixture.path("ws/audit-log.jsonl").exists());
}
