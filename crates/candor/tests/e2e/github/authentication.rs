//! The three ways to authenticate to GitHub: a token, an app, and the token of each request.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::github::upstream::Upstream;
use crate::requests::{call, parse};
use candor_testkit::{APP_KEY_PKCS1, Exit, Http, Process};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

const CALLER: &str = "ghp_canaryCaller0000000000000000000001";
const OTHER: &str = "canary-of-another-caller-2";
const INSTALLATION: &str = "ghs_canaryInstallation00000000000003";

fn echo(_line: &str, headers: &str) -> (u16, String) {
    (401, json!({ "message": headers }).to_string())
}

/// Sells tokens, and refuses everything else with what it received.
fn sell(line: &str, headers: &str) -> (u16, String) {
    match line.contains("/access_tokens") {
        true => {
            let body = json!({ "token": INSTALLATION, "expires_at": "2999-01-01T00:00:00Z" });
            (201, body.to_string())
        }
        false => (403, json!({ "message": headers }).to_string()),
    }
}

fn calls() -> [(&'static str, Value); 3] {
    [
        ("fetch", json!({ "repo": "octo/hello" })),
        ("search", json!({ "query": "x" })),
        (
            "create_pull_request",
            json!({ "repo": "octo/hello", "title": "t", "head": "h", "base": "main" }),
        ),
    ]
}

/// Ends a server and returns everything that it has printed and recorded.
fn end(mut server: Http, fixture: &GithubFixture) -> String {
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = fs::read_to_string(fixture.path("data/github-writes.jsonl")).unwrap();
    server.process().whole_stderr(LIMIT) + &log
}

#[test]
fn request_without_a_token_reaches_nothing() {
    let fixture = GithubFixture::empty();
    let upstream = Upstream::start(echo);
    let url = upstream.url();
    let flags = [
        "--backend",
        "github",
        "--api-url",
        &url,
        "--github-token-from-request",
        "--allow-writes",
        "--log",
        "trace",
    ];
    let server = fixture.http(&flags);
    let (tool, arguments) = calls()[0].clone();
    for headers in [
        vec![],
        vec![("Authorization", "Bearer ")],
        vec![("Authorization", "Basic Y2FuYXJ5")],
        vec![("Authorization", "Bearer a"), ("Authorization", "Bearer b")],
    ] {
        let response = server.post(call(1, tool, &arguments), &headers);
        assert_eq!(response.status, 401, "{headers:?}");
    }
    assert_eq!(server.get("/metrics", &[]).status, 401);
    assert_eq!(server.get("/health", &[]).status, 200);
    assert_eq!(upstream.seen(), Vec::<String>::new());
    let mut output = String::new();
    for token in [CALLER, OTHER] {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        for (tool, arguments) in calls() {
            let response = server.post(call(1, tool, &arguments), &headers);
            assert_eq!(response.status, 200);
            let answer = parse(&response.text());
            assert_eq!(answer["error"]["code"], -32001, "{answer}");
            output += &format!("{:?} {answer}", response.headers);
        }
        output += &server.get("/metrics", &headers).text();
    }
    let sent = upstream.seen();
    assert_eq!(sent.len(), 6, "{sent:?}");
    assert!(sent[..3].iter().all(|head| head.contains(CALLER)));
    assert!(sent[3..].iter().all(|head| head.contains(OTHER)));
    output += &end(server, &fixture);
    assert!(output.contains("[redacted]"), "{output}");
    for secret in [CALLER, OTHER] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
    let log = fs::read_to_string(fixture.path("data/github-writes.jsonl")).unwrap();
    let attempts = log.lines().map(parse);
    let attempts = attempts.filter(|line| line["kind"] == "attempt");
    let by: Vec<Value> = attempts.map(|line| line["by"].clone()).collect();
    assert_eq!(by, ["588574578e5980ca", "a09f17f2087ed7a2"]);
}

#[test]
fn app_shows_its_tokens_to_github_only() {
    let fixture = GithubFixture::empty();
    let upstream = Upstream::start(sell);
    let (url, key) = (upstream.url(), fixture.write("key.pem", APP_KEY_PKCS1));
    let flags = [
        "--backend",
        "github",
        "--api-url",
        &url,
        "--github-app-id",
        "42",
        "--github-app-key-file",
        &key,
        "--github-app-installation",
        "7",
        "--allow-writes",
        "--log",
        "trace",
    ];
    let server = fixture.http(&flags);
    let mut output = String::new();
    for (tool, arguments) in calls() {
        let answer = server.post(call(1, tool, &arguments), &[]).text();
        assert_eq!(parse(&answer)["error"]["code"], -32001, "{answer}");
        output += &answer;
    }
    output += &server.get("/metrics", &[]).text();
    output += &end(server, &fixture);
    let sent = upstream.seen();
    assert!(sent[0].starts_with("POST /app/installations/7/access_tokens"));
    assert!(sent[1..].iter().all(|head| head.contains(INSTALLATION)));
    assert!(output.contains("[redacted]"), "{output}");
    let jwt = sent[0].split_once("Bearer ").unwrap().1;
    let jwt = jwt.lines().next().unwrap();
    for secret in [INSTALLATION, jwt, "PRIVATE KEY"] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
}

#[test]
fn search_of_an_app_without_installation_says_why() {
    let fixture = GithubFixture::empty();
    let upstream = Upstream::start(sell);
    let (url, key) = (upstream.url(), fixture.write("key.pem", APP_KEY_PKCS1));
    let flags = [
        "--backend",
        "github",
        "--api-url",
        &url,
        "--github-app-id",
        "42",
        "--github-app-key-file",
        &key,
    ];
    let mut server = fixture.stdio(&flags);
    let answer = parse(&server.ask(call(1, "search", json!({ "query": "x" }))));
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
    assert_snapshot!(answer["error"]["message"].as_str().unwrap(), @"Permission denied: a GitHub app sees repositories through an installation, and a search names none");
    assert_eq!(upstream.seen(), Vec::<String>::new());
}

/// Nothing is given to callers that their own tokens do not give them.
#[test]
fn public_address_needs_no_bearer_file() {
    let fixture = GithubFixture::empty();
    let flags = [
        "--backend",
        "github",
        "--github-token-from-request",
        "--bind",
        "0.0.0.0",
        "--allowed-host",
        "0.0.0.0",
    ];
    let server = fixture.http(&flags);
    assert_eq!(server.get("/health", &[]).status, 200);
    assert_eq!(server.get("/metrics", &[]).status, 401);
}

#[test]
fn two_sources_are_a_usage_error() {
    let fixture = GithubFixture::empty();
    let key = fixture.write("key.pem", APP_KEY_PKCS1);
    let token = fixture.write("token", CALLER);
    let app = ["--github-app-id", "42", "--github-app-key-file", &key];
    let serve = |flags: &[&str]| {
        let all: Vec<_> = ["serve", "--backend", "github"]
            .iter()
            .chain(flags)
            .copied()
            .collect();
        fixture.run_err(&all)
    };
    let request = ["--http", "--github-token-from-request"];
    let mut refusals = String::new();
    for flags in [
        [&app[..], &["--github-token-file", &token]].concat(),
        [&app[..], &request].concat(),
        [&request[..], &["--github-token-file", &token]].concat(),
        [&request[..], &["--bearer-file", &token]].concat(),
        [
            &request[..],
            &["--allow-writes", "--write-bearer-file", &token],
        ]
        .concat(),
        vec!["--github-token-from-request"],
        vec!["--github-app-id", "42"],
        vec!["--github-app-key-file", &key],
        vec!["--github-app-installation", "7"],
        [&app[..], &["--github-app-installation", "0"]].concat(),
        vec!["--github-app-id", "a b", "--github-app-key-file", &key],
    ] {
        let refused = serve(&flags);
        let first: Vec<&str> = refused.lines().take(2).collect();
        refusals += &format!("{}\n", first.join("\n"));
    }
    assert_snapshot!(refusals);
    let mut command = fixture.command(&["serve", "--backend", "github"]);
    command.args(app).env("GITHUB_TOKEN", CALLER);
    let output = Process::run(command, LIMIT);
    assert_eq!(output.exit, Exit::Code(1));
    assert_snapshot!(output.stderr, @r"
    error: GITHUB_TOKEN and --github-app-id are two ways to authenticate to GitHub
    hint: to start the server without the token, run `unset GITHUB_TOKEN` first
    ");
    assert_snapshot!(fixture.run_err(&["serve", "--http", "--github-token-from-request"]), @r"
    error: --github-token-from-request is for GitHub, and the local forge needs no token
    hint: add --backend github, or omit the option
    ");
}

#[test]
fn key_that_is_no_key_refuses_to_start() {
    let fixture = GithubFixture::empty();
    let start = |key: &str| {
        let flags = ["--github-app-id", "42", "--github-app-key-file", key];
        let all = [&["serve", "--backend", "github"], &flags[..]].concat();
        fixture.run_err(&all)
    };
    assert_snapshot!(start("none"), @"error: cannot read the key of the app in none: No such file or directory (os error 2)");
    let text = fixture.write("key.pem", "canary");
    assert_snapshot!(start(&text), @r"
    error: cannot use the key of the app in FOLDER/key.pem: it is not a private key in PEM
    hint: give the file that the settings page of the app has created; to see what it is, run:
      openssl rsa -check -noout -in FOLDER/key.pem
    ");
    let broken = fixture.write("broken.pem", &APP_KEY_PKCS1.replace("MII", "MIJ"));
    assert_snapshot!(start(&broken), @r"
    error: cannot use the key of the app in FOLDER/broken.pem: it is not an RSA key of 2048 to 4096 bits
    hint: give the file that the settings page of the app has created; to see what it is, run:
      openssl rsa -check -noout -in FOLDER/broken.pem
    ");
}
