//! Queries and budgets on the command line: accepted, echoed and refused values.

use crate::context::fixture::{ContextFixture, error_object, exit_code_of, run_command};
use insta::assert_snapshot;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// An argument that is not UTF-8.
fn invalid_utf8() -> &'static OsStr {
    OsStr::from_bytes(b"fo\xffx")
}

#[test]
fn budgets_with_an_integral_value_are_accepted() {
    let fixture = ContextFixture::with_cache();
    for (typed, echoed) in [
        ("0", "0"),
        ("1000", "1000"),
        ("1000.0", "1000"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("100e-1", "10"),
        ("-0", "0"),
        ("9007199254740991", "9007199254740991"),
    ] {
        let output = fixture.resolve("cache", "fox", typed);
        let plain = fixture.resolve("cache", "fox", echoed);
        assert_eq!(output, plain, "{typed}");
        assert_eq!(output.code, 0, "{typed}");
        assert!(
            output.stdout.contains(&format!(r#""budget":{echoed},"#)),
            "{typed}"
        );
    }
}

#[test]
fn other_budgets_are_refused() {
    let fixture = ContextFixture::with_cache();
    for typed in [
        "-1",
        "0.5",
        "1e400",
        "9999999999999999999",
        "9007199254740992",
        "abc",
        "",
        "1e-3",
        "0x10",
        "NaN",
        "Infinity",
        "-inf",
        "+1",
        "01",
        "1,000",
        "1_000",
        "5 apples",
        "\"5\"",
        "null",
        "[1]",
        "٣",
    ] {
        let output = fixture.resolve("cache", "fox", typed);
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{typed}");
        assert_eq!(output.stderr, error_object("invalid_budget"), "{typed}");
        let arguments = [
            "resolve", "--cache", "cache", "--query", "fox", "--budget", typed,
        ];
        assert_eq!(
            fixture.run_err(3, &arguments),
            format!(
                "error: the budget `{typed}` is no whole number from 0 to 9007199254740991\n\
                 hint: Send the budget as an integer from 0 to 9007199254740991.\n"
            )
        );
    }
    let output = run_command(fixture.resolve_command(
        OsStr::new("cache"),
        OsStr::new("fox"),
        invalid_utf8(),
    ));
    assert_eq!(
        (output.code, output.stderr),
        (3, error_object("invalid_budget"))
    );
}

#[test]
fn queries_beyond_the_limit_are_refused() {
    let fixture = ContextFixture::with_cache();
    let long = "x".repeat(65_536);
    let wide = "é".repeat(32_768);
    for query in ["", " \u{3000}\t", "fox", "--help", "-1", &long, &wide] {
        let output = fixture.resolve("cache", query, "1000");
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        let echoed = format!(r#""query":{},"#, serde_json::to_string(query).unwrap());
        assert!(output.stdout.contains(&echoed));
    }
    for query in [
        format!("{long}x"),
        format!("{wide}x"),
        format!("{}é", &long[1..]),
    ] {
        let output = fixture.resolve("cache", &query, "1000");
        assert_eq!((output.code, output.stdout.as_str()), (2, ""));
        assert_eq!(output.stderr, error_object("invalid_query"));
    }
    let arguments = |query: &str| {
        fixture.run_err(
            2,
            &[
                "resolve", "--cache", "cache", "--query", query, "--budget", "1",
            ],
        )
    };
    assert_snapshot!(arguments(&format!("{long}x")), @r"
    error: the query has 65537 bytes; at most 65536 are allowed
    hint: Send the query as a string of at most 65,536 bytes without NUL, and no unknown argument.
    ");
    let output =
        run_command(fixture.resolve_command(OsStr::new("cache"), invalid_utf8(), OsStr::new("1")));
    assert_eq!(
        (output.code, output.stderr),
        (2, error_object("invalid_query"))
    );
    let typed = fixture.command(&[
        OsStr::new("resolve"),
        OsStr::new("--cache"),
        OsStr::new("cache"),
        OsStr::new("--budget"),
        OsStr::new("1"),
        OsStr::new("--query"),
        invalid_utf8(),
    ]);
    assert_snapshot!(crate::context::fixture::run_command(typed).stderr, @r"
    error: the query is not UTF-8
    hint: Send the query as a string of at most 65,536 bytes without NUL, and no unknown argument.
    ");
}

#[test]
fn every_score_of_the_empty_query_is_zero() {
    let fixture = ContextFixture::with_cache();
    assert_snapshot!(fixture.run_ok(&["resolve", "--cache", "cache", "--query", "", "--budget", "5"]), @r#"{"documents":[{"id":"empty.md","version":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","content":"","score":0.0,"tokens":0,"why":{"query_terms":[],"term_matches":0,"total_words":0}},{"id":"fox.md","version":"sha256:6e459fed18ddb06d57c8e9f0d000c302c7e01389926db6e89884bfbe91a2a5df","content":"the quick brown fox\n","score":0.0,"tokens":5,"why":{"query_terms":[],"term_matches":0,"total_words":4}}],"selection":{"query":"","budget":5,"tokens_used":5,"documents_considered":4,"documents_selected":2,"documents_excluded_by_budget":2}}"#);
}

/// Query before budget, both before the path.
#[test]
fn query_is_checked_before_budget_and_path() {
    let fixture = ContextFixture::with_cache();
    let long = "x".repeat(65_537);
    for (cache, query, budget, code) in [
        ("nowhere", long.as_str(), "-1", "invalid_query"),
        ("nowhere", "fox", "-1", "invalid_budget"),
        ("nowhere", "fox", "1", "cache_missing"),
        ("../..", long.as_str(), "-1", "invalid_query"),
        ("docs", "fox", "1", "cache_invalid"),
    ] {
        let output = fixture.resolve(cache, query, budget);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (exit_code_of(code), "")
        );
        assert_eq!(output.stderr, error_object(code));
    }
}
