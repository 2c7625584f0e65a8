//! Sources that cannot be built, and targets that are not replaced.

use crate::context::fixture::ContextFixture;
use insta::assert_snapshot;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn unusable_sources_and_targets_are_refused() {
    let fixture = ContextFixture::with_cache();
    fixture.write("latin/a.md", b"caf\xe9");
    fixture.write("twins/A.md", "one");
    fixture.write("twins/a.md", "two");
    fixture.write("full/cache/mine.txt", "mine");
    symlink("cache", fixture.path("link")).unwrap();
    let build = |sources: &str, cache: &str, more: &[&str]| {
        let arguments = [&["build", "--sources", sources, "--cache", cache], more].concat();
        let output = fixture.run(&arguments);
        let object = fixture.run(&[&arguments[..], &["--error-format", "json"]].concat());
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (object.code, object.stdout.as_str())
        );
        assert_eq!(output.stdout, "");
        format!("{} {}{}", output.code, object.stderr, output.stderr)
    };
    assert_snapshot!(build("nowhere", "new", &[]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: cannot open the sources `nowhere`: No such file or directory (os error 2)
    hint: name a directory that exists and may be read with --sources
    "#);
    assert_snapshot!(build("docs/fox.md", "new", &[]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: cannot open the sources `docs/fox.md`: Not a directory (os error 20)
    hint: name a directory that exists and may be read with --sources
    "#);
    assert_snapshot!(build("latin", "new", &[]), @r#"
    5 {"error":{"code":"cache_invalid","message":"Cache exists but is invalid"}}
    error: `a.md` is not UTF-8 from byte 3 on
    hint: correct it, exclude it with --exclude, or give --skip-invalid
    "#);
    assert_snapshot!(build("twins", "new", &[]), @r#"
    5 {"error":{"code":"cache_invalid","message":"Cache exists but is invalid"}}
    error: 2 files cannot be documents:
      `A.md` would be the same document as `a.md`: their names differ in case only
      `a.md` would be the same document as `A.md`: their names differ in case only
    hint: correct them, exclude them with --exclude, or give --skip-invalid
    "#);
    assert_snapshot!(build("docs", "cache", &[]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `cache` exists already
    hint: give --force to replace it, or update it:
      candor context update --cache [root]/cache
    "#);
    assert_snapshot!(build("docs", "full/cache", &[]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `full/cache` is not replaced: it holds `mine.txt`, which is no file of a cache
    hint: choose another --cache, or remove it yourself
    "#);
    assert_snapshot!(build("docs", "docs", &["--force"]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `docs` is not replaced: it holds `empty.md`, which is no file of a cache
    hint: choose another --cache, or remove it yourself
    "#);
    assert_snapshot!(build("docs", "full/cache", &["--force"]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `full/cache` is not replaced: it holds `mine.txt`, which is no file of a cache
    hint: choose another --cache, or remove it yourself
    "#);
    assert_snapshot!(build("docs", "docs/fox.md", &["--force"]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `docs/fox.md` exists and is no directory
    hint: choose another --cache
    "#);
    assert_snapshot!(build("docs", "link", &["--force"]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `link` exists and is no directory
    hint: choose another --cache
    "#);
    assert_snapshot!(build("docs", "nowhere/cache", &[]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: there is no directory `nowhere`
    hint: check --cache, or create the directory first:
      mkdir -p [root]/nowhere
    "#);
    assert_snapshot!(build("docs", "..", &["--force"]), @r#"
    6 {"error":{"code":"io_error","message":"I/O error occurred"}}
    error: `..` names no directory to create
    hint: choose another --cache
    "#);
    assert_snapshot!(fixture.run_err(4, &["update", "--sources", "docs", "--cache", "new"]), @r"
    error: there is no cache at `new`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/new
    ");
    assert_snapshot!(fixture.run_err(4, &["update", "--sources", "docs", "--cache", "nowhere/new"]), @r"
    error: there is no cache at `nowhere/new`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/nowhere/new
    ");
    assert_snapshot!(fixture.run_err(5, &["update", "--sources", "docs", "--cache", "docs"]), @r"
    error: the cache is invalid: manifest.json: missing (and 2 more problems)
    hint: build the cache again; to see what is wrong with it, run:
      candor context verify --cache [root]/docs
    ");
    assert_snapshot!(fixture.run_err(4, &["status", "--sources", "docs", "--cache", "new"]), @r"
    error: there is no cache at `new`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/new
    ");
    assert_snapshot!(fixture.run_err(6, &["status", "--sources", "nowhere", "--cache", "cache"]), @r"
    error: cannot open the sources `nowhere`: No such file or directory (os error 2)
    hint: name a directory that exists and may be read with --sources
    ");
    assert_snapshot!(fixture.run_err(5, &["seal", "--cache", "docs"]), @r"
    error: the cache is invalid: manifest.json: missing (and 2 more problems)
    hint: build the cache again; to see what is wrong with it, run:
      candor context verify --cache [root]/docs
    ");
    assert_snapshot!(fixture.run_err(4, &["inspect", "--cache", "new"]), @r"
    error: there is no cache at `new`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/new
    ");
    assert_snapshot!(fixture.run_err(4, &["verify", "--cache", "new"]), @r"
    error: there is no cache at `new`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/new
    ");
    assert_snapshot!(fixture.run_err(4, &["serve", "--root", "new"]), @r"
    error: there is no root at `new`: No such file or directory (os error 2)
    hint: name a directory that exists with --root
    ");
    // No unfinished files stay behind, and existing files are unchanged.
    let mut names: Vec<_> = fs::read_dir(fixture.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["cache", "docs", "full", "latin", "link", "twins"]);
    assert_eq!(fixture.read("full/cache/mine.txt"), b"mine");
    assert_eq!(fixture.resolve("cache", "fox", "9").code, 0);
}
