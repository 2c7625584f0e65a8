//! The owner's commands: init, import, status and protect, and their mistakes.

use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::parse;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

#[test]
fn init_creates_a_forge_once() {
    let fixture = GithubFixture::empty();
    assert_snapshot!(fixture.run_ok(&["init"]), @"created a forge in FOLDER/data/forge with the repository sample/hello");
    assert_snapshot!(fixture.run_ok(&["status"]), @r"
    sample/hello
      branch  e8795e7cf1  conflict
      branch  6ae6afc4af  draft/guide
      branch  4d6303b4a2  feature/greeting
      branch  486c21e385  main  default
      pull    #3  draft/guide → main  draft  A longer guide
      pull    #2  conflict → main  dirty  Say who is greeted
      pull    #1  feature/greeting → main  clean  Greet by name
    ");
    fixture.call_once(
        &["--allow-writes"],
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1 }),
    );
    assert_snapshot!(fixture.run_ok(&["init"]), @"the forge in FOLDER/data/forge exists already; nothing was changed");
    assert!(!fixture.run_ok(&["status"]).contains("#1"));
}

#[test]
fn init_does_not_overwrite_other_files() {
    let fixture = GithubFixture::empty();
    fs::create_dir_all(fixture.path("data/forge")).unwrap();
    fs::write(fixture.path("data/forge/precious"), "x").unwrap();
    assert_snapshot!(fixture.run_err(&["init"]), @r"
    error: FOLDER/data/forge is not empty, and no forge
    hint: name another directory with --data-dir
    ");
    assert_snapshot!(fixture.run_err(&["status"]), @r"
    error: there is no forge in FOLDER/data/forge
    hint: to create one, run:
      candor github init --data-dir FOLDER/data
    ");
    assert_snapshot!(fixture.run_err(&["serve"]), @r"
    error: FOLDER/data/forge is not empty, and no forge
    hint: name another directory with --data-dir
    ");
    assert_eq!(fs::read_dir(fixture.path("data/forge")).unwrap().count(), 1);
    let fixture = GithubFixture::empty();
    fs::write(fixture.path("data"), "x").unwrap();
    assert_snapshot!(fixture.run_err(&["init"]), @r"
    error: cannot create the directory FOLDER/data: File exists (os error 17)
    hint: name another one with --data-dir
    ");
}

#[test]
fn missing_forge_hints_at_init() {
    let fixture = GithubFixture::empty();
    let clone = fixture.clone_with("clone", &[("a", "a\n")]);
    assert_snapshot!(fixture.run_err(&["status"]), @r"
    error: there is no forge in FOLDER/data/forge
    hint: to create one, run:
      candor github init --data-dir FOLDER/data
    ");
    assert_snapshot!(fixture.run_err(&["import", &clone, "me/project"]), @r"
    error: there is no forge in FOLDER/data/forge
    hint: to create one, run:
      candor github init --data-dir FOLDER/data
    ");
    assert_snapshot!(fixture.run_err(&["protect", "me/project", "main"]), @r"
    error: there is no forge in FOLDER/data/forge
    hint: to create one, run:
      candor github init --data-dir FOLDER/data
    ");
    assert!(!fixture.path("data/forge").exists());
}

#[test]
fn a_clone_is_imported_once() {
    let fixture = GithubFixture::new();
    let clone = fixture.clone_with("clone", &[("a", "a\n"), ("b/c", "c\n")]);
    fixture.git("clone", &["tag", "v1"]);
    fixture.git("clone", &["branch", "topic"]);
    assert_snapshot!(fixture.run_ok(&["import", &clone, "Me/project"]), @"imported Me/project");
    assert_snapshot!(fixture.run_err(&["import", &clone, "me/Project"]), @r"
    error: the repository Me/project is there already
    hint: choose another owner/name
    ");
    let output = fixture.run_ok(&["status", "me/project"]);
    let head = fixture.git("clone", &["rev-parse", "main"]);
    assert_snapshot!(output.replace(&head[..10], "<head>"), @r"
    Me/project
      branch  <head>  main  default
      branch  <head>  topic
    ");
    let tree = fixture.call_once(
        &[],
        "get_tree",
        json!({ "repo": "me/project", "ref": "v1" }),
    );
    assert_eq!(tree["total"], 3);
    // A bare clone can be imported, and a relative path works.
    fixture.git("", &["clone", "-q", "--bare", "clone", "bare.git"]);
    fixture.run_ok(&["import", "bare.git", "me/bare"]);
    // The clone is not changed and not linked to.
    fs::remove_dir_all(fixture.path("clone")).unwrap();
    fixture.call_once(
        &[],
        "read_file",
        json!({ "repo": "me/project", "path": "b/c" }),
    );
}

#[test]
fn directories_that_are_not_clones_are_not_imported() {
    let fixture = GithubFixture::new();
    fs::create_dir(fixture.path("plain")).unwrap();
    fixture.write("file", "x");
    assert_snapshot!(fixture.run_err(&["import", "plain", "me/project"]), @r"
    error: there is no git repository at plain
    hint: name the directory of a clone
    ");
    assert_snapshot!(fixture.run_err(&["import", "none", "me/project"]), @r"
    error: there is no git repository at none
    hint: name the directory of a clone
    ");
    assert_snapshot!(fixture.run_err(&["import", "file", "me/project"]), @r"
    error: there is no git repository at file
    hint: name the directory of a clone
    ");
    fixture.clone_with("clone", &[("a", "a\n"), ("b", "b\n")]);
    let url = format!("file://{}", fixture.text("clone"));
    fixture.git("", &["clone", "-q", "--depth", "1", &url, "shallow"]);
    assert_snapshot!(fixture.run_err(&["import", "shallow", "me/project"]), @"error: the clone could not be read: it is shallow: fetch its whole history first");
    // A directory within a clone is not the clone.
    fs::create_dir(fixture.path("clone/below")).unwrap();
    assert_snapshot!(fixture.run_err(&["import", "clone/below", "me/project"]), @r"
    error: there is no git repository at clone/below
    hint: name the directory of a clone
    ");
    for name in ["project", "me/", "me/../x", "me/a b", "-x/y"] {
        let output = fixture.run(&["import", "clone", name]);
        assert_eq!(output.exit, candor_testkit::Exit::Code(1), "{name}");
    }
    assert_snapshot!(fixture.run_err(&["import", "clone", "project"]), @r"
    error: invalid value 'project' for '<OWNER/NAME>': write it as owner/name

    For more information, try '--help'.
    ");
    assert!(!fixture.run_ok(&["status"]).contains("me/"));
    assert!(!fixture.bare("me/project").exists());
}

#[test]
fn typo_gets_a_hint() {
    let fixture = GithubFixture::new();
    assert_snapshot!(fixture.run_err(&["inti"]), @r"
    error: unrecognized subcommand 'inti'

      tip: a similar subcommand exists: 'init'

    Usage: candor github [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["status", "sample/helo"]), @r"
    error: Not found: the repository does not exist, or the token cannot see it
    hint: to show all repositories, run:
      candor github status
    ");
    assert_snapshot!(fixture.run_err(&["status", "--set", "ci=success"]), @r"
    error: the following required arguments were not provided:
      <OWNER/NAME>

    Usage: candor github status --set <NAME=STATE> --data-dir <DIR> <OWNER/NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["status", "sample/hello", "--set", "ci=green"]), @r"
    error: invalid value 'ci=green' for '--set <NAME=STATE>': write NAME=success, NAME=failure or NAME=pending

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["status", "sample/hello", "--set", "ci=success", "--at", "none"]), @"error: Not found: the branch, tag or commit none does not exist, or the token cannot see it");
    assert_snapshot!(fixture.run_err(&["protect", "sample/hello", "a..b"]), @r#"
    error: "a..b" is neither a branch nor a pattern of branches
    hint: write a branch; * matches any text without /
    "#);
    assert_snapshot!(fixture.run_err(&["protect", "sample/helo", "main"]), @r"
    error: Not found: the repository does not exist, or the token cannot see it
    hint: to show all repositories, run:
      candor github status
    ");
    assert_snapshot!(fixture.run_err(&["protect", "sample/hello", "main", "--remove"]), @r"
    error: main of sample/hello has no rules
    hint: to show all rules, run:
      candor github status sample/hello
    ");
    assert_snapshot!(fixture.run_err(&["protect", "sample/hello", "main", "--locked", "--allow-commits"]), @r"
    error: the argument '--locked' cannot be used with '--allow-commits'

    Usage: candor github protect --locked --data-dir <DIR> <OWNER/NAME> <BRANCH>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["protect", "sample/hello", "main", "--allow-commits"]), @r"
    error: the following required arguments were not provided:
      <--require-check <NAME>|--require-approvals <N>>

    Usage: candor github protect --allow-commits --data-dir <DIR> <--require-check <NAME>|--require-approvals <N>> <OWNER/NAME> <BRANCH>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["status", "sample/hello", "--set", "ci=success", "--json"]), @r"
    error: the argument '--set <NAME=STATE>' cannot be used with '--json'

    Usage: candor github status --set <NAME=STATE> --data-dir <DIR> <OWNER/NAME>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--repos", "sample"]), @r"
    error: `sample` is not a pattern of repositories
    hint: write owner/name, in which * matches any text: --repos 'octo-org/*'
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--max-entries", "0"]), @r"
    error: invalid value '0' for '--max-entries <N>': give a number from 1 to 100000

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--writes-per-minute", "0"]), @r"
    error: invalid value '0' for '--writes-per-minute <N>': give a number from 1 to 4294967295; without --allow-writes nothing is written

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--write-bearer-file", "x"]), @r"
    error: the following required arguments were not provided:
      --allow-writes

    Usage: candor github serve --allow-writes --write-bearer-file <FILE> --data-dir <DIR>

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--backend", "gitlab"]), @r"
    error: invalid value 'gitlab' for '--backend <BACKEND>'
      [possible values: local, github]

      tip: a similar value exists: 'github'

    For more information, try '--help'.
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--backend", "github", "--api-url", "ftp://x"]), @r"
    error: the API's address must look like https://HOST or https://HOST/api/v3
    hint: for the form of --api-url, run:
      candor github serve --help
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--backend", "github", "--github-token-file", "none"]), @"error: cannot read the token in none: No such file or directory (os error 2)");
}

#[test]
fn checks_and_rules_are_set_and_shown() {
    let fixture = GithubFixture::new();
    assert_snapshot!(fixture.run_ok(&["protect", "sample/hello", "main", "--require-check", "ci/test"]), @"main of sample/hello is protected");
    assert_snapshot!(fixture.run_ok(&["protect", "sample/hello", "release/*", "--locked"]), @"release/* of sample/hello is protected");
    assert_snapshot!(fixture.run_ok(&["protect", "Sample/Hello", "docs", "--allow-commits", "--require-check", "a=b"]), @"docs of Sample/Hello is protected");
    assert_snapshot!(fixture.run_ok(&["status", "sample/hello", "--set", "ci/test=failure", "--at", "feature/greeting"]), @"ci/test of 4d6303b4a2679d249c1fe07dc6d8b505c3250ebb is failure");
    assert_snapshot!(fixture.run_ok(&["status", "SAMPLE/hello"]), @r"
    sample/hello
      branch  e8795e7cf1  conflict
      branch  6ae6afc4af  draft/guide
      branch  4d6303b4a2  feature/greeting
      branch  486c21e385  main  default  protected
      pull    #3  draft/guide → main  draft  A longer guide
      pull    #2  conflict → main  dirty  Say who is greeted
      pull    #1  feature/greeting → main  blocked  Greet by name
      rules   docs  needs a=b
      rules   main  pull requests only; needs ci/test
      rules   release/*  locked; pull requests only
    ");
    assert_snapshot!(fixture.run_ok(&["protect", "sample/hello", "release/*", "--remove"]), @"removed the rules of release/* of sample/hello");
    // A check may have a name with `=` in it.
    fixture.run_ok(&["status", "sample/hello", "--set", "a=b=success"]);
    let output = fixture.run_ok(&["status", "--json"]);
    assert_snapshot!(output, @r#"
    [
      {
        "repo": "sample/hello",
        "default_branch": "main",
        "branches": [
          {
            "name": "conflict",
            "protected": false,
            "sha": "e8795e7cf1fa2fe4bbbf76a2ba746d179920bf91"
          },
          {
            "name": "draft/guide",
            "protected": false,
            "sha": "6ae6afc4af13896becc6b9fd180fc17bc6b16104"
          },
          {
            "name": "feature/greeting",
            "protected": false,
            "sha": "4d6303b4a2679d249c1fe07dc6d8b505c3250ebb"
          },
          {
            "name": "main",
            "protected": true,
            "sha": "486c21e38571393fe30fc82bb0bc33ccbce9f5d4"
          }
        ],
        "more_branches": false,
        "open_pull_requests": [
          {
            "number": 3,
            "title": "A longer guide",
            "head": "draft/guide",
            "base": "main",
            "mergeable_state": "draft"
          },
          {
            "number": 2,
            "title": "Say who is greeted",
            "head": "conflict",
            "base": "main",
            "mergeable_state": "dirty"
          },
          {
            "number": 1,
            "title": "Greet by name",
            "head": "feature/greeting",
            "base": "main",
            "mergeable_state": "blocked"
          }
        ],
        "protections": [
          {
            "branch": "docs",
            "require_pull_request": false,
            "locked": false,
            "required_checks": [
              "a=b"
            ],
            "required_approvals": 0
          },
          {
            "branch": "main",
            "require_pull_request": true,
            "locked": false,
            "required_checks": [
              "ci/test"
            ],
            "required_approvals": 0
          }
        ]
      }
    ]
    "#);
    assert_eq!(
        parse(&output),
        parse(&fixture.run_ok(&["status", "--json", "sample/hello"]))
    );
}

/// git and the tools show the same commits.
#[test]
fn clone_has_the_same_commits() {
    let fixture = GithubFixture::new();
    fixture.call_once(
        &["--allow-writes"],
        "commit_files",
        json!({ "repo": "sample/hello", "branch": "main", "message": "Über alles\n\nIn two parts.", "files": [{ "path": "a/ü b", "content": "x" }] }),
    );
    fixture.git(
        "",
        &[
            "clone",
            "-q",
            &fixture.bare("sample/hello").to_string_lossy(),
            "clone",
        ],
    );
    let log = fixture.git("clone", &["log", "--format=%H %an %s"]);
    let output = fixture.call_once(&[], "get_commits", json!({ "repo": "sample/hello" }));
    let listed: Vec<_> = output["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| {
            let text = |name: &str| commit[name].as_str().unwrap();
            let subject = text("message").lines().next().unwrap();
            format!(
                "{} {} {subject}\n",
                text("sha"),
                commit["author"]["name"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(listed.concat(), log);
    assert_eq!(
        fs::read_to_string(fixture.path("clone/a/ü b")).unwrap(),
        "x"
    );
}

/// A running server sees imports and settings of other processes.
#[test]
fn running_server_sees_changes_of_commands() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes"]);
    let clone = fixture.clone_with("clone", &[("a", "a\n")]);
    server.call_err("fetch", json!({ "repo": "me/project" }));
    fixture.run_ok(&["import", &clone, "me/project"]);
    server.call_ok("fetch", json!({ "repo": "me/project" }));
    fixture.run_ok(&["protect", "me/project", "main"]);
    let commit = json!({ "repo": "me/project", "branch": "main", "message": "x", "files": [{ "path": "a", "content": "" }] });
    assert_eq!(
        server.call_err("commit_files", commit.clone())["code"],
        -32003
    );
    fixture.run_ok(&["protect", "me/project", "main", "--remove"]);
    server.call_ok("commit_files", commit);
}

/// `--log` of this command names a file; that of all other commands is the level of the log.
#[test]
fn log_of_a_check_is_stored() {
    let fixture = GithubFixture::new();
    let log = fixture.write("log", "one\n\u{1b}[31mtwo\u{1b}[0m\n");
    let set = [
        "status",
        "sample/hello",
        "--set",
        "ci/x=failure",
        "--at",
        "feature/greeting",
    ];
    let with = |more: &[&str]| fixture.run_ok(&[&set[..], more].concat());
    with(&["--log", &log, "--log-level", "info"]);
    let read = || {
        let arguments = json!({ "repo": "sample/hello", "prNumber": 1 });
        let found = fixture.call_once(&["--toolsets", "loop"], "get_job_logs", arguments);
        found["jobs"][0]["log"].clone()
    };
    assert_eq!(read(), "one\ntwo");
    with(&[]);
    assert_eq!(read(), Value::Null);
    assert_snapshot!(fixture.run_err(&["status", "sample/hello", "--set", "ci/x=failure", "--log", "none"]), @"error: cannot read the log none: No such file or directory (os error 2)");
    assert_snapshot!(fixture.run_err(&["status", "sample/hello", "--log", "none"]), @r"
    error: the following required arguments were not provided:
      --set <NAME=STATE>

    Usage: candor github status --set <NAME=STATE> --log <FILE> --data-dir <DIR> <OWNER/NAME>

    For more information, try '--help'.
    ");
}
