//! `build.json`: updates without flags, flags that disagree, and guards against emptying a cache.

use crate::context::fixture::{CommandOutput, ContextFixture};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two Markdown files and a text.
fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/a.md", "one\n");
    fixture.write("docs/b.md", "two\n");
    fixture.write("docs/c.txt", "three\n");
    fixture
}

fn ids(fixture: &ContextFixture, cache: &str) -> Vec<String> {
    let index = fixture.read(format!("{cache}/index.json"));
    let index: serde_json::Map<String, Value> = serde_json::from_slice(&index).unwrap();
    index.keys().cloned().collect()
}

/// Returns every file of a cache but its documents.
fn files(fixture: &ContextFixture, cache: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(fixture.path(cache)).unwrap();
    let files = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    let mut files: Vec<_> = files
        .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn first_use_needs_no_cache_and_no_flags() {
    let fixture = fixture();
    fixture.run_ok(&["build", "--sources", "docs"]);
    assert_eq!(ids(&fixture, ".context"), ["a.md", "b.md"]);
    fixture.write("docs/d.md", "four\n");
    let stale = fixture.run(&["status"]);
    assert_eq!(stale.code, 0);
    assert_snapshot!(stale.stderr, @r"
    note: to bring the cache up to date, run:
      candor context update --cache [root]/.context
    ");
    fixture.run_ok(&["update"]);
    assert_eq!(ids(&fixture, ".context"), ["a.md", "b.md", "d.md"]);
    assert!(fixture.run_ok(&["status"]).contains("\"fresh\": true"));
}

#[test]
fn record_has_the_documented_bytes() {
    let fixture = fixture();
    fixture.run_ok(&["build", "--sources", "docs"]);
    let record = String::from_utf8(fixture.read(".context/build.json")).unwrap();
    assert_snapshot!(record, @r#"
    {
      "format": 1,
      "sources": "docs",
      "include": [
        "*.md"
      ],
      "exclude": [],
      "respect_gitignore": false,
      "skip_invalid": false,
      "passages": true,
      "tokenizer": "bytes4"
    }
    "#);
    assert!(record.ends_with('}'));
    fs::create_dir(fixture.path("caches")).unwrap();
    let build = [
        "build",
        "--sources",
        "docs",
        "--cache",
        "caches/x",
        "--preset",
        "docs",
        "--exclude",
        "drafts/",
        "--skip-invalid",
        "--no-passages",
    ];
    fixture.run_ok(&build);
    let record = String::from_utf8(fixture.read("caches/x/build.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let expected = serde_json::json!({
        "format": 1,
        "sources": "../docs",
        "include": ["*.md", "*.mdx", "*.markdown", "*.rst", "*.txt"],
        "exclude": [".*/", "drafts/"],
        "respect_gitignore": true,
        "skip_invalid": true,
        "passages": false,
        "tokenizer": "bytes4",
    });
    assert_eq!(record, expected);
    assert!(!fixture.path("caches/x/passages.idx").exists());
    assert!(fixture.path(".context/passages.idx").exists());
}

/// An update with the flags of the build, or without any, keeps every document.
#[test]
fn update_keeps_the_globs_of_the_build() {
    let fixture = fixture();
    let globs = ["--include", "*.md", "--include", "*.txt"];
    let build = ["build", "--sources", "docs", "--cache", "c"];
    fixture.run_ok(&[&build[..], &globs].concat());
    for more in [
        &[][..],
        &["--sources", "docs"],
        &["--sources", "./docs/../docs/"],
        &globs,
    ] {
        fixture.run_ok(&[&["update", "--cache", "c"], more].concat());
        assert_eq!(ids(&fixture, "c"), ["a.md", "b.md", "c.txt"], "{more:?}");
        let status = fixture.run_ok(&[&["status", "--cache", "c"], more].concat());
        assert!(status.contains("\"fresh\": true"), "{status}");
    }
}

#[test]
fn update_equals_a_build_with_the_recorded_flags() {
    let fixture = fixture();
    fixture.write("docs/bad.md", b"\xff");
    fixture.write("docs/.hidden/x.md", "hidden\n");
    let build = |cache: &str| {
        let flags = ["--preset", "docs", "--skip-invalid", "--no-passages"];
        let arguments = [
            &["build", "--sources", "docs", "--cache", cache],
            &flags[..],
        ]
        .concat();
        let mut command = fixture.command(&arguments);
        command.env("SOURCE_DATE_EPOCH", "1700000000");
        assert_eq!(crate::context::fixture::run_command(command).code, 0);
    };
    build("c");
    fixture.write("docs/d.rst", "four\n");
    let mut update = fixture.command(&["update", "--cache", "c"]);
    update.env("SOURCE_DATE_EPOCH", "1700000000");
    let output = crate::context::fixture::run_command(update);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(
        output.stdout.contains("\"skipped_count\": 1"),
        "{}",
        output.stdout
    );
    build("fresh");
    for file in [
        "manifest.json",
        "index.json",
        "build.json",
        "accelerator.idx",
    ] {
        let (one, other) = (
            fixture.read(format!("c/{file}")),
            fixture.read(format!("fresh/{file}")),
        );
        assert!(one == other, "{file}");
    }
    assert!(!fixture.path("c/passages.idx").exists());
}

#[test]
fn sources_and_cache_move_together() {
    let fixture = ContextFixture::empty();
    fixture.write("here/docs/a.md", "one\n");
    fs::create_dir(fixture.path("here/caches")).unwrap();
    fixture.run_ok(&[
        "build",
        "--sources",
        "here/docs",
        "--cache",
        "here/caches/c",
    ]);
    fs::rename(fixture.path("here"), fixture.path("there")).unwrap();
    fixture.write("there/docs/b.md", "two\n");
    fixture.run_ok(&["update", "--cache", "there/caches/c"]);
    assert_eq!(ids(&fixture, "there/caches/c"), ["a.md", "b.md"]);
    // Links lead to the same directories.
    std::os::unix::fs::symlink("there", fixture.path("link")).unwrap();
    fixture.write("there/docs/c.md", "three\n");
    fixture.run_ok(&[
        "update",
        "--cache",
        "link/caches/c",
        "--sources",
        "link/docs",
    ]);
    assert_eq!(ids(&fixture, "there/caches/c").len(), 3);
    let record: Value = serde_json::from_slice(&fixture.read("there/caches/c/build.json")).unwrap();
    assert_eq!(record["sources"], "../docs");
}

#[test]
fn flag_that_disagrees_is_a_usage_error() {
    let fixture = fixture();
    fs::create_dir(fixture.path("empty")).unwrap();
    fixture.run_ok(&["build", "--sources", "docs", "--cache", "c"]);
    let before = files(&fixture, "c");
    let refused = |flags: &[&str]| {
        let arguments = [&["update", "--cache", "c"], flags].concat();
        let text = fixture.run_err(1, &arguments);
        if !flags.iter().any(|flag| flag.ends_with("passages")) {
            let status = [&["status", "--cache", "c"], flags].concat();
            assert_eq!(fixture.run_err(1, &status), text);
        }
        text
    };
    assert_snapshot!(refused(&["--sources", "empty"]), @r"
    error: --sources is `empty`, but the cache was built with `[root]/docs`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/empty --cache [root]/c
    ");
    assert_snapshot!(refused(&["--include", "*.md", "--include", "it's *.txt"]), @r"
    error: --include is `*.md it\'s *.txt`, but the cache was built with `*.md`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --include '*.md' --include 'it'\''s *.txt'
    ");
    assert_snapshot!(refused(&["--exclude", "drafts/"]), @r"
    error: --exclude is `drafts/`, but the cache was built with `nothing`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --exclude drafts/
    ");
    assert_snapshot!(refused(&["--preset", "docs"]), @r"
    error: --preset is `docs (*.md *.mdx *.markdown *.rst *.txt)`, but the cache was built with `*.md`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --preset docs
    ");
    assert_snapshot!(refused(&["--respect-gitignore"]), @r"
    error: --respect-gitignore is `given`, but the cache was built with `not given`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --respect-gitignore
    ");
    assert_snapshot!(refused(&["--skip-invalid"]), @r"
    error: --skip-invalid is `given`, but the cache was built with `not given`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --skip-invalid
    ");
    assert_snapshot!(refused(&["--no-passages"]), @r"
    error: --no-passages is `given`, but the cache was built with `--passages`
    hint: leave the flag out, or build the cache again with the flags that you want:
      candor context build --force --sources [root]/docs --cache [root]/c --no-passages
    ");
    assert_eq!(files(&fixture, "c"), before);
    for agreeing in [
        &["--preset", "md"][..],
        &["--include", "*.md"],
        &["--passages"],
        &["--sources", "docs", "--preset", "md", "--passages"],
    ] {
        fixture.run_ok(&[&["update", "--cache", "c"], agreeing].concat());
    }
}

#[test]
fn flags_of_a_preset_agree_with_its_record() {
    let fixture = fixture();
    let build = [
        "build",
        "--sources",
        "docs",
        "--cache",
        "c",
        "--preset",
        "docs",
        "--exclude",
        "x",
    ];
    fixture.run_ok(&build);
    for agreeing in [
        &["--preset", "docs"][..],
        &["--exclude", "x"],
        &["--preset", "docs", "--exclude", "x"],
        &["--respect-gitignore"],
    ] {
        fixture.run_ok(&[&["update", "--cache", "c"], agreeing].concat());
    }
    for disagreeing in [
        &["--preset", "md"][..],
        &["--preset", "code"],
        &["--exclude", "y"],
    ] {
        fixture.run_err(1, &[&["update", "--cache", "c"], disagreeing].concat());
    }
}

#[test]
fn unusable_record_counts_as_absent() {
    let fixture = fixture();
    fixture.run_ok(&[
        "build",
        "--sources",
        "docs",
        "--cache",
        "c",
        "--include",
        "*.txt",
    ]);
    let record = fixture.read("c/build.json");
    for (bad, reason) in [
        (
            &b"{}"[..],
            "it is malformed: missing field `format` at line 1 column 2",
        ),
        (
            br#"{"format":2}"#,
            "its format is 2, and this program reads format 1",
        ),
        (
            br#"{"format":1}"#,
            "it is malformed: missing field `sources` at line 1 column 12",
        ),
        (
            b"\xff",
            "it is malformed: expected value at line 1 column 1",
        ),
    ] {
        fixture.write("c/build.json", bad);
        let note = format!("note: build.json of `c` is ignored: {reason}\n");
        let asked = "error: the cache `c` does not record its sources\nhint: name their directory with --sources\n";
        for command in ["update", "status"] {
            let output = fixture.run(&[command, "--cache", "c"]);
            let expected = CommandOutput {
                code: 1,
                stdout: String::new(),
                stderr: format!("{note}{asked}"),
            };
            assert_eq!(output, expected);
        }
        let update = [
            "update",
            "--cache",
            "c",
            "--sources",
            "docs",
            "--include",
            "*.txt",
        ];
        let output = fixture.run(&update);
        assert_eq!((output.code, output.stderr), (0, note));
        assert_eq!(fixture.read("c/build.json"), record, "{reason}");
    }
    fixture.remove("c/build.json");
    fs::create_dir(fixture.path("c/build.json")).unwrap();
    let output = fixture.run(&[
        "status",
        "--cache",
        "c",
        "--sources",
        "docs",
        "--include",
        "*.txt",
    ]);
    assert_eq!(output.code, 0);
    assert!(
        output
            .stderr
            .contains("is ignored: it is not of the right kind"),
        "{}",
        output.stderr
    );
}

/// A record that was edited by hand into nonsense is never followed.
#[test]
fn nonsense_in_a_record_counts_as_absent() {
    let fixture = fixture();
    fixture.run_ok(&["build", "--sources", "docs", "--cache", "c"]);
    let record: Value = serde_json::from_slice(&fixture.read("c/build.json")).unwrap();
    let before = fixture.read("c/manifest.json");
    let edited = |member: &str, value: Value| {
        let mut edited = record.clone();
        edited[member] = value;
        edited.to_string()
    };
    let without = |member: &str| {
        let mut edited = record.clone();
        edited.as_object_mut().unwrap().shift_remove(member);
        edited.to_string()
    };
    let mut nonsense = vec![
        String::new(),
        String::from("null"),
        String::from("7"),
        String::from("[]"),
        String::from("nonsense"),
        "[".repeat(100_000),
        record.to_string() + "}",
        edited("format", json!("1")),
        edited("format", json!(1.5)),
        edited("format", json!(0)),
        edited("sources", json!(7)),
        edited("sources", json!("")),
        edited("sources", json!("a\0b")),
        edited("include", json!("*.md")),
        edited("include", json!(["["])),
        edited("include", json!([""])),
        edited("exclude", json!([null])),
        edited("passages", json!("yes")),
        edited("tokenizer", json!("gpt")),
        edited("surplus", json!(1)),
    ];
    for member in record.as_object().unwrap().keys() {
        nonsense.push(without(member));
        nonsense.push(edited(member, Value::Null));
    }
    for bad in nonsense {
        fixture.write("c/build.json", &bad);
        for command in ["update", "status"] {
            let text = fixture.run_err(1, &[command, "--cache", "c"]);
            let shown = bad.get(..200).unwrap_or(&bad);
            assert!(
                text.starts_with("note: build.json of `c` is ignored: "),
                "{shown}: {text}"
            );
            assert!(
                text.ends_with("hint: name their directory with --sources\n"),
                "{shown}: {text}"
            );
        }
        assert_eq!(fixture.read("c/build.json"), bad.as_bytes());
        // Queries do not read it.
        fixture.run_ok(&["search", "one", "--cache", "c"]);
    }
    assert_eq!(fixture.read("c/manifest.json"), before);
}

#[test]
fn cache_without_a_record_needs_its_sources() {
    let fixture = fixture();
    fixture.run_ok(&[
        "build",
        "--sources",
        "docs",
        "--cache",
        "c",
        "--no-passages",
    ]);
    fixture.remove("c/build.json");
    let asked = "error: the cache `c` does not record its sources\nhint: name their directory with --sources\n";
    assert_eq!(fixture.run_err(1, &["update", "--cache", "c"]), asked);
    assert_eq!(fixture.run_err(1, &["status", "--cache", "c"]), asked);
    fixture.write("docs/d.md", "four\n");
    let stale = fixture.run(&[
        "status",
        "--cache",
        "c",
        "--sources",
        "docs",
        "--exclude",
        "x y",
    ]);
    assert_snapshot!(stale.stderr, @r"
    note: to bring the cache up to date, run:
      candor context update --sources [root]/docs --exclude 'x y' --cache [root]/c
    ");
    fixture.run_ok(&["update", "--cache", "c", "--sources", "docs"]);
    // Without a flag the index of passages stays as it is.
    assert!(!fixture.path("c/passages.idx").exists());
    fixture.run_ok(&["update", "--cache", "c"]);
    assert_eq!(ids(&fixture, "c"), ["a.md", "b.md", "d.md"]);
}

#[test]
fn sources_that_are_gone_are_named_with_the_record() {
    let fixture = fixture();
    fixture.run_ok(&["build", "--sources", "docs", "--cache", "c"]);
    fs::rename(fixture.path("docs"), fixture.path("moved")).unwrap();
    for command in ["update", "status"] {
        assert_eq!(
            fixture.run_err(6, &[command, "--cache", "c"]),
            "error: cannot open the sources `[root]/docs`, which `[root]/c/build.json` names: No such file or directory (os error 2)
hint: move the sources back, or build the cache again with --force and their new directory
"
        );
        let text = fixture.run_err(1, &[command, "--cache", "c", "--sources", "moved"]);
        assert!(
            text.starts_with("error: --sources is `moved`, but"),
            "{text}"
        );
        assert_eq!(
            fixture.run_err(6, &[command, "--cache", "c", "--sources", "nope"]),
            "error: cannot open the sources `nope`: No such file or directory (os error 2)
hint: name a directory that exists and may be read with --sources
"
        );
    }
}

#[test]
fn update_does_not_empty_a_cache() {
    let fixture = ContextFixture::empty();
    for number in 0..40 {
        fixture.write(format!("docs/{number:02}.md"), format!("{number}\n"));
    }
    fixture.run_ok(&["build", "--sources", "docs", "--cache", "c"]);
    let before = files(&fixture, "c");
    (0..21).for_each(|number| fixture.remove(format!("docs/{number:02}.md")));
    let text = fixture.run_err(6, &["update", "--cache", "c"]);
    assert_snapshot!(text, @r"
    error: the update would remove 21 of 40 documents, because their sources are not in `[root]/docs` any more
    hint: check the sources; if the documents are to be removed, give --force
    ");
    assert_eq!(files(&fixture, "c"), before);
    fixture.run_ok(&["update", "--cache", "c", "--force"]);
    (21..40).for_each(|number| fixture.remove(format!("docs/{number:02}.md")));
    let text = fixture.run_err(6, &["update", "--cache", "c"]);
    assert!(text.contains("remove 19 of 19 documents"), "{text}");
    let emptied = fixture.run(&["update", "--cache", "c", "--force"]);
    assert_eq!((emptied.code, ids(&fixture, "c").len()), (0, 0));
}

#[test]
fn status_reports_differences_by_its_exit_code() {
    let fixture = fixture();
    fixture.run_ok(&["build", "--sources", "docs", "--cache", "c"]);
    fixture.run_ok(&["status", "--cache", "c", "--exit-code"]);
    fixture.write("docs/a.md", "changed\n");
    let plain = fixture.run(&["status", "--cache", "c"]);
    let with_code = fixture.run(&["status", "--cache", "c", "--exit-code"]);
    assert_eq!((plain.code, with_code.code), (0, 9));
    assert_eq!(
        (plain.stdout, plain.stderr),
        (with_code.stdout, with_code.stderr)
    );
    let json = [
        "status",
        "--cache",
        "c",
        "--exit-code",
        "--error-format",
        "json",
    ];
    let json = fixture.run(&json);
    assert_eq!((json.code, json.stderr.as_str()), (9, ""));
    assert_eq!(
        fixture
            .run(&["status", "--cache", "no", "--exit-code"])
            .code,
        4
    );
}

/// Types the last line of a message into a shell in another directory, where it must succeed.
fn paste(fixture: &ContextFixture, message: &str) -> String {
    let (code, stdout) = paste_any(fixture, message);
    assert_eq!(code, 0, "{message}");
    stdout
}

/// Does the same for a command that may fail.
fn paste_any(fixture: &ContextFixture, message: &str) -> (i32, String) {
    let (_, command) = message.rsplit_once(":\n  ").unwrap();
    let command = command.replace("[root]", fixture.root().to_str().unwrap());
    let program = Path::new(crate::fixture::CANDOR).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let run = Command::new("sh")
        .args(["-c", &command])
        .current_dir("/")
        .env("PATH", path)
        .output()
        .unwrap();
    let stdout = String::from_utf8(run.stdout).unwrap();
    (run.status.code().unwrap(), stdout)
}

#[test]
fn recommended_commands_can_be_pasted() {
    let fixture = fixture();
    fixture.build("docs", "cache");
    for (cache, root) in [
        ("it's my copy", None),
        ("$(touch pwned) `x` \"y\" *", Some(".")),
        ("-n", Some(".")),
        ("line\nend", None),
    ] {
        let cache = Path::new(cache);
        fixture.copy_unsealed("cache", cache);
        let mut arguments = vec!["resolve", "--query", "one", "--budget", "9"];
        if let Some(root) = root {
            arguments.extend(["--root", root]);
        }
        let named = format!("--cache={}", cache.to_str().unwrap());
        arguments.push(&named);
        let output = fixture.run(&arguments);
        assert_eq!(output.code, 0);
        assert!(
            output.stderr.contains("candor context seal"),
            "{}",
            output.stderr
        );
        assert_eq!(output.stderr.contains("--root"), root.is_some());
        paste(&fixture, &output.stderr);
        fixture.run_ok(&arguments);
    }
    assert!(!fixture.path("pwned").exists());
    // Also the commands that update and build.
    fixture.write("docs/a.md", "changed\n");
    let stale = fixture.run(&["status", "--root", ".", "--cache", "cache"]);
    paste(&fixture, &stale.stderr);
    fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
    fixture.write("docs/a.md", "changed again\n");
    let exists = fixture.run_err(6, &["build", "--sources", "docs", "--cache", "cache"]);
    paste(&fixture, &exists);
    fixture.run_ok(&["status", "--cache", "cache", "--exit-code"]);
    let differs = fixture.run_err(1, &["update", "--cache", "cache", "--include", "c.txt"]);
    paste(&fixture, &differs);
    assert_eq!(ids(&fixture, "cache"), ["c.txt"]);
}

/// Hints of commands name commands, not the tools of the server.
#[test]
fn hints_of_reading_commands_can_be_pasted() {
    let fixture = ContextFixture::empty();
    fixture.write("docs/guide/it's install.md", "# Install\n\none\n");
    fixture.write("docs/-n.md", "two\n");
    fs::create_dir(fixture.path("my caches")).unwrap();
    fixture.build("docs", "my caches/guide");
    let cache = ["--cache", "my caches/guide"];
    let fails = |code: i32, arguments: &[&str]| {
        let text = fixture.run_err(code, &[arguments, &cache].concat());
        assert!(!text.contains("context_"), "{text}");
        text
    };
    let text = fails(8, &["get", "--id", "instal.md"]);
    assert_snapshot!(text, @r"
    error: The cache `guide` has no document `instal.md`
    hint: to search for a document, run:
      candor context search instal --format paths --cache '[root]/my caches/guide'
    ");
    let text = fails(8, &["get", "--id", "guide/it's instal.md"]);
    assert_snapshot!(text, @r"
    error: The cache `guide` has no document `guide/it's instal.md`; near: `guide/it's install.md`
    hint: to read the nearest document, run:
      candor context get --id 'guide/it'\''s install.md' --cache '[root]/my caches/guide'
    ");
    assert!(paste(&fixture, &text).contains("one"));
    paste(&fixture, &fails(8, &["get", "--id", "n.md"]));
    let text = fails(8, &["get", "--id", "some/two_words.rst"]);
    assert_snapshot!(text, @r"
    error: The cache `guide` has no document `some/two_words.rst`
    hint: to search for a document, run:
      candor context search 'two words' --format paths --cache '[root]/my caches/guide'
    ");
    assert_eq!(paste(&fixture, &text), "-n.md:1-1\n");
    paste(&fixture, &fails(8, &["get", "--id", "/"]));
    let text = fails(8, &["list", "--under", "nothing/"]);
    assert_snapshot!(text, @r"
    error: The cache `guide` has no document under `nothing/`
    hint: to list the folders, run:
      candor context list --cache '[root]/my caches/guide'
    ");
    assert!(paste(&fixture, &text).contains("guide/"));
    let version = format!("sha256:{}", "0".repeat(64));
    let text = fails(8, &["get", "--id", "-n.md", "--version", &version]);
    assert!(paste(&fixture, &text).contains("two"), "{text}");
    // The root is repeated.
    let arguments = [
        "get",
        "--id",
        "m.md",
        "--root",
        "my caches",
        "--cache",
        "guide",
    ];
    let text = fixture.run_err(8, &arguments);
    assert!(text.contains("--root '[root]/my caches'"), "{text}");
    paste(&fixture, &text);
    // Several caches have the id.
    fixture.build("docs", "my caches/other");
    let text = fixture.run_err(1, &["get", "--id", "-n.md", "--cache", "my caches"]);
    assert_snapshot!(text, @r"
    error: The arguments are not right
      cache: must be given, because several caches have this id; the id is in the caches `guide`, `other`
    hint: name one of them, for example:
      candor context get --id -n.md --cache '[root]/my caches/guide'
    ");
    assert!(paste(&fixture, &text).contains("two"));
    let text = fixture.run_err(8, &["get", "--id", "zebra", "--cache", "my caches"]);
    paste(&fixture, &text);
    // An invalid cache is looked into by `verify`.
    fixture.edit("my caches/guide/index.json", "-n.md", "-m.md");
    for arguments in [
        &["search", "one"][..],
        &["get", "--id", "-n.md"],
        &["list"],
        &["update"],
        &["status"],
    ] {
        let text = fails(5, arguments);
        let (code, report) = paste_any(&fixture, &text);
        assert!(code == 5 && report.contains("index.json"), "{text}");
    }
    assert_snapshot!(fails(5, &["search", "one"]), @r"
    error: The cache `guide` cannot be read: the cache is invalid: index.json: the manifest has no `-m.md` (and one more problem)
    hint: build the cache again; to see what is wrong with it, run:
      candor context verify --cache '[root]/my caches/guide'
    ");
}

#[test]
fn seal_with_passages_is_recorded() {
    let fixture = fixture();
    fixture.run_ok(&[
        "build",
        "--sources",
        "docs",
        "--cache",
        "c",
        "--no-passages",
    ]);
    fixture.run_ok(&["seal", "--cache", "c"]);
    assert!(!fixture.path("c/passages.idx").exists());
    fixture.run_ok(&["seal", "--cache", "c", "--passages"]);
    fixture.run_ok(&["update", "--cache", "c", "--passages"]);
    assert!(fixture.path("c/passages.idx").exists());
}
