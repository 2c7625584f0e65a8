//! Commands of `candor` at a terminal: answers on stdout, messages on stderr, exit codes, hints.

use crate::fixture::{self, CANDOR, Directory, candor, help};
use crate::requests::{call, mask_times, parse};
use crate::wire::fixture::http;
use candor_testkit::{Exit, Http, Stdio};
use insta::assert_snapshot;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

/// Runs a command that must succeed and print nothing on stderr. Returns its stdout.
fn run_ok(arguments: &[&str]) -> String {
    fixture::run_ok(candor(arguments))
}

/// Runs a command that must fail and print nothing on stdout. Returns its stderr.
fn run_err(arguments: &[&str]) -> String {
    fixture::run_err(candor(arguments))
}

#[test]
fn help_goes_to_stdout_and_missing_arguments_fail() {
    assert_snapshot!("help", help(&["--help"]));
    assert_snapshot!("help_short", help(&["-h"]));
    assert_eq!(run_err(&[]), run_ok(&["-h"]));
    assert_snapshot!("help_playground", help(&["playground", "--help"]));
    assert_snapshot!("help_serve", help(&["serve", "--help"]));
    assert_snapshot!("help_explain", help(&["explain", "--help"]));
}

#[test]
fn version_names_its_commit() {
    for flag in ["--version", "-V"] {
        let version = run_ok(&[flag]);
        let head = format!("candor {} (", env!("CARGO_PKG_VERSION"));
        let commit = version
            .strip_prefix(&head)
            .and_then(|rest| rest.strip_suffix(")\n"));
        let commit = commit.unwrap_or_else(|| panic!("{version}"));
        let is_hash = commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(
            is_hash || ["debug build", "unknown commit"].contains(&commit),
            "{version}"
        );
    }
}

#[test]
fn typo_gets_a_hint() {
    assert_snapshot!(run_err(&["explian"]), @r"
    error: unrecognized subcommand 'explian'

      tip: a similar subcommand exists: 'explain'

    Usage: candor [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    assert_snapshot!(run_err(&["serve", "--prot", "0"]), @r"
    error: unexpected argument '--prot' found

      tip: a similar argument exists: '--port'

    Usage: candor serve --port <PORT>

    For more information, try '--help'.
    ");
    assert_snapshot!(run_err(&["playground", "--failures", "jsonrcp"]), @r"
    error: invalid value 'jsonrcp' for '--failures <FAILURES>'
      [possible values: auto, jsonrpc, result]

      tip: a similar value exists: 'jsonrpc'

    For more information, try '--help'.
    ");
    assert_snapshot!(run_err(&["serve", "--port", "65536"]), @r"
    error: invalid value '65536' for '--port <PORT>': 65536 is not in 0..=65535

    For more information, try '--help'.
    ");
    assert!(run_err(&["--log", "loud", "explain"]).contains("loud"));
}

#[test]
fn code_is_explained() {
    assert_snapshot!(run_ok(&["explain", "orders/3001"]), @r"
    orders/3001  RATE_LIMIT_EXCEEDED

    Too many requests.

      class     limit
      retry     after_delay: the same call may be sent again after a wait
      effect    none: nothing was changed
      message   Rate limit exceeded
      remedy    Wait `retryAfterMs`, then send the same call.
      category  System
      stability frozen: this row never changes
    ");
    assert_snapshot!(run_ok(&["explain", "context/cache_missing"]), @r"
    context/cache_missing

    The cache path does not exist, is not a directory, or lies outside the root.

      class     caller
      retry     after_change: something has to change first
      effect    none: nothing was changed
      message   Cache does not exist
      remedy    Check the cache path, or build the cache with `context build`.
      exit code 4
      stability frozen: this row never changes
    ");
    for spelled in ["ORDERS/3001", "rate_limit_exceeded", "3001"] {
        assert!(
            run_ok(&["explain", spelled]).contains("orders/3001"),
            "{spelled}"
        );
    }
    // One code of several dialects is shown for each.
    let several = run_ok(&["explain", "-32602"]);
    for key in ["github/-32602", "wire/-32602"] {
        assert_eq!(several.matches(key).count(), 1, "{several}");
    }
    let one = run_ok(&["explain", "github/-32602"]);
    assert!(several.starts_with(&one) && !one.contains("wire"), "{one}");
}

#[test]
fn unknown_code_hints_at_a_similar_one() {
    assert_snapshot!(run_err(&["explain", "cache_mising"]), @r"
    error: there is no code `cache_mising`
    hint: the nearest name is `cache_missing`; to list every code, run:
      candor explain
    ");
    assert_snapshot!(run_err(&["explain", "zzzzzzzzzzzz"]), @r"
    error: there is no code `zzzzzzzzzzzz`
    hint: to list every code, run:
      candor explain
    ");
    assert_snapshot!(run_err(&["explain", "a\nb\u{1b}[31m"]), @r"
    error: there is no code `a\nb\u{1b}[31m`
    hint: to list every code, run:
      candor explain
    ");
    assert!(run_err(&["explain", "--jsno"]).contains("hint: "));
}

/// The table, the JSON and the committed registry agree.
#[test]
fn explain_lists_every_code() {
    let table = run_ok(&["explain"]);
    let rows: Vec<Value> = serde_json::from_str(&run_ok(&["explain", "--json"])).unwrap();
    for row in &rows {
        let code = match &row["code"] {
            Value::String(word) => word.clone(),
            number => number.to_string(),
        };
        let message = row["message"].as_str().unwrap();
        let shows = |line: &str| {
            line.split_whitespace().next() == Some(code.as_str()) && line.ends_with(message)
        };
        assert!(table.lines().any(shows), "{code}\n{table}");
        let key = format!("{}/{code}", row["dialect"].as_str().unwrap());
        let alone: Vec<Value> =
            serde_json::from_str(&run_ok(&["explain", "--json", &key])).unwrap();
        assert_eq!(alone, std::slice::from_ref(row), "{key}");
    }
    let registry = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../registry.json");
    let registry = parse(&std::fs::read_to_string(registry).unwrap());
    let committed: Vec<Value> = registry["sections"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|rows| rows.as_array().unwrap().clone())
        .collect();
    assert_eq!(rows, committed);
}

/// A reader that closes the pipe early is not a failure: `candor explain | head`.
#[test]
fn closed_pipe_is_not_a_failure() {
    let script = format!("\"{CANDOR}\" explain --json | head -c 1; exit \"${{PIPESTATUS[0]:-0}}\"");
    let result = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(result.status.code(), Some(0));
    assert_eq!(
        (result.stdout.as_slice(), result.stderr.as_slice()),
        (&b"["[..], &b""[..])
    );
}

#[test]
fn completions_are_printed() {
    let script = run_ok(&["completions", "bash"]);
    assert!(script.starts_with("_candor() {"));
    for word in ["playground", "explain", "--failures", "--bearer-file"] {
        assert!(script.contains(word), "{word}");
    }
    assert!(run_err(&["completions", "bahs"]).contains("a similar value exists: 'bash'"));
}

/// The command that `serve` prints, as a person would copy it.
fn printed_command(server: &mut Http) -> String {
    let process = server.process();
    process
        .stderr_line("\"candor-github\"", SOON)
        .expect("a banner");
    let banner = process.stderr();
    let start = banner.find("curl -s").expect("a command to try");
    let command = &banner[start..];
    let end = command.find("\n\n").expect("an empty line after it");
    command[..end].to_owned()
}

/// Starts `candor serve` on any free port, with its data in `directory`.
fn serve(directory: &Directory, flags: &[&str]) -> Http {
    let data = directory.text("data");
    let fixed = ["serve", "--port", "0", "--data-dir", &data];
    let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
    Http::spawn(CANDOR, &arguments)
}

/// The content that the printed command of `serve` returns.
const SHOWN: &str = "# hello\n\nSays hello, loudly.\n";

#[test]
fn printed_command_of_serve_works() {
    let directory = Directory::new();
    let mut server = serve(&directory, &[]);
    let command = printed_command(&mut server);
    let client = Command::new("sh").args(["-c", &command]).output().unwrap();
    let output = String::from_utf8(client.stdout).unwrap();
    assert_eq!(
        parse(&output)["result"]["structuredContent"]["content"],
        SHOWN,
        "{command}\n{output}"
    );
    let banner = server
        .process()
        .stderr()
        .replace(&server.address().to_string(), "ADDRESS");
    assert_snapshot!("banner", banner);
    // The configuration that it prints names the same place.
    let config = banner
        .lines()
        .find(|line| line.contains("\"candor-github\""))
        .unwrap();
    let url = &parse(config)["mcpServers"]["candor-github"]["url"];
    assert_eq!(url, "http://ADDRESS/mcp");
    let other = server.at("/playground/mcp");
    let echoed = other.post(
        call("1", "fail", r#"{"dialect":"wire","code":-32700}"#),
        &[],
    );
    assert_eq!(
        mask_times(&echoed.text()),
        crate::wire::answers::error("1", -32700, "Parse error")
    );
    let mut server = other;
    server.signal("INT");
    assert_eq!(server.process().exit_within(SOON), Some(Exit::Code(0)));
}

#[test]
fn printed_command_of_serve_works_with_a_token() {
    let directory = Directory::new();
    let file = directory.write("token", "s3cret\n");
    let mut server = serve(&directory, &["--bearer-file", &file]);
    let command = printed_command(&mut server);
    let run = |token: &str| {
        let client = Command::new("sh")
            .args(["-c", &command])
            .env("TOKEN", token)
            .output()
            .unwrap();
        parse(&String::from_utf8(client.stdout).unwrap())
    };
    let result = run("s3cret");
    assert_eq!(
        result["result"]["structuredContent"]["content"], SHOWN,
        "{command}"
    );
    assert_eq!(run("wrong")["error"]["code"], -32600, "{command}");
    assert!(!server.process().stderr().contains("s3cret"));
}

#[test]
fn printed_configuration_of_serve_has_the_token_header() {
    let directory = Directory::new();
    let file = directory.write("token", "s3cret\n");
    let mut server = serve(&directory, &["--bearer-file", &file]);
    let place = server.process().stderr_line("The token is in", SOON);
    assert_eq!(
        directory.normalize(&place.unwrap()),
        "The token is in FOLDER/token; put it in place of YOUR_TOKEN and of $TOKEN.\n"
    );
    let address = server.address().to_string();
    let banner = server.process().stderr();
    assert!(!banner.contains("s3cret"));
    let mut lines = banner.lines();
    let printed = lines.find(|line| line.contains("\"candor-github\""));
    let configuration = parse(printed.unwrap());
    let servers = configuration["mcpServers"].as_object().unwrap();
    assert!(servers.len() > 1, "{servers:?}");
    for (name, entry) in servers {
        let header = entry["headers"]["Authorization"].as_str().unwrap();
        assert_eq!(header, "Bearer YOUR_TOKEN", "{name}");
        let url = entry["url"].as_str().unwrap();
        let path = url.strip_prefix(&format!("http://{address}")).unwrap();
        server = server.at(path);
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let send = |token: &str| server.post(ping, &[("Authorization", token)]).status;
        assert_eq!(send(&header.replace("YOUR_TOKEN", "s3cret")), 200, "{name}");
        assert_eq!(send(header), 401, "{name}");
    }
}

#[test]
fn port_in_use_is_reported_with_a_hint() {
    let directory = Directory::new();
    let data = &directory.text("");
    let server = http(&[]);
    let port = server.address().port().to_string();
    for command in [
        &["serve", "--data-dir", data][..],
        &["playground", "--http"],
    ] {
        let arguments: Vec<_> = command.iter().copied().chain(["--port", &port]).collect();
        let output = run_err(&arguments).replace(&port, "PORT");
        assert_eq!(
            output,
            "error: cannot listen on 127.0.0.1:PORT: Address already in use (os error 98)\n\
             hint: choose another port with --port, or any free one with --port 0\n"
        );
    }
}

#[test]
fn public_address_without_a_token_is_refused() {
    for command in [&["serve"][..], &["playground", "--http"]] {
        for address in ["0.0.0.0", "::", "192.0.2.1"] {
            let flags = ["--port", "0", "--bind", address];
            let arguments: Vec<_> = command.iter().copied().chain(flags).collect();
            assert_eq!(
                run_err(&arguments),
                format!(
                    "error: {address} can be reached from other machines, and no token protects it\n\
                     hint: add --bearer-file FILE, or omit --bind\n"
                )
            );
        }
    }
}

#[test]
fn missing_and_empty_tokens_are_refused() {
    let directory = Directory::new();
    let refused = |name: &str| {
        let file = directory.text(name);
        let stderr = run_err(&["serve", "--port", "0", "--bearer-file", &file]);
        directory.normalize(&stderr)
    };
    directory.write("empty", "");
    directory.write("blank", " \n\t\n");
    directory.write("binary", b"\xff\xfe");
    assert_snapshot!(refused("empty"), @r"
    error: the token in FOLDER/empty is empty
    hint: to write a random token into it, run:
      openssl rand -hex 32 > FOLDER/empty
    ");
    assert_snapshot!(refused("blank"), @r"
    error: the token in FOLDER/blank is empty
    hint: to write a random token into it, run:
      openssl rand -hex 32 > FOLDER/blank
    ");
    assert_snapshot!(refused("missing"), @"error: cannot read the token in FOLDER/missing: No such file or directory (os error 2)");
    assert_snapshot!(refused("binary"), @"error: cannot read the token in FOLDER/binary: stream did not contain valid UTF-8");
}

/// However much is logged, stdout is for messages; a log of JSON is JSON, line by line.
#[test]
fn log_goes_to_stderr() {
    let mut server = Stdio::spawn(
        CANDOR,
        &["playground", "--log", "trace", "--log-form", "json"],
    );
    let answer = server.ask(call("\"1\"", "panic", "{}"));
    assert_eq!(
        parse(&answer)["result"]["structuredContent"]["error"]["code"],
        "internal"
    );
    let _ = server.ask(call("\"2\"", "echo", r#"{"text":"hi"}"#));
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    let log = server.process().whole_stderr(SOON);
    assert!(log.lines().count() >= 2, "{log}");
    for line in log.lines() {
        assert!(parse(line).is_object(), "{line}");
    }
    assert!(
        log.contains("a panic on demand"),
        "the cause is for the log"
    );
    assert!(!answer.contains("on demand"), "and not for the client");
}
