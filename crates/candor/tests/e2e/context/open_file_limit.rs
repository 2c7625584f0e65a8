//! A process with a low limit of open files: every failure to open is an I/O error.

use crate::context::fixture::{ContextFixture, error_object, run_command, with_limit};
use crate::context::server::{ContextServer, ToolText, arguments, outcome};
use crate::requests::call;
use std::process::Command;

#[test]
fn too_many_open_files_are_an_io_error() {
    let fixture = ContextFixture::with_cache();
    let with_limit = |count: usize, command: &Command| with_limit(command, &format!("-n {count}"));
    let expected = fixture.resolve("cache", "fox", "1000").stdout;
    let mut codes = Vec::new();
    for count in 3..14 {
        let output = run_command(with_limit(
            count,
            &fixture.resolve_command("cache", "fox", "1000"),
        ));
        match output.code {
            // Not even the program could be loaded.
            127 => continue,
            0 => assert_eq!(output.stdout, expected, "{count}"),
            code => assert_eq!(
                (code, output.stderr, output.stdout),
                (6, error_object("io_error"), String::new()),
                "{count}"
            ),
        }
        codes.push(output.code);
    }
    assert!(codes.contains(&6) && codes.last() == Some(&0), "{codes:?}");
    let mut failed = 0;
    for count in 9..24 {
        let mut server = ContextServer::start(with_limit(count, &fixture.serve_command(&[])));
        server.stdio().send_line(call(
            "1",
            "context.resolve",
            arguments("cache", "fox", "1000"),
        ));
        // With too few it cannot even start.
        let Some(line) = server.stdio().line() else {
            continue;
        };
        match outcome("1", &line) {
            ToolText::Text(text) => assert_eq!(text, expected, "{count}"),
            ToolText::Failed(text) => {
                assert_eq!(text, error_object("io_error"), "{count}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0);
}
