//! Where data is kept when nobody says where.

use crate::github::place::{CANDOR, LIMIT, Place};
use candor_testkit::{Exit, Process, ProcessOutput};

fn init(place: &Place, environment: &[(&str, &str)], arguments: &[&str]) -> ProcessOutput {
    let mut command = Process::command(CANDOR, arguments);
    command
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("CANDOR_DATA_DIR")
        .env("NO_COLOR", "1")
        .current_dir(place.path(""));
    for (name, value) in environment {
        command.env(name, value);
    }
    Process::run(command, LIMIT)
}

/// The directory that was taken.
fn taken(place: &Place, environment: &[(&str, &str)]) -> String {
    let ended = init(place, environment, &["github", "init"]);
    assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(0), ""));
    let said = place.normal(&String::from_utf8(ended.stdout).unwrap());
    let path = said
        .split(' ')
        .find(|word| word.starts_with("FOLDER/"))
        .unwrap();
    assert!(
        place.path(path.strip_prefix("FOLDER/").unwrap()).is_dir(),
        "{path}"
    );
    path.to_owned()
}

#[test]
fn data_belongs_where_the_user_keeps_data() {
    let place = Place::empty();
    let (home, shared, own) = (place.text("home"), place.text("shared"), place.text("own"));
    let at_home = ("HOME", home.as_str());
    assert_eq!(
        taken(&place, &[at_home]),
        "FOLDER/home/.local/share/candor/forge"
    );
    let both = [at_home, ("XDG_DATA_HOME", shared.as_str())];
    assert_eq!(taken(&place, &both), "FOLDER/shared/candor/forge");
    // The specification says that a relative path, and an empty one, is to be ignored.
    for nothing in ["", "relative"] {
        let both = [at_home, ("XDG_DATA_HOME", nothing)];
        assert_eq!(
            taken(&place, &both),
            "FOLDER/home/.local/share/candor/forge"
        );
    }
    let all = [
        at_home,
        ("XDG_DATA_HOME", shared.as_str()),
        ("CANDOR_DATA_DIR", own.as_str()),
    ];
    assert_eq!(taken(&place, &all), "FOLDER/own/forge");
    assert!(!place.path("relative").exists());
}

const NOWHERE: &str = "error: there is no home directory to keep data in\n\
                       hint: name one with --data-dir DIR\n";

#[test]
fn without_a_home_a_directory_has_to_be_named() {
    let place = Place::empty();
    for arguments in [
        &["github", "init"][..],
        &["github", "status"],
        &["github", "serve"],
        &["github", "serve", "--backend", "github"],
        &["serve", "--port", "0"],
    ] {
        let ended = init(&place, &[], arguments);
        assert_eq!(ended.exit, Exit::Code(1), "{arguments:?}");
        assert_eq!(ended.stderr, NOWHERE);
        assert_eq!(ended.stdout, b"");
    }
}

/// What a person keeps there is nobody else's business.
#[cfg(unix)]
#[test]
fn the_log_of_writes_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.once(
        &["--allow-writes"],
        "fetch",
        serde_json::json!({ "repo": "sample/hello" }),
    );
    let log = std::fs::metadata(place.path("data/github-writes.jsonl")).unwrap();
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
}
