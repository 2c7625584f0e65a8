//! Every code from a real cause, on both wires.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{call, parse};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// More than a file may have to be answered.
const LARGE: usize = 6_000_000;

/// Enough writes for a test that makes many.
const UNLIMITED: [&str; 3] = ["--allow-writes", "--writes-per-minute", "10000"];

/// Returns a failure as one line: its code, its effect and its message.
fn line(error: &Value) -> String {
    let effect = &error["data"]["fault"]["effect"];
    let effect = effect.as_str().unwrap_or("-");
    format!(
        "{} {effect}: {}",
        error["code"],
        error["message"].as_str().unwrap()
    )
}

/// Causes the same failures on a server over HTTP and on a server on stdio, each with its own forge. Both
/// must answer the same.
fn run_on_both_transports(
    flags: &[&str],
    prepare: impl Fn(&GithubFixture),
    cause: impl Fn(&GithubFixture, &mut dyn GithubCalls, &mut Vec<String>),
) -> String {
    let mut outputs = Vec::new();
    for over_http in [true, false] {
        let fixture = GithubFixture::new();
        prepare(&fixture);
        let mut lines = Vec::new();
        match over_http {
            true => cause(&fixture, &mut fixture.http(flags), &mut lines),
            false => cause(&fixture, &mut fixture.stdio(flags), &mut lines),
        }
        outputs.push(lines.join("\n"));
    }
    assert_eq!(outputs[0], outputs[1]);
    outputs.remove(0)
}

/// A commit of one file.
fn commit(branch: &str, path: &str) -> Value {
    json!({
        "repo": "sample/hello", "branch": branch, "message": "Change a file",
        "files": [{ "path": path, "content": "new\n" }],
    })
}

fn pull(number: u64) -> Value {
    json!({ "repo": "sample/hello", "prNumber": number })
}

#[test]
fn unauthorized_calls_are_denied() {
    let read_only = run_on_both_transports(
        &[],
        |_| {},
        |_, server, lines| {
            for tool in [
                "commit_files",
                "create_pull_request",
                "update_pull_request",
                "merge_pull_request",
            ] {
                // Before the arguments are looked at.
                lines.push(line(&server.call_err(tool, json!({}))));
            }
        },
    );
    assert_snapshot!(read_only, @r"
    -32001 none: Permission denied: this server does not change anything
    -32001 none: Permission denied: this server does not change anything
    -32001 none: Permission denied: this server does not change anything
    -32001 none: Permission denied: this server does not change anything
    ");
    let listed = run_on_both_transports(
        &["--allow-writes", "--repos", "other/*"],
        |_| {},
        |_, server, lines| {
            lines.push(line(
                &server.call_err("fetch", json!({ "repo": "sample/hello" })),
            ));
            lines.push(line(&server.call_err("commit_files", commit("main", "a"))));
            lines.push(line(
                &server.call_err("fetch", json!({ "repo": "Other/none" })),
            ));
            let output = server.call_ok("search", json!({ "query": "hello" }));
            assert_eq!(
                (&output["results"], &output["filtered"]),
                (&json!([]), &json!(1))
            );
        },
    );
    assert_snapshot!(listed, @r"
    -32001 none: Permission denied: sample/hello is not on this server's list of repositories
    -32001 none: Permission denied: sample/hello is not on this server's list of repositories
    -32002 none: Not found: the repository does not exist, or the token cannot see it
    ");
}

/// The write token also allows reads; the read token does not allow writes.
#[test]
fn write_token_is_needed_for_writes() {
    let fixture = GithubFixture::new();
    let (read, write) = (
        fixture.write("read", "r-token\n"),
        fixture.write("write", "w-token\n"),
    );
    let server = fixture.http(&[
        "--bearer-file",
        &read,
        "--allow-writes",
        "--write-bearer-file",
        &write,
    ]);
    let send = |token: Option<&str>, tool: &str, arguments: &Value| {
        let authorization = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = authorization
            .iter()
            .map(|text| ("Authorization", text.as_str()))
            .collect();
        let response = server.post(call(1, tool, arguments), &headers);
        (response.status, parse(&response.text()))
    };
    let reading = json!({ "repo": "sample/hello" });
    assert_eq!(send(None, "fetch", &reading).0, 401);
    assert_eq!(send(Some("other"), "fetch", &reading).0, 401);
    assert_eq!(send(Some("r-token"), "fetch", &reading).0, 200);
    assert_eq!(send(Some("w-token"), "fetch", &reading).0, 200);
    let (status, refused) = send(Some("r-token"), "commit_files", &commit("main", "a"));
    assert_eq!(status, 200);
    assert_snapshot!(line(&refused["error"]), @"-32001 none: Permission denied: this tool asks for the token for writing");
    assert_snapshot!(refused["error"]["data"]["fault"]["remedy"], @r#""Show the token of --write-bearer-file as `Authorization: Bearer …`.""#);
    let (_, answer) = send(Some("w-token"), "commit_files", &commit("main", "a"));
    assert!(
        answer["result"]["structuredContent"]["sha"].is_string(),
        "{answer}"
    );
}

#[test]
fn missing_objects_are_not_found() {
    let output = run_on_both_transports(
        &UNLIMITED,
        |_| {},
        |_, server, lines| {
            let hello = "sample/hello";
            for (tool, arguments) in [
                ("fetch", json!({ "repo": "sample/none" })),
                ("fetch", json!({ "repo": "none/hello" })),
                ("get_tree", json!({ "repo": "sample/none" })),
                ("read_file", json!({ "repo": hello, "path": "none" })),
                ("read_file", json!({ "repo": hello, "path": "README.md/x" })),
                ("list_directory", json!({ "repo": hello, "path": "none" })),
                ("get_tree", json!({ "repo": hello, "branch": "none" })),
                ("get_tree", json!({ "repo": hello, "ref": "v9" })),
                ("get_commits", json!({ "repo": hello, "sha": "0000000" })),
                ("get_commits", json!({ "repo": hello, "branch": "none" })),
                (
                    "get_checks_for_sha",
                    json!({ "repo": hello, "sha": "0000000" }),
                ),
                ("get_pr_mergeability", pull(99)),
                ("merge_pull_request", pull(99)),
                (
                    "update_pull_request",
                    json!({ "repo": hello, "prNumber": 99, "title": "x" }),
                ),
                ("commit_files", commit("none", "a")),
                (
                    "create_pull_request",
                    json!({ "repo": hello, "title": "x", "head": "none", "base": "main" }),
                ),
                (
                    "create_pull_request",
                    json!({ "repo": hello, "title": "x", "head": "none:main", "base": "main" }),
                ),
                (
                    "create_pull_request",
                    json!({ "repo": hello, "title": "x", "head": "main", "base": "none" }),
                ),
            ] {
                lines.push(format!(
                    "{tool} {}",
                    line(&server.call_err(tool, arguments))
                ));
            }
        },
    );
    assert_snapshot!(output, @r"
    fetch -32002 none: Not found: the repository does not exist, or the token cannot see it
    fetch -32002 none: Not found: the repository does not exist, or the token cannot see it
    get_tree -32002 none: Not found: the repository does not exist, or the token cannot see it
    read_file -32002 none: Not found: the path none does not exist, or the token cannot see it
    read_file -32002 none: Not found: the path README.md/x does not exist, or the token cannot see it
    list_directory -32002 none: Not found: the path none does not exist, or the token cannot see it
    get_tree -32002 none: Not found: the branch none does not exist, or the token cannot see it
    get_tree -32002 none: Not found: the branch, tag or commit v9 does not exist, or the token cannot see it
    get_commits -32002 none: Not found: the branch, tag or commit 0000000 does not exist, or the token cannot see it
    get_commits -32002 none: Not found: the branch none does not exist, or the token cannot see it
    get_checks_for_sha -32002 none: Not found: the branch, tag or commit 0000000 does not exist, or the token cannot see it
    get_pr_mergeability -32002 none: Not found: the pull request #99 does not exist, or the token cannot see it
    merge_pull_request -32002 none: Not found: the pull request #99 does not exist, or the token cannot see it
    update_pull_request -32002 none: Not found: the pull request #99 does not exist, or the token cannot see it
    commit_files -32002 none: Not found: the branch none does not exist, or the token cannot see it
    create_pull_request -32002 none: Not found: the branch none does not exist, or the token cannot see it
    create_pull_request -32002 none: Not found: the branch main does not exist, or the token cannot see it
    create_pull_request -32002 none: Not found: the branch none does not exist, or the token cannot see it
    ");
}

/// A repository with a large file and one that has nothing in common with its main branch.
fn with_more(fixture: &GithubFixture) {
    let clone = fixture.clone_with("clone", &[("a", "a\n")]);
    fs::write(fixture.path("clone/large"), vec![b'x'; LARGE]).unwrap();
    fixture.git("clone", &["add", "--all"]);
    fixture.git("clone", &["commit", "-q", "-m", "Add a large file"]);
    fixture.git("clone", &["branch", "same"]);
    fixture.git("clone", &["checkout", "-q", "--orphan", "other"]);
    fixture.git("clone", &["commit", "-q", "-m", "Begin anew"]);
    fixture.git("clone", &["checkout", "-q", "main"]);
    fixture.run_ok(&["import", &clone, "me/more"]);
    fixture.run_ok(&["protect", "me/more", "same"]);
}

#[test]
fn arguments_that_do_not_fit_the_repository_are_refused() {
    let refused = run_on_both_transports(&UNLIMITED, with_more, |fixture, server, lines| {
        let (hello, more) = ("sample/hello", "me/more");
        let open = |head: &str, base: &str, repo: &str| json!({ "repo": repo, "title": "x", "head": head, "base": base });
        let mut try_all = |server: &mut dyn GithubCalls, calls: Vec<(&str, Value)>| {
            for (tool, arguments) in calls {
                let error = server.call_err(tool, arguments);
                let number = error["data"].get("number");
                let number = number.map(|number| format!(" (data.number {number})"));
                lines.push(format!(
                    "{tool} {}{}",
                    line(&error),
                    number.unwrap_or_default()
                ));
            }
        };
        try_all(
            server,
            vec![
                ("read_file", json!({ "repo": hello, "path": "docs" })),
                (
                    "list_directory",
                    json!({ "repo": hello, "path": "README.md" }),
                ),
                ("read_file", json!({ "repo": more, "path": "large" })),
                (
                    "create_pull_request",
                    open("feature/greeting", "main", hello),
                ),
                (
                    "create_pull_request",
                    open("SAMPLE:feature/greeting", "main", hello),
                ),
                ("create_pull_request", open("same", "main", more)),
                ("create_pull_request", open("other", "main", more)),
                ("create_pull_request", open("main", "main", more)),
                (
                    "commit_files",
                    json!({ "repo": more, "branch": "same", "message": "x", "files": [{ "path": "b", "content": "" }] }),
                ),
                (
                    "commit_files",
                    json!({ "repo": more, "branch": "main", "message": "x", "files": [{ "path": "a", "content": "a\n" }] }),
                ),
                (
                    "commit_files",
                    json!({ "repo": more, "branch": "main", "message": "x", "files": [{ "path": "a/b", "content": "" }] }),
                ),
                (
                    "commit_files",
                    json!({ "repo": more, "branch": "main", "message": "x", "files": [{ "path": "x", "content": "" }, { "path": "x/y", "content": "" }] }),
                ),
                (
                    "commit_files",
                    json!({ "repo": hello, "branch": "main", "message": "x", "files": [{ "path": "docs", "content": "" }] }),
                ),
            ],
        );
        server.call_ok("merge_pull_request", pull(1));
        try_all(
            server,
            vec![
                (
                    "update_pull_request",
                    json!({ "repo": hello, "prNumber": 1, "state": "open" }),
                ),
                (
                    "create_pull_request",
                    open("feature/greeting", "main", hello),
                ),
            ],
        );
        let log = fixture.git(fixture.bare(more), &["log", "--format=%s", "main"]);
        assert_eq!(log, "Add a large file\nAdd a\n", "nothing was committed");
    });
    assert_snapshot!(refused, @r"
    read_file -32003 none: Validation error: docs is a directory; use list_directory
    list_directory -32003 none: Validation error: README.md is not a directory; use read_file
    read_file -32003 none: Validation error: large is too large: 6000000 bytes, at most 5242880 are answered
    create_pull_request -32003 none: Validation error: a pull request for these branches is open already: #1 (data.number 1)
    create_pull_request -32003 none: Validation error: a pull request for these branches is open already: #1 (data.number 1)
    create_pull_request -32003 none: Validation error: there are no commits between main and same
    create_pull_request -32003 none: Validation error: the two branches have no history in common
    create_pull_request -32003 none: Validation error: there are no commits between main and main
    commit_files -32003 none: Validation error: the branch same is protected and takes changes through pull requests only
    commit_files -32003 none: Validation error: the branch has exactly these files already
    commit_files -32003 none: Validation error: a would be a file and a directory at once
    commit_files -32003 none: Validation error: x/y would be a file and a directory at once
    commit_files -32003 none: Validation error: docs would be a file and a directory at once
    update_pull_request -32003 none: Validation error: the pull request #1 was merged already
    create_pull_request -32003 none: Validation error: there are no commits between main and feature/greeting
    ");
}

/// Returns the number of unpacked objects of a repository.
fn objects(bare: &Path) -> usize {
    let folders = fs::read_dir(bare.join("objects")).unwrap();
    let files = |folder: PathBuf| fs::read_dir(folder).map_or(0, Iterator::count);
    folders.map(|folder| files(folder.unwrap().path())).sum()
}

/// Another git moves the branch during a commit: it holds the lock of the ref before the commit needs
/// it, and then changes the ref.
#[test]
fn branch_that_moved_is_never_overwritten() {
    let fixture = GithubFixture::new();
    let bare = fixture.bare("sample/hello");
    let theirs = fixture.git(&bare, &["rev-parse", "feature/greeting"]);
    let (main, lock) = (
        bare.join("refs/heads/main"),
        bare.join("refs/heads/main.lock"),
    );
    let before = objects(&bare);
    fs::write(&lock, &theirs).unwrap();
    let mut server = fixture.stdio(&UNLIMITED);
    server.send_line(call(1, "commit_files", commit("main", "a")));
    // Blob, tree and commit exist: the commit is based on the old main.
    let start = Instant::now();
    while objects(&bare) < before + 3 {
        assert!(start.elapsed() < LIMIT);
    }
    fs::rename(&lock, &main).unwrap();
    let answer = parse(&server.line().unwrap());
    assert_snapshot!(line(&answer["error"]), @"-32003 none: Validation error: the branch main was moved by somebody else meanwhile; nothing was committed");
    assert_eq!(fixture.git(&bare, &["rev-parse", "main"]), theirs);
    server.call_ok("commit_files", commit("main", "a"));
    // A lock that is never released has another answer.
    fs::write(&lock, "").unwrap();
    assert_snapshot!(line(&server.call_err("commit_files", commit("main", "b"))), @"-32603 none: Internal error: another program keeps the branch locked");
}

/// Only writes that pass all earlier checks count.
#[test]
fn writes_are_limited() {
    let flags = ["--allow-writes", "--writes-per-minute", "2"];
    let limited = run_on_both_transports(&flags, with_more, |_, server, lines| {
        for _ in 0..5 {
            server.call_err("commit_files", json!({ "repo": "sample/hello" }));
        }
        server.call_ok("commit_files", commit("main", "a"));
        let merge = server.call_err("merge_pull_request", pull(2));
        assert_eq!(merge["code"], -32005);
        // The refused merge does not count.
        server.call_ok("commit_files", commit("main", "c"));
        for _ in 0..2 {
            let error = server.call_err("commit_files", commit("main", "b"));
            let wait = error["data"]["fault"]["retry_after_ms"].as_u64().unwrap();
            assert!((1..=60_000).contains(&wait), "{error}");
            assert_eq!(error["data"]["fault"]["retry"], "after_delay");
            lines.push(line(&error));
        }
        // Another spelling is the same repository, another repository is not.
        let mut same = commit("main", "b");
        same["repo"] = json!("Sample/HELLO");
        lines.push(line(&server.call_err("commit_files", same)));
        let mut other = commit("main", "b");
        other["repo"] = json!("me/more");
        server.call_ok("commit_files", other);
        server.call_ok("fetch", json!({ "repo": "sample/hello" }));
    });
    assert_snapshot!(limited, @r"
    -32004 none: Rate limit exceeded: this server's limit on writes to one repository
    -32004 none: Rate limit exceeded: this server's limit on writes to one repository
    -32004 none: Rate limit exceeded: this server's limit on writes to one repository
    ");
}

#[test]
fn unmergeable_pull_request_states_the_reason() {
    let unmergeable = run_on_both_transports(
        &UNLIMITED,
        |_| {},
        |fixture, server, lines| {
            let mut merge = |server: &mut dyn GithubCalls, number: u64| {
                let error = server.call_err("merge_pull_request", pull(number));
                let data = &error["data"];
                lines.push(format!(
                    "{} [{} {}]",
                    line(&error),
                    data["mergeable_state"],
                    data["failing_checks"]
                ));
                let authorization = server.call_ok("get_pr_mergeability", pull(number));
                lines.push(format!(
                    "  {} {}",
                    authorization["mergeable"], authorization["mergeable_state"]
                ));
            };
            merge(server, 2);
            merge(server, 3);
            let protect = |more: &[&str]| {
                let arguments: Vec<_> = ["protect", "sample/hello", "main"]
                    .iter()
                    .chain(more)
                    .copied()
                    .collect();
                fixture.run_ok(&arguments);
            };
            let set = |state: &str| {
                fixture.run_ok(&[
                    "status",
                    "sample/hello",
                    "--set",
                    state,
                    "--at",
                    "feature/greeting",
                ]);
            };
            protect(&["--locked"]);
            merge(server, 1);
            protect(&["--require-check", "ci/build", "--require-check", "ci/test"]);
            merge(server, 1);
            set("ci/build=pending");
            merge(server, 1);
            set("ci/build=failure");
            merge(server, 1);
            set("ci/build=success");
            let close =
                |state: &str| json!({ "repo": "sample/hello", "prNumber": 1, "state": state });
            server.call_ok("update_pull_request", close("closed"));
            merge(server, 1);
            server.call_ok("update_pull_request", close("open"));
            let merged = server.call_ok("merge_pull_request", pull(1));
            assert_eq!(merged["merged"], true);
            merge(server, 1);
        },
    );
    assert_snapshot!(unmergeable, @r#"
    -32005 none: Pull request #2 is not mergeable: it conflicts with its base branch ["dirty" null]
      false "dirty"
    -32005 none: Pull request #3 is not mergeable: it is a draft ["draft" null]
      true "draft"
    -32005 none: Pull request #1 is not mergeable: rules of the base branch block it ["blocked" null]
      true "blocked"
    -32005 none: Pull request #1 is not mergeable: rules of the base branch block it ["blocked" ["ci/build"]]
      true "blocked"
    -32005 none: Pull request #1 is not mergeable: rules of the base branch block it ["blocked" ["ci/build"]]
      true "blocked"
    -32005 none: Pull request #1 is not mergeable: rules of the base branch block it ["blocked" ["ci/build"]]
      true "blocked"
    -32005 none: Pull request #1 is not mergeable: it is closed ["unknown" null]
      null "unknown"
    -32005 none: Pull request #1 is not mergeable: it was merged already ["unknown" null]
      null "unknown"
    "#);
}

#[test]
fn merge_with_an_outdated_head_is_refused() {
    let stale = run_on_both_transports(
        &UNLIMITED,
        |_| {},
        |fixture, server, lines| {
            let before = fixture.git(fixture.bare("sample/hello"), &["rev-parse", "main"]);
            let outputs = server.call_ok("get_pr_mergeability", pull(1))["head_sha"].take();
            let outputs = outputs.as_str().unwrap().to_owned();
            let with = |number: u64, sha: &str| json!({ "repo": "sample/hello", "prNumber": number, "sha": sha });
            let mut mismatch = |server: &mut dyn GithubCalls, number: u64, sha: &str| {
                let error = server.call_err("merge_pull_request", with(number, sha));
                assert_eq!(error["data"]["expected"], sha);
                lines.push(line(&error));
                error["data"]["actual"].as_str().unwrap().to_owned()
            };
            assert_eq!(mismatch(server, 1, "0123456"), outputs);
            // It is reported before other reasons against a merge.
            mismatch(server, 2, "0123456");
            mismatch(server, 3, &outputs);
            // The head moves on between looking and merging.
            let moved = server.call_ok("commit_files", commit("feature/greeting", "more"));
            let now = mismatch(server, 1, &outputs);
            assert_eq!(moved["sha"], now.as_str());
            let main = fixture.git(fixture.bare("sample/hello"), &["rev-parse", "main"]);
            assert_eq!(main, before, "nothing was merged");
            // The first digits are enough.
            let merged = server.call_ok("merge_pull_request", with(1, &now[..7]));
            assert_eq!(merged["head_sha"], now.as_str());
        },
    );
    assert_snapshot!(stale, @r"
    -32006 none: Head SHA does not match: the pull request has another head than expected
    -32006 none: Head SHA does not match: the pull request has another head than expected
    -32006 none: Head SHA does not match: the pull request has another head than expected
    -32006 none: Head SHA does not match: the pull request has another head than expected
    ");
}

#[test]
fn empty_repository_is_reported_as_empty() {
    let empty = run_on_both_transports(
        &UNLIMITED,
        |fixture| {
            let clone = fixture.clone_with("clone", &[]);
            fixture.run_ok(&["import", &clone, "me/empty"]);
        },
        |_, server, lines| {
            let repo = "me/empty";
            for (tool, arguments) in [
                ("read_file", json!({ "repo": repo, "path": "a" })),
                ("list_directory", json!({ "repo": repo, "path": "" })),
                ("get_tree", json!({ "repo": repo })),
                ("get_commits", json!({ "repo": repo })),
                (
                    "commit_files",
                    json!({ "repo": repo, "branch": "main", "message": "x", "files": [{ "path": "a", "content": "" }] }),
                ),
                (
                    "create_pull_request",
                    json!({ "repo": repo, "title": "x", "head": "a", "base": "main" }),
                ),
            ] {
                lines.push(format!(
                    "{tool} {}",
                    line(&server.call_err(tool, arguments))
                ));
            }
            server.call_ok("fetch", json!({ "repo": repo }));
            let branches = server.call_ok("get_branches", json!({ "repo": repo }));
            assert_eq!(
                (&branches["branches"], &branches["default"]),
                (&json!([]), &json!("main"))
            );
        },
    );
    assert_snapshot!(empty, @r"
    read_file -32603 none: Internal error: the repository is empty
    list_directory -32603 none: Internal error: the repository is empty
    get_tree -32603 none: Internal error: the repository is empty
    get_commits -32603 none: Internal error: the repository is empty
    commit_files -32603 none: Internal error: the repository is empty
    create_pull_request -32603 none: Internal error: the repository is empty
    ");
}
