//! Every error of the contract from a real cause, in the command line and in the server,
//! with the accelerator, without it, and with a broken one.

use crate::context::fixture::{ContextFixture, error_object, exit_code_of};
use insta::assert_snapshot;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// Damages the cache `cache`, or returns another path to query.
type Case = (&'static str, &'static str, fn(&ContextFixture));

/// The accelerator of a cache.
#[derive(Debug, Clone, Copy)]
enum Accelerator {
    Whole,
    None,
    Broken,
}

const ACCELERATOR: [&str; 3] = ["accelerator.idx", "accelerator.sig", "accelerator.src"];

/// Returns a fixture with documents and a cache of them. Only a complete accelerator needs its own build.
fn fixture_with(accelerator: Accelerator, base: &ContextFixture) -> ContextFixture {
    if let Accelerator::Whole = accelerator {
        return ContextFixture::with_cache();
    }
    let fixture = ContextFixture::with_docs();
    base.copy_unsealed("cache", fixture.path("cache"));
    if let Accelerator::Broken = accelerator {
        for file in ACCELERATOR {
            let mut bytes = base.read(format!("cache/{file}"));
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fixture.write(format!("cache/{file}"), bytes);
        }
    }
    fixture
}

/// Runs every case both ways. Returns the messages for people.
fn messages_of(code: &str, cases: &[Case]) -> String {
    let base = ContextFixture::with_cache();
    let mut lines = Vec::new();
    for (name, cache, damage) in cases {
        for accelerator in [Accelerator::Whole, Accelerator::None, Accelerator::Broken] {
            let fixture = fixture_with(accelerator, &base);
            damage(&fixture);
            let output = fixture.resolve(cache, "fox", "1000");
            let context = format!("{name}, {accelerator:?}");
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (exit_code_of(code), ""),
                "{context}"
            );
            assert_eq!(output.stderr, error_object(code), "{context}");
            let mut server = fixture.serve(&[]);
            for _ in 0..2 {
                let answer = server.resolve(cache, "fox", "1000");
                assert_eq!(answer.text(), error_object(code), "{context}");
            }
            if let Accelerator::Whole = accelerator {
                let fixed = [
                    "--root", ".", "--query", "fox", "--budget", "9", "--cache", cache,
                ];
                let text =
                    fixture.run_err(exit_code_of(code), &[&["resolve"], &fixed[..]].concat());
                lines.push(format!("{name}: {}", text.replace("error: ", "")));
            }
        }
    }
    lines.concat()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn replace(fixture: &ContextFixture, file: &str, make: impl FnOnce(&Path)) {
    let path = fixture.path(file);
    fs::remove_file(&path).unwrap();
    make(&path);
}

fn resolve_fox(fixture: &ContextFixture) -> String {
    fixture.document("cache", "fox.md")
}

/// Returns the values of an object as a list.
fn listed(object: &[u8]) -> String {
    let object: serde_json::Value = serde_json::from_slice(object).unwrap();
    let members = object.as_object().unwrap().values().cloned();
    serde_json::Value::Array(members.collect()).to_string()
}

#[test]
fn path_that_cannot_be_looked_up_is_missing() {
    const CASES: &[Case] = &[
        ("nothing", "nowhere", |_| {}),
        ("no name", "", |_| {}),
        ("below nothing", "nowhere/cache", |_| {}),
        ("a file", "docs/fox.md", |_| {}),
        ("below a file", "docs/fox.md/cache", |_| {}),
        ("a loop", "loop", |fixture| {
            symlink("loop", fixture.path("loop")).unwrap()
        }),
        ("a dangling link", "link", |fixture| {
            symlink("nowhere", fixture.path("link")).unwrap()
        }),
        ("a fifo", "fifo", |fixture| fifo(&fixture.path("fifo"))),
        ("above", "..", |_| {}),
        ("above and below", "cache/../../x", |_| {}),
        ("elsewhere", "/", |_| {}),
        ("a link out", "link", |fixture| {
            symlink("/", fixture.path("link")).unwrap()
        }),
        ("a link above", "link", |fixture| {
            symlink("..", fixture.path("link")).unwrap()
        }),
        ("through a link out", "link/etc", |fixture| {
            symlink("/", fixture.path("link")).unwrap()
        }),
    ];
    assert_snapshot!(messages_of("cache_missing", CASES), @r"
    nothing: there is no cache at `nowhere`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/nowhere
    no name: there is no cache at ``: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/
    below nothing: there is no cache at `nowhere/cache`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/nowhere/cache
    a file: there is no cache at `docs/fox.md`: Not a directory (os error 20)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/docs/fox.md
    below a file: there is no cache at `docs/fox.md/cache`: Not a directory (os error 20)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/docs/fox.md/cache
    a loop: there is no cache at `loop`: Too many levels of symbolic links (os error 40)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/loop
    a dangling link: there is no cache at `link`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/link
    a fifo: there is no cache at `fifo`: Not a directory (os error 20)
    hint: check the path, or build the cache:
      candor context build --root [root] --sources DIR --cache [root]/fifo
    above: `..` leads out of the root
    hint: name a directory inside --root
    above and below: `cache/../../x` leads out of the root
    hint: name a directory inside --root
    elsewhere: `/` leads out of the root
    hint: name a directory inside --root
    a link out: `link` leads out of the root
    hint: name a directory inside --root
    a link above: `link` leads out of the root
    hint: name a directory inside --root
    through a link out: `link/etc` leads out of the root
    hint: name a directory inside --root
    ");
    let fixture = ContextFixture::with_cache();
    let long = "x".repeat(5000);
    for cache in [long.as_str(), "../cache", "/proc/self/cwd"] {
        assert_eq!(
            fixture.resolve(cache, "", "1").stderr,
            error_object("cache_missing")
        );
        let answer = fixture.serve(&[]).resolve(cache, "", "1");
        assert_eq!(answer.text(), error_object("cache_missing"));
    }
}

#[test]
fn cache_without_its_parts_is_invalid() {
    const CASES: &[Case] = &[
        ("not a cache", "docs", |_| {}),
        ("the root", ".", |_| {}),
        ("an empty directory", "empty", |fixture| {
            fs::create_dir(fixture.path("empty")).unwrap()
        }),
        ("no manifest", "cache", |fixture| {
            fixture.remove("cache/manifest.json")
        }),
        ("no index", "cache", |fixture| {
            fixture.remove("cache/index.json")
        }),
        ("no documents", "cache", |fixture| {
            fs::remove_dir_all(fixture.path("cache/documents")).unwrap()
        }),
        ("a directory as manifest", "cache", |fixture| {
            replace(fixture, "cache/manifest.json", |path| {
                fs::create_dir(path).unwrap()
            });
        }),
        ("a link as manifest", "cache", |fixture| {
            fs::rename(
                fixture.path("cache/manifest.json"),
                fixture.path("real.json"),
            )
            .unwrap();
            symlink("../real.json", fixture.path("cache/manifest.json")).unwrap();
        }),
        ("a fifo as manifest", "cache", |fixture| {
            replace(fixture, "cache/manifest.json", fifo)
        }),
        ("a socket as manifest", "cache", |fixture| {
            replace(fixture, "cache/manifest.json", |path| {
                drop(UnixListener::bind(path).unwrap())
            });
        }),
        ("a fifo as index", "cache", |fixture| {
            replace(fixture, "cache/index.json", fifo)
        }),
        ("a link as documents", "cache", |fixture| {
            fs::rename(fixture.path("cache/documents"), fixture.path("real")).unwrap();
            symlink("../real", fixture.path("cache/documents")).unwrap();
        }),
        ("a file as documents", "cache", |fixture| {
            fs::remove_dir_all(fixture.path("cache/documents")).unwrap();
            fixture.write("cache/documents", "");
        }),
    ];
    assert_snapshot!(messages_of("cache_invalid", CASES), @r"
    not a cache: the cache is invalid: manifest.json: missing (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    the root: the cache is invalid: manifest.json: missing (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    an empty directory: the cache is invalid: manifest.json: missing (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no manifest: the cache is invalid: manifest.json: missing
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no index: the cache is invalid: index.json: missing
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no documents: the cache is invalid: documents: missing
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a directory as manifest: the cache is invalid: manifest.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a link as manifest: the cache is invalid: manifest.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a fifo as manifest: the cache is invalid: manifest.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a socket as manifest: the cache is invalid: manifest.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a fifo as index: the cache is invalid: index.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a link as documents: the cache is invalid: documents: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file as documents: the cache is invalid: documents: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ");
}

#[test]
fn manifest_that_breaks_a_rule_is_invalid() {
    const MANIFEST: &str = "cache/manifest.json";
    const CASES: &[Case] = &[
        ("empty", "cache", |fixture| fixture.write(MANIFEST, "")),
        ("no JSON", "cache", |fixture| {
            fixture.write(MANIFEST, "not JSON")
        }),
        ("not UTF-8", "cache", |fixture| {
            fixture.edit_bytes(MANIFEST, b"fox.md", b"fo\xff.md")
        }),
        ("cut", "cache", |fixture| {
            let bytes = fixture.read(MANIFEST);
            fixture.write(MANIFEST, &bytes[..bytes.len() - 1]);
        }),
        ("more", "cache", |fixture| {
            fixture.write(MANIFEST, [&fixture.read(MANIFEST), &b"{}"[..]].concat())
        }),
        ("another shape", "cache", |fixture| {
            fixture.write(MANIFEST, "[]")
        }),
        ("a list of everything", "cache", |fixture| {
            fixture.write(MANIFEST, listed(&fixture.read(MANIFEST)));
        }),
        ("another version", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""version": "1""#, r#""version": "2""#)
        }),
        ("another algorithm", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""sha256""#, r#""sha512""#)
        }),
        ("no configuration", "cache", |fixture| {
            fixture.edit(MANIFEST, "build_config", "config")
        }),
        ("a wrong count", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""document_count": 4"#, r#""document_count": 3"#);
        }),
        ("a count that is none", "cache", |fixture| {
            fixture.edit(
                MANIFEST,
                r#""document_count": 4"#,
                r#""document_count": -4"#,
            );
        }),
        ("a member twice", "cache", |fixture| {
            fixture.edit(
                MANIFEST,
                r#""document_count": 4"#,
                r#""document_count": 4, "document_count": 4"#,
            );
        }),
        ("another cache_version", "cache", |fixture| {
            let manifest = String::from_utf8(fixture.read(MANIFEST)).unwrap();
            let (head, tail) = manifest.split_at(manifest.find("sha256:").unwrap() + 7);
            let digit = if tail.starts_with('0') { "1" } else { "0" };
            fixture.write(MANIFEST, format!("{head}{digit}{}", &tail[1..]));
        }),
        ("a cache_version in capitals", "cache", |fixture| {
            let manifest = String::from_utf8(fixture.read(MANIFEST)).unwrap();
            let from = manifest.find("sha256:").unwrap() + 7;
            let capitals = manifest[from..from + 64].to_uppercase();
            fixture.write(
                MANIFEST,
                format!("{}{capitals}{}", &manifest[..from], &manifest[from + 64..]),
            );
        }),
        ("an id twice", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""id": "odd.md""#, r#""id": "guide/install.md""#)
        }),
        ("ids out of order", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""id": "fox.md""#, r#""id": "zoo.md""#)
        }),
        ("another id", "cache", |fixture| {
            fixture.edit(MANIFEST, r#""id": "odd.md""#, r#""id": "old.md""#)
        }),
        ("a version that is none", "cache", |fixture| {
            fixture.edit(MANIFEST, "sha256:e3b0c44298fc", "sha256:E3B0C44298FC");
        }),
        ("another version of a document", "cache", |fixture| {
            fixture.edit(MANIFEST, "sha256:e3b0c44298fc", "sha256:e3b0c44298fd");
        }),
        ("a file outside", "cache", |fixture| {
            fixture.edit(MANIFEST, "documents/e3b0c44298fc.json", "../docs/fox.md");
        }),
        ("a file elsewhere", "cache", |fixture| {
            fixture.edit(MANIFEST, "documents/e3b0c44298fc.json", "/etc/passwd");
        }),
        ("a file by a way out", "cache", |fixture| {
            fixture.edit(
                MANIFEST,
                "documents/e3b0c44298fc.json",
                "documents/../index.json",
            );
        }),
        ("a file of another document", "cache", |fixture| {
            fixture.edit(
                MANIFEST,
                "documents/e3b0c44298fc.json",
                "documents/6e459fed18dd.json",
            );
        }),
    ];
    assert_snapshot!(messages_of("cache_invalid", CASES), @r"
    empty: the cache is invalid: manifest.json: malformed: EOF while parsing a value at line 1 column 0
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no JSON: the cache is invalid: manifest.json: malformed: expected ident at line 1 column 2
    hint: Run `context verify` to see what is wrong, then build the cache again.
    not UTF-8: the cache is invalid: manifest.json: malformed: invalid unicode code point at line 16 column 16
    hint: Run `context verify` to see what is wrong, then build the cache again.
    cut: the cache is invalid: manifest.json: malformed: EOF while parsing an object at line 31 column 0
    hint: Run `context verify` to see what is wrong, then build the cache again.
    more: the cache is invalid: manifest.json: malformed: trailing characters at line 31 column 2
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another shape: the cache is invalid: manifest.json: malformed: invalid type: sequence, expected an object at line 1 column 1
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a list of everything: the cache is invalid: manifest.json: malformed: invalid type: sequence, expected an object at line 1 column 1
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another version: the cache is invalid: manifest.json: build_config is not one that can be read here
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another algorithm: the cache is invalid: manifest.json: build_config is not one that can be read here
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no configuration: the cache is invalid: manifest.json: malformed: missing field `build_config` at line 31 column 1
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a wrong count: the cache is invalid: manifest.json: document_count is 3, but 4 are listed
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a count that is none: the cache is invalid: manifest.json: malformed: invalid value: integer `-4`, expected u64 at line 8 column 23
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a member twice: the cache is invalid: manifest.json: malformed: duplicate field `document_count` at line 8 column 40
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another cache_version: the cache is invalid: manifest.json: cache_version does not match what is listed
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a cache_version in capitals: the cache is invalid: manifest.json: cache_version does not match what is listed
    hint: Run `context verify` to see what is wrong, then build the cache again.
    an id twice: the cache is invalid: manifest.json: the id `guide/install.md` is listed twice (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ids out of order: the cache is invalid: manifest.json: the id `guide/install.md` is out of order (and 8 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another id: the cache is invalid: manifest.json: cache_version does not match what is listed (and 3 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a version that is none: the cache is invalid: manifest.json: the version of `empty.md` is no digest (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another version of a document: the cache is invalid: manifest.json: cache_version does not match what is listed (and one more problem)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file outside: the cache is invalid: manifest.json: `../docs/fox.md` is not a name in documents/ (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file elsewhere: the cache is invalid: manifest.json: `/etc/passwd` is not a name in documents/ (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file by a way out: the cache is invalid: manifest.json: `documents/../index.json` is not a name in documents/ (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file of another document: the cache is invalid: index.json: the manifest says something else about `empty.md` (and 2 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ");
}

#[test]
fn index_that_disagrees_is_invalid() {
    const INDEX: &str = "cache/index.json";
    const CASES: &[Case] = &[
        ("no JSON", "cache", |fixture| fixture.write(INDEX, "{")),
        ("another shape", "cache", |fixture| {
            fixture.write(INDEX, "[]")
        }),
        ("nothing in it", "cache", |fixture| {
            fixture.write(INDEX, "{}")
        }),
        ("another id", "cache", |fixture| {
            fixture.edit(INDEX, r#""odd.md""#, r#""old.md""#)
        }),
        ("a surplus id", "cache", |fixture| {
            fixture.edit(
                INDEX,
                "{",
                r#"{"surplus.md": "documents/e3b0c44298fc.json","#,
            );
        }),
        ("an id twice", "cache", |fixture| {
            fixture.edit(INDEX, "{", r#"{"fox.md": "documents/6e459fed18dd.json","#);
        }),
        ("another file", "cache", |fixture| {
            fixture.edit(
                INDEX,
                "documents/e3b0c44298fc.json",
                "documents/6e459fed18dd.json",
            );
        }),
        ("a file outside", "cache", |fixture| {
            fixture.edit(INDEX, "documents/e3b0c44298fc.json", "../docs/fox.md");
        }),
        ("a number", "cache", |fixture| {
            fixture.edit(INDEX, r#""documents/e3b0c44298fc.json""#, "7")
        }),
    ];
    assert_snapshot!(messages_of("cache_invalid", CASES), @r"
    no JSON: the cache is invalid: index.json: malformed: EOF while parsing an object at line 1 column 1
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another shape: the cache is invalid: index.json: malformed: invalid type: sequence, expected an object of ids and files, at most 4000000 at line 1 column 1
    hint: Run `context verify` to see what is wrong, then build the cache again.
    nothing in it: the cache is invalid: index.json: the manifest says something else about `empty.md` (and 3 more problems)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another id: the cache is invalid: index.json: the manifest says something else about `odd.md` (and one more problem)
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a surplus id: the cache is invalid: index.json: the manifest has no `surplus.md`
    hint: Run `context verify` to see what is wrong, then build the cache again.
    an id twice: the cache is invalid: index.json: the id `fox.md` is listed twice
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another file: the cache is invalid: index.json: the manifest says something else about `empty.md`
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a file outside: the cache is invalid: index.json: the manifest says something else about `empty.md`
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a number: the cache is invalid: index.json: malformed: invalid type: integer `7`, expected a string at line 2 column 16
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ");
}

#[test]
fn documents_that_differ_from_the_manifest_are_invalid() {
    const CASES: &[Case] = &[
        ("missing", "cache", |fixture| {
            fixture.remove(resolve_fox(fixture))
        }),
        ("missing and never selected", "cache", |fixture| {
            fixture.remove(fixture.document("cache", "guide/install.md"))
        }),
        ("a directory", "cache", |fixture| {
            replace(fixture, &resolve_fox(fixture), |path| {
                fs::create_dir(path).unwrap()
            });
        }),
        ("a link to the right bytes", "cache", |fixture| {
            fs::rename(
                fixture.path(resolve_fox(fixture)),
                fixture.path("real.json"),
            )
            .unwrap();
            symlink("../../real.json", fixture.path(resolve_fox(fixture))).unwrap();
        }),
        ("a fifo", "cache", |fixture| {
            replace(fixture, &resolve_fox(fixture), fifo)
        }),
        ("a socket", "cache", |fixture| {
            replace(fixture, &resolve_fox(fixture), |path| {
                drop(UnixListener::bind(path).unwrap())
            });
        }),
        ("empty", "cache", |fixture| {
            fixture.write(resolve_fox(fixture), "")
        }),
        ("no JSON", "cache", |fixture| {
            fixture.write(resolve_fox(fixture), "fox")
        }),
        ("not UTF-8", "cache", |fixture| {
            fixture.edit_bytes(&resolve_fox(fixture), b"brown", b"br\xffwn")
        }),
        ("more", "cache", |fixture| {
            fixture.write(
                resolve_fox(fixture),
                [&fixture.read(resolve_fox(fixture)), &b"x"[..]].concat(),
            )
        }),
        ("another id", "cache", |fixture| {
            fixture.edit(resolve_fox(fixture), r#""id":"fox.md""#, r#""id":"box.md""#)
        }),
        ("another content", "cache", |fixture| {
            fixture.edit(resolve_fox(fixture), "brown", "green")
        }),
        ("another version", "cache", |fixture| {
            fixture.edit(resolve_fox(fixture), "sha256:6", "sha256:7")
        }),
        ("another document", "cache", |fixture| {
            fixture.write(
                resolve_fox(fixture),
                fixture.read(fixture.document("cache", "guide/install.md")),
            );
        }),
        ("a list of everything", "cache", |fixture| {
            fixture.write(
                resolve_fox(fixture),
                listed(&fixture.read(resolve_fox(fixture))),
            );
        }),
        ("no source", "cache", |fixture| {
            fixture.edit(resolve_fox(fixture), "source", "origin")
        }),
        ("metadata that are none", "cache", |fixture| {
            fixture.edit(
                resolve_fox(fixture),
                r#""metadata":{}"#,
                r#""metadata":{"a":[]}"#,
            );
        }),
        ("a surplus file", "cache", |fixture| {
            fixture.write("cache/documents/surplus.json", "{}")
        }),
        ("a hidden surplus file", "cache", |fixture| {
            fixture.write("cache/documents/.hidden", "")
        }),
        ("a surplus directory", "cache", |fixture| {
            fs::create_dir(fixture.path("cache/documents/more")).unwrap()
        }),
        ("a surplus link", "cache", |fixture| {
            symlink("nowhere", fixture.path("cache/documents/link")).unwrap()
        }),
    ];
    assert_snapshot!(messages_of("cache_invalid", CASES), @r"
    missing: the cache is invalid: documents/6e459fed18dd.json: missing
    hint: Run `context verify` to see what is wrong, then build the cache again.
    missing and never selected: the cache is invalid: documents/272863b5bcab.json: missing
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a directory: the cache is invalid: documents/6e459fed18dd.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a link to the right bytes: the cache is invalid: documents/6e459fed18dd.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a fifo: the cache is invalid: documents/6e459fed18dd.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a socket: the cache is invalid: documents/6e459fed18dd.json: not of the right kind
    hint: Run `context verify` to see what is wrong, then build the cache again.
    empty: the cache is invalid: documents/6e459fed18dd.json: malformed: EOF while parsing a value at line 1 column 0
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no JSON: the cache is invalid: documents/6e459fed18dd.json: malformed: expected ident at line 1 column 2
    hint: Run `context verify` to see what is wrong, then build the cache again.
    not UTF-8: the cache is invalid: documents/6e459fed18dd.json: malformed: invalid unicode code point at line 1 column 142
    hint: Run `context verify` to see what is wrong, then build the cache again.
    more: the cache is invalid: documents/6e459fed18dd.json: malformed: trailing characters at line 1 column 166
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another id: the cache is invalid: documents/6e459fed18dd.json: it holds a document with another id
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another content: the cache is invalid: documents/6e459fed18dd.json: the content does not hash to its version
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another version: the cache is invalid: documents/6e459fed18dd.json: the content does not hash to its version
    hint: Run `context verify` to see what is wrong, then build the cache again.
    another document: the cache is invalid: documents/6e459fed18dd.json: it holds a document with another id
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a list of everything: the cache is invalid: documents/6e459fed18dd.json: malformed: invalid type: sequence, expected an object at line 1 column 0
    hint: Run `context verify` to see what is wrong, then build the cache again.
    no source: the cache is invalid: documents/6e459fed18dd.json: malformed: missing field `source` at line 1 column 165
    hint: Run `context verify` to see what is wrong, then build the cache again.
    metadata that are none: the cache is invalid: documents/6e459fed18dd.json: malformed: data did not match any variant of untagged enum Metadatum at line 1 column 170
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a surplus file: the cache is invalid: documents/surplus.json: no entry of the manifest lists it
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a hidden surplus file: the cache is invalid: documents/.hidden: no entry of the manifest lists it
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a surplus directory: the cache is invalid: documents/more: no entry of the manifest lists it
    hint: Run `context verify` to see what is wrong, then build the cache again.
    a surplus link: the cache is invalid: documents/link: no entry of the manifest lists it
    hint: Run `context verify` to see what is wrong, then build the cache again.
    ");
}

/// Bytes that the format does not protect may change.
#[test]
fn unprotected_changes_are_ignored() {
    let base = ContextFixture::with_cache();
    let expected = base.resolve("cache", "fox", "1000").stdout;
    let cases: &[Case] = &[
        ("a surplus file beside", "cache", |fixture| {
            fixture.write("cache/README", "mine")
        }),
        ("another time", "cache", |fixture| {
            let manifest = String::from_utf8(fixture.read("cache/manifest.json")).unwrap();
            let from = manifest.find("created_at").unwrap() + 14;
            let other = format!(
                "{}1999-12-31T23:59:59Z{}",
                &manifest[..from],
                &manifest[from + 20..]
            );
            fixture.write("cache/manifest.json", other);
        }),
        ("metadata", "cache", |fixture| {
            fixture.edit(
                resolve_fox(fixture),
                r#""metadata":{}"#,
                r#""metadata":{"author":"x","year":1999}"#,
            );
        }),
        ("another source", "cache", |fixture| {
            fixture.edit(
                resolve_fox(fixture),
                r#""source":"fox.md""#,
                r#""source":"FOX.md""#,
            )
        }),
        ("compact lists", "cache", |fixture| {
            for file in ["cache/manifest.json", "cache/index.json"] {
                let value: serde_json::Value = serde_json::from_slice(&fixture.read(file)).unwrap();
                fixture.write(file, value.to_string());
            }
        }),
        ("a link to it", "link", |fixture| {
            symlink("cache", fixture.path("link")).unwrap()
        }),
        ("another way to it", "./docs/..//cache/", |_| {}),
    ];
    for (name, cache, change) in cases {
        for accelerator in [Accelerator::Whole, Accelerator::None, Accelerator::Broken] {
            let fixture = fixture_with(accelerator, &base);
            change(&fixture);
            let output = fixture.resolve(cache, "fox", "1000");
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (0, expected.as_str()),
                "{name}, {accelerator:?}"
            );
            assert_eq!(output.stderr, "", "{name}, {accelerator:?}");
            let answer = fixture.serve(&[]).resolve(cache, "fox", "1000");
            assert_eq!(answer.unwrap(), expected, "{name}, {accelerator:?}");
        }
    }
}
