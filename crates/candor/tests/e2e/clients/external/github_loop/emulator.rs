//! A stateful emulator of GitHub, which `cargo xtask test` installs.

use crate::clients::external::runner::{Language, required_variable};
use crate::fixture::Directory;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(super) const REPO: &str = "octocat/hello";

/// Not in the form of a token of GitHub, so that only a filter for known tokens finds it.
const TOKEN: &str = "emulated-token-of-the-loop";

/// An emulator on a free port, which ends when this is dropped.
pub(in crate::clients) struct Emulator {
    process: Child,
    url: String,
    directory: Directory,
}

impl Emulator {
    pub(super) fn start() -> Emulator {
        let mut process = Command::new(Language::JavaScript.interpreter())
            .arg(Path::new(&required_variable("CANDOR_CLIENTS")).join("github_emulator.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the emulator can be started");
        let (owner, name) = REPO.split_once('/').expect("a repository has an owner");
        let seed = json!({
            "tokens": { TOKEN: { "login": owner, "scopes": ["repo", "user"] } },
            "github": {
                "users": [{ "login": owner, "name": "The Octocat", "email": "octocat@example.com" }],
                "repos": [{ "owner": owner, "name": name, "auto_init": true }],
            },
        });
        let stdin = process.stdin.as_mut().expect("stdin is a pipe");
        writeln!(stdin, "{seed}").expect("the emulator reads its state");
        let stdout = process.stdout.take().expect("stdout is a pipe");
        let first = BufReader::new(stdout).lines().next();
        let first = first
            .expect("the emulator prints its address")
            .expect("it is text");
        let directory = Directory::new();
        directory.write("token", TOKEN);
        Emulator {
            process,
            url: first.replace("localhost", "127.0.0.1"),
            directory,
        }
    }

    /// Returns the flags of a server that works on it.
    pub(super) fn flags(&self) -> Vec<String> {
        let token = self.directory.text("token");
        let words = [
            "--backend",
            "github",
            "--api-url",
            &self.url,
            "--github-token-file",
            &token,
        ];
        words.map(String::from).into()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
