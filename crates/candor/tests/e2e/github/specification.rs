//! The request that the specification prints, byte for byte.

use crate::fixture::CANDOR;
use crate::github::fixture::GithubFixture;
use crate::requests::mask_times;
use candor_testkit::Http;
use std::process::Command;

/// Its body, byte for byte.
const BODY: &str = r#"{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
      "name": "search",
      "arguments": {}
    }
  }"#;

/// The answer of the specification, compact, with a placeholder for the time.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Validation errors: must have required property 'query'","data":{"tool":"search","validation_errors":[{"message":"must have required property 'query'","path":"root","keyword":"required","params":{"missingProperty":"query"},"value":{}}],"timestamp":"<when>"}}}"#;

fn serve(fixture: &GithubFixture) -> Http {
    let data = fixture.text("data");
    Http::spawn(CANDOR, &["serve", "--port", "0", "--data-dir", &data]).at("/mcp")
}

#[test]
fn request_of_the_specification_has_its_answer() {
    let fixture = GithubFixture::empty();
    let server = serve(&fixture);
    let response = server.post(BODY, &[]);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(mask_times(&response.text()), ANSWER);
}

#[test]
fn command_of_the_specification_works() {
    if Command::new("curl").arg("--version").output().is_err() {
        return candor_testkit::skip("curl was not found");
    }
    let fixture = GithubFixture::empty();
    let server = serve(&fixture);
    let url = format!("http://localhost:{}/mcp", server.address().port());
    let curl = Command::new("curl")
        .args(["-X", "POST", &url])
        .args(["-H", "Content-Type: application/json", "-d", BODY])
        .output()
        .unwrap();
    assert!(curl.status.success(), "{curl:?}");
    let answer = String::from_utf8(curl.stdout).unwrap();
    assert_eq!(mask_times(&answer), ANSWER);
}

/// The list is the same bytes for every permission, because clients cache it.
#[test]
fn tool_list_does_not_depend_on_permissions() {
    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let fixture = GithubFixture::empty();
    let through_serve = serve(&fixture).post(LIST, &[]).text();
    assert_eq!(through_serve.matches("\"inputSchema\"").count(), 26);
    for flags in [
        &[][..],
        &["--allow-writes", "--repos", "a/*", "--failures", "result"],
    ] {
        let mut server = fixture.stdio(flags);
        assert_eq!(server.ask(LIST), through_serve, "{flags:?}");
    }
    let mut extended = fixture.stdio(&["--tools", "extended"]);
    assert_eq!(extended.ask(LIST).matches("\"inputSchema\"").count(), 16);
    let mut core = fixture.stdio(&["--toolsets", "core"]);
    assert_eq!(core.ask(LIST).matches("\"inputSchema\"").count(), 14);
    let mut looped = fixture.stdio(&["--toolsets", "loop"]);
    let looped = looped.ask(LIST);
    assert_eq!(looped, through_serve);
    let data = fixture.text("data");
    let flags = [
        "--toolsets",
        "default",
        "--repos",
        "a/*",
        "--max-entries",
        "7",
    ];
    let arguments = [&["serve", "--port", "0", "--data-dir", &data][..], &flags].concat();
    let through_serve = Http::spawn(CANDOR, &arguments).at("/mcp");
    assert_eq!(through_serve.post(LIST, &[]).text(), looped);
}

#[test]
fn unknown_toolsets_and_tools_refuse_to_start() {
    let fixture = GithubFixture::empty();
    insta::assert_snapshot!(fixture.run_err(&["serve", "--toolsets", "core,lopp"]), @r#"
    error: there is no toolset "lopp"
    hint: did you mean `loop`?
    "#);
    insta::assert_snapshot!(fixture.run_err(&["serve", "--tools", "create_brnch"]), @r#"
    error: there is no tool "create_brnch"
    hint: did you mean `create_branch`?
    "#);
    insta::assert_snapshot!(fixture.run_err(&["serve", "--toolsets", "gists"]), @r#"
    error: there is no toolset "gists"
    hint: the toolsets are core, loop, repos, pull_requests, issues, actions, releases, default and all
    "#);
    insta::assert_snapshot!(fixture.run_err(&["serve", "--tools", "extended", "--toolsets", "core"]), @r"
    error: `--tools extended` excludes every other value and --toolsets
    hint: name toolsets and tools instead: --toolsets core --tools create_branch
    ");
    assert!(!fixture.path("data").exists());
}
