//! Sources: which files become documents, and which make a build fail.

use crate::fixture::{CacheFixture, make_fifo, outcome_of, real};
use candor_context::{Build, InvalidGlob, Location, MAX_GLOBS, Preset, SourceFilter};
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
        // The name of a directory means everything below it, at any depth.
        (&["src"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (&["deep"], &[], &["src/deep/c.rs"]),
        (&["src/deep"], &[], &["src/deep/c.rs"]),
        (&["src/"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (&["/src"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (&["/src/"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (&["./src"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (
            &["node_modules/"],
            &[],
            &["lib/node_modules/y.md", "node_modules/x/readme.md"],
        ),
        (&["/node_modules/"], &[], &["node_modules/x/readme.md"]),
        (&["sr*/"], &[], &["src/b.rs", "src/deep/c.rs"]),
        (&["src/deep/c.rs"], &[], &["src/deep/c.rs"]),
        // `*` does not cross `/`, so that a wildcard does not mean a whole directory.
        (&["src/*"], &[], &["src/b.rs"]),
        (
            &["/", "/"],
            &["lib", "/node_modules", "A.*"],
            &["a.md", "a.rst", "src/b.rs", "src/deep/c.rs"],
        ),
        (&["src"], &["deep/"], &["src/b.rs"]),
        // A directory alone is meant.
        (&["*.rs"], &["b.rs/"], &["src/b.rs", "src/deep/c.rs"]),
        (&["*.rs"], &["/deep"], &["src/b.rs", "src/deep/c.rs"]),
    ] {
        fixture.filter = filter(include, exclude, false);
        assert_eq!(ids(&fixture), chosen, "{include:?} {exclude:?}");
    }
}

#[test]
fn globs_without_a_match_are_named() {
    let mut fixture = CacheFixture::with(&[("a.md", ""), ("b/c.txt", "")]);
    let globs: Vec<String> = (0..7).map(|number| format!("none-{number}")).collect();
    let globs: Vec<&str> = globs.iter().map(String::as_str).collect();
    for (include, exclude, named) in [
        (&["c"][..], &[][..], "`c`"),
        (&["a.md/"], &[], "`a.md/`"),
        (&["/c.txt", "*.rst"], &[], "`/c.txt`, `*.rst`"),
        (&["*.md"], &["*"], "`*.md`"),
        (
            &globs,
            &[],
            "`none-0`, `none-1`, `none-2`, `none-3`, `none-4` and 2 more globs",
        ),
    ] {
        fixture.filter = filter(include, exclude, false);
        let expected = format!("io_error: no file below the sources matches {named}");
        assert_eq!(failing(&fixture), expected);
    }
    // Without globs an empty cache is built, as v0 does it.
    fixture.filter = filter(&[], &["*"], false);
    assert_eq!(fixture.build().unwrap().document_count, 0);
}

#[test]
fn number_of_globs_is_bounded() {
    let globs = |count: usize| vec![String::from("*.md"); count];
    let new =
        |include: usize, exclude: usize| SourceFilter::new(&globs(include), &globs(exclude), false);
    assert!(new(MAX_GLOBS, 0).is_ok());
    assert!(new(MAX_GLOBS - 1, 1).is_ok());
    for (include, exclude) in [(MAX_GLOBS + 1, 0), (MAX_GLOBS, 1), (0, MAX_GLOBS)] {
        assert_eq!(
            new(include, exclude).unwrap_err().reason,
            "a build has at most 256 globs"
        );
    }
    let empty = [String::new()];
    for bad in [
        SourceFilter::new(&empty, &[], false),
        SourceFilter::new(&[], &empty, false),
    ] {
        assert_eq!(bad.unwrap_err().reason, "it is empty");
    }
}

#[test]
fn presets_choose_files_by_their_endings() {
    let mut fixture = CacheFixture::with(&[
        ("a.md", ""),
        ("b.mdx", ""),
        ("c.markdown", ""),
        ("d.rst", ""),
        ("e.txt", ""),
        ("f.rs", ""),
        ("g.json", ""),
        ("h.html", ""),
        (".md", ""),
        (".hidden.md", ""),
        (".folder/x.md", ""),
        (".folder/deep/x.rs", ""),
        ("target/y.md", ""),
        (".gitignore", "target/\n"),
    ]);
    let none: &[String] = &[];
    let preset = |preset| SourceFilter::with_preset(preset, none, none, false).unwrap();
    fixture.filter = preset(Preset::Md);
    assert_eq!(
        ids(&fixture),
        [".folder/x.md", ".hidden.md", "a.md", "target/y.md"]
    );
    fixture.filter = preset(Preset::Docs);
    let docs = [
        ".hidden.md",
        "a.md",
        "b.mdx",
        "c.markdown",
        "d.rst",
        "e.txt",
    ];
    assert_eq!(ids(&fixture), docs);
    fixture.filter = preset(Preset::Code);
    assert_eq!(ids(&fixture), [&docs[..], &["f.rs", "g.json"]].concat());
    // Globs replace those of the preset, and the rest of it stays.
    let globs = [
        String::from("*.rs"),
        String::from("x.md"),
        String::from("*.html"),
    ];
    fixture.filter = SourceFilter::with_preset(Preset::Code, &globs, none, false).unwrap();
    assert_eq!(ids(&fixture), ["f.rs", "h.html"]);
}

#[test]
fn cache_below_its_sources_is_not_a_source() {
    let mut fixture = CacheFixture::with(&[("a.json", "{}"), ("in/b.json", "{}")]);
    fixture.filter = filter(&["*.json", ".*"], &[], false);
    for cache in ["sources/.context", "sources/in/cache"] {
        let cache_of = |update: bool| fixture.build_or_update(cache, update).unwrap();
        assert_eq!(cache_of(false).document_count, 2);
        for _ in 0..3 {
            assert_eq!(cache_of(true).document_count, 2);
        }
        let name = Path::new(cache).file_name().unwrap().to_str().unwrap();
        let spare = fixture.path(cache).with_file_name(format!(".{name}.spare"));
        assert!(spare.exists(), "{cache}");
        fs::remove_dir_all(spare).unwrap();
        fs::remove_dir_all(fixture.path(cache)).unwrap();
    }
}

#[test]
fn cache_that_contains_its_sources_is_refused() {
    let fixture = CacheFixture::sealed(&[("a.md", "one")]);
    let before = crate::fixture::bytes_of(&fixture.cache());
    for sources in ["cache", "cache/documents"] {
        let build = Build {
            location: &Location::Anywhere,
            sources: &fixture.path(sources),
            cache: &fixture.cache(),
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: false,
            tokenizer: candor_context::Tokenizer::Bytes4,
            force: true,
            created_at: Timestamp::UNIX_EPOCH,
            now: &real,
            random: 1,
            progress: &(),
        };
        let refused = format!(
            "io_error: `{}` contains the sources",
            fixture.cache().display()
        );
        assert_eq!(outcome_of(build.run()), refused);
        assert_eq!(outcome_of(build.update()), refused);
        assert!(crate::fixture::bytes_of(&fixture.cache()) == before);
    }
}

#[test]
fn backslash_in_a_name_is_a_slash_in_the_id() {
    let fixture = CacheFixture::with(&[("A\\b.md", "one"), ("c.md", "two")]);
    assert_eq!(ids(&fixture), ["a/b.md", "c.md"]);
    let document = fixture.cache().join(crate::fixture::file_of("one"));
    let document = fs::read_to_string(document).unwrap();
    assert!(document.contains(r#""id":"a/b.md""#), "{document}");
    assert!(document.contains(r#""source":"A\\b.md""#), "{document}");
    fs::remove_dir_all(fixture.cache()).unwrap();
    fixture.put("a/B.md", "three");
    assert_eq!(
        failing(&fixture),
        r"cache_invalid: 2 files cannot be documents:
  `A\b.md` would be the same document as `a/B.md`: a `\` in a name counts as a `/`
  `a/B.md` would be the same document as `A\b.md`: a `\` in a name counts as a `/`"
    );
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
    assert_eq!(
        failing(&fixture),
        "cache_invalid: `b/C.md` is not UTF-8 from byte 3 on"
    );
}

/// Has files with every flaw, and one document.
fn flawed_sources() -> CacheFixture {
    let fixture = CacheFixture::with(&[("good.md", "one"), ("TWIN.md", ""), ("twin.md", "")]);
    fixture.put("b/latin.md", b"caf\xe9");
    fs::write(fixture.sources().join(OsStr::from_bytes(b"x\xff.md")), "").unwrap();
    let file = fs::File::create(fixture.sources().join("large.md")).unwrap();
    file.set_len(candor_context::MAX_CONTENT + 1).unwrap();
    fixture
}

#[test]
fn every_flawed_file_is_named() {
    assert_eq!(
        failing(&flawed_sources()),
        "cache_invalid: 5 files cannot be documents:
  `TWIN.md` would be the same document as `twin.md`: their names differ in case only
  `b/latin.md` is not UTF-8 from byte 3 on
  `large.md` has 67108865 bytes; a document has at most 67108864
  `twin.md` would be the same document as `TWIN.md`: their names differ in case only
  the name `x\u{fffd}.md` is not UTF-8"
    );
}

#[test]
fn first_twenty_of_many_flaws_are_named() {
    let fixture = CacheFixture::new();
    for number in 0..300 {
        let content: &[u8] = if number >= 137 { b"\xff" } else { b"fine" };
        fixture.put(&format!("{number:03}.md"), content);
    }
    for _ in 0..3 {
        let message = failing(&fixture);
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines.len(), 22);
        assert_eq!(lines[0], "cache_invalid: 163 files cannot be documents:");
        assert_eq!(lines[1], "  `137.md` is not UTF-8 from byte 0 on");
        assert_eq!(lines[20], "  `156.md` is not UTF-8 from byte 0 on");
        assert_eq!(lines[21], "  and 143 more");
    }
    for number in 157..300 {
        fixture.put(&format!("{number:03}.md"), "fine");
    }
    assert!(failing(&fixture).ends_with("`156.md` is not UTF-8 from byte 0 on"));
}

#[test]
fn flawed_files_are_skipped_on_request() {
    let mut fixture = flawed_sources();
    fixture.skip_invalid = true;
    let built = fixture.build().unwrap();
    assert_eq!((built.document_count, built.read), (1, 1));
    let json = serde_json::to_string(&built.skipped).unwrap();
    assert_eq!(
        json,
        r#"{"skipped_count":5,"skipped":[{"path":"TWIN.md","problem":"same_id"},{"path":"b/latin.md","problem":"not_utf8"},{"path":"large.md","problem":"too_large"},{"path":"twin.md","problem":"same_id"},{"path":"x�.md","problem":"name_not_utf8"}]}"#
    );
    // The numbers of documents after a skipped one are right.
    assert_eq!(fixture.query("one", 99).unwrap(), {
        let documents = crate::fixture::documents(&[("good.md", "one")]);
        crate::fixture::oracle_response(&documents, "one", 99)
    });
    fs::remove_file(fixture.sources().join("TWIN.md")).unwrap();
    assert_eq!(fixture.update().unwrap().document_count, 2);
    fixture.build_at("fresh", false).unwrap();
    let bytes = |cache: &str| crate::fixture::bytes_of(&fixture.path(cache));
    assert!(bytes("cache") == bytes("fresh"));
}

#[test]
fn at_most_a_hundred_skipped_files_are_listed() {
    let mut fixture = CacheFixture::with(&[("good.md", "one")]);
    fixture.skip_invalid = true;
    for number in 0..101 {
        fixture.put(&format!("{number:03}.md"), b"\xff");
    }
    let skipped = fixture.build().unwrap().skipped.unwrap();
    assert_eq!((skipped.skipped_count, skipped.skipped.len()), (101, 100));
    assert_eq!(skipped.skipped[99].path, "099.md");
}

#[test]
fn build_without_any_valid_file_fails() {
    let mut fixture = CacheFixture::new();
    fixture.skip_invalid = true;
    fixture.put("a.md", b"\xff");
    assert_eq!(
        failing(&fixture),
        "cache_invalid: `a.md` is not UTF-8 from byte 0 on"
    );
    fs::remove_file(fixture.sources().join("a.md")).unwrap();
    let built = fixture.build().unwrap();
    assert_eq!(built.skipped.unwrap().skipped_count, 0);
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
                "cache_invalid: 2 files cannot be documents:
  `{one}` would be the same document as `{other}`: their names differ in case only
  `{other}` would be the same document as `{one}`: their names differ in case only"
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
            "io_error: cannot open the sources `{path}`: No such file or directory (os error 2)"
        )
    );
    fs::write(fixture.sources(), "").unwrap();
    assert_eq!(
        outcome_of(fixture.build()),
        format!("io_error: cannot open the sources `{path}`: Not a directory (os error 20)")
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
                skip_invalid: false,
                passages: false,
                tokenizer: candor_context::Tokenizer::Bytes4,
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
        "io_error: cannot open the sources `../sources`: Invalid cross-device link (os error 18)"
    );
    assert_eq!(
        build("sources", "../cache"),
        "cache_missing: `..` leads out of the root"
    );
    assert_eq!(build("sources", "cache"), "done");
    assert_eq!(fixture.names(), ["root", "sources"]);
    assert!(root.join("cache/manifest.json").is_file());
}
