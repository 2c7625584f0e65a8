//! A folder with a log in it, always the same one, and the program that looks at it.

use candor_audit::{
    AppendReceipt, CheckpointFile, CheckpointWriter, Log, LogOptions, PrivateKey, Signer,
};
use candor_disk::RealDisk;
use candor_testkit::{Exit, Process, ProcessOutput};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long anything may take before a test fails.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder: `log.jsonl` in it, and `state` for checkpoints.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        Place { folder }
    }

    /// With a log of four entries of different servers.
    pub(crate) fn new() -> Place {
        let place = Place::empty();
        place.append(entries(), None);
        place
    }

    /// Appends entries, and leaves a checkpoint in `state/checkpoint.json`.
    pub(crate) fn append(
        &self,
        entries: Vec<Value>,
        key: Option<PrivateKey>,
    ) -> Vec<AppendReceipt> {
        let state = RealDisk::at(self.path("state")).unwrap();
        let options = LogOptions {
            rotate_at: 700,
            checkpoints: Some(CheckpointWriter {
                files: vec![CheckpointFile::new(state, "checkpoint.json")],
                signer: key.map(|key| Signer::new(key).unwrap()),
                now: Box::new(|| String::from("2026-01-02T03:04:09.000Z")),
            }),
            ..LogOptions::default()
        };
        let disk = RealDisk::at(self.folder.path()).unwrap();
        let log = Log::open(disk, "log.jsonl", options).unwrap();
        let lines = entries.into_iter().map(|entry| match entry {
            Value::Object(members) => members,
            _ => unreachable!(),
        });
        lines
            .map(|line| log.append_blocking(line).unwrap())
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The names of the log's files, but for its lock.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("log.jsonl")).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }

    /// `candor audit ARGUMENTS`, in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        let mut command = Process::command(CANDOR, &["audit"]);
        command
            .args(arguments)
            .env_remove("CLICOLOR_FORCE")
            .env("NO_COLOR", "1")
            .current_dir(self.folder.path());
        Process::run(command, LIMIT)
    }

    /// What it answers; it says nothing beside.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.stderr, "", "{arguments:?}");
        assert_eq!(ended.exit, Exit::Code(0), "{arguments:?}");
        String::from_utf8(ended.stdout).unwrap()
    }

    /// What it complains about, ending like this; it answers nothing.
    pub(crate) fn complaint(&self, exit: i32, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(
            ended.exit,
            Exit::Code(exit),
            "{arguments:?} {}",
            ended.stderr
        );
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "", "{arguments:?}");
        ended.stderr
    }
}

/// Entries as different servers write them.
pub(crate) fn entries() -> Vec<Value> {
    let when = |second: u32| format!("2026-01-02T03:04:0{second}.000Z");
    vec![
        json!({
            "v": 1, "timestamp": when(1), "tool_name": "write_file", "role": "WINDSURF",
            "result": "ok", "error_code": null, "duration_us": 1234,
            "subject": { "path": "src/main.rs", "before": "b", "after": "a", "bytes": 3 },
        }),
        json!({
            "v": 1, "timestamp": when(2), "tool_name": "write_file", "role": "WINDSURF",
            "result": "error", "error_code": "HASH_MISMATCH", "subject": null,
            "envelope": { "human_message": "The file \u{1b}[31mchanged, meanwhile" },
        }),
        json!({
            "v": 2, "at": when(3), "kind": "attempt", "tool": "merge_pull_request",
            "arguments": { "repo": "octo/cat" },
        }),
        json!({
            "v": 9, "at": when(4), "kind": "outcome", "of": 3, "tool": "merge_pull_request",
            "code": -32005, "message": "=not \"mergeable\"", "unheard": [[{}]],
        }),
    ]
}
