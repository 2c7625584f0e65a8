//! A data directory of GitHub repositories, and the commands and servers that use it.

use crate::fixture::{self, CANDOR, Directory, LIMIT};
use crate::github::requests::GithubCalls;
use candor_testkit::{Exit, Http, Process, ProcessOutput, Stdio};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory with the data directory `data`.
pub(crate) struct GithubFixture {
    directory: Directory,
}

impl GithubFixture {
    pub(crate) fn empty() -> GithubFixture {
        GithubFixture {
            directory: Directory::new(),
        }
    }

    /// Contains the sample repository.
    pub(crate) fn new() -> GithubFixture {
        let fixture = GithubFixture::empty();
        fixture.run_ok(&["init"]);
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    /// Returns the path of `name` as an argument of a command.
    pub(crate) fn text(&self, name: &str) -> String {
        self.directory.text(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        self.directory.write(name, text)
    }

    /// Returns the path of a bare repository.
    pub(crate) fn bare(&self, repo: &str) -> PathBuf {
        self.path(&format!("data/forge/{repo}.git"))
    }

    /// Returns `candor github ARGUMENTS --data-dir …`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fixture::candor(&["github"]);
        command
            .args(arguments)
            .args(["--data-dir", &self.text("data")])
            .current_dir(self.directory.root());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        Process::run(self.command(arguments), LIMIT)
    }

    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        self.normalize(&fixture::run_ok(self.command(arguments)))
    }

    pub(crate) fn run_err(&self, arguments: &[&str]) -> String {
        self.normalize(&fixture::run_err(self.command(arguments)))
    }

    pub(crate) fn normalize(&self, text: &str) -> String {
        self.directory.normalize(text)
    }

    /// Starts the tools over HTTP.
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

    /// Starts the tools on stdio.
    pub(crate) fn stdio(&self, flags: &[&str]) -> Stdio {
        let arguments: Vec<_> = ["serve"].iter().chain(flags).copied().collect();
        Stdio::start(self.command(&arguments))
    }

    /// Makes one call on a server that ends afterwards.
    pub(crate) fn call_once(&self, flags: &[&str], tool: &str, arguments: Value) -> Value {
        let mut server = self.stdio(flags);
        let content = server.call_ok(tool, arguments);
        assert_eq!(server.end(), (vec![], Exit::Code(0)));
        content
    }

    /// Runs git in `directory`, below the fixture, and returns its stdout.
    pub(crate) fn git(&self, directory: impl AsRef<Path>, arguments: &[&str]) -> String {
        let output = git(&self.path("").join(directory), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes a clone with one commit for each of the files. Returns its path.
    pub(crate) fn clone_with(&self, name: &str, files: &[(&str, &str)]) -> String {
        fs::create_dir(self.path(name)).unwrap();
        self.git(name, &["init", "-q", "-b", "main"]);
        for (path, text) in files {
            self.write(&format!("{name}/{path}"), text);
            self.git(name, &["add", "--all"]);
            self.git(name, &["commit", "-q", "-m", &format!("Add {path}")]);
        }
        self.text(name)
    }
}

/// Runs git without the configuration of this machine, at a fixed time.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(directory)
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
