//! `--root` confines caches and sources.

use crate::context::fixture::{ContextFixture, error_object, exit_code_of, run_command};
use insta::assert_snapshot;
use std::fs;
use std::os::unix::fs::symlink;

/// A root with a cache below a directory, and something beside the root.
fn nested_caches() -> ContextFixture {
    let fixture = ContextFixture::with_docs();
    fs::create_dir_all(fixture.path("root/deep")).unwrap();
    fs::rename(fixture.path("docs"), fixture.path("root/docs")).unwrap();
    fixture.write("outside/docs/a.md", "outside\n");
    fixture.run_ok(&[
        "build",
        "--root",
        "root",
        "--sources",
        "docs",
        "--cache",
        "deep/cache",
    ]);
    fixture.build("outside/docs", "outside/cache");
    fixture
}

#[test]
fn relative_and_absolute_paths_inside_the_root_work() {
    let fixture = nested_caches();
    let inside = fixture.path("root/deep/cache");
    symlink("deep/cache", fixture.path("root/link")).unwrap();
    symlink("../deep/../deep", fixture.path("root/docs/link")).unwrap();
    let expected = fixture.run_ok(&[
        "resolve",
        "--cache",
        "root/deep/cache",
        "--query",
        "fox",
        "--budget",
        "99",
    ]);
    for cache in [
        "deep/cache",
        "./deep//cache/",
        "deep/../deep/cache",
        "link",
        "docs/link/cache",
        inside.to_str().unwrap(),
    ] {
        let arguments = [
            "resolve", "--root", "root", "--cache", cache, "--query", "fox", "--budget", "99",
        ];
        assert_eq!(fixture.run_ok(&arguments), expected, "{cache}");
        let mut command = fixture.command(&["serve", "--root", "root"]);
        command.current_dir(fixture.root());
        let mut server = crate::context::server::ContextServer::start(command);
        assert_eq!(
            server.resolve(cache, "fox", "99").unwrap(),
            expected,
            "{cache}"
        );
    }
    // The root may be a link; caches inside are then reached by both names.
    symlink("root", fixture.path("alias")).unwrap();
    let by_alias = fixture.path("alias/deep/cache");
    for cache in [inside.to_str().unwrap(), by_alias.to_str().unwrap()] {
        let arguments = [
            "resolve", "--root", "alias", "--cache", cache, "--query", "fox", "--budget", "99",
        ];
        assert_eq!(fixture.run_ok(&arguments), expected, "{cache}");
    }
}

#[test]
fn paths_outside_the_root_are_refused() {
    let fixture = nested_caches();
    let outside = fixture.path("outside/cache");
    let around = fixture.path("root/../outside/cache");
    symlink("../outside/cache", fixture.path("root/link")).unwrap();
    symlink(&outside, fixture.path("root/absolute")).unwrap();
    symlink("..", fixture.path("root/deep/up")).unwrap();
    let mut server =
        crate::context::server::ContextServer::start(fixture.command(&["serve", "--root", "root"]));
    for cache in [
        "../outside/cache",
        "deep/../../outside/cache",
        "link",
        "absolute",
        "deep/up/../outside/cache",
        outside.to_str().unwrap(),
        around.to_str().unwrap(),
        "/",
        "..",
    ] {
        let code = "cache_missing";
        for command in [
            &["inspect"][..],
            &["verify"],
            &["seal"],
            &["resolve", "--query", "", "--budget", "1"],
        ] {
            let more = ["--root", "root", "--cache", cache, "--error-format", "json"];
            let stderr = fixture.run_err(exit_code_of(code), &[command, &more[..]].concat());
            assert_eq!(stderr, error_object(code), "{cache} {command:?}");
        }
        let more = [
            "--sources",
            "docs",
            "--root",
            "root",
            "--cache",
            cache,
            "--error-format",
            "json",
        ];
        for command in ["update", "status"] {
            let stderr = fixture.run_err(exit_code_of(code), &[&[command], &more[..]].concat());
            assert_eq!(stderr, error_object(code), "{cache} {command}");
        }
        assert_eq!(
            server.resolve(cache, "", "1").text(),
            error_object(code),
            "{cache}"
        );
        let arguments = format!(r#"{{"cache":{}}}"#, crate::context::server::quoted(cache));
        let inspected = server.call("context.inspect_cache", &arguments);
        assert_eq!(inspected.text(), error_object(code), "{cache}");
    }
    // Without a root the command line confines nothing.
    fixture.run_ok(&[
        "resolve",
        "--cache",
        outside.to_str().unwrap(),
        "--query",
        "",
        "--budget",
        "1",
    ]);
}

#[test]
fn build_outside_the_root_is_refused() {
    let fixture = nested_caches();
    symlink("../outside", fixture.path("root/link")).unwrap();
    let build = |sources: &str, cache: &str| {
        fixture.run(&[
            "build",
            "--root",
            "root",
            "--sources",
            sources,
            "--cache",
            cache,
        ])
    };
    assert_snapshot!(build("../outside/docs", "new").stderr, @r"
    error: cannot open the sources `../outside/docs`: Invalid cross-device link (os error 18)
    hint: name a directory that exists and may be read with --sources
    ");
    assert_snapshot!(build("link/docs", "new").stderr, @r"
    error: cannot open the sources `link/docs`: Invalid cross-device link (os error 18)
    hint: name a directory that exists and may be read with --sources
    ");
    assert_snapshot!(build("docs", "../new").stderr, @r"
    error: `..` leads out of the root
    hint: name a directory inside --root
    ");
    assert_snapshot!(build("docs", "link/new").stderr, @r"
    error: `link` leads out of the root
    hint: name a directory inside --root
    ");
    for (sources, cache, code) in [
        ("../outside/docs", "new", 6),
        ("link/docs", "new", 6),
        ("docs", "../new", 4),
        ("docs", "link/new", 4),
        ("docs", "deep/cache", 6),
    ] {
        let output = build(sources, cache);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (code, ""),
            "{sources} {cache}"
        );
    }
    assert!(!fixture.path("new").exists() && !fixture.path("outside/new").exists());
    let inside = fixture.path("root/by-name");
    assert_eq!(build("docs", inside.to_str().unwrap()).code, 0);
    assert!(inside.join("manifest.json").is_file());
}

#[test]
fn nonexistent_root_is_missing() {
    let fixture = nested_caches();
    for root in ["nowhere", "root/docs/fox.md"] {
        let command = fixture.command(&[
            "resolve",
            "--root",
            root,
            "--cache",
            "deep/cache",
            "--query",
            "",
            "--budget",
            "1",
            "--error-format",
            "json",
        ]);
        let output = run_command(command);
        assert_eq!((output.code, output.stdout.as_str()), (4, ""));
        assert_eq!(output.stderr, error_object("cache_missing"));
        assert_eq!(fixture.run(&["serve", "--root", root]).code, 4);
    }
}
