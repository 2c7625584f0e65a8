//! The help of `candor audit` and its commands.

use crate::fixture::help;
use insta::assert_snapshot;

#[test]
fn every_command_has_help() {
    assert_snapshot!("help", help(&["audit", "--help"]));
    for command in [
        "verify",
        "tail",
        "export",
        "stats",
        "checkpoint",
        "retire",
        "quarantine",
    ] {
        assert_snapshot!(
            format!("help_{command}"),
            help(&["audit", command, "--help"])
        );
    }
}
