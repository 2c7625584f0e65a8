//! Files that the default lines and a person's lines deny.

use super::super::path_rules::{MAX_LINE, MAX_RULES_BYTES, MAX_RULES_LINES};
use super::*;
use proptest::prelude::*;

fn is_denied(file: &str, path: &str) -> bool {
    DenyRead::parse(file.as_bytes())
        .unwrap()
        .denies(Path::new(path))
}

#[test]
fn usual_secrets_are_denied() {
    let defaults = DenyRead::default();
    for path in [
        ".env",
        ".env.production",
        "app/.envrc",
        "deep/er/.ENV",
        "tls/server.pem",
        "server.KEY",
        "a.p12",
        "home/.ssh/id_rsa",
        "id_ed25519",
        ".netrc",
        "web/.npmrc",
        ".pypirc",
        "credentials",
        ".aws/credentials",
        "home/.aws/credentials",
        "credentials.json",
        ".docker/config.json",
        ".git/config",
        "vendor/x/.git/config",
        ".git/modules/a/b/config",
        ".e\u{200b}nv",
        "src/credentials/.env",
    ] {
        assert!(defaults.denies(Path::new(path)), "{path}");
    }
    for path in [
        "",
        "src/main.rs",
        "id_rsa.pub",
        "server.key.pub",
        "src/credentials/mod.rs",
        "environment.rs",
        "src/config.json",
        "config",
        ".git/HEAD",
        ".gitignore",
        "keyboard.rs",
    ] {
        assert!(!defaults.denies(Path::new(path)), "{path}");
    }
}

#[test]
fn lines_of_a_person_add_and_remove_rules() {
    assert!(is_denied("secrets/\n", "secrets/a/b"));
    assert!(!is_denied("secrets/\n", "secrets"));
    assert!(is_denied("secrets", "x/secrets/b"));
    assert!(is_denied("/top.txt", "top.txt"));
    assert!(!is_denied("/top.txt", "sub/top.txt"));
    assert!(is_denied("a/*.txt", "a/b.txt"));
    assert!(!is_denied("a/*.txt", "a/b/c.txt"));
    assert!(is_denied("a/**/*.txt", "a/b/c.txt"));
    assert!(!is_denied("!.env.example", "x/.env.example"));
    assert!(is_denied("!.env.example", ".env"));
    assert!(!is_denied("!**\n", ".env"));
    assert!(is_denied("!**\nonly", "only"));
    assert!(!is_denied("s\n!s/public", "s/public"));
    assert!(is_denied("!s/public\ns", "s/public"));
    let file = "\u{feff}# a comment\r\n\r\nplans.txt  \r\n\\#odd";
    assert!(is_denied(file, "plans.txt"));
    assert!(is_denied(file, "#odd"));
    assert!(!is_denied(file, "# a comment"));
    assert!(is_denied("CaSe", "cAsE"));
}

#[test]
fn invalid_line_is_reported() {
    let long = format!("ok\n{}", "x".repeat(MAX_LINE + 1));
    let many = "x\n".repeat(MAX_RULES_LINES + 1);
    let big = "#".repeat(MAX_RULES_BYTES + 1);
    for (file, expected) in [
        (
            b"a\n[".as_slice(),
            "line 2: not a glob: unclosed character class; missing ']'",
        ),
        (b"a\n\n!", "line 3: not a glob: nothing is named"),
        (b"/", "line 1: not a glob: nothing is named"),
        (b"a\n\xff", "line 2: not UTF-8"),
        (long.as_bytes(), "line 2: longer than 512 bytes"),
        (
            many.as_bytes(),
            "line 1001: a file of at most 1000 lines and 65536 bytes is read",
        ),
        (
            big.as_bytes(),
            "line 1: a file of at most 1000 lines and 65536 bytes is read",
        ),
    ] {
        assert_eq!(DenyRead::parse(file).unwrap_err().to_string(), expected);
    }
    let most = "x\n".repeat(MAX_RULES_LINES);
    assert!(DenyRead::parse(most.as_bytes()).is_ok());
}

#[test]
fn unreadable_rules_deny_everything() {
    assert!(DenyRead::everything().denies(Path::new("README.md")));
    // The default rules do not deny everything.
    assert!(!DenyRead::default().denies(Path::new("README.md")));
}

proptest! {
    /// Any bytes are a file or an error, and any path is judged.
    #[test]
    fn arbitrary_bytes_do_not_panic(file in prop::collection::vec(any::<u8>(), 0..200), path in "\\PC{0,40}") {
        if let Ok(rules) = DenyRead::parse(&file) {
            rules.denies(Path::new(&path));
        }
    }

    /// With plain names alone, the last line that is one of the path's names decides.
    #[test]
    fn last_matching_line_decides(
        lines in prop::collection::vec((any::<bool>(), "[abc]"), 0..8),
        path in prop::collection::vec("[abc]", 1..4),
    ) {
        let file: String =
            lines.iter().map(|(back, name)| format!("{}{name}\n", if *back { "!" } else { "" })).collect();
        let last = lines.iter().rev().find(|(_, name)| path.contains(name));
        let expected = last.is_some_and(|(back, _)| !back);
        prop_assert_eq!(is_denied(&file, &path.join("/")), expected);
    }
}
