//! The help of `candor github` and its commands.

use crate::fixture::help;
use insta::assert_snapshot;

#[test]
fn every_command_has_help() {
    assert_snapshot!("help", help(&["github", "--help"]));
    for command in [
        "serve", "init", "import", "status", "protect", "comment", "review", "label",
    ] {
        assert_snapshot!(
            format!("help_{command}"),
            help(&["github", command, "--help"])
        );
    }
}
