//! Input that is meant to break something, and repositories that are odd.

use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{Transport, call, parse};
use insta::assert_snapshot;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Names that lead out of the forge.
#[test]
fn repository_name_is_never_a_path() {
    let fixture = GithubFixture::new();
    fs::create_dir_all(fixture.path("data/user.git")).unwrap();
    let mut server = fixture.stdio(&["--allow-writes"]);
    for repo in [
        "../user",
        "./hello",
        "sample/..",
        "sample/.",
        "../../data",
        "/etc",
        "sample/hello/..",
        "sample//hello",
        "sample\\hello",
        "sample/hello\0",
        "sample/hello\n",
        "~import/lock",
        "",
        "a/b/c",
    ] {
        let error = server.call_err("fetch", json!({ "repo": repo }));
        assert_eq!(error["code"], -32602, "{repo}: {error}");
    }
    let error = server.call_err("fetch", json!({ "repo": "../user" }));
    let violations = error["data"]["validation_errors"].as_array().unwrap();
    assert_eq!(violations.len(), 1, "{error}");
    assert_snapshot!(error["data"]["hints"], @r#"[{"path":"/repo","hint":"no part is . or .."}]"#);
    // Valid names of repositories that do not exist; `.git` is not part of a name.
    for repo in [
        "sample/hello.git",
        ".../hello",
        "sample/..hello",
        "forge.db/x",
        "-/-",
    ] {
        let error = server.call_err("fetch", json!({ "repo": repo }));
        assert_eq!(error["code"], -32002, "{repo}: {error}");
    }
}

/// Paths in which a URL, a shell or a file system would see something else.
#[test]
fn odd_paths_are_written_and_read_back() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes"]);
    let paths = [
        "a#b",
        "a?b=c",
        "100%",
        "%2e%2e/x",
        "a b/ c ",
        "ü/\u{1f600}",
        "a\\b",
        "a..b",
        "...",
        ".gitignore",
        "'\"$(x)",
        "-rf",
        "a\tb",
        "CON",
        "a:b",
        "\u{202e}x",
    ];
    let files: Vec<_> = paths
        .iter()
        .map(|path| json!({ "path": path, "content": format!("in {path}") }))
        .collect();
    server.call_ok(
        "commit_files",
        json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": files }),
    );
    for path in paths {
        let read = server.call_ok("read_file", json!({ "repo": "sample/hello", "path": path }));
        assert_eq!(read["content"], format!("in {path}"), "{read}");
        let url = read["url"].as_str().unwrap();
        let plain = |c: char| c.is_ascii_graphic() && !"#?\"<>\\^`{|}".contains(c);
        assert!(url.chars().all(plain), "{url}");
    }
    let tree = server.call_ok("get_tree", json!({ "repo": "sample/hello" }));
    let listed: Vec<_> = tree["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert!(paths.iter().all(|path| listed.contains(path)), "{listed:?}");
    let bare = fixture.bare("sample/hello");
    assert_eq!(
        fixture.git(&bare, &["show", "main:%2e%2e/x"]),
        "in %2e%2e/x"
    );
    fixture.git(&bare, &["fsck", "--full", "--strict"]);
    for path in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//b",
        "a/./b",
        ".git/config",
        "a/.GIT/hooks/x",
        "a/",
        "",
        "a\0b",
    ] {
        let error = server.call_err("commit_files", json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": path, "content": "" }] }));
        assert_eq!(error["code"], -32602, "{path}: {error}");
    }
}

/// Names that git itself takes for the directory of a repository on some systems.
#[test]
fn other_spellings_of_dot_git_are_refused() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes"]);
    let commit = |path: &str| json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": path, "content": "" }] });
    for path in [
        "git~1/config",
        ".git /config",
        "a/.git./config",
        ".g\u{200c}it",
        ".git::$INDEX_ALLOCATION/x",
    ] {
        let error = server.call_err("commit_files", commit(path));
        assert_eq!(error["code"], -32003, "{path}: {error}");
        assert_eq!(error["data"]["fault"]["effect"], "none");
    }
    let error = server.call_err("commit_files", commit("a/git~1"));
    assert_snapshot!(error["message"], @r#""Validation error: a/git~1 has a name in it that git keeps for itself""#);
    fixture.git(
        fixture.bare("sample/hello"),
        &["fsck", "--full", "--strict"],
    );
}

#[test]
fn thousands_of_unknown_members_get_a_bounded_answer() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&[]);
    let mut arguments = Map::new();
    for number in 0..2_000 {
        arguments.insert(format!("member{number}"), Value::String("x".repeat(20)));
    }
    let request = call(1, "fetch", Value::Object(arguments));
    let answer = server.send_message(&request);
    assert!(
        answer.len() <= request.len() + 64 * 1024,
        "{}",
        answer.len()
    );
    let error = &parse(&answer)["error"];
    assert_eq!(
        error["data"]["validation_errors"].as_array().unwrap().len(),
        50
    );
    assert_eq!(error["data"]["omitted"], 1951);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("; and 1951 more"),
        "{error}"
    );
    assert_eq!(
        error["data"]["validation_errors"][0]["value"]["omitted"],
        "object"
    );
}

/// Lengths count characters, not bytes and not units of UTF-16.
#[test]
fn query_may_have_256_characters_of_any_kind() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&[]);
    let results = server.call_ok("search", json!({ "query": "\u{1f600}".repeat(256) }));
    assert_eq!(results["total_count"], 0);
    let error = server.call_err("search", json!({ "query": "\u{1f600}".repeat(257) }));
    assert_eq!(
        error["message"],
        "Validation errors: must NOT be longer than 256 characters"
    );
    let value = &error["data"]["validation_errors"][0]["value"];
    assert_eq!(*value, json!({ "omitted": "string", "bytes": 257 * 4 + 2 }));
}

#[test]
fn invalid_base64_is_not_written() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes"]);
    let commit = |content: &str| json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": "b", "content": content, "encoding": "base64" }] });
    for content in [
        "%", "YQ", "YQ=", "YR==", "Y Q==", "YQ==\n", "YQ==YQ==", "_-8=",
    ] {
        let error = server.call_err("commit_files", commit(content));
        assert_eq!(
            error["message"], "Validation errors: must be valid base64",
            "{content:?}"
        );
        assert_eq!(
            error["data"]["validation_errors"][0]["path"],
            "/files/0/content"
        );
        assert_eq!(
            error["data"]["validation_errors"][0]["keyword"],
            "contentEncoding"
        );
    }
    server.call_ok("commit_files", commit("AP/+"));
    let read = server.call_ok("read_file", json!({ "repo": "sample/hello", "path": "b" }));
    assert_eq!(
        (&read["encoding"], &read["content"], &read["size"]),
        (&json!("base64"), &json!("AP/+"), &json!(3))
    );
    server.call_ok("commit_files", commit(""));
    let read = server.call_ok("read_file", json!({ "repo": "sample/hello", "path": "b" }));
    assert_eq!(
        (&read["encoding"], &read["content"]),
        (&json!("utf8"), &json!(""))
    );
    let twice = json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": "b", "content": "" }, { "path": "b", "content": "x" }] });
    let error = server.call_err("commit_files", twice);
    assert_eq!(
        error["message"],
        "Validation errors: must NOT repeat a path"
    );
}

/// Commits a file of zeros on main through git, which never loads the whole file.
fn add_zeros(fixture: &GithubFixture, bytes: u64) {
    let bare = fixture.bare("sample/hello");
    let mut import = Command::new("git")
        .args(["-c", "core.bigFileThreshold=1m", "fast-import", "--quiet"])
        .current_dir(&bare)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = import.stdin.take().unwrap();
    let head = "commit refs/heads/main\ncommitter T <t@example.com> 1767225600 +0000\ndata 3\nBig\nfrom refs/heads/main^0\nM 100644 inline large\n";
    writeln!(input, "{head}data {bytes}").unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..bytes >> 20 {
        input.write_all(&zeros).unwrap();
    }
    input.write_all(b"\ndone\n").unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
}

/// A file of 300 MB costs no memory: its size is known without its contents.
#[test]
fn huge_file_is_never_loaded() {
    const HUGE: u64 = 300 << 20;
    const MOST: u64 = 100 << 20;
    let fixture = GithubFixture::new();
    add_zeros(&fixture, HUGE);
    let mut server = fixture.stdio(&["--allow-writes", "--tools", "extended"]);
    let hello = || json!({ "repo": "sample/hello" });
    let error = server.call_err(
        "read_file",
        json!({ "repo": "sample/hello", "path": "large" }),
    );
    assert_snapshot!(error["message"], @r#""Validation error: large is too large: 314572800 bytes, at most 5242880 are answered""#);
    let listed = server.call_ok(
        "list_directory",
        json!({ "repo": "sample/hello", "path": "" }),
    );
    let sizes: Vec<_> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["size"].clone())
        .collect();
    assert!(sizes.contains(&json!(HUGE)), "{sizes:?}");
    server.call_ok("get_tree", hello());
    server.call_ok("fetch", hello());
    server.call_ok("get_commits", hello());
    server.call_ok("search", json!({ "query": "hello" }));
    server.call_ok(
        "get_pr_mergeability",
        json!({ "repo": "sample/hello", "prNumber": 1 }),
    );
    server.call_ok("commit_files", json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": "small", "content": "x" }] }));
    server.call_ok(
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1 }),
    );
    server.call_ok(
        "create_branch",
        json!({ "repo": "sample/hello", "name": "next", "branch": "conflict" }),
    );
    let opened = server.call_ok(
        "create_pull_request",
        json!({ "repo": "sample/hello", "title": "Large", "head": "main", "base": "next" }),
    );
    let output = server.call_ok(
        "get_pull_request",
        json!({ "repo": "sample/hello", "prNumber": opened["number"] }),
    );
    let files: Vec<_> = output["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert!(files.contains(&"large"), "{files:?}");
    let peak = server.process().peak_memory();
    assert!(peak < MOST, "{} MiB", peak >> 20);
}

#[test]
fn tag_named_like_a_branch_does_not_hide_it() {
    let fixture = GithubFixture::new();
    let bare = fixture.bare("sample/hello");
    fixture.git(&bare, &["tag", "main", "conflict"]);
    fixture.git(&bare, &["tag", "only-tag", "conflict"]);
    let mut server = fixture.stdio(&["--allow-writes"]);
    let read = |server: &mut dyn GithubCalls, name: &str, at: &str| {
        let mut read = json!({ "repo": "sample/hello", "path": "README.md" });
        read[name] = json!(at);
        server.call_ok("read_file", read)["content"].take()
    };
    let loud = "# hello\n\nSays hello, loudly.\n";
    let everybody = "# hello\n\nSays hello to everybody.\n";
    assert_eq!(read(&mut server, "branch", "main"), loud);
    assert_eq!(read(&mut server, "ref", "main"), loud);
    assert_eq!(read(&mut server, "ref", "only-tag"), everybody);
    let missing = server.call_err(
        "read_file",
        json!({ "repo": "sample/hello", "path": "README.md", "branch": "only-tag" }),
    );
    assert_eq!(missing["code"], -32002);
    let tag = fixture.git(&bare, &["rev-parse", "refs/tags/main"]);
    let commit = server.call_ok("commit_files", json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": "a", "content": "" }] }));
    server.call_ok(
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": 1 }),
    );
    assert_eq!(
        fixture.git(&bare, &["rev-parse", "refs/tags/main"]),
        tag,
        "the tag stays"
    );
    let parents = fixture.git(&bare, &["log", "-1", "--format=%P", "refs/heads/main"]);
    assert!(
        parents.starts_with(commit["sha"].as_str().unwrap()),
        "{parents}"
    );
}

/// The branch of a pull request, or the whole fork that it came from, is gone.
#[test]
fn missing_head_branch_is_reported() {
    let fixture = GithubFixture::new();
    fixture.git(
        "",
        &[
            "clone",
            "-q",
            &fixture.bare("sample/hello").to_string_lossy(),
            "clone",
        ],
    );
    fixture.git("clone", &["checkout", "-q", "-b", "theirs"]);
    fs::write(fixture.path("clone/new"), "x").unwrap();
    fixture.git("clone", &["add", "--all"]);
    fixture.git("clone", &["commit", "-q", "-m", "From a fork"]);
    let clone = fixture.text("clone");
    fixture.run_ok(&["import", &clone, "other/hello"]);
    let mut server = fixture.stdio(&["--allow-writes"]);
    let opened = server.call_ok("create_pull_request", json!({ "repo": "sample/hello", "title": "Theirs", "head": "other:theirs", "base": "main" }));
    assert_eq!(opened["head_repo"], "other/hello");
    let number = opened["number"].clone();
    let pull = |number: &Value| json!({ "repo": "sample/hello", "prNumber": number });
    fs::rename(fixture.bare("other/hello"), fixture.path("gone.git")).unwrap();
    let listed = server.call_ok("list_pull_requests", json!({ "repo": "sample/hello" }));
    assert_eq!(listed["pull_requests"][0]["head_repo"], Value::Null);
    assert_eq!(listed["pull_requests"][0]["head_sha"], opened["head_sha"]);
    let error = server.call_err("merge_pull_request", pull(&number));
    assert_eq!(error["code"], -32005);
    assert_snapshot!(error["message"], @r#""Pull request #4 is not mergeable: GitHub has not decided yet whether it can be merged""#);
    // The fork exists again: the pull request can be merged, and a branch of the same name here stays.
    fs::rename(fixture.path("gone.git"), fixture.bare("other/hello")).unwrap();
    fixture.git(fixture.bare("sample/hello"), &["branch", "theirs", "main"]);
    let merged = server.call_ok(
        "merge_pull_request",
        json!({ "repo": "sample/hello", "prNumber": number, "delete_branch": true }),
    );
    assert_eq!(merged["branch_deleted"], false);
    fixture.git(
        fixture.bare("sample/hello"),
        &["rev-parse", "refs/heads/theirs"],
    );
    fixture.git(
        fixture.bare("other/hello"),
        &["rev-parse", "refs/heads/theirs"],
    );
}
