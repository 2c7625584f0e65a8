//! A repository of a test's own, with keys and state beside it, and the commands that a person types.

use candor_testkit::{Exit, Process, ProcessOutput};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long anything may take before a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct Place {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    /// A repository with a source file, and no key yet.
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            base: folder.path().canonicalize().unwrap(),
            _folder: folder,
        };
        place.write("pass", "open sesame\n");
        place.write("ws/src/a.rs", "pub fn a() {}\n");
        let git = Command::new("git")
            .args(["init", "-q"])
            .current_dir(place.ws())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(git.unwrap().success());
        place
    }

    /// The same with anna's key.
    pub(crate) fn new() -> Place {
        let place = Place::empty();
        place.run(&["init", "--name", "anna", "--passphrase-file", "../pass"]);
        place
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.at("ws")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// A program in the workspace that finds keys and state beside it.
    pub(crate) fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Process::command(program.as_ref(), arguments);
        command
            .current_dir(self.ws())
            .env("CANDOR_CONFIG_DIR", self.at("config"))
            .env("CANDOR_STATE_DIR", self.at("state"))
            .env_remove("CLICOLOR_FORCE")
            .env("NO_COLOR", "1");
        command
    }

    /// `candor workspace ARGUMENTS`, to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        let arguments: Vec<_> = ["workspace"].iter().chain(arguments).copied().collect();
        Process::run(self.command(CANDOR, &arguments), LIMIT)
    }

    /// What it answers; it may say something beside.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.exit, Exit::Code(0), "{arguments:?}: {}", ended.stderr);
        self.normal(&String::from_utf8(ended.stdout).unwrap())
    }

    /// What it complains about; it answers nothing.
    pub(crate) fn complaint(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.exit, Exit::Code(1), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "", "{arguments:?}");
        self.normal(&ended.stderr)
    }

    /// With the passphrase of anna's key.
    pub(crate) fn signed(&self, arguments: &[&str]) -> String {
        let with = arguments.iter().copied();
        self.said(
            &with
                .chain(["--passphrase-file", "../pass"])
                .collect::<Vec<_>>(),
        )
    }

    /// The last line of the log.
    pub(crate) fn last_line(&self) -> serde_json::Value {
        let log = self.read("ws/audit-log.jsonl");
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    }

    /// A text in which everything that differs from run to run has a fixed name.
    pub(crate) fn normal(&self, text: &str) -> String {
        let text = text.replace(self.base.to_str().unwrap(), "BASE");
        let text = text.replace(CANDOR, "CANDOR");
        text.split_inclusive('\n').map(fixed).collect()
    }
}

/// A line without the instants, ids, keys and clients in it.
fn fixed(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (line, ""),
    };
    let line = match (line.find("  rmcp "), line.find(", last call ")) {
        (Some(start), Some(end)) => format!("{}  CLIENT{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    };
    let words: Vec<_> = line.split(' ').map(fixed_word).collect();
    words.join(" ") + end
}

fn fixed_word(word: &str) -> String {
    let bare = word.trim_end_matches([',', ':', '.', ';', '"', '`', ')']);
    let end = &word[bare.len()..];
    let is_instant = bare.len() == 24 && bare.starts_with("20") && bare.ends_with('Z');
    let is_uuid = bare.len() == 36 && bare.bytes().filter(|b| *b == b'-').count() == 4;
    let is_key = bare.starts_with("SHA256:") && bare.len() == 50;
    let name = match bare {
        _ if is_instant => "INSTANT",
        _ if is_uuid => "SESSION",
        _ if is_key => "KEY",
        bare => bare,
    };
    format!("{name}{end}")
}

#[test]
fn only_what_differs_is_replaced() {
    let line =
        "at 2026-01-31T12:00:00.000Z, by SHA256:kaIYjEEUyyZdkyAdV95a+ZBe7+twCyym07telArSafI\n";
    assert_eq!(fixed(line), "at INSTANT, by KEY\n");
    assert_eq!(
        fixed("7d39c0ccfde8  src/a.rs: b"),
        "7d39c0ccfde8  src/a.rs: b"
    );
}
