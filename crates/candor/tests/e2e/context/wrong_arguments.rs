//! Wrong arguments of a call are checked in the order cache, query, budget, unknown members, before any path.

use crate::context::fixture::{ContextFixture, error_object};
use crate::context::server::{ContextServer, arguments, quoted};

/// Arguments and their code.
fn codes(server: &mut ContextServer, tool: &str, cases: &[(&str, &str)]) {
    for (arguments, code) in cases {
        let answer = server.call(tool, arguments);
        assert_eq!(answer.text(), error_object(code), "{arguments}");
    }
}

#[test]
fn each_wrong_argument_has_its_code() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    codes(
        &mut server,
        "context.resolve",
        &[
            (r#"{"query":"fox","budget":9}"#, "cache_missing"),
            (
                r#"{"cache":null,"query":"fox","budget":9}"#,
                "cache_missing",
            ),
            (r#"{"cache":7,"query":"fox","budget":9}"#, "cache_missing"),
            (
                r#"{"cache":["cache"],"query":"fox","budget":9}"#,
                "cache_missing",
            ),
            (r#"{"cache":"","query":"fox","budget":9}"#, "cache_missing"),
            (
                r#"{"cache":"ca\u0000che","query":"fox","budget":9}"#,
                "cache_missing",
            ),
            (r#"{"cache":"cache","budget":9}"#, "invalid_query"),
            (
                r#"{"cache":"cache","query":null,"budget":9}"#,
                "invalid_query",
            ),
            (
                r#"{"cache":"cache","query":["fox"],"budget":9}"#,
                "invalid_query",
            ),
            (
                r#"{"cache":"cache","query":"fo\u0000x","budget":9}"#,
                "invalid_query",
            ),
            (r#"{"cache":"cache","query":"fox"}"#, "invalid_budget"),
            (
                r#"{"cache":"cache","query":"fox","budget":null}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":"9"}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":-1}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":0.5}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":1e-300}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":1e300}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":9007199254740992}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":9007199254740991.5}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":9999999999999999999}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":99999999999999999999999}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":true}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":9,"format":"pretty"}"#,
                "invalid_query",
            ),
            (
                r#"{"cache":"cache","query":"fox","budget":9,"Query":"fox"}"#,
                "invalid_query",
            ),
            ("[]", "invalid_query"),
            (r#""cache""#, "invalid_query"),
            ("7", "invalid_query"),
            ("true", "invalid_query"),
            // Treated like absent arguments.
            ("{}", "cache_missing"),
            ("null", "cache_missing"),
        ],
    );
    codes(
        &mut server,
        "context.inspect_cache",
        &[
            ("{}", "cache_missing"),
            (r#"{"cache":1}"#, "cache_missing"),
            (r#"{"cache":"cache","query":"fox"}"#, "invalid_query"),
            (r#"{"cache":1,"query":"fox"}"#, "cache_missing"),
            ("[]", "invalid_query"),
        ],
    );
    codes(
        &mut server,
        "context.list_caches",
        &[
            (r#"{"cache":"cache"}"#, "invalid_query"),
            ("[]", "invalid_query"),
        ],
    );
}

#[test]
fn integral_budgets_are_accepted() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    let thousand = server.resolve("cache", "fox", "1000");
    for budget in ["1000.0", "1e3", "1E+3", "10000e-1", "1000.000000"] {
        assert_eq!(server.resolve("cache", "fox", budget), thousand, "{budget}");
    }
    let zero = server.resolve("cache", "fox", "0");
    for budget in ["-0", "0.0", "-0.0", "0e10"] {
        assert_eq!(server.resolve("cache", "fox", budget), zero, "{budget}");
    }
    server.resolve("cache", "fox", "9007199254740991").unwrap();
    server
        .resolve("cache", "fox", "9007199254740991.0")
        .unwrap();
}

#[test]
fn first_wrong_argument_decides_the_code() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    let long = quoted(&"é".repeat(32_769));
    let nul = r#""fo\u0000x""#;
    let everything = format!(r#"{{"budget":-1,"query":{long},"extra":1}}"#);
    let no_budget = format!(r#"{{"cache":"cache","query":{long}}}"#);
    let bad_budget = format!(r#"{{"cache":"cache","query":{long},"budget":"x"}}"#);
    let extra = format!(r#"{{"extra":1,"cache":"cache","query":{long},"budget":1}}"#);
    let nul_budget = format!(r#"{{"cache":"cache","query":{nul},"budget":0.5}}"#);
    let nul_cache = format!(r#"{{"cache":{{}},"query":{nul},"budget":0.5}}"#);
    codes(
        &mut server,
        "context.resolve",
        &[
            (&everything, "cache_missing"),
            (&no_budget, "invalid_query"),
            (&bad_budget, "invalid_query"),
            (&extra, "invalid_query"),
            (&nul_budget, "invalid_query"),
            (&nul_cache, "cache_missing"),
            (
                r#"{"extra":1,"cache":"cache","query":7,"budget":-1}"#,
                "invalid_query",
            ),
            (
                r#"{"extra":1,"cache":"cache","query":"fox","budget":-1}"#,
                "invalid_budget",
            ),
            (
                r#"{"extra":1,"cache":"cache","query":"fox"}"#,
                "invalid_budget",
            ),
            (
                r#"{"extra":1,"cache":"nowhere","query":"fox","budget":1}"#,
                "invalid_query",
            ),
            // Only then the path.
            (
                r#"{"cache":"nowhere","query":"fox","budget":-1}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"nowhere","query":7,"budget":1}"#,
                "invalid_query",
            ),
            (
                r#"{"cache":"docs","query":"fox","budget":1.5}"#,
                "invalid_budget",
            ),
            (
                r#"{"cache":"nowhere","query":"fox","budget":1}"#,
                "cache_missing",
            ),
        ],
    );
}

#[test]
fn query_of_the_maximum_length_is_accepted() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    for query in [
        "x".repeat(65_536),
        "é".repeat(32_768),
        "\u{1}".repeat(65_536),
    ] {
        server.resolve("cache", &query, "9").unwrap();
        let longer = server.resolve("cache", &format!("{query}x"), "9");
        assert_eq!(longer.text(), error_object("invalid_query"));
    }
    let huge = server.resolve("cache", &"x".repeat(10 * 1024 * 1024), "9");
    assert_eq!(huge.text(), error_object("invalid_query"));
    server.resolve("cache", "fox", "9").unwrap();
}

/// Invalid JSON is refused before any tool runs.
#[test]
fn malformed_requests_are_errors_of_the_protocol() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    let error = |code: i32, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let call = |arguments: &str| crate::requests::call("1", "context.resolve", arguments);
    for (arguments, message) in [
        (
            arguments("cache", "fox", "1e400"),
            "a number too large for a double",
        ),
        (
            String::from(r#"{"cache":"cache","query":"\ud800","budget":1}"#),
            "a lone surrogate in a string",
        ),
        (
            String::from(r#"{"cache":"cache","query":"fox","budget":1,"budget":-1}"#),
            "a member name twice in one object",
        ),
    ] {
        assert_eq!(
            server.ask(call(&arguments)),
            error(-32600, &format!("Invalid Request: {message}")),
            "{arguments}"
        );
    }
    server.resolve("cache", "fox", "9").unwrap();
}
