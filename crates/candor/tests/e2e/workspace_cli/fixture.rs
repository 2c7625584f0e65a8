//! A repository with keys and state beside it, and the commands that its owner types.

use crate::fixture::{self, CANDOR, Directory, LIMIT};
use candor_testkit::{Exit, Process, ProcessOutput};
use candor_workspace::path::Root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct OwnerFixture {
    _directory: Directory,
    base: PathBuf,
}

impl OwnerFixture {
    /// Contains a source file, and no key yet.
    pub(crate) fn empty() -> OwnerFixture {
        let directory = Directory::new();
        let fixture = OwnerFixture {
            base: directory.root().canonicalize().unwrap(),
            _directory: directory,
        };
        fixture.write("pass", "open sesame\n");
        fixture.write("ws/src/a.rs", "pub fn a() {}\n");
        let git = Command::new("git")
            .args(["init", "-q"])
            .current_dir(fixture.workspace())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(git.unwrap().success());
        fixture
    }

    /// Contains anna's key too.
    pub(crate) fn new() -> OwnerFixture {
        let fixture = OwnerFixture::empty();
        fixture.run(&["init", "--name", "anna", "--passphrase-file", "../pass"]);
        fixture
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("ws")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns a program that runs in the workspace, with keys and state beside it.
    pub(crate) fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Process::command(program.as_ref(), arguments);
        command
            .current_dir(self.workspace())
            .env("CANDOR_CONFIG_DIR", self.path("config"))
            .env("CANDOR_STATE_DIR", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("CLICOLOR_FORCE")
            .env("NO_COLOR", "1");
        command
    }

    /// Runs `candor workspace ARGUMENTS` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        Process::run(self.candor(arguments), LIMIT)
    }

    fn candor(&self, arguments: &[&str]) -> Command {
        let arguments: Vec<_> = ["workspace"].iter().chain(arguments).copied().collect();
        self.command(CANDOR, &arguments)
    }

    /// Runs a command that must succeed. Returns its stdout; stderr may contain notes.
    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.exit, Exit::Code(0), "{arguments:?}: {}", ended.stderr);
        self.normalize(&String::from_utf8(ended.stdout).unwrap())
    }

    /// Returns the status without the lines about the sandbox, which differ between machines.
    pub(crate) fn status(&self) -> String {
        let text = self.run_ok(&["status"]);
        assert!(text.contains("\n  sandbox   "), "{text}");
        let other = text.lines().filter(|line| {
            !line.starts_with("  sandbox ") && !line.starts_with("            without ")
        });
        other.map(|line| format!("{line}\n")).collect()
    }

    /// Runs a command that must fail and print nothing on stdout. Returns its stderr.
    pub(crate) fn run_err(&self, arguments: &[&str]) -> String {
        self.normalize(&fixture::run_err(self.candor(arguments)))
    }

    /// Runs a command that must succeed, with the passphrase of anna's key.
    pub(crate) fn run_signed(&self, arguments: &[&str]) -> String {
        let with = arguments.iter().copied();
        self.run_ok(
            &with
                .chain(["--passphrase-file", "../pass"])
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the last line of the audit log.
    pub(crate) fn last_line(&self) -> serde_json::Value {
        let log = self.read("ws/audit-log.jsonl");
        serde_json::from_str(log.lines().last().unwrap()).unwrap()
    }

    /// Replaces everything that differs from run to run by a fixed name.
    pub(crate) fn normalize(&self, text: &str) -> String {
        let text = text.replace(self.base.to_str().unwrap(), "BASE");
        let text = text.replace(CANDOR, "CANDOR");
        let root = Root::open(self.workspace()).unwrap().id().to_string();
        let text = text.replace(&root, "ROOT");
        let text: String = text.split_inclusive('\n').map(normalize_line).collect();
        without_sandbox(&text)
    }

    /// Runs git in a directory beside the workspace. Returns its output.
    pub(crate) fn git(&self, dir: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
            .args(arguments)
            .current_dir(self.path(dir))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits everything in a directory beside the workspace. Returns the hash of the commit.
    pub(crate) fn commit(&self, dir: &str, message: &str) -> String {
        self.git(dir, &["add", "--all", "--", ".", ":!audit-log*"]);
        self.git(dir, &["commit", "-q", "--allow-empty", "-m", message]);
        self.git(dir, &["rev-parse", "HEAD"])
    }
}

/// Removes the lines about the sandbox from the page of a plan, because machines differ.
fn without_sandbox(text: &str) -> String {
    let mut is_sandbox = false;
    let other = text.split_inclusive('\n').filter(|line| {
        let goes_on = is_sandbox && line.starts_with(&" ".repeat(13));
        is_sandbox = goes_on || line.starts_with("  sandbox    ");
        !is_sandbox
    });
    other.collect()
}

/// Replaces the instants, ids, keys and clients of a line.
fn normalize_line(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (line, ""),
    };
    if line.starts_with("  until      ") {
        return format!("  until      UNTIL{end}");
    }
    let line = match (line.find("  rmcp "), line.find(", last call ")) {
        (Some(start), Some(end)) => format!("{}  CLIENT{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    };
    let words: Vec<_> = line.split(' ').map(normalize_word).collect();
    words.join(" ") + end
}

fn normalize_word(word: &str) -> String {
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
fn instants_and_keys_are_replaced_and_other_words_are_not() {
    let line =
        "at 2026-01-31T12:00:00.000Z, by SHA256:kaIYjEEUyyZdkyAdV95a+ZBe7+twCyym07telArSafI\n";
    assert_eq!(normalize_line(line), "at INSTANT, by KEY\n");
    assert_eq!(
        normalize_line("7d39c0ccfde8  src/a.rs: b"),
        "7d39c0ccfde8  src/a.rs: b"
    );
}
