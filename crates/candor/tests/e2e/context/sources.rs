//! Globs, presets and files that cannot be documents, on the command line.

use crate::context::fixture::ContextFixture;
use insta::assert_snapshot;
use serde_json::Value;

fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/a.md", "one\n");
    fixture.write("docs/sub/b.md", "two\n");
    fixture.write("docs/sub/c.rst", "three\n");
    fixture.write("docs/.github/d.md", "four\n");
    fixture
}

fn built_ids(fixture: &ContextFixture, flags: &[&str]) -> Vec<String> {
    let build = ["build", "--sources", "docs", "--cache", "c", "--force"];
    fixture.run_ok(&[&build[..], flags].concat());
    let index: serde_json::Map<String, Value> =
        serde_json::from_slice(&fixture.read("c/index.json")).unwrap();
    index.keys().cloned().collect()
}

#[test]
fn globs_name_directories() {
    let fixture = fixture();
    for glob in ["sub/", "/sub", "sub", "/sub/", "sub/**"] {
        let ids = built_ids(&fixture, &["--include", glob]);
        assert_eq!(ids, ["sub/b.md", "sub/c.rst"], "{glob}");
    }
    assert_eq!(
        built_ids(&fixture, &["--exclude", "sub/", "--exclude", "/.github"]),
        ["a.md"]
    );
    assert_eq!(
        built_ids(&fixture, &["--preset", "docs"]),
        ["a.md", "sub/b.md", "sub/c.rst"]
    );
    assert_eq!(
        built_ids(&fixture, &["--preset", "md"]),
        [".github/d.md", "a.md", "sub/b.md"]
    );
    let preset = ["--preset", "code", "--include", "*.rst"];
    assert_eq!(built_ids(&fixture, &preset), ["sub/c.rst"]);
}

#[test]
fn unusable_globs_are_refused() {
    let fixture = fixture();
    let refused = |code: i32, flags: &[&str]| {
        let build = ["build", "--sources", "docs", "--cache", "c"];
        let text = fixture.run_err(code, &[&build[..], flags].concat());
        assert!(!fixture.path("c").exists());
        text
    };
    assert_snapshot!(refused(1, &["--include", ""]), @"error: the glob `` cannot be used: it is empty");
    assert_snapshot!(refused(1, &["--exclude", ""]), @"error: the glob `` cannot be used: it is empty");
    assert_snapshot!(refused(6, &["--include", "*.txt", "--include", "nope/"]), @r"
    error: no file below the sources matches `*.txt`, `nope/`
    hint: check the globs of --include and --exclude
    ");
    assert_snapshot!(refused(1, &["--preset", "all"]), @r"
    error: invalid value 'all' for '--preset <PRESET>'
      [possible values: md, docs, code]

    For more information, try '--help'.
    ");
    let globs: Vec<&str> = ["--include", "*.md"].repeat(257);
    assert_snapshot!(refused(1, &globs), @"error: the glob `*.md` cannot be used: a build has at most 256 globs");
    assert_eq!(built_ids(&fixture, &globs[..512]).len(), 3);
}

#[test]
fn invalid_files_are_named_or_skipped() {
    let fixture = fixture();
    fixture.write("docs/bad.md", b"\xff");
    fixture.write("docs/A.md", "ONE\n");
    let build = ["build", "--sources", "docs", "--cache", "c"];
    assert_snapshot!(fixture.run_err(5, &build), @r"
    error: 3 files cannot be documents:
      `A.md` would be the same document as `a.md`: their names differ in case only
      `a.md` would be the same document as `A.md`: their names differ in case only
      `bad.md` is not UTF-8 from byte 0 on
    hint: correct them, exclude them with --exclude, or give --skip-invalid
    ");
    assert!(!fixture.path("c").exists());
    assert_snapshot!(fixture.run_ok(&[&build[..], &["--skip-invalid"]].concat()), @r#"
    {
      "cache_version": "sha256:bedd2a2862a01b7b0d73593c26d9029ebac11514d5595ae9b3f6d63ecb60d326",
      "document_count": 2,
      "read": 2,
      "skipped_count": 3,
      "skipped": [
        {
          "path": "A.md",
          "problem": "same_id"
        },
        {
          "path": "a.md",
          "problem": "same_id"
        },
        {
          "path": "bad.md",
          "problem": "not_utf8"
        }
      ]
    }
    "#);
    let only = [
        "build",
        "--sources",
        "docs",
        "--cache",
        "d",
        "--include",
        "bad.md",
        "--skip-invalid",
    ];
    assert_snapshot!(fixture.run_err(5, &only), @r"
    error: `bad.md` is not UTF-8 from byte 0 on
    hint: correct it, exclude it with --exclude, or give --skip-invalid
    ");
}

#[test]
fn backslash_and_slash_give_one_id() {
    let fixture = ContextFixture::empty();
    fixture.write("docs/a\\b.md", "one\n");
    assert_eq!(built_ids(&fixture, &[]), ["a/b.md"]);
    fixture.write("docs/a/b.md", "two\n");
    let text = fixture.run_err(5, &["build", "--sources", "docs", "--cache", "d"]);
    assert!(
        text.contains("`a/b.md`") && text.contains("`a\\b.md`"),
        "{text}"
    );
}

/// A cache inside its sources, as with `--sources .`, does not contain itself.
#[test]
fn cache_inside_its_sources_is_not_a_source() {
    let fixture = fixture();
    let flags = ["--sources", ".", "--include", "*.json", "--include", "*.md"];
    fixture.run_ok(&[&["build"][..], &flags].concat());
    let first = fixture.read(".context/index.json");
    for _ in 0..3 {
        fixture.run_ok(&["update"]);
        assert_eq!(fixture.read(".context/index.json"), first);
    }
    fixture.run_ok(&["status", "--exit-code"]);
    fixture.run_ok(&[&["build", "--force"][..], &flags].concat());
    assert_eq!(fixture.read(".context/index.json"), first);
}
