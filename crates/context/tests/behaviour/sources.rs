//! Which files become documents, and which make a build fail.

use crate::ground::{Ground, real, refusal};
use candor_context::{BadGlob, Build, Location, Wanted};
use candor_fault::Timestamp;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The ids of the cache that is built.
fn ids(ground: &Ground) -> Vec<String> {
    ground.build_at("cache", true).unwrap();
    let index = fs::read(ground.cache().join("index.json")).unwrap();
    let index: serde_json::Map<_, _> = serde_json::from_slice(&index).unwrap();
    index.keys().cloned().collect()
}

fn wanted(include: &[&str], exclude: &[&str], gitignore: bool) -> Wanted {
    let own = |globs: &[&str]| {
        globs
            .iter()
            .map(|glob| (*glob).to_owned())
            .collect::<Vec<_>>()
    };
    Wanted::new(&own(include), &own(exclude), gitignore).unwrap()
}

#[test]
fn regular_files_that_end_in_md_are_sources() {
    let ground = Ground::with(&[
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
    fs::create_dir(ground.sources().join("folder.md")).unwrap();
    fs::create_dir(ground.sources().join("empty")).unwrap();
    assert_eq!(
        ids(&ground),
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
fn ids_are_in_the_order_of_bytes() {
    let ground = Ground::with(&[
        ("b.md", ""),
        ("B/a.md", ""),
        ("b-.md", ""),
        ("É.md", ""),
        ("z.md", ""),
        ("𐐀.md", ""),
        ("\u{ffee}.md", ""),
    ]);
    assert_eq!(
        ids(&ground),
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
    let ground = Ground::with(&[("a.md", ""), ("folder/b.md", "")]);
    fs::write(ground.path("outside.md"), "secret").unwrap();
    let sources = ground.sources();
    symlink("a.md", sources.join("inside.md")).unwrap();
    symlink("../outside.md", sources.join("out.md")).unwrap();
    symlink("folder", sources.join("linked")).unwrap();
    symlink("..", sources.join("up")).unwrap();
    symlink("loop.md", sources.join("loop.md")).unwrap();
    crate::tampered_manifest::make_fifo(&sources.join("fifo.md"));
    assert_eq!(ids(&ground), ["a.md", "folder/b.md"]);
}

#[test]
fn the_directory_of_the_sources_itself_may_be_a_link() {
    let ground = Ground::with(&[("a.md", "")]);
    fs::rename(ground.sources(), ground.path("real")).unwrap();
    symlink("real", ground.sources()).unwrap();
    assert_eq!(ids(&ground), ["a.md"]);
}

#[test]
fn globs_choose_names_and_paths() {
    let mut ground = Ground::with(&[
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
        ground.wanted = wanted(include, exclude, false);
        assert_eq!(ids(&ground), chosen, "{include:?} {exclude:?}");
    }
}

#[test]
fn a_glob_that_cannot_be_used_is_named() {
    let own = |glob: &str| vec![glob.to_owned()];
    let bad = BadGlob {
        glob: String::from("a[b"),
        why: String::from("unclosed character class; missing ']'"),
    };
    assert_eq!(Wanted::new(&own("a[b"), &[], false).unwrap_err(), bad);
    assert_eq!(Wanted::new(&[], &own("a[b"), false).unwrap_err(), bad);
}

#[test]
fn git_ignores_only_where_that_is_asked_for() {
    let mut ground = Ground::with(&[
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
    // What lies above the sources is not theirs.
    fs::write(ground.path(".gitignore"), "*.md\n").unwrap();
    let all = ids(&ground);
    assert_eq!(all.len(), 8);
    ground.wanted = wanted(&[], &[], true);
    assert_eq!(
        ids(&ground),
        ["a.md", "deep/d.md", "deep/only-here.md", "keep.tmp.md"]
    );
}

/// What a failing build says; nothing may stay behind.
fn failing(ground: &Ground) -> String {
    let told = refusal(ground.build());
    assert_eq!(ground.names(), ["sources"], "{told}");
    told
}

#[test]
fn a_content_that_is_not_utf8_fails_the_build() {
    let ground = Ground::with(&[("a.md", "one")]);
    ground.put("b/C.md", b"abc\xc3");
    ground.put("d.md", b"\xff");
    assert_eq!(
        failing(&ground),
        "cache_invalid: `b/C.md` is not UTF-8 from byte 3 on"
    );
    ground.put("b/C.md", "abc");
    assert_eq!(
        failing(&ground),
        "cache_invalid: `d.md` is not UTF-8 from byte 0 on"
    );
}

#[test]
fn the_first_of_many_flaws_is_named_whichever_worker_finds_it() {
    let ground = Ground::new();
    for number in 0..300 {
        let content: &[u8] = if number >= 137 { b"\xff" } else { b"fine" };
        ground.put(&format!("{number:03}.md"), content);
    }
    for _ in 0..3 {
        assert_eq!(
            failing(&ground),
            "cache_invalid: `137.md` is not UTF-8 from byte 0 on"
        );
    }
}

#[test]
fn a_name_that_is_not_utf8_matters_only_where_it_is_a_source() {
    let mut ground = Ground::with(&[("a.md", "")]);
    fs::write(ground.sources().join(OsStr::from_bytes(b"\xff.txt")), "").unwrap();
    assert_eq!(ids(&ground), ["a.md"]);
    fs::remove_dir_all(ground.cache()).unwrap();
    fs::write(ground.sources().join(OsStr::from_bytes(b"x\xff.md")), "").unwrap();
    assert_eq!(
        failing(&ground),
        "cache_invalid: the name `x\u{fffd}.md` is not UTF-8"
    );
    ground.wanted = wanted(&[], &["x*"], false);
    assert_eq!(ids(&ground), ["a.md"]);
}

#[test]
fn a_folder_whose_name_is_not_utf8_matters_like_a_name() {
    let ground = Ground::new();
    let folder = ground.sources().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&folder).unwrap();
    ground.build_at("cache", true).unwrap();
    fs::remove_dir_all(ground.cache()).unwrap();
    fs::write(folder.join("a.md"), "").unwrap();
    assert_eq!(
        failing(&ground),
        "cache_invalid: the name `\u{fffd}/a.md` is not UTF-8"
    );
}

#[test]
fn twins_are_both_named() {
    for (one, other) in [
        ("Readme.md", "readme.md"),
        ("A/x.md", "a/x.md"),
        ("ΟΔΟΣ.md", "οδοσ.md"),
        ("\u{212a}.md", "k.md"),
    ] {
        let ground = Ground::with(&[(one, ""), (other, ""), ("b.md", "")]);
        let mut pair = [one, other];
        pair.sort_unstable();
        let [one, other] = pair;
        assert_eq!(
            failing(&ground),
            format!(
                "cache_invalid: `{one}` and `{other}` would be one document: their names differ in case only"
            )
        );
    }
}

#[test]
fn a_content_that_is_too_large_fails_the_build() {
    let ground = Ground::with(&[("a.md", "")]);
    let file = fs::File::create(ground.sources().join("b.md")).unwrap();
    file.set_len(candor_context::MAX_CONTENT + 1).unwrap();
    assert_eq!(
        failing(&ground),
        "cache_invalid: `b.md` has 67108865 bytes; a document has at most 67108864"
    );
}

#[test]
fn sources_that_are_not_there_are_a_matter_of_the_system() {
    let ground = Ground::with(&[("a.md", "")]);
    fs::remove_dir_all(ground.sources()).unwrap();
    let path = ground.sources().display().to_string();
    assert_eq!(
        refusal(ground.build()),
        format!(
            "io_error: cannot read the source `{path}`: No such file or directory (os error 2)"
        )
    );
    fs::write(ground.sources(), "").unwrap();
    assert_eq!(
        refusal(ground.build()),
        format!("io_error: cannot read the source `{path}`: Not a directory (os error 20)")
    );
    assert_eq!(ground.names(), ["sources"]);
}

#[test]
fn below_a_root_neither_sources_nor_cache_lie_outside() {
    let ground = Ground::with(&[("a.md", "")]);
    let root = ground.path("root");
    fs::create_dir_all(root.join("sources")).unwrap();
    let location = Location::below(&root).unwrap();
    let build = |sources: &str, cache: &str| {
        refusal(
            Build {
                location: &location,
                sources: Path::new(sources),
                cache: Path::new(cache),
                wanted: &Wanted::default(),
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
    assert_eq!(ground.names(), ["root", "sources"]);
    assert!(root.join("cache/manifest.json").is_file());
}
