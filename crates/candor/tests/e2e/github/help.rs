//! The help of every command, as it is printed.

use crate::github::place::{CANDOR, LIMIT};
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;

/// The help without the flag that a feature adds: the same with that feature and without.
fn help(arguments: &[&str]) -> String {
    let mut command = Process::command(CANDOR, &["github"]);
    command.args(arguments).env("NO_COLOR", "1");
    let ended = Process::run(command, LIMIT);
    assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(0), ""));
    let mut added = false;
    let is_own = |line: &&str| {
        let line = line.trim_start();
        if line.starts_with('-') {
            added = line.starts_with("--otlp");
        }
        !added
    };
    let said = String::from_utf8(ended.stdout).unwrap();
    let own: Vec<_> = said.lines().filter(is_own).collect();
    own.join("\n")
}

#[test]
fn every_command_says_what_it_does() {
    assert_snapshot!("help", help(&["--help"]));
    for command in ["serve", "init", "import", "status", "protect"] {
        assert_snapshot!(format!("help_{command}"), help(&[command, "--help"]));
    }
}
