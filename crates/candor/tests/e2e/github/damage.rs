//! A damaged repository beside a good one, and failures that a caller can repair.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::json;
use std::fs;

#[test]
fn damaged_repository_is_named_and_the_others_are_shown() {
    let fixture = GithubFixture::new();
    let clone = fixture.clone_with("clone", &[("a", "1")]);
    fixture.run_ok(&["import", &clone, "good/one"]);
    fs::write(fixture.bare("sample/hello").join("HEAD"), "junk").unwrap();
    let status = fixture.run(&["status"]);
    assert_eq!(status.exit, Exit::Code(1));
    let stdout = String::from_utf8(status.stdout).unwrap();
    assert!(stdout.contains("good/one"), "{stdout}");
    let stderr = fixture.normalize(&status.stderr);
    assert!(
        stderr.contains("sample/hello cannot be read: ") && stderr.contains("HEAD cannot be read"),
        "{stderr}"
    );
}

/// The cause is not on a second line at the default level.
#[test]
fn internal_error_is_one_line() {
    let fixture = GithubFixture::new();
    fs::write(fixture.bare("sample/hello").join("HEAD"), "junk").unwrap();
    let mut server = fixture.stdio(&[]);
    let error = server.call_err("fetch", json!({ "repo": "sample/hello" }));
    assert_eq!(
        error["message"],
        "Internal error: the repository is damaged: HEAD cannot be read"
    );
    assert_eq!(error["data"]["fault"]["effect"], "none");
    server.end();
    assert_snapshot!(server.process().whole_stderr(LIMIT), @r#"jsonrpc_error tool=fetch code=-32603 repo=sample/hello pr=- sha=- state=- msg="Internal error: the repository is damaged: HEAD cannot be read""#);
}

#[test]
fn path_in_another_case_is_named() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&[]);
    let arguments = json!({ "repo": "sample/hello", "path": "DOCS/Guide.md" });
    let error = server.call_err("read_file", arguments);
    assert_eq!(error["code"], -32002);
    assert_eq!(error["data"]["similar"], json!(["docs/guide.md"]));
    let arguments = json!({ "repo": "sample/hello", "path": "Docs" });
    let error = server.call_err("list_directory", arguments);
    assert_eq!(error["data"]["similar"], json!(["docs"]));
}

#[test]
fn branch_cannot_be_called_head() {
    let fixture = GithubFixture::new();
    let mut server = fixture.stdio(&["--allow-writes", "--tools", "extended"]);
    let error = server.call_err(
        "create_branch",
        json!({ "repo": "sample/hello", "name": "HEAD" }),
    );
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["validation_errors"][0]["keyword"], "not");
    assert_eq!(error["data"]["validation_errors"][0]["path"], "/name");
}
