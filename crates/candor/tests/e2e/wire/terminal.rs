//! Servers on stdio that a person starts at a terminal: one line on stderr says what they wait for.

use crate::context::fixture::ContextFixture;
use crate::fixture::{LIMIT, candor};
use crate::github::fixture::GithubFixture;
use crate::orders::fixture::OrdersFixture;
use crate::workspace::fixture::{PLANNER, WorkspaceFixture};
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;
use std::io::{Read, Write};
use std::process::Command;

/// Ctrl-D, which ends the input of a program at a terminal.
const END: &[u8] = b"\x04";

/// Quotes a word for the shell.
fn quote(word: &std::ffi::OsStr) -> String {
    format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"))
}

/// Runs a server with stdin and stderr at a terminal, and types Ctrl-D after the first line. Returns
/// everything that the terminal shows. Nothing may be on stdout.
fn start_at_terminal(command: &Command) -> String {
    let output = tempfile::NamedTempFile::new().unwrap();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<_> = words.map(quote).collect();
    let line = format!("exec {} > {}", line.join(" "), output.path().display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    if let Some(directory) = command.get_current_dir() {
        script.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let (mut process, mut keyboard, mut screen) = Process::start(script);
    let mut shown = Vec::new();
    while !shown.ends_with(b"\n") {
        let mut byte = [0];
        assert_eq!(screen.read(&mut byte).unwrap(), 1, "{shown:?}");
        shown.push(byte[0]);
    }
    keyboard.write_all(END).unwrap();
    keyboard.flush().unwrap();
    screen.read_to_end(&mut shown).unwrap();
    assert_eq!(process.exit_within(LIMIT), Some(Exit::Code(0)));
    assert_eq!(std::fs::read_to_string(output.path()).unwrap(), "");
    // A terminal echoes Ctrl-D.
    let shown = String::from_utf8(shown).unwrap();
    shown.replace("^D\u{8}\u{8}", "").replace('\r', "")
}

#[test]
fn server_at_a_terminal_says_what_it_waits_for() {
    let (context, github) = (ContextFixture::with_cache(), GithubFixture::new());
    let (orders, workspace) = (OrdersFixture::sqlite(), WorkspaceFixture::new());
    let servers = [
        candor(&["playground"]),
        context.serve_command(&[]),
        github.command(&["serve"]),
        orders.command(&["serve"]),
        // The server of an executor also prints the level of its sandbox.
        workspace.command(PLANNER, &[]),
    ];
    let shown: String = servers.iter().map(start_at_terminal).collect();
    let shown = shown.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    assert_snapshot!(shown, @r"
    candor-playground VERSION: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it
    candor-context VERSION: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it
    candor-github VERSION: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it
    candor-orders VERSION: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it
    candor-workspace VERSION: an MCP server on stdin and stdout, for a client to start; Ctrl-D ends it
    ");
    // A client that starts the same servers sees nothing: some clients show stderr as a failure.
    for command in servers {
        let ended = Process::run(command, LIMIT);
        assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(0), ""));
    }
}
