//! `candor orders check-adapter` against the sample adapter.

use crate::fixture::{LIMIT, candor};
use candor_testkit::{Exit, Process, ProcessOutput};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::ChildStdin;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/orders-adapter/adapter.py"
);

/// A running sample adapter, and its address.
fn sample(arguments: &[&str]) -> (Process, ChildStdin, String) {
    start(&[&[SAMPLE, "--port", "0"], arguments].concat())
}

/// Starts a script of Python that prints its address.
fn start(all: &[&str]) -> (Process, ChildStdin, String) {
    let (process, stdin, stdout) = Process::start(Process::command("python3", all));
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (process, stdin, line.trim().to_owned())
}

fn check(arguments: &[&str]) -> (ProcessOutput, String) {
    let mut all = vec!["orders", "check-adapter"];
    all.extend(arguments);
    let ended = Process::run(candor(&all), LIMIT);
    let stdout = String::from_utf8(ended.stdout.clone()).unwrap();
    (ended, stdout)
}

#[test]
fn conforming_adapter_exits_with_0() {
    let (_process, _stdin, url) = sample(&["--without", "create-return"]);
    let (ended, stdout) = check(&[&url, "--sku", "POT-1"]);
    assert_eq!(ended.exit, Exit::Code(0), "{stdout}");
    let note = "note: this creates orders in the order system; their external ids or tags begin with candor-check-\n";
    assert_eq!(ended.stderr, note);
    let mut lines = stdout.lines();
    assert_eq!(
        lines.next(),
        Some("ok      capabilities              11 of 12 operations, keys are kept")
    );
    assert_eq!(
        lines.next(),
        Some("skipped credentials               no token was given")
    );
    assert_eq!(lines.next_back(), Some("73 ok, 0 failed, 10 skipped"));
}

#[test]
fn refused_token_exits_with_1() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"sesame").unwrap();
    let token = file.path().to_str().unwrap();
    let (_process, _stdin, url) = sample(&["--token-file", token]);
    let (ended, stdout) = check(&[&url]);
    assert_eq!(ended.exit, Exit::Code(1));
    let first: Vec<_> = stdout.lines().take(2).collect();
    let expected = [
        "failed  capabilities              capabilities: 401 UNAUTHORIZED",
        "                                  expected: GET /v1/capabilities tells protocol 1, the operations and keepsKeys",
    ];
    assert_eq!(first, expected);
    assert!(ended.stderr.contains("error: 1 of 83 checks failed\n"));
    let (ended, stdout) = check(&[&url, "--backend-bearer-file", token, "--json"]);
    assert_eq!(ended.exit, Exit::Code(0));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["outcome"] == "ok"),
        "{stdout}"
    );
}

#[test]
fn unusable_address_exits_with_1() {
    let (ended, stdout) = check(&["http://192.0.2.1"]);
    assert_eq!((ended.exit, stdout.as_str()), (Exit::Code(1), ""));
    let expected = "error: the order system's address must begin with https:// unless it is on this machine\nhint: --allow-insecure-backend sends everything unencrypted, even the token\n";
    assert!(ended.stderr.ends_with(expected), "{}", ended.stderr);
    let (ended, _) = check(&["http://127.0.0.1:1", "--bearer-file", "/dev/null"]);
    assert_eq!(ended.exit, Exit::Code(1));
    let expected = "error: /dev/null is empty or contains invalid characters\nhint: write only the token into it, in visible ASCII characters\n";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn closed_port_is_one_sentence_and_one_hint() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let (ended, stdout) = check(&[&url]);
    assert_eq!((ended.exit, stdout.as_str()), (Exit::Code(1), ""));
    let expected = "error: the order system cannot be reached: Connection refused (os error 111)\nhint: start the order system, and check the host and the port of the URL\n";
    assert!(ended.stderr.ends_with(expected), "{}", ended.stderr);
}

/// Returns the path of a file for TLS.
fn tls(name: &str) -> String {
    format!("{}/tests/e2e/orders/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn certificates_of_the_owner_replace_those_of_the_system() {
    let (script, certificate) = (tls("serve_tls.py"), tls("server.pem"));
    let (_process, _stdin, url) = start(&[&script, &certificate, SAMPLE, "--port", "0"]);
    let url = url.replace("http://", "https://");
    let authority = tls("authority.pem");
    let (ended, stdout) = check(&[&url, "--backend-ca", &authority]);
    assert_eq!(ended.exit, Exit::Code(0), "{stdout}");
    let unknown = "error: the order system cannot be reached: invalid peer certificate: UnknownIssuer\nhint: start the order system, and check the host and the port of the URL\n";
    for trusted in [
        vec![],
        vec![String::from("--backend-ca"), tls("other-authority.pem")],
    ] {
        let mut arguments = vec![url.as_str()];
        arguments.extend(trusted.iter().map(String::as_str));
        let (ended, stdout) = check(&arguments);
        assert_eq!((ended.exit, stdout.as_str()), (Exit::Code(1), ""));
        assert!(ended.stderr.ends_with(unknown), "{}", ended.stderr);
    }
    let (ended, _) = check(&[&url, "--backend-ca", &script]);
    assert_eq!(ended.exit, Exit::Code(1));
    assert!(
        ended
            .stderr
            .contains("the file of certificates contains none in PEM"),
        "{}",
        ended.stderr
    );
}
