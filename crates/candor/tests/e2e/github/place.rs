//! A data directory of a test's own, and the programs that work on it.

use crate::github::asking::Asked;
use candor_testkit::{Exit, Http, Process, ProcessOutput, Stdio};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long anything may take before a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A folder with a data directory in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// With nothing in it.
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        Place { folder }
    }

    /// With the sample repository.
    pub(crate) fn new() -> Place {
        let place = Place::empty();
        place.said(&["init"]);
        place
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as text.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.text(name)
    }

    /// The bare repository of a name.
    pub(crate) fn bare(&self, repo: &str) -> PathBuf {
        self.path(&format!("data/forge/{repo}.git"))
    }

    /// `candor github ARGUMENTS --data-dir …`, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Process::command(CANDOR, &["github"]);
        command
            .args(arguments)
            .args(["--data-dir", &self.text("data")])
            .env_remove("CLICOLOR_FORCE")
            .env_remove("GITHUB_TOKEN")
            .env("NO_COLOR", "1")
            .current_dir(self.folder.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        Process::run(self.command(arguments), LIMIT)
    }

    /// What it answers; it says nothing beside.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.stderr, "", "{arguments:?}");
        assert_eq!(ended.exit, Exit::Code(0), "{arguments:?}");
        self.normal(&String::from_utf8(ended.stdout).unwrap())
    }

    /// What it complains about; it answers nothing.
    pub(crate) fn complaint(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.exit, Exit::Code(1), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "", "{arguments:?}");
        self.normal(&ended.stderr)
    }

    /// A text without the name of this folder.
    pub(crate) fn normal(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "FOLDER")
    }

    /// The tools over HTTP.
    pub(crate) fn http(&self, flags: &[&str]) -> Http {
        let data = self.text("data");
        let fixed = [
            "github",
            "serve",
            "--http",
            "--port",
            "0",
            "--data-dir",
            &data,
        ];
        let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
        Http::spawn(CANDOR, &arguments)
    }

    /// The tools on stdio.
    pub(crate) fn stdio(&self, flags: &[&str]) -> Stdio {
        let arguments: Vec<_> = ["serve"].iter().chain(flags).copied().collect();
        Stdio::start(self.command(&arguments))
    }

    /// One call on a server of its own, which has ended when this returns.
    pub(crate) fn once(&self, flags: &[&str], tool: &str, arguments: Value) -> Value {
        let mut server = self.stdio(flags);
        let done = server.done(tool, arguments);
        assert_eq!(server.end(), (vec![], Exit::Code(0)));
        done
    }

    /// Runs git in a directory of the folder, as nobody in particular; what it prints.
    pub(crate) fn git(&self, within: impl AsRef<Path>, arguments: &[&str]) -> String {
        let output = git(&self.path("").join(within), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A clone with one commit for each of these files, to be imported.
    pub(crate) fn clone_with(&self, name: &str, files: &[(&str, &str)]) -> String {
        fs::create_dir(self.path(name)).unwrap();
        self.git(name, &["init", "-q", "-b", "main"]);
        for (path, text) in files {
            let at = self.path(name).join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, text).unwrap();
            self.git(name, &["add", "--all"]);
            self.git(name, &["commit", "-q", "-m", &format!("Add {path}")]);
        }
        self.text(name)
    }
}

/// Git without anybody's configuration, at a fixed time.
pub(crate) fn git(within: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(within)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env_remove("GIT_DIR");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Test")
            .env(format!("GIT_{who}_EMAIL"), "test@example.com")
            .env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    command.output().unwrap()
}
