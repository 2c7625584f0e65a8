//! A process that may open only few files: the system's trouble, whatever was being opened.

use crate::context::place::{Place, limited, object, said};
use crate::context::server::{Outcome, Server, arguments, call, outcome};
use std::process::Command;

#[test]
fn too_many_open_files_are_an_io_error() {
    let place = Place::with_cache();
    let limited = |count: usize, command: &Command| limited(command, &format!("-n {count}"));
    let whole = place.resolve("cache", "fox", "1000").stdout;
    let mut codes = Vec::new();
    for count in 3..14 {
        let said = said(limited(
            count,
            &place.resolve_command("cache", "fox", "1000"),
        ));
        match said.code {
            // Not even the program could be loaded.
            127 => continue,
            0 => assert_eq!(said.stdout, whole, "{count}"),
            code => assert_eq!(
                (code, said.stderr, said.stdout),
                (6, object("io_error"), String::new()),
                "{count}"
            ),
        }
        codes.push(said.code);
    }
    assert!(codes.contains(&6) && codes.last() == Some(&0), "{codes:?}");
    let mut failed = 0;
    for count in 9..24 {
        let mut server = Server::start(limited(count, &place.serve_command(&[])));
        server.stdio().send_line(call(
            "1",
            "context.resolve",
            &arguments("cache", "fox", "1000"),
        ));
        // With too few it cannot even start.
        let Some(line) = server.stdio().line() else {
            continue;
        };
        match outcome("1", &line) {
            Outcome::Text(text) => assert_eq!(text, whole, "{count}"),
            Outcome::Failed(text) => {
                assert_eq!(text, object("io_error"), "{count}");
                failed += 1;
            }
        }
    }
    assert!(failed > 0);
}
