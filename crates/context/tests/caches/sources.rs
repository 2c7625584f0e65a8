//! Sources: which files become documents, and which make a build fail.

use crate::fixture::{CacheFixture, make_fifo, outcome_of, real};
use candor_context::{Build, InvalidGlob, Location, SourceFilter};
use candor_fault::Timestamp;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Builds a cache and returns its ids.
fn ids(fixture: &CacheFixture) -> Vec<String> {
    fixture.build_at("cache", true).unwrap();
    let index = fs::read(fixture.cache().join("index.json")).unwrap();
    let index: serde_json::Map<_, _> = serde_json::from_slice(&index).unwrap();
    index.keys().cloned().collect()
}

fn filter(include: &[&str], exclude: &[&str], gitignore: bool) -> SourceFilter {
    let with_globs = |globs: &[&str]| {
        globs
            .iter()
            .map(|glob| (*glob).to_owned())
            .collect::<Vec<_>>()
    };
    SourceFilter::new(&with_globs(include), &with_globs(exclude), gitignore).unwrap()
}

#[test]
fn only_regular_files_ending_in_md_are_sources() {
    let fixture = CacheFixture::with(&[
        ("Z.md", ""),
        ("a/B/c.md", ""),
        (".hidden.md", ""),
        (".folder/x.md", ""),
        ("two.md.md", ""),
        ("sp ace\n.md", ""),
        (".md", "a name alone"),
        ("a/.md", "a name alone"),
        ("upper.MD", "upper case"),
        ("mixed.Md", "mixed case"),
        ("x.mdx", "another ending"),
        ("md", "no ending"),
        ("x.md~", "a copy"),
    ]);
    fs::create_dir(fixture.sources().join("folder.md")).unwrap();
    fs::create_dir(fixture.sources().join("empty")).unwrap();
    assert_eq!(
        ids(&fixture),
        [
            ".folder/x.md",
            ".hidden.md",
            "a/b/c.md",
            "sp ace\n.md",
            "two.md.md",
            "z.md"
        ]
    );
}

#[test]
fn ids_are_sorted_by_bytes() {
    let fixture = CacheFixture::with(&[
        ("b.md", ""),
        ("B/a.md", ""),
        ("b-.md", ""),
        ("É.md", ""),
        ("z.md", ""),
        ("𐐀.md", ""),
        ("\u{ffee}.md", ""),
    ]);
    assert_eq!(
        ids(&fixture),
        [
            "b-.md",
            "b.md",
            "b/a.md",
            "z.md",
            "é.md",
            "\u{ffee}.md",
            "𐐨.md"
        ]
    );
}

#[test]
fn links_are_not_followed() {
    let fixture = CacheFixture::with(&[("a.md", ""), ("folder/b.md", "")]);
    fs::write(fixture.path("outside.md"), "secret").unwrap();
    let sources = fixture.sources();
    symlink("a.md", sources.join("inside.md")).unwrap();
    symlink("../outside.md", sources.join("out.md")).unwrap();
    symlink("folder", sources.join("linked")).unwrap();
    symlink("..", sources.join("up")).unwrap();
    symlink("loop.md", sources.join("loop.md")).unwrap();
    make_fifo(&sources.join("fifo.md"));
    assert_eq!(ids(&fixture), ["a.md", "folder/b.md"]);
}

#[test]
fn source_directory_may_be_a_link() {
    let fixture = CacheFixture::with(&[("a.md", "")]);
    fs::rename(fixture.sources(), fixture.path("real")).unwrap();
    symlink("real", fixture.sources()).unwrap();
    assert_eq!(ids(&fixture), ["a.md"]);
}

#[test]
fn globs_match_names_and_paths() {
    let mut fixture = CacheFixture::with(&[
        ("a.md", ""),
        ("a.rst", ""),
        ("A.RST", ""),
        ("src/b.rs", ""),
        ("src/deep/c.rs", ""),
        ("node_modules/x/readme.md", ""),
        ("lib/node_modules/y.md", ""),
    ]);
    for (include, exclude, chosen) in [
        (&[][..], &["node_modules"][..], &["a.md"][..]),
        (&["*.rst"], &[], &["a.rst"]),
        (&["*.RST"], &[], &["a.rst"]),
        (&["src/*.rs"], &[], &["src/b.rs"]),
        (&["/src/*.rs"], &[], &["src/b.rs"]),
        (&["src/**/*.rs"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (
            &["*.rs", "a.*"],
            &["c.rs", "*.RST", "a.rst"],
            &["a.md", "src/b.rs"],
        ),
        (&["*.rs"], &["src/deep"], &["src/b.rs"]),
        (
            &["*"],
            &["node_modules", "src", "A.RST"],
            &["a.md", "a.rst"],
        ),
        (
            &["*.{md,rs}"],
            &["**/node_modules/**", "/src/**"],
            &["a.md"],
        ),
        (&["nothing"], &[], &[]),
    ] {
        fixture.filter = filter(include, exclude, false);
        assert_eq!(ids(&fixture), chosen, "{include:?} {exclude:?}");
    }
}

#[test]
fn invalid_glob_is_named() {
    let with_globs = |glob: &str| vec![glob.to_owned()];
    let bad = InvalidGlob {
        glob: String::from("a[b"),
        reason: String::from("unclosed character class; missing ']'"),
    };
    assert_eq!(
        SourceFilter::new(&with_globs("a[b"), &[], false).unwrap_err(),
        bad
    );
    assert_eq!(
        SourceFilter::new(&[], &with_globs("a[b"), false).unwrap_err(),
        bad
    );
}

#[test]
fn gitignore_applies_only_on_request() {
    let mut fixture = CacheFixture::with(&[
        (
            ".gitignore",
            "build/\n*.tmp.md\n!keep.tmp.md\n/only-here.md\n",
        ),
        ("a.md", ""),
        ("x.tmp.md", ""),
        ("keep.tmp.md", ""),
        ("build/b.md", ""),
        ("deep/only-here.md", ""),
        ("only-here.md", ""),
        ("deep/.gitignore", "c.md\n"),
        ("deep/c.md", ""),
        ("deep/d.md", ""),
        (".ignore", "a.md\n"),
        (".git/info/exclude", "a.md\n"),
    ]);
    // Ignore files above the sources do not apply.
    fs::write(fixture.path(".gitignore"), "*.md\n").unwrap();
    let all = ids(&fixture);
    assert_eq!(all.len(), 8);
    fixture.filter = filter(&[], &[], true);
    assert_eq!(
        ids(&fixture),
        ["a.md", "deep/d.md", "deep/only-here.md", "keep.tmp.md"]
    );
}

/// Returns the failure of a build, and checks that nothing is left behind.
fn failing(fixture: &CacheFixture) -> String {
    let message = outcome_of(fixture.build());
    assert_eq!(fixture.names(), ["sources"], "{message}");
    message
}

#[test]
fn content_that_is_not_utf8_fails_the_build() {
    let fixture = CacheFixture::with(&[("a.md", "one")]);
    fixture.put("b/C.md", b"abc\xc3");
    fixture.put("d.md", b"\xff");
    assert_eq!(
        failing(&fixture),
        "cache_invalid: `b/C.md` is not UTF-8 from byte 3 on"
    );
    fixture.put("b/C.md", "abc");
    assert_eq!(
        failing(&fixture),
        "cache_invalid: `d.md` is not UTF-8 from byte 0 on"
    );
}

#[test]
fn first_of_many_flaws_is_named() {
    let fixture = CacheFixture::new();
    for number in 0..300 {
        let content: &[u8] = if number >= 137 { b"\xff" } else { b"fine" };
        fixture.put(&format!("{number:03}.md"), content);
    }
    for _ in 0..3 {
        assert_eq!(
            failing(&fixture),
            "cache_invalid: `137.md` is not UTF-8 from byte 0 on"
        );
    }
}

#[test]
fn name_that_is_not_utf8_fails_only_as_a_source() {
    let mut fixture = CacheFixture::with(&[("a.md", "")]);
    fs::write(fixture.sources().join(OsStr::from_bytes(b"\xff.txt")), "").unwrap();
    assert_eq!(ids(&fixture), ["a.md"]);
    fs::remove_dir_all(fixture.cache()).unwrap();
    fs::write(fixture.sources().join(OsStr::from_bytes(b"x\xff.md")), "").unwrap();
    assert_eq!(
        failing(&fixture),
        "cache_invalid: the name `x\u{fffd}.md` is not UTF-8"
    );
    fixture.filter = filter(&[], &["x*"], false);
    assert_eq!(ids(&fixture), ["a.md"]);
}

#[test]
fn directory_name_that_is_not_utf8_fails_only_with_sources() {
    let fixture = CacheFixture::new();
    let folder = fixture.sources().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&folder).unwrap();
    fixture.build_at("cache", true).unwrap();
    fs::remove_dir_all(fixture.cache()).unwrap();
    fs::write(folder.join("a.md"), "").unwrap();
    assert_eq!(
        failing(&fixture),
        "cache_invalid: the name `\u{fffd}/a.md` is not UTF-8"
    );
}

#[test]
fn sources_differing_in_case_are_both_named() {
    for (one, other) in [
        ("Readme.md", "readme.md"),
        ("A/x.md", "a/x.md"),
        ("ΟΔΟΣ.md", "οδοσ.md"),
        ("\u{212a}.md", "k.md"),
    ] {
        let fixture = CacheFixture::with(&[(one, ""), (other, ""), ("b.md", "")]);
        let mut pair = [one, other];
        pair.sort_unstable();
        let [one, other] = pair;
        assert_eq!(
            failing(&fixture),
            format!(
                "cache_invalid: `{one}` and `{other}` would be one document: their names differ in case only"
            )
        );
    }
}

#[test]
fn oversized_source_fails_the_build() {
    let fixture = CacheFixture::with(&[("a.md", "")]);
    let file = fs::File::create(fixture.sources().join("b.md")).unwrap();
    file.set_len(candor_context::MAX_CONTENT + 1).unwrap();
    assert_eq!(
        failing(&fixture),
        "cache_invalid: `b.md` has 67108865 bytes; a document has at most 67108864"
    );
}

#[test]
fn missing_sources_are_an_io_error() {
    let fixture = CacheFixture::with(&[("a.md", "")]);
    fs::remove_dir_all(fixture.sources()).unwrap();
    let path = fixture.sources().display().to_string();
    assert_eq!(
        outcome_of(fixture.build()),
        format!(
            "io_error: cannot read the source `{path}`: No such file or directory (os error 2)"
        )
    );
    fs::write(fixture.sources(), "").unwrap();
    assert_eq!(
        outcome_of(fixture.build()),
        format!("io_error: cannot read the source `{path}`: Not a directory (os error 20)")
    );
    assert_eq!(fixture.names(), ["sources"]);
}

#[test]
fn sources_and_cache_outside_the_root_are_refused() {
    let fixture = CacheFixture::with(&[("a.md", "")]);
    let root = fixture.path("root");
    fs::create_dir_all(root.join("sources")).unwrap();
    let location = Location::below(&root).unwrap();
    let build = |sources: &str, cache: &str| {
        outcome_of(
            Build {
                location: &location,
                sources: Path::new(sources),
                cache: Path::new(cache),
                filter: &SourceFilter::default(),
                passages: false,
                force: false,
                created_at: Timestamp::UNIX_EPOCH,
                now: &real,
                random: 1,
                progress: &(),
            }
            .run(),
        )
    };
    assert_eq!(
        build("../sources", "cache"),
        "io_error: cannot read the source `../sources`: Invalid cross-device link (os error 18)"
    );
    assert_eq!(
        build("sources", "../cache"),
        "cache_missing: `..` leads out of the root"
    );
    assert_eq!(build("sources", "cache"), "done");
    assert_eq!(fixture.names(), ["root", "sources"]);
    assert!(root.join("cache/manifest.json").is_file());
}
