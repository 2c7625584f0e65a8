//! The same at a terminal: what is asked, what is not shown, and that no means no.

use crate::place::{CANDOR, LIMIT, Place};
use candor_testkit::{Exit, Process};
use std::io::{Read, Write};

/// Runs a command at a terminal; each answer is typed when its question is there. All that was to be
/// seen, and whether it went well.
fn typed(place: &Place, command: &str, answers: &[(&str, &str)]) -> (String, bool) {
    let command = format!("{CANDOR} workspace {command}");
    let script = place.command(
        "script",
        &["--quiet", "--return", "--command", &command, "/dev/null"],
    );
    let (mut process, mut keyboard, mut screen) = Process::start(script);
    let mut seen = String::new();
    for (question, answer) in answers {
        let start = seen.len();
        while !seen[start..].contains(question) {
            let mut bytes = [0; 1];
            let read = screen.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "no {question:?} in {seen:?}");
            seen.push(char::from(bytes[0]));
        }
        keyboard.write_all(answer.as_bytes()).unwrap();
        keyboard.write_all(b"\n").unwrap();
        keyboard.flush().unwrap();
    }
    let mut rest = Vec::new();
    screen.read_to_end(&mut rest).unwrap();
    seen.push_str(&String::from_utf8_lossy(&rest));
    let exit = process.exit_within(LIMIT).unwrap();
    (place.normal(&seen.replace('\r', "")), exit == Exit::Code(0))
}

#[test]
fn a_passphrase_is_asked_twice_and_never_shown() {
    let place = Place::empty();
    let (said, well) = typed(
        &place,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesamE"),
        ],
    );
    assert!(
        !well && said.contains("the two passphrases differ; no key was made"),
        "{said}"
    );
    let (said, well) = typed(&place, "init --name anna", &[("for your new key: ", "")]);
    assert!(!well && said.contains("the passphrase is empty"), "{said}");
    assert!(!place.at("config/approver.key").exists());
    let (said, well) = typed(
        &place,
        "init --name anna",
        &[
            ("for your new key: ", "open sesame"),
            ("The same again: ", "open sesame"),
        ],
    );
    assert!(well && !said.contains("sesame"), "{said}");

    let (said, well) = typed(&place, "allow 'src/**'", &[("Sign it? [y/N] ", "")]);
    assert!(well && said.ends_with("nothing was written\n"), "{said}");
    assert!(!place.at("ws/docs").exists());
    let (said, well) = typed(
        &place,
        "allow 'src/**'",
        &[
            ("Sign it? [y/N] ", "y"),
            ("approver.key: ", "wrong"),
            ("approver.key: ", "open sesame"),
        ],
    );
    assert!(well && said.contains("by anna until INSTANT"), "{said}");
}
