//! A temporary directory with an audit log of fixed content, and `candor audit` run in it.

use crate::fixture::{self, Directory, LIMIT};
use candor_audit::{
    AppendReceipt, CheckpointFile, CheckpointWriter, Log, LogOptions, PrivateKey, Signer,
};
use candor_disk::RealDisk;
use candor_testkit::{Exit, Process, ProcessOutput};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A directory with the log `log.jsonl`, and `state` for its checkpoints.
pub(crate) struct AuditFixture {
    directory: Directory,
}

impl AuditFixture {
    pub(crate) fn empty() -> AuditFixture {
        let directory = Directory::new();
        fs::create_dir(directory.path("state")).unwrap();
        AuditFixture { directory }
    }

    /// Contains a log of four entries of different servers.
    pub(crate) fn new() -> AuditFixture {
        let fixture = AuditFixture::empty();
        fixture.append(entries(), None);
        fixture
    }

    /// Appends entries, and writes a checkpoint to `state/checkpoint.json`.
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
        let disk = RealDisk::at(self.directory.root()).unwrap();
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
        self.directory.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        self.directory.read(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.directory.write(name, text);
    }

    /// Returns the sorted names of the log's files without its lock file.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.root()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("log.jsonl")).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fixture::candor(&["audit"]);
        command.args(arguments).current_dir(self.directory.root());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> ProcessOutput {
        Process::run(self.command(arguments), LIMIT)
    }

    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        fixture::run_ok(self.command(arguments))
    }

    /// Runs `verify` on a log whose completeness cannot be checked. Returns its stdout.
    pub(crate) fn run_unchecked(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(4), ""));
        String::from_utf8(ended.stdout).unwrap()
    }

    pub(crate) fn run_err(&self, code: i32, arguments: &[&str]) -> String {
        fixture::run_err_with(code, self.command(arguments))
    }
}

/// Returns entries as different servers write them.
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
