//! The default data directory.

use crate::fixture::{LIMIT, candor};
use crate::github::fixture::GithubFixture;
use candor_testkit::{Exit, Process, ProcessOutput};

fn init(
    fixture: &GithubFixture,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> ProcessOutput {
    let mut command = candor(arguments);
    command
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("CANDOR_DATA_DIR")
        .current_dir(fixture.path(""));
    for (name, value) in environment {
        command.env(name, value);
    }
    Process::run(command, LIMIT)
}

/// Returns the directory that `init` used.
fn data_dir_of(fixture: &GithubFixture, environment: &[(&str, &str)]) -> String {
    let ended = init(fixture, environment, &["github", "init"]);
    assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(0), ""));
    let output = fixture.normalize(&String::from_utf8(ended.stdout).unwrap());
    let path = output
        .split(' ')
        .find(|word| word.starts_with("FOLDER/"))
        .unwrap();
    assert!(
        fixture.path(path.strip_prefix("FOLDER/").unwrap()).is_dir(),
        "{path}"
    );
    path.to_owned()
}

#[test]
fn data_directory_follows_xdg() {
    let fixture = GithubFixture::empty();
    let (home, shared, chosen) = (
        fixture.text("home"),
        fixture.text("shared"),
        fixture.text("own"),
    );
    let at_home = ("HOME", home.as_str());
    assert_eq!(
        data_dir_of(&fixture, &[at_home]),
        "FOLDER/home/.local/share/candor/forge"
    );
    let both = [at_home, ("XDG_DATA_HOME", shared.as_str())];
    assert_eq!(data_dir_of(&fixture, &both), "FOLDER/shared/candor/forge");
    // By the specification, relative and empty paths are ignored.
    for nothing in ["", "relative"] {
        let both = [at_home, ("XDG_DATA_HOME", nothing)];
        assert_eq!(
            data_dir_of(&fixture, &both),
            "FOLDER/home/.local/share/candor/forge"
        );
    }
    let all = [
        at_home,
        ("XDG_DATA_HOME", shared.as_str()),
        ("CANDOR_DATA_DIR", chosen.as_str()),
    ];
    assert_eq!(data_dir_of(&fixture, &all), "FOLDER/own/forge");
    assert!(!fixture.path("relative").exists());
}

const NOWHERE: &str = "error: there is no home directory for the data\n\
                       hint: name one with --data-dir DIR\n";

#[test]
fn missing_home_needs_data_dir() {
    let fixture = GithubFixture::empty();
    for arguments in [
        &["github", "init"][..],
        &["github", "status"],
        &["github", "serve"],
        &["github", "serve", "--backend", "github"],
        &["serve", "--port", "0"],
    ] {
        let ended = init(&fixture, &[], arguments);
        assert_eq!(ended.exit, Exit::Code(1), "{arguments:?}");
        assert_eq!(ended.stderr, NOWHERE);
        assert_eq!(ended.stdout, b"");
    }
}

/// Other users cannot read the log of writes.
#[cfg(unix)]
#[test]
fn log_of_writes_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = GithubFixture::new();
    fixture.call_once(
        &["--allow-writes"],
        "fetch",
        serde_json::json!({ "repo": "sample/hello" }),
    );
    let log = std::fs::metadata(fixture.path("data/github-writes.jsonl")).unwrap();
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
}
