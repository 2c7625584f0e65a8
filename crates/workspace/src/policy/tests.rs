//! Findings of the policy, accepted files, and the cost of hostile files.

use super::*;
use proptest::prelude::*;

fn judge(path: &str, before: Option<&str>, after: &str) -> PolicyReport {
    let before = before.map(str::as_bytes);
    let after = after.as_bytes();
    check(PolicyRequest {
        path,
        before,
        after,
        rust_strict: true,
        exceptions: &[],
    })
}

/// Returns the rules and lines of the findings in a new file.
fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
    let report = judge(path, None, text);
    report
        .findings
        .iter()
        .map(|finding| (finding.rule.name(), finding.line))
        .collect()
}

fn rust(text: &str) -> Vec<(&'static str, usize)> {
    found("src/lib.rs", text)
}

fn token() -> String {
    format!("ghp_{}", "a1B2c3".repeat(6))
}

#[test]
fn markers_of_a_merge_are_found_and_headings_are_not() {
    let merge = "a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\n>>>>>>> other\n";
    let marker = |line| ("conflict-marker", line);
    assert_eq!(
        found("a.txt", merge),
        [marker(2), marker(4), marker(5), marker(7)]
    );
    assert_eq!(found("a.txt", &merge.replace('\n', "\r\n")).len(), 4);
    assert_eq!(
        found("a.md", "Title\n=======\n\n    <<<<<<< HEAD\n<<<<<<<< x\n"),
        []
    );
    assert_eq!(
        found("a.md", "Title\n=======\n>>>>>>> other\n"),
        [marker(3)]
    );
    assert_eq!(found("a.md", "<<<<<<< HEAD\nTitle\n=======\n"), [marker(1)]);
}

#[test]
fn secrets_are_found_and_never_shown() {
    let report = judge(
        "a.py",
        None,
        &format!("x = 1\nkey = '{}' # mine\n", token()),
    );
    let wanted = Finding {
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
            findings: vec![wanted],
            omitted: 0
        }
    );
    assert_eq!(report.profile(), Some(Profile::Secrets));
    let line = "a1B2".repeat(16);
    let pem = format!(
        "k = \"\"\"-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----\"\"\"\n"
    );
    let report = judge("a.py", None, &pem);
    assert_eq!(report.findings[0].rule, PolicyRule::PrivateKey);
    assert_eq!(report.findings[0].text, "k = \"\"\"[redacted:PRIVATE_KEY]");
    let other = pem.replace("a1B2", "Z9y8");
    assert!(judge("a.py", Some(&pem), &pem).is_clean());
    assert!(!judge("a.py", Some(&pem), &other).is_clean());
    assert!(judge("a.py", None, "password = 'hunter22'\nurl = 'db://a:b@c'\n").is_clean());
}

#[test]
fn only_what_an_edit_adds_counts() {
    let old = "fn a() { x.unwrap(); }\nfn b() {}\n";
    assert!(
        judge(
            "a.rs",
            Some(old),
            &format!("\n// moved\n{}", old.replace(" {", "   {"))
        )
        .is_clean()
    );
    assert_eq!(
        judge("a.rs", Some(old), "fn b() { y.unwrap(); }\n").findings[0].line,
        1
    );
    let twice = format!("{old}mod m {{\n{old}}}\n");
    let report = judge("a.rs", Some(old), &twice);
    assert_eq!(
        report
            .findings
            .iter()
            .map(|finding| finding.line)
            .collect::<Vec<_>>(),
        [4]
    );
    let secret = format!("a = '{}'\n", token());
    assert!(judge("a.py", Some(&secret), &format!("renamed = '{}'\n", token())).is_clean());
    assert!(!judge("a.py", Some(&secret), &secret.repeat(2)).is_clean());
}

#[test]
fn exceptions_are_by_rule_and_rust_is_judged_on_request() {
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
fn rust_is_judged_by_its_tokens() {
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
    for (text, wanted) in cases {
        let rules: Vec<&str> = rust(text).into_iter().map(|(rule, _)| rule).collect();
        assert_eq!(rules, *wanted, "{text}");
    }
}

#[test]
fn tests_are_left_alone_and_nothing_else() {
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
        let rules: Vec<&str> = rust(&judged).into_iter().map(|(rule, _)| rule).collect();
        let wanted = if left_alone { "expect" } else { "unwrap" };
        assert_eq!(rules, [wanted], "{text}");
    }
    assert_eq!(rust("#![allow(a)] #![cfg(test)] fn f() { x.unwrap() }"), []);
}

#[test]
fn files_are_tests_by_their_path_outside_src() {
    let judged = |path: &str| !found(path, "fn f() { x.unwrap() }").is_empty();
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
fn what_is_not_rust_is_one_finding() {
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
            rust(text).iter().map(|found| found.0).collect::<Vec<_>>(),
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
    assert!(judge("a.rs", Some("fn f("), "fn f( x.unwrap()").is_clean());
    assert!(!judge("a.rs", Some("fn f( x.unwrap()"), "fn f() { x.unwrap() }").is_clean());
}

#[test]
fn findings_are_bounded_and_the_gravest_come_first() {
    let text = format!(
        "fn f() {{\n{}}}\n// {}\n",
        "x.unwrap();\n".repeat(30),
        token()
    );
    let report = judge("a.rs", None, &text);
    assert_eq!((report.findings.len(), report.omitted), (MAX_FINDINGS, 11));
    assert_eq!(report.findings[0].rule, PolicyRule::SecretToken);
    assert_eq!(report.profile(), Some(Profile::Secrets));
    let long = format!("fn f() {{ {} x.unwrap() }}", "ä;".repeat(100));
    assert_eq!(
        judge("a.rs", None, &long).findings[0].text.chars().count(),
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
            judge("a.rs", Some(&nested), &nested);
            assert!(
                !judge("a.rs", None, &open.repeat(100_000)).is_clean(),
                "{open}"
            );
        }
    };
    let small = std::thread::Builder::new().stack_size(64 * 1024);
    small.spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_megabyte_of_findings_costs_no_more_than_their_length() {
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
        judge("a.rs", Some(&text), &format!("{text} "));
    }
}

proptest! {
    #[test]
    fn an_edit_that_changes_nothing_adds_nothing(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..20)) {
        let text = pieces.concat();
        prop_assert!(judge("a.rs", Some(&text), &text).is_clean());
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
