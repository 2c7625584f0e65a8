//! Every command, starting in an empty directory.

use crate::context::fixture::{CommandOutput, ContextFixture, run_command};
use crate::fixture::CANDOR;
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;
use std::fs;
use std::time::Duration;

#[test]
fn cache_is_built_queried_updated_and_verified() {
    let fixture = ContextFixture::empty();
    fixture.write("docs/fox.md", "the quick brown fox\n");
    fixture.write("docs/guide/Install.md", "Install it, then run it.\n");
    assert_snapshot!(fixture.run_ok(&["build", "--sources", "docs", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:263feb98de41b8b5c1b082b8ba61927fff4b3441be5bc05901d401af14ea825f",
      "document_count": 2,
      "read": 2
    }
    "#);
    assert_snapshot!(fixture.run_ok(&["status", "--sources", "docs", "--cache", "cache"]), @r#"
    {
      "fresh": true,
      "added": [],
      "changed": [],
      "removed": []
    }
    "#);
    assert_snapshot!(fixture.run_ok(&["resolve", "--cache", "cache", "--query", "Fox run", "--budget", "5"]), @r#"{"documents":[{"id":"fox.md","version":"sha256:6e459fed18ddb06d57c8e9f0d000c302c7e01389926db6e89884bfbe91a2a5df","content":"the quick brown fox\n","score":0.25,"tokens":5,"why":{"query_terms":["fox","run"],"term_matches":1,"total_words":4}}],"selection":{"query":"Fox run","budget":5,"tokens_used":5,"documents_considered":2,"documents_selected":1,"documents_excluded_by_budget":1}}"#);
    assert_snapshot!(fixture.run_ok(&["inspect", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:263feb98de41b8b5c1b082b8ba61927fff4b3441be5bc05901d401af14ea825f",
      "document_count": 2,
      "total_bytes": 355,
      "valid": true
    }
    "#);
    assert_snapshot!(fixture.run_ok(&["verify", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:263feb98de41b8b5c1b082b8ba61927fff4b3441be5bc05901d401af14ea825f",
      "document_count": 2,
      "valid": true,
      "problems": []
    }
    "#);
    assert_snapshot!(fixture.run_ok(&["seal", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:263feb98de41b8b5c1b082b8ba61927fff4b3441be5bc05901d401af14ea825f",
      "document_count": 2,
      "read": 2
    }
    "#);

    fixture.write("docs/fox.md", "the quick red fox\n");
    fixture.write("docs/new.md", "new\n");
    fixture.remove("docs/guide/Install.md");
    let stale = fixture.run(&["status", "--sources", "docs", "--cache", "cache"]);
    assert_eq!(stale.code, 0);
    assert_snapshot!(stale.stdout, @r#"
    {
      "fresh": false,
      "added": [
        "new.md"
      ],
      "changed": [
        "fox.md"
      ],
      "removed": [
        "guide/Install.md"
      ]
    }
    "#);
    assert_snapshot!(stale.stderr, @r"
    note: to bring the cache up to date, run:
      candor context update --cache [root]/cache
    ");
    assert_snapshot!(fixture.run_ok(&["update", "--sources", "docs", "--cache", "cache"]), @r#"
    {
      "cache_version": "sha256:f89ecc37541756e2066ed45246ff07695b5e9ee98cbcfd4ad327d932503e033b",
      "document_count": 2,
      "read": 2
    }
    "#);
    assert_snapshot!(fixture.run_ok(&["status", "--sources", "docs", "--cache", "cache"]), @r#"
    {
      "fresh": true,
      "added": [],
      "changed": [],
      "removed": []
    }
    "#);
}

#[test]
fn pretty_output_differs_in_white_space_only() {
    let fixture = ContextFixture::with_cache();
    for (query, budget) in [("fox", "1000"), ("", "0"), ("install \"\\ \u{7f}", "12")] {
        let arguments = |form: &[&str]| {
            let fixed = [
                "resolve", "--cache", "cache", "--query", query, "--budget", budget,
            ];
            fixture.run_ok(&[&fixed[..], form].concat())
        };
        let compact = arguments(&[]);
        assert_eq!(arguments(&["--format", "json"]), compact);
        let pretty = arguments(&["--format", "pretty"]);
        assert_ne!(pretty, compact);
        assert_eq!(without_white_space(&pretty), without_white_space(&compact));
        assert!(pretty.starts_with("{\n  \"documents\": [") && pretty.ends_with("\n}\n"));
    }
}

/// Returns the JSON without white space outside of strings.
fn without_white_space(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keep = |c: &char| {
        let was_inside = inside;
        match c {
            '"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = *c == '\\' && !escaped;
        was_inside || !c.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}

#[test]
fn candor_context_is_the_same_program() {
    let by_context = ContextFixture::with_docs();
    let by_candor = ContextFixture::with_docs();
    let steps: &[&[&str]] = &[
        &["build", "--sources", "docs", "--cache", "cache"],
        &["build", "--sources", "docs", "--cache", "cache"],
        &["update", "--sources", "docs", "--cache", "cache"],
        &["status", "--sources", "docs", "--cache", "cache"],
        &[
            "resolve", "--cache", "cache", "--query", "fox", "--budget", "20",
        ],
        &[
            "resolve", "--cache", "cache", "--query", "fox", "--budget", "x",
        ],
        &[
            "resolve",
            "--cache",
            "no",
            "--query",
            "fox",
            "--budget",
            "1",
            "--error-format",
            "json",
        ],
        &["inspect", "--cache", "cache"],
        &["verify", "--cache", "docs"],
        &["seal", "--cache", "cache"],
        &["serve", "--root", "no"],
    ];
    for step in steps {
        let long = [&["context"], *step].concat();
        let same = |mut output: CommandOutput| {
            // The number of sources that an update reads again depends on their age.
            output.stdout = without_line(&output.stdout, "\"read\"");
            output
        };
        let mut long = run_command(by_candor.command_of(CANDOR, &long));
        long.stderr = by_candor.without_root(&long.stderr);
        assert_eq!(same(by_context.run(step)), same(long), "{step:?}");
    }
}

fn without_line(text: &str, word: &str) -> String {
    let others = text.lines().filter(|line| !line.contains(word));
    others.collect::<Vec<_>>().join("\n")
}

#[test]
fn help_and_version_go_to_stdout() {
    let fixture = ContextFixture::empty();
    let help = fixture.run_ok(&["--help"]);
    assert!(
        help.contains("Usage: context [OPTIONS] <COMMAND>"),
        "{help}"
    );
    assert_eq!(fixture.run_err::<&str>(1, &[]), fixture.run_ok(&["-h"]));
    let version = fixture.run_ok(&["--version"]);
    assert!(
        version.starts_with(concat!("context ", env!("CARGO_PKG_VERSION"), " (")),
        "{version}"
    );
}

/// Many files, so that a bar would have been drawn.
#[test]
fn progress_is_not_shown_without_a_terminal() {
    let fixture = ContextFixture::empty();
    for number in 0..300 {
        fixture.write(format!("docs/{number}.md"), format!("document {number}\n"));
    }
    let build = ["build", "--sources", "docs", "--cache", "cache"];
    assert_eq!(fixture.run(&build).stderr, "");
    let force = [&build[..], &["--force"]].concat();
    let mut coloured = fixture.command(&force);
    coloured
        .env("CLICOLOR_FORCE", "1")
        .env("TERM", "xterm-256color");
    assert_eq!(run_command(coloured).stderr, "");
}

#[test]
fn cache_without_documents_is_valid() {
    let fixture = ContextFixture::empty();
    fs::create_dir(fixture.path("docs")).unwrap();
    fixture.write("docs/.md", "has no name");
    fixture.write("docs/notes.txt", "is no source");
    let built = fixture.run(&["build", "--sources", "docs", "--cache", "cache"]);
    assert_eq!(
        (built.code, built.stderr.as_str()),
        (0, "note: there is no source: the cache is empty\n")
    );
    assert_snapshot!(fixture.run_ok(&["resolve", "--cache", "cache", "--query", "x", "--budget", "9"]), @r#"{"documents":[],"selection":{"query":"x","budget":9,"tokens_used":0,"documents_considered":0,"documents_selected":0,"documents_excluded_by_budget":0}}"#);
}

/// The note is printed once on stderr, and not with JSON errors.
#[test]
fn copy_without_accelerator_causes_a_note() {
    let fixture = ContextFixture::with_cache();
    fixture.copy_unsealed("cache", "copy");
    let arguments = [
        "resolve", "--cache", "copy", "--query", "fox", "--budget", "20",
    ];
    let output = fixture.run(&arguments);
    assert_eq!(output.code, 0);
    assert_snapshot!(output.stderr, @r"
    note: the cache is not sealed in its present location, so every document was hashed; to make this fast, run:
      candor context seal --cache [root]/copy
    ");
    let quiet = fixture.run_ok(&[&arguments[..], &["--error-format", "json"]].concat());
    assert_eq!(quiet, output.stdout);
    fixture.run_ok(&["seal", "--cache", "copy"]);
    assert_eq!(fixture.run_ok(&arguments), output.stdout);
}

#[test]
fn server_ends_with_its_input_and_on_a_signal() {
    let fixture = ContextFixture::with_cache();
    fixture.serve(&[]).end();
    for signal in ["TERM", "INT"] {
        let mut server = fixture.serve(&[]);
        server.resolve("cache", "fox", "9").unwrap();
        let process: &mut Process = server.stdio().process();
        process.signal(signal);
        assert_eq!(
            process.exit_within(Duration::from_secs(20)),
            Some(Exit::Code(0))
        );
    }
}
