//! Findings of the policy, accepted files, and the cost of hostile files.

use super::*;
use proptest::prelude::*;

fn check_file(path: &str, before: Option<&str>, after: &str) -> PolicyReport {
    let before = before.map(|before| (path, before.as_bytes()));
    let after = after.as_bytes();
    check(PolicyRequest {
        path,
        before,
        after,
        rust_strict: true,
        exceptions: &[],
    })
}

/// The rules and lines that a new file offends.
fn rules_of(path: &str, text: &str) -> Vec<(&'static str, usize)> {
    let report = check_file(path, None, text);
    report
        .findings
        .iter()
        .map(|finding| (finding.rule.name(), finding.line))
        .collect()
}

fn rules_of_rust(text: &str) -> Vec<(&'static str, usize)> {
    rules_of("src/lib.rs", text)
}

fn token() -> String {
    format!("ghp_{}", "a1B2c3".repeat(6))
}

#[test]
fn conflict_markers_are_found_and_headings_are_not() {
    let merge = "a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\n>>>>>>> other\n";
    let marker = |line| ("conflict-marker", line);
    assert_eq!(
        rules_of("a.txt", merge),
        [marker(2), marker(4), marker(5), marker(7)]
    );
    assert_eq!(rules_of("a.txt", &merge.replace('\n', "\r\n")).len(), 4);
    assert_eq!(
        rules_of("a.md", "Title\n=======\n\n    <<<<<<< HEAD\n<<<<<<<< x\n"),
        []
    );
    assert_eq!(
        rules_of("a.md", "Title\n=======\n>>>>>>> other\n"),
        [marker(3)]
    );
    assert_eq!(
        rules_of("a.md", "<<<<<<< HEAD\nTitle\n=======\n"),
        [marker(1)]
    );
}

#[test]
fn secrets_are_found_and_never_shown() {
    let report = check_file(
        "a.py",
        None,
        &format!("x = 1\nkey = '{}' # mine\n", token()),
    );
    let expected = Finding {
        rule: PolicyRule::SecretToken,
        line: 2,
        text: String::from("key = '[redacted:GITHUB_TOKEN]' # mine"),
        how: String::from(
            "read it from the environment or a secret store, or ask for a plan whose phase has an exception for `secret-token` with a reason",
        ),
    };
    assert_eq!(
        report,
        PolicyReport {
            findings: vec![expected],
            omitted: 0
        }
    );
    assert_eq!(report.profile(), Some(Profile::Secrets));
    let line = "a1B2".repeat(16);
    let pem = format!(
        "k = \"\"\"-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----\"\"\"\n"
    );
    let report = check_file("a.py", None, &pem);
    assert_eq!(report.findings[0].rule, PolicyRule::PrivateKey);
    assert_eq!(report.findings[0].text, "k = \"\"\"[redacted:PRIVATE_KEY]");
    let other = pem.replace("a1B2", "Z9y8");
    assert!(check_file("a.py", Some(&pem), &pem).is_clean());
    assert!(!check_file("a.py", Some(&pem), &other).is_clean());
    assert!(check_file("a.py", None, "password = 'hunter22'\n").is_clean());
}

#[test]
fn only_added_findings_count() {
    let old = "fn a() { x.unwrap(); }\nfn b() {}\n";
    assert!(
        check_file(
            "a.rs",
            Some(old),
            &format!("\n// moved\n{}", old.replace(" {", "   {"))
        )
        .is_clean()
    );
    assert_eq!(
        check_file("a.rs", Some(old), "fn b() { y.unwrap(); }\n").findings[0].line,
        1
    );
    let twice = format!("{old}mod m {{\n{old}}}\n");
    let report = check_file("a.rs", Some(old), &twice);
    assert_eq!(
        report
            .findings
            .iter()
            .map(|finding| finding.line)
            .collect::<Vec<_>>(),
        [4]
    );
    let secret = format!("a = '{}'\n", token());
    assert!(check_file("a.py", Some(&secret), &format!("renamed = '{}'\n", token())).is_clean());
    assert!(!check_file("a.py", Some(&secret), &secret.repeat(2)).is_clean());
}

#[test]
fn secrets_in_other_encodings_are_found() {
    let text = format!("a = '{}'\n", token());
    let utf16 = |unit: fn(u16) -> [u8; 2], mark: [u8; 2]| {
        let units = text.encode_utf16().flat_map(unit);
        mark.into_iter().chain(units).collect::<Vec<u8>>()
    };
    let utf32 = |unit: fn(u32) -> [u8; 4], mark: [u8; 4]| {
        let units = text.chars().flat_map(|c| unit(c.into()));
        mark.into_iter().chain(units).collect::<Vec<u8>>()
    };
    for bytes in [
        utf16(u16::to_le_bytes, [0xff, 0xfe]),
        utf16(u16::to_be_bytes, [0xfe, 0xff]),
        utf32(u32::to_le_bytes, [0xff, 0xfe, 0, 0]),
        utf32(u32::to_be_bytes, [0, 0, 0xfe, 0xff]),
    ] {
        let request = PolicyRequest {
            path: "a.txt",
            before: None,
            after: &bytes,
            rust_strict: false,
            exceptions: &[],
        };
        let report = check(request);
        assert_eq!(report.findings[0].rule, PolicyRule::SecretToken);
        assert!(!report.findings[0].text.contains(&token()));
        // It is the same finding in the same file.
        let before = Some(("a.txt", bytes.as_slice()));
        assert!(check(PolicyRequest { before, ..request }).is_clean());
        let odd = &bytes[..bytes.len() - 1];
        check(PolicyRequest {
            after: odd,
            ..request
        });
    }
}

#[test]
fn passwords_in_urls_are_found() {
    for text in [
        "postgres://u:s3cr3tpw@db/x",
        "url = \"amqps://u:pw@10.0.0.1:5671\"",
        "redis://:s3cr3t@cache.internal",
        "https://u:p@example.com.evil.io/",
        "https://u:pw@[2001:db9::1]/",
    ] {
        assert_eq!(rules_of("a.txt", text), [("url-credentials", 1)], "{text}");
        assert!(
            !check_file("a.txt", None, text).findings[0]
                .text
                .contains("s3cr3t")
        );
    }
    for text in [
        "postgres://u:s3cr3tpw@localhost/x",
        "postgres://u:s3cr3tpw@127.0.0.1:5432/x",
        "postgres://u:s3cr3tpw@[::1]:5432/x",
        "http://u:pw@db.example.org/",
        "http://u:pw@host.test",
        "http://u:pw@192.0.2.7/",
        "http://u:pw@[2001:db8::1]/",
        "postgres://postgres:postgres@db/x",
        "postgres://u:${PASSWORD}@db/x",
        "postgres://u:<password>@db/x",
        "postgres://u:***@db/x",
        "postgres://u@db/x",
        "https://host:8080/a@b",
    ] {
        assert_eq!(rules_of("a.txt", text), [], "{text}");
    }
}

#[test]
fn exceptions_apply_by_rule_and_rust_is_checked_on_request() {
    let text = format!("fn a() {{ x.unwrap(); panic!(\"{}\"); }}", token());
    let rules = |rust_strict: bool, exceptions: &[PolicyRule]| {
        let request = PolicyRequest {
            path: "a.rs",
            before: None,
            after: text.as_bytes(),
            rust_strict,
            exceptions,
        };
        let report = check(request);
        report
            .findings
            .iter()
            .map(|finding| finding.rule.name())
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(true, &[]), ["secret-token", "unwrap", "panic"]);
    assert_eq!(rules(false, &[]), ["secret-token"]);
    assert_eq!(
        rules(true, &[PolicyRule::SecretToken, PolicyRule::Panic]),
        ["unwrap"]
    );
    for rule in PolicyRule::ALL {
        assert_eq!(PolicyRule::named(rule.name()), Some(rule));
    }
    assert_eq!(PolicyRule::named("other"), None);
}

#[test]
fn rust_is_checked_by_its_tokens() {
    let cases: &[(&str, &[&str])] = &[
        ("x.unwrap()", &["unwrap"]),
        ("x\n.\nunwrap /* so */ (\n)", &["unwrap"]),
        ("x.r#unwrap()", &["unwrap"]),
        (
            "t.0.unwrap(); 1.unwrap(); 1.0.unwrap()",
            &["unwrap", "unwrap", "unwrap"],
        ),
        ("a.map(Option::unwrap)", &["unwrap"]),
        ("<Option<u8>>::unwrap(x)", &["unwrap"]),
        (
            "x.unwrap_or(1); x.unwrap_or_default(); x.unwrap; 0..unwrap(); x.unwrap(1)",
            &[],
        ),
        (
            "fn unwrap() {} fn expect(a: u8) {} crate::unwrap::f(); unwrap()",
            &[],
        ),
        ("x.expect(\"so\"); Result::expect", &["expect"]),
        ("Result::expect(x, \"so\")", &["expect"]),
        ("#[expect(dead_code)] fn f() {} x.expect_err(1)", &[]),
        (
            "panic!(\"so\"); std::panic![]; core::todo! {}; r#panic!()",
            &["panic", "panic", "todo", "panic"],
        ),
        ("unimplemented!()", &["unimplemented"]),
        (
            "panic != 1; panic(); std::panic::catch_unwind(f); my_panic!()",
            &[],
        ),
        (
            "unsafe { f() } unsafe fn f() {} #[unsafe(no_mangle)] fn g() {}",
            &["unsafe", "unsafe", "unsafe"],
        ),
        ("#![forbid(unsafe_code)] r#unsafe", &[]),
        (
            "// x.unwrap()\n/* panic!() /* todo!() */ unsafe */ /// x.unwrap()\n",
            &[],
        ),
        (
            "\"x.unwrap() \\\" panic!()\"; r#\"\" unsafe \"#; b\"unsafe\"; br\"unsafe\"; c\"unsafe\"",
            &[],
        ),
        (
            "'\"'; x.unwrap(); '\"'; b'\"'; '\\''; 'a: loop {} 'r#b",
            &["unwrap"],
        ),
        (
            "macro_rules! m { ($x:expr) => { $x.unwrap() } }",
            &["unwrap"],
        ),
        ("#!/bin/sh x.unwrap()\nfn f() {}", &[]),
        ("#!/**/[allow(x)] fn f() { x.unwrap() }", &["unwrap"]),
        ("\u{feff}fn ünwrap() { x.unwrap() }", &["unwrap"]),
    ];
    for (text, expected) in cases {
        let rules: Vec<&str> = rules_of_rust(text)
            .into_iter()
            .map(|(rule, _)| rule)
            .collect();
        assert_eq!(rules, *expected, "{text}");
    }
}

#[test]
fn only_tests_are_exempt() {
    let cases = [
        (
            "#[cfg(test)] mod tests { fn f() { x.unwrap(); { panic!() } } } fn g() { X }",
            true,
        ),
        ("#[test] fn f() -> [u8; 2] { x.unwrap() } X", true),
        (
            "#[tokio::test(flavor = \"a\")] #[ignore] async fn f<A, B>() where A: B, { x.unwrap() } X",
            true,
        ),
        (
            "#[allow(x)] #[cfg(all(test, unix))] pub(crate) fn f() { x.unwrap() } X",
            true,
        ),
        (
            "#[cfg(any(test, all(test, a)))] fn f() { x.unwrap() } X",
            true,
        ),
        ("#[cfg(test)] const fn f() { x.unwrap() } X", true),
        ("#[cfg(test)] const A: u8 = { 1 } + x.unwrap(); X", true),
        ("#[cfg(test)] use a::{b, c}; X", true),
        ("#[cfg(test)] mod tests; X", true),
        (
            "fn f() { #[cfg(test)] let a = if b { c } else { x.unwrap() }; X }",
            true,
        ),
        ("fn f() { #[cfg(test)] x.unwrap(); X }", true),
        ("fn f() { #[cfg(test)] { x.unwrap() } X }", true),
        ("enum A { #[cfg(test)] B = x.unwrap(), X }", true),
        ("f(#[cfg(test)] x.unwrap()); X", true),
        ("mod a { #![cfg(test)] fn f() { x.unwrap() } } X", true),
        ("#[cfg(test)] unsafe fn f() { x.unwrap() } X", true),
        ("#[cfg(test)] pub const A: u8 = { 1 } + x.unwrap(); X", true),
        (
            "struct A { #[cfg(test)] pub(crate) a: B<x.unwrap()>, pub c: [u8; X] }",
            true,
        ),
        ("#[cfg(not(test))] fn f() { x.unwrap() }", false),
        ("#[cfg(any(test, unix))] fn f() { x.unwrap() }", false),
        ("#[cfg(all())] fn f() { x.unwrap() }", false),
        ("#[cfg(feature = \"test\")] fn f() { x.unwrap() }", false),
        ("#[cfg_attr(test, allow(a))] fn f() { x.unwrap() }", false),
        ("#[doc(test)] fn f() { x.unwrap() }", false),
        ("fn f() {} #![cfg(test)] fn g() { x.unwrap() }", false),
        ("#[cfg(test)] fn f(); fn g() { x.unwrap() }", false),
    ];
    for (text, left_alone) in cases {
        let judged = text.replace('X', "y.expect(1)");
        let rules: Vec<&str> = rules_of_rust(&judged)
            .into_iter()
            .map(|(rule, _)| rule)
            .collect();
        let expected = if left_alone { "expect" } else { "unwrap" };
        assert_eq!(rules, [expected], "{text}");
    }
    assert_eq!(
        rules_of_rust("#![allow(a)] #![cfg(test)] fn f() { x.unwrap() }"),
        []
    );
}

#[test]
fn files_outside_src_are_tests_by_their_path() {
    let judged = |path: &str| !rules_of(path, "fn f() { x.unwrap() }").is_empty();
    for path in [
        "lib.rs",
        "src/a.rs",
        "src/tests/a.rs",
        "crates/x/src/tests.rs",
        "latests/a.rs",
        "A.RS",
    ] {
        assert!(judged(path), "{path}");
    }
    for path in [
        "tests/a.rs",
        "crates/x/tests/deep/a.rs",
        "benches/a.rs",
        "a.txt",
        "rs",
    ] {
        assert!(!judged(path), "{path}");
    }
}

#[test]
fn invalid_rust_is_one_finding() {
    for text in [
        "fn f( { x.unwrap() }",
        "}",
        "\"open",
        "/* open",
        "r#\"open\"",
        "'",
        "(]",
        "fn f() { x.unwrap() } \u{0}",
    ] {
        assert_eq!(
            rules_of_rust(text)
                .iter()
                .map(|finding| finding.0)
                .collect::<Vec<_>>(),
            ["not-rust"],
            "{text:?}"
        );
    }
    let bytes = b"fn f() {} // \xff";
    let request = PolicyRequest {
        path: "a.rs",
        before: None,
        after: bytes,
        rust_strict: true,
        exceptions: &[],
    };
    assert_eq!(check(request).findings[0].rule, PolicyRule::NotRust);
    assert!(check_file("a.rs", Some("fn f("), "fn f( x.unwrap()").is_clean());
    assert!(!check_file("a.rs", Some("fn f( x.unwrap()"), "fn f() { x.unwrap() }").is_clean());
}

#[test]
fn findings_are_bounded_and_ordered_by_severity() {
    let text = format!(
        "fn f() {{\n{}}}\n// {}\n",
        "x.unwrap();\n".repeat(30),
        token()
    );
    let report = check_file("a.rs", None, &text);
    assert_eq!((report.findings.len(), report.omitted), (MAX_FINDINGS, 11));
    assert_eq!(report.findings[0].rule, PolicyRule::SecretToken);
    assert_eq!(report.profile(), Some(Profile::Secrets));
    let long = format!("fn f() {{ {} x.unwrap() }}", "ä;".repeat(100));
    assert_eq!(
        check_file("a.rs", None, &long).findings[0]
            .text
            .chars()
            .count(),
        MAX_FINDING_TEXT
    );
}

#[test]
fn hostile_files_need_little_stack() {
    let work = || {
        for (open, close) in [
            ("(", ")"),
            ("{", "}"),
            ("[", "]"),
            ("/*", "*/"),
            ("#[cfg(all(", "))]"),
            ("#[", "]"),
        ] {
            let nested = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
            check_file("a.rs", Some(&nested), &nested);
            assert!(
                !check_file("a.rs", None, &open.repeat(100_000)).is_clean(),
                "{open}"
            );
        }
    };
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    small.spawn(work).unwrap().join().unwrap();
}

#[test]
fn megabyte_of_findings_takes_linear_time() {
    for piece in [
        "x.unwrap();",
        "unsafe ",
        "!",
        "r#",
        "'a",
        "#[test]",
        "<<<<<<< a\n",
        "=======\n",
        "\"",
        "b'",
        "r#\"",
        "0.",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        check_file("a.rs", Some(&text), &format!("{text} "));
    }
}

proptest! {
    #[test]
    fn unchanged_file_has_no_findings(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..20)) {
        let text = pieces.concat();
        prop_assert!(check_file("a.rs", Some(&text), &text).is_clean());
    }
}

const PIECES: [&str; 16] = [
    "x.unwrap()",
    "\n",
    " ",
    "{",
    "}",
    "#[test]",
    "fn f()",
    "panic!()",
    "\"",
    "//",
    "/*",
    "*/",
    "unsafe",
    "<<<<<<< a\n",
    "=======\n",
    ">>>>>>> b\n",
];
