//! Secrets appear in no answer, log, metric or record.

use crate::fixture::{CANDOR, LIMIT};
use crate::github::fixture::GithubFixture;
use crate::requests::call;
use candor_testkit::{Exit, Http};
use serde_json::{Value, json};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

const FROM_ENVIRONMENT: &str = "ghp_canaryEnvironment000000000000000001";
const FROM_FILE: &str = "ghp_canaryFile00000000000000000000000002";
const TO_READ: &str = "canary-read-3";
const TO_WRITE: &str = "canary-write-4";

/// Returns the contents of all files below a directory.
fn contents(directory: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        all += &path.to_string_lossy();
        all += &match path.is_dir() {
            true => contents(&path),
            false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
        };
    }
    all
}

/// A port on which nothing can listen: the local end of an open connection.
struct ClosedPort {
    _far: TcpListener,
    near: TcpStream,
}

impl ClosedPort {
    fn new() -> ClosedPort {
        let far = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(far.local_addr().unwrap()).unwrap();
        ClosedPort { _far: far, near }
    }

    fn url(&self) -> String {
        format!("http://{}", self.near.local_addr().unwrap())
    }
}

fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("fetch", json!({ "repo": "sample/hello" })),
        ("search", json!({})),
        (
            "commit_files",
            json!({ "repo": "sample/hello", "branch": "main", "message": "x", "files": [{ "path": "a", "content": "" }] }),
        ),
        (
            "merge_pull_request",
            json!({ "repo": "sample/hello", "prNumber": 1 }),
        ),
    ]
}

/// Returns everything that a server prints during all kinds of calls.
fn collect_output(server: &mut Http) -> String {
    let mut output = String::new();
    for (tool, arguments) in calls() {
        for token in [TO_READ, TO_WRITE, "canary-other"] {
            let authorization = format!("Bearer {token}");
            let response = server.post(
                call(1, tool, &arguments),
                &[("Authorization", &authorization)],
            );
            output += &format!("{:?} {}\n", response.headers, response.text());
        }
    }
    let right = format!("Bearer {TO_READ}");
    output += &server.get("/metrics", &[("Authorization", &right)]).text();
    output += &server.get("/health", &[]).text();
    output += &server.get(&format!("/{TO_READ}"), &[]).text();
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    output + &server.process().whole_stderr(LIMIT)
}

fn flags<'a>(
    fixture: &'a GithubFixture,
    extra_flags: &[&'a str],
    files: &'a [String; 2],
) -> Vec<String> {
    let data = fixture.text("data");
    let fixed = [
        "github",
        "serve",
        "--http",
        "--port",
        "0",
        "--allow-writes",
        "--log",
        "trace",
        "--bearer-file",
        &files[0],
        "--write-bearer-file",
        &files[1],
        "--data-dir",
        &data,
    ];
    fixed
        .iter()
        .chain(extra_flags)
        .map(|text| String::from(*text))
        .collect()
}

fn start(fixture: &GithubFixture, extra_flags: &[&str]) -> Http {
    let files = [
        fixture.write("read", TO_READ),
        fixture.write("write", TO_WRITE),
    ];
    let environment = format!("GITHUB_TOKEN={FROM_ENVIRONMENT}");
    let flags = flags(fixture, extra_flags, &files);
    let mut arguments = vec![environment.as_str(), CANDOR];
    arguments.extend(flags.iter().map(String::as_str));
    Http::spawn("env", &arguments)
}

#[test]
fn tokens_appear_in_no_output() {
    let local = GithubFixture::new();
    let mut output = collect_output(&mut start(&local, &[]));
    assert!(output.contains("candor_calls_total"), "{output}");
    output += &contents(&local.path("data"));
    let closed_port = ClosedPort::new();
    let url = closed_port.url();
    for with_file in [false, true] {
        let fixture = GithubFixture::empty();
        let file = fixture.write("token", FROM_FILE);
        let mut extra_flags = vec!["--backend", "github", "--api-url", &url];
        if with_file {
            extra_flags.extend(["--github-token-file", &file]);
        }
        output += &collect_output(&mut start(&fixture, &extra_flags));
        output += &contents(&fixture.path("data"));
    }
    for secret in [
        FROM_ENVIRONMENT,
        FROM_FILE,
        TO_READ,
        TO_WRITE,
        "canary-other",
    ] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
}

/// GitHub cannot be reached: the answer says so, and the effect is none.
#[test]
fn unreachable_api_is_an_internal_error() {
    let fixture = GithubFixture::empty();
    let closed_port = ClosedPort::new();
    let url = closed_port.url();
    let extra_flags = ["--backend", "github", "--api-url", &url, "--allow-writes"];
    let mut server = fixture.stdio(&extra_flags);
    for (tool, arguments) in calls() {
        if tool == "search" {
            continue;
        }
        let answer = server.ask(call(1, tool, &arguments));
        let answer = crate::requests::parse(&answer);
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(
            answer["error"]["message"],
            "Internal error: GitHub could not be reached"
        );
        assert_eq!(answer["error"]["data"]["fault"]["effect"], "none");
        assert!(!answer.to_string().contains("127.0.0.1"), "{answer}");
    }
    assert!(
        !fixture.path("data/forge").exists(),
        "the local forge is not used"
    );
}

/// A token that no request can carry stops the start, and is not shown.
#[test]
fn invalid_token_stops_the_start() {
    let fixture = GithubFixture::empty();
    for text in ["", "\n", "canary\u{7}x", "canary x", "canäry"] {
        let file = fixture.write("token", text);
        let message =
            fixture.run_err(&["serve", "--backend", "github", "--github-token-file", &file]);
        assert!(
            !message.contains("canar") && !message.contains("canä"),
            "{message}"
        );
        assert!(message.contains("hint: "), "{message}");
    }
}
