//! What may not be searched, opened or read, for somebody whom permissions hold for.

use crate::context::place::{Place, Said, Somebody, exit_of, is_root, object, said};
use crate::context::server::Server;
use insta::assert_snapshot;
use std::os::unix::fs::PermissionsExt;

type Case = (&'static str, &'static str, fn(&Place));

fn resolve(somebody: &Somebody, place: &Place, cache: &str) -> Said {
    said(somebody.runs(&place.resolve_command(cache, "fox", "1000")))
}

fn serve(somebody: &Somebody, place: &Place) -> Server {
    Server::start(somebody.runs(&place.serve_command(&[])))
}

fn fails(code: &str, cases: &[Case]) {
    let somebody = Somebody::new();
    for (name, cache, forbid) in cases {
        for sealed in [true, false] {
            let place = Place::with_cache();
            if !sealed {
                place.copy_unsealed("cache", "copy");
                std::fs::remove_dir_all(place.path("cache")).unwrap();
                std::fs::rename(place.path("copy"), place.path("cache")).unwrap();
            }
            assert_eq!(resolve(&somebody, &place, "cache").code, 0, "{name}");
            let mut server = serve(&somebody, &place);
            server.resolve("cache", "fox", "1000").good();
            forbid(&place);
            let said = resolve(&somebody, &place, cache);
            assert_eq!(
                (said.code, said.stdout.as_str()),
                (exit_of(code), ""),
                "{name} {sealed}"
            );
            assert_eq!(said.stderr, object(code), "{name} {sealed}");
            // One that had it open, and one that opens it now.
            for server in [&mut server, &mut serve(&somebody, &place)] {
                assert_eq!(
                    server.resolve(cache, "fox", "1000").text(),
                    object(code),
                    "{name} {sealed}"
                );
            }
            // For the sake of whoever removes it.
            for folder in ["cache", "cache/documents", "deep"] {
                let path = place.path(folder);
                if path.exists() {
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
                }
            }
        }
    }
}

#[test]
fn what_is_found_but_may_not_be_opened_is_an_io_error() {
    fails(
        "io_error",
        &[
            ("the cache", "cache", |place| place.mode("cache", 0o000)),
            ("the cache, which may be listed", "cache", |place| {
                place.mode("cache", 0o444)
            }),
            ("the manifest", "cache", |place| {
                place.mode("cache/manifest.json", 0o000)
            }),
            ("the index", "cache", |place| {
                place.mode("cache/index.json", 0o000)
            }),
            ("the documents", "cache", |place| {
                place.mode("cache/documents", 0o000)
            }),
            ("the list of documents", "cache", |place| {
                place.mode("cache/documents", 0o111)
            }),
            ("a document", "cache", |place| {
                place.mode(place.document("cache", "fox.md"), 0o000)
            }),
            ("a document that is not selected", "cache", |place| {
                place.mode(place.document("cache", "guide/install.md"), 0o000);
            }),
        ],
    );
}

#[test]
fn what_cannot_be_found_is_missing() {
    fails(
        "cache_missing",
        &[
            ("a parent that may not be searched", "deep/cache", |place| {
                std::fs::create_dir(place.path("deep")).unwrap();
                std::fs::rename(place.path("cache"), place.path("deep/cache")).unwrap();
                place.mode("deep", 0o600);
            }),
            (
                "a name in a cache that may not be searched",
                "cache/more",
                |place| place.mode("cache", 0o600),
            ),
        ],
    );
}

/// It stays when the file can be read.
#[test]
fn a_broken_rule_outweighs_what_cannot_be_read() {
    fails(
        "cache_invalid",
        &[("both", "cache", |place| {
            place.mode(place.document("cache", "fox.md"), 0o000);
            place.write("cache/documents/surplus.json", "");
        })],
    );
}

/// A cache that may only be searched needs nothing more: readers never list it.
#[test]
fn a_cache_need_not_be_listed() {
    let somebody = Somebody::new();
    let place = Place::with_cache();
    let whole = resolve(&somebody, &place, "cache");
    place.mode("cache", 0o111);
    assert_eq!(resolve(&somebody, &place, "cache"), whole);
    assert_eq!(
        serve(&somebody, &place)
            .resolve("cache", "fox", "1000")
            .good(),
        whole.stdout
    );
    place.mode("cache", 0o755);
}

#[test]
fn an_accelerator_that_may_not_be_read_is_none() {
    let somebody = Somebody::new();
    let place = Place::with_cache();
    let whole = resolve(&somebody, &place, "cache").stdout;
    for file in ["accelerator.idx", "accelerator.sig", "accelerator.src"] {
        place.mode(format!("cache/{file}"), 0o000);
        assert_eq!(resolve(&somebody, &place, "cache").stdout, whole, "{file}");
        assert_eq!(
            serve(&somebody, &place)
                .resolve("cache", "fox", "1000")
                .good(),
            whole,
            "{file}"
        );
    }
}

#[test]
fn people_are_told_what_may_not_be_read() {
    let somebody = Somebody::new();
    let place = Place::with_cache();
    let told = |arguments: &[&str], code: i32| {
        let said = said(somebody.runs(&place.command(arguments)));
        assert_eq!(said.code, code, "{}", said.stderr);
        said.stdout + &said.stderr
    };
    let ask = [
        "resolve", "--cache", "cache", "--query", "fox", "--budget", "9",
    ];
    place.mode(place.document("cache", "fox.md"), 0o000);
    assert_snapshot!(told(&ask, 6), @r"
    error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert_snapshot!(told(&["inspect", "--cache", "cache"], 6), @r"
    error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert_snapshot!(told(&["verify", "--cache", "cache"], 6), @r#"
    {
      "cache_version": "sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8",
      "document_count": 4,
      "valid": false,
      "problems": [
        {
          "file": "documents/6e459fed18dd.json",
          "problem": "cannot be read: Permission denied (os error 13)"
        }
      ]
    }
    error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    "#);
    place.mode("cache", 0o000);
    assert_snapshot!(told(&ask, 6), @r"
    error: in the cache: manifest.json: cannot be read: Permission denied (os error 13) (and 2 more problems)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    place.mode("cache", 0o755);
    place.mode("docs/fox.md", 0o000);
    let build = ["build", "--sources", "docs", "--cache", "new"];
    if is_root() {
        // The place itself is not theirs.
        assert_snapshot!(told(&build, 6), @r"
        error: cannot write beside `new`: Permission denied (os error 13)
        hint: Check permissions, disk and open files on the machine of the cache, then call again.
        ");
    }
    place.mode(".", 0o777);
    assert_snapshot!(told(&build, 6), @r"
    error: cannot read the source `fox.md`: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    place.mode("docs/fox.md", 0o644);
    place.mode("docs/guide", 0o000);
    assert_snapshot!(told(&build, 6), @r"
    error: cannot read the source `guide`: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert!(!place.path("new").exists());
    place.mode("docs/guide", 0o755);
    if is_root() {
        assert_snapshot!(told(&["seal", "--cache", "cache"], 6), @r"
        error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
        hint: Check permissions, disk and open files on the machine of the cache, then call again.
        ");
    }
}
