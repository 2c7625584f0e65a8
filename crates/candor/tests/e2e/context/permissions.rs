//! Files that a user without privileges may not search, open or read.

use crate::context::fixture::{
    CommandOutput, ContextFixture, error_object, exit_code_of, run_command, unprivileged_context,
};
use crate::context::server::ContextServer;
use candor_testkit::user::{UnprivilegedProgram, is_root};
use insta::assert_snapshot;
use std::os::unix::fs::PermissionsExt;

type Case = (&'static str, &'static str, fn(&ContextFixture));

fn resolve(
    other_user: &UnprivilegedProgram,
    fixture: &ContextFixture,
    cache: &str,
) -> CommandOutput {
    run_command(other_user.run_instead(&fixture.resolve_command(cache, "fox", "1000")))
}

fn serve(other_user: &UnprivilegedProgram, fixture: &ContextFixture) -> ContextServer {
    ContextServer::start(other_user.run_instead(&fixture.serve_command(&[])))
}

fn fails(code: &str, cases: &[Case]) {
    let other_user = unprivileged_context();
    for (name, cache, forbid) in cases {
        for sealed in [true, false] {
            let fixture = ContextFixture::with_cache();
            if !sealed {
                fixture.copy_unsealed("cache", "copy");
                std::fs::remove_dir_all(fixture.path("cache")).unwrap();
                std::fs::rename(fixture.path("copy"), fixture.path("cache")).unwrap();
            }
            assert_eq!(resolve(&other_user, &fixture, "cache").code, 0, "{name}");
            let mut server = serve(&other_user, &fixture);
            server.resolve("cache", "fox", "1000").unwrap();
            forbid(&fixture);
            let output = resolve(&other_user, &fixture, cache);
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (exit_code_of(code), ""),
                "{name} {sealed}"
            );
            assert_eq!(output.stderr, error_object(code), "{name} {sealed}");
            // A server that had the cache open, and a server that opens it now.
            for server in [&mut server, &mut serve(&other_user, &fixture)] {
                assert_eq!(
                    server.resolve(cache, "fox", "1000").text(),
                    error_object(code),
                    "{name} {sealed}"
                );
            }
            // So that the directory can be removed.
            for folder in ["cache", "cache/documents", "deep"] {
                let path = fixture.path(folder);
                if path.exists() {
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
                }
            }
        }
    }
}

#[test]
fn unreadable_file_is_an_io_error() {
    fails(
        "io_error",
        &[
            ("the cache", "cache", |fixture| {
                fixture.set_mode("cache", 0o000)
            }),
            ("the cache, which may be listed", "cache", |fixture| {
                fixture.set_mode("cache", 0o444)
            }),
            ("the manifest", "cache", |fixture| {
                fixture.set_mode("cache/manifest.json", 0o000)
            }),
            ("the index", "cache", |fixture| {
                fixture.set_mode("cache/index.json", 0o000)
            }),
            ("the documents", "cache", |fixture| {
                fixture.set_mode("cache/documents", 0o000)
            }),
            ("the list of documents", "cache", |fixture| {
                fixture.set_mode("cache/documents", 0o111)
            }),
            ("a document", "cache", |fixture| {
                fixture.set_mode(fixture.document("cache", "fox.md"), 0o000)
            }),
            ("a document that is not selected", "cache", |fixture| {
                fixture.set_mode(fixture.document("cache", "guide/install.md"), 0o000);
            }),
        ],
    );
}

#[test]
fn unsearchable_directory_means_cache_missing() {
    fails(
        "cache_missing",
        &[
            (
                "a parent that may not be searched",
                "deep/cache",
                |fixture| {
                    std::fs::create_dir(fixture.path("deep")).unwrap();
                    std::fs::rename(fixture.path("cache"), fixture.path("deep/cache")).unwrap();
                    fixture.set_mode("deep", 0o600);
                },
            ),
            (
                "a name in a cache that may not be searched",
                "cache/more",
                |fixture| fixture.set_mode("cache", 0o600),
            ),
        ],
    );
}

/// The cache stays invalid when the file becomes readable.
#[test]
fn invalid_cache_wins_over_unreadable_file() {
    fails(
        "cache_invalid",
        &[("both", "cache", |fixture| {
            fixture.set_mode(fixture.document("cache", "fox.md"), 0o000);
            fixture.write("cache/documents/surplus.json", "");
        })],
    );
}

/// Without the manifest nothing can be judged, whatever else is missing or wrong.
#[test]
fn unreadable_manifest_is_an_io_error_everywhere() {
    let other_user = unprivileged_context();
    let fixture = ContextFixture::empty();
    fixture.write("u/manifest.json", "{}");
    fixture.set_mode("u/manifest.json", 0o000);
    let run = |arguments: &[&str]| {
        let output = run_command(other_user.run_instead(&fixture.command(arguments)));
        (output.code, output.stdout, output.stderr)
    };
    let told = "error: in the cache: manifest.json: cannot be read: Permission denied (os error 13) (and 2 more problems)\nhint: Check permissions, disk and open files on the machine of the cache, then call again.\n";
    for command in [
        &["resolve", "--cache", "u", "--query", "x", "--budget", "1"][..],
        &["passages", "--cache", "u", "--query", "x", "--budget", "1"],
        &["inspect", "--cache", "u"],
    ] {
        let expected = (6, String::new(), told.to_owned());
        assert_eq!(run(command), expected, "{command:?}");
    }
    let (code, report, stderr) = run(&["verify", "--cache", "u"]);
    assert_eq!((code, stderr.as_str()), (6, told));
    assert!(
        report.contains(r#""file": "manifest.json""#) && report.contains(r#""valid": false"#),
        "{report}"
    );
    let mut server = serve(&other_user, &fixture);
    assert_eq!(
        server.resolve("u", "x", "1").text(),
        error_object("io_error")
    );
    assert_eq!(
        server
            .call("context.inspect_cache", r#"{"cache":"u"}"#)
            .text(),
        error_object("io_error")
    );
}

/// A cache that may only be searched needs nothing more: readers never list it.
#[test]
fn directory_of_a_cache_need_not_be_readable() {
    let other_user = unprivileged_context();
    let fixture = ContextFixture::with_cache();
    let expected = resolve(&other_user, &fixture, "cache");
    fixture.set_mode("cache", 0o111);
    assert_eq!(resolve(&other_user, &fixture, "cache"), expected);
    assert_eq!(
        serve(&other_user, &fixture)
            .resolve("cache", "fox", "1000")
            .unwrap(),
        expected.stdout
    );
    fixture.set_mode("cache", 0o755);
}

#[test]
fn unreadable_accelerator_is_ignored() {
    let other_user = unprivileged_context();
    let fixture = ContextFixture::with_cache();
    let expected = resolve(&other_user, &fixture, "cache").stdout;
    for file in ["accelerator.idx", "accelerator.sig", "accelerator.src"] {
        fixture.set_mode(format!("cache/{file}"), 0o000);
        assert_eq!(
            resolve(&other_user, &fixture, "cache").stdout,
            expected,
            "{file}"
        );
        assert_eq!(
            serve(&other_user, &fixture)
                .resolve("cache", "fox", "1000")
                .unwrap(),
            expected,
            "{file}"
        );
    }
}

#[test]
fn unreadable_file_is_named_in_the_message() {
    let other_user = unprivileged_context();
    let fixture = ContextFixture::with_cache();
    let output_of = |arguments: &[&str], code: i32| {
        let output = run_command(other_user.run_instead(&fixture.command(arguments)));
        assert_eq!(output.code, code, "{}", output.stderr);
        output.stdout + &output.stderr
    };
    let arguments = [
        "resolve", "--cache", "cache", "--query", "fox", "--budget", "9",
    ];
    fixture.set_mode(fixture.document("cache", "fox.md"), 0o000);
    assert_snapshot!(output_of(&arguments, 6), @r"
    error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert_snapshot!(output_of(&["inspect", "--cache", "cache"], 6), @r"
    error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert_snapshot!(output_of(&["verify", "--cache", "cache"], 6), @r#"
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
    fixture.set_mode("cache", 0o000);
    assert_snapshot!(output_of(&arguments, 6), @r"
    error: in the cache: manifest.json: cannot be read: Permission denied (os error 13) (and 2 more problems)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    fixture.set_mode("cache", 0o755);
    fixture.set_mode("docs/fox.md", 0o000);
    let build = ["build", "--sources", "docs", "--cache", "new"];
    if is_root() {
        // The place itself is not theirs.
        assert_snapshot!(output_of(&build, 6), @r"
        error: cannot write beside `new`: Permission denied (os error 13)
        hint: Check permissions, disk and open files on the machine of the cache, then call again.
        ");
    }
    fixture.set_mode(".", 0o777);
    assert_snapshot!(output_of(&build, 6), @r"
    error: cannot read the source `fox.md`: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    fixture.set_mode("docs/fox.md", 0o644);
    fixture.set_mode("docs/guide", 0o000);
    assert_snapshot!(output_of(&build, 6), @r"
    error: cannot read the source `guide`: Permission denied (os error 13)
    hint: Check permissions, disk and open files on the machine of the cache, then call again.
    ");
    assert!(!fixture.path("new").exists());
    fixture.set_mode("docs/guide", 0o755);
    if is_root() {
        assert_snapshot!(output_of(&["seal", "--cache", "cache"], 6), @r"
        error: in the cache: documents/6e459fed18dd.json: cannot be read: Permission denied (os error 13)
        hint: Check permissions, disk and open files on the machine of the cache, then call again.
        ");
    }
}
