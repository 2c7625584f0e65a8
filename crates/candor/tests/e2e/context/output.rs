//! stdout contains the answer byte for byte, or the command fails.

use crate::context::fixture::{ContextFixture, error_object, run_command};
use crate::fixture::context;
use insta::assert_snapshot;
use std::process::Command;

/// Bytes that look like terminal styles are printed unchanged.
#[test]
fn control_characters_are_printed_unchanged() {
    let fixture = ContextFixture::with_cache();
    let answer = fixture.run_ok(&[
        "resolve", "--cache", "cache", "--query", "a\u{7f}b", "--budget", "1000",
    ]);
    assert!(
        answer.contains(r#""query":"a b""#.replace(' ', "\u{7f}").as_str()),
        "{answer}"
    );
    assert!(
        answer.contains("fox \u{7f} \u{9b}31m \\u001b[0m"),
        "{answer}"
    );
}

#[test]
fn closed_pipe_is_harmless_and_a_full_disk_is_an_io_error() {
    let fixture = ContextFixture::with_cache();
    let arguments = [
        "resolve", "--cache", "cache", "--query", "fox", "--budget", "20",
    ];
    let into = |target: &str, more: &str| {
        let mut shell = Command::new("bash");
        let script = format!("\"$0\" \"$@\" {more} {target}; exit \"${{PIPESTATUS[0]}}\"");
        shell.args(["-c", &script]).arg(context()).args(arguments);
        shell.current_dir(fixture.root());
        run_command(shell)
    };
    assert_eq!(into("| true", "").code, 0);
    let full = into("> /dev/full", "");
    assert_eq!(full.code, 6);
    assert_snapshot!(full.stderr, @r"
    error: cannot write the answer: No space left on device (os error 28)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    let full = into("> /dev/full", "--error-format json");
    assert_eq!((full.code, full.stderr), (6, error_object("io_error")));
}
