//! The help of every command, as it is printed.

use crate::audit::place::Place;
use insta::assert_snapshot;

/// The help without the flag that a feature adds: the same with that feature and without.
fn help(arguments: &[&str]) -> String {
    let said = Place::empty().said(arguments);
    let mut added = false;
    let is_own = |line: &&str| {
        let line = line.trim_start();
        if line.starts_with('-') {
            added = line.starts_with("--otlp");
        }
        !added
    };
    let own: Vec<_> = said.lines().filter(is_own).collect();
    own.join("\n")
}

#[test]
fn every_command_says_what_it_does() {
    assert_snapshot!("help", help(&["--help"]));
    for command in ["verify", "tail", "export", "stats", "quarantine"] {
        assert_snapshot!(format!("help_{command}"), help(&[command, "--help"]));
    }
}
