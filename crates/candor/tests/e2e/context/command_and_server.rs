//! Successful answers are the same bytes in the command line and over MCP, with the accelerator and without.

use crate::context::fixture::ContextFixture;
use std::fs;

const QUERIES: [&str; 12] = [
    "",
    " \t\n\u{3000}",
    "fox",
    "FOX fox Fox",
    "the quick brown",
    "install it, then",
    "äö",
    "\u{7f}",
    "\"quoted\" \\ back",
    "it, it, it,",
    "no such word",
    "\u{1f98a}\u{0} is a fox",
];

const BUDGETS: [&str; 8] = ["0", "1", "5", "9", "12", "17", "1000", "9007199254740991"];

#[test]
fn command_and_server_give_the_same_answers() {
    let fixture = ContextFixture::with_cache();
    fixture.write("docs/ties/a.md", "fox fox");
    fixture.write("docs/ties/b.md", "fox fox");
    fixture.write("docs/Größe.md", "ÄÖ ẞ ǅ İ\n");
    fixture.write("docs/wide.md", "the fox ".repeat(500));
    fixture.build("docs", "more");
    fs::create_dir(fixture.path("nothing")).unwrap();
    fixture.run(&["build", "--sources", "nothing", "--cache", "hollow"]);
    fixture.copy_unsealed("more", "copy");
    fixture.build("docs", "broken");
    for file in ["accelerator.idx", "accelerator.sig", "accelerator.src"] {
        let bytes = fixture.read(format!("broken/{file}"));
        fixture.write(format!("broken/{file}"), &bytes[..bytes.len() / 2]);
    }
    fixture.build("docs", "foreign");
    fixture.write(
        "foreign/accelerator.idx",
        fixture.read("cache/accelerator.idx"),
    );
    let mut server = fixture.serve(&[]);
    let mut looking = fixture.serve(&["--no-watch"]);
    for cache in ["cache", "more", "hollow", "copy", "broken", "foreign"] {
        for (number, query) in QUERIES.iter().enumerate() {
            // NUL cannot be typed; the server refuses it.
            if query.contains('\0') {
                continue;
            }
            let budgets = BUDGETS.iter().skip(number % 4).step_by(4);
            for budget in budgets {
                let output = fixture.resolve(cache, query, budget);
                assert_eq!(
                    (output.code, output.stderr.as_str()),
                    (0, ""),
                    "{cache} {query} {budget}"
                );
                assert!(output.stdout.ends_with("}}\n"), "{}", output.stdout);
                let answer = server.resolve(cache, query, budget);
                assert_eq!(answer.unwrap(), output.stdout, "{cache} {query} {budget}");
                assert_eq!(
                    looking.resolve(cache, query, budget).unwrap(),
                    output.stdout
                );
            }
        }
    }
    for query in QUERIES.iter().filter(|query| !query.contains('\0')) {
        let fast = server.resolve("more", query, "40").unwrap();
        for slow in ["copy", "broken", "foreign"] {
            assert_eq!(
                server.resolve(slow, query, "40").unwrap(),
                fast,
                "{slow} {query}"
            );
        }
    }
}

/// `inspect` prints the answer of the tool with other white space.
#[test]
fn command_and_server_inspect_the_same() {
    let fixture = ContextFixture::with_cache();
    fixture.build("docs", "other");
    fixture.edit(fixture.document("other", "fox.md"), "brown", "green");
    let mut server = fixture.serve(&[]);
    for cache in ["cache", "other", "docs"] {
        let pretty = fixture.run_ok(&["inspect", "--cache", cache]);
        let value: serde_json::Value = serde_json::from_str(&pretty).unwrap();
        let answer = server.call(
            "context.inspect_cache",
            &format!(r#"{{"cache":"{cache}"}}"#),
        );
        assert_eq!(answer.unwrap(), value.to_string(), "{cache}");
    }
}
