//! P10: a log that was cut, rewritten or rolled back is never called whole, and a log whose
//! completeness cannot be checked is called that.

use crate::fixture::{self, LIMIT};
use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use candor_audit::{CheckpointFile, CheckpointWriter, Log, LogOptions, PrivateKey, Signer};
use candor_disk::RealDisk;
use candor_testkit::{Exit, Process};
use serde_json::{Map, Value, json};
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use std::fs;
use std::path::{Path, PathBuf};

const LOG: &str = "audit-log.jsonl";

/// A workspace with a log, a signed checkpoint in the state directory and another one in `far`.
pub(super) struct RecordFixture {
    pub(super) workspace: WorkspaceFixture,
}

impl RecordFixture {
    pub(super) fn new() -> RecordFixture {
        let workspace = WorkspaceFixture::new();
        fs::create_dir(workspace.path_beside("keys")).unwrap();
        for (name, seed) in [("own", 1), ("other", 2)] {
            let text = key(seed).to_openssh(LineEnding::LF).unwrap();
            fs::write(workspace.path_beside("keys").join(name), text).unwrap();
        }
        RecordFixture { workspace }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path_beside(name)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.workspace.path(LOG)
    }

    pub(super) fn near(&self) -> PathBuf {
        self.workspace.state().join("checkpoint.json")
    }

    fn far(&self) -> PathBuf {
        let id = self.workspace.state();
        let id = id.file_name().unwrap().to_str().unwrap();
        self.path("far").join(format!("{id}.checkpoint.json"))
    }

    /// Returns the flags of a server that signs its checkpoints and writes them to two places.
    pub(super) fn flags(&self) -> Vec<String> {
        let own = self.path("keys/own").display().to_string();
        let far = self.path("far").display().to_string();
        ["--checkpoint-key", &own, "--checkpoint-to", &far]
            .map(String::from)
            .to_vec()
    }

    /// Runs a session of the executor.
    pub(super) fn session(&self, flags: &[&str], calls: usize) {
        let mut client = self.workspace.executor(flags);
        for _ in 0..calls {
            client.call_ok("session_status", json!({}));
        }
        client.end();
    }

    /// Appends lines to small files, so that there are full ones.
    pub(super) fn append(&self, count: usize) {
        let files = [self.near(), self.far()].map(|path| {
            let disk = RealDisk::at(path.parent().unwrap()).unwrap();
            CheckpointFile::new(disk, path.file_name().unwrap().to_str().unwrap())
        });
        self.append_to(
            LogOptions {
                rotate_at: 2_000,
                checkpoints: Some(CheckpointWriter {
                    files: files.into(),
                    signer: Some(Signer::new(key(1)).unwrap()),
                    now: Box::new(|| String::from("2026-01-02T03:04:05.678Z")),
                }),
                ..LogOptions::default()
            },
            count,
        );
    }

    fn append_to(&self, options: LogOptions, count: usize) {
        let disk = RealDisk::at(self.workspace.root()).unwrap();
        let log = Log::open(disk, LOG, options).unwrap();
        for n in 0..count {
            let line: Map<String, Value> =
                serde_json::from_value(json!({ "v": 1, "kind": "filler", "n": n, "timestamp": "2020-01-31T12:00:00.000Z" })).unwrap();
            log.append_blocking(line).unwrap();
        }
    }

    /// Runs `candor audit verify` without naming any checkpoint.
    pub(super) fn verify(&self, flags: &[&str]) -> (Exit, String, String) {
        let mut command = fixture::candor(&["audit", "verify"]);
        command
            .arg(self.log())
            .arg("--state-dir")
            .arg(self.path("state"))
            .args(flags);
        let ended = Process::run(command, LIMIT);
        (
            ended.exit,
            String::from_utf8(ended.stdout).unwrap(),
            ended.stderr,
        )
    }

    /// Returns the verification of the log that `candor workspace status` prints.
    pub(super) fn status(&self) -> Value {
        let mut command = fixture::candor(&["workspace", "status", "--json", "--root"]);
        command
            .arg(self.workspace.root())
            .arg("--config-dir")
            .arg(self.path("config"))
            .arg("--state-dir")
            .arg(self.path("state"));
        let status: Value = serde_json::from_str(&fixture::run_ok(command)).unwrap();
        status["log"]["verified"].clone()
    }

    /// Begins a session. Returns the member `log` of its answer, or the flaw for which it is refused.
    pub(super) fn begin(&self, flags: &[&str]) -> Result<Value, Value> {
        let mut client = self.workspace.serve(EXECUTOR, flags);
        let root = json!({ "workspace_root": self.workspace.root_text() });
        let answer = client.call("begin_session", &root);
        if answer["result"]["isError"] == true {
            let failed = client.parse_failure(&answer);
            assert_eq!(failed.code(), "SESSION_INITIALIZATION_FAILED");
            assert_eq!(failed.effect(), "none");
            return Err(failed.cause()["flaw"].clone());
        }
        client.end();
        Ok(answer["result"]["structuredContent"]["log"].clone())
    }

    /// Copies the record to `name`, or back from there.
    pub(super) fn save(&self, name: &str) {
        for part in ["ws", "state", "far"] {
            copy(&self.path(part), &self.path(name).join(part));
        }
    }

    pub(super) fn restore(&self, name: &str) {
        for part in ["ws", "state", "far"] {
            self.restore_only(name, part);
        }
    }

    fn restore_only(&self, name: &str, part: &str) {
        let path = self.path(part);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        }
        copy(&self.path(name).join(part), &path);
    }

    /// Replaces the text of the log's current file.
    pub(super) fn edit(&self, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.log()).unwrap();
        let changed = change(text.clone());
        assert_ne!(changed, text);
        fs::write(self.log(), changed).unwrap();
    }

    /// Returns the last line of the log.
    pub(super) fn last_line(&self) -> Value {
        self.workspace.log_lines().pop().unwrap()
    }

    /// Returns the paths of the full files, the oldest first.
    pub(super) fn full_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.workspace.root()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_full = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.strip_prefix("audit-log.jsonl.0").is_some()
        };
        let mut full: Vec<_> = paths.filter(is_full).collect();
        full.sort();
        full
    }

    /// Rewrites the log from its first line on, with correct hashes.
    fn recompute(&self) {
        let mut lines = String::new();
        for path in self.full_files().into_iter().chain([self.log()]) {
            lines += &fs::read_to_string(&path).unwrap();
            fs::remove_file(path).unwrap();
        }
        let disk = RealDisk::at(self.workspace.root()).unwrap();
        let log = Log::open(disk, LOG, LogOptions::default()).unwrap();
        for (n, line) in lines.lines().enumerate() {
            let mut line: Map<String, Value> = serde_json::from_str(line).unwrap();
            line.retain(|name, _| !["seq", "prev_hash", "hash"].contains(&name.as_str()));
            if n == 2 {
                line.insert(String::from("effect"), json!("edited"));
            }
            log.append_blocking(line).unwrap();
        }
    }

    /// Writes a checkpoint of the log as it is now into the state directory, as an attacker would.
    fn forge_checkpoint(&self, signer: Option<Signer>) {
        fs::remove_file(self.near()).unwrap();
        let state = RealDisk::at(self.workspace.state()).unwrap();
        let disk = RealDisk::at(self.workspace.root()).unwrap();
        let options = LogOptions {
            checkpoints: Some(CheckpointWriter {
                files: vec![CheckpointFile::new(state, "checkpoint.json")],
                signer,
                now: Box::new(|| String::from("2026-01-02T03:04:05.678Z")),
            }),
            ..LogOptions::default()
        };
        drop(Log::open(disk, LOG, options).unwrap());
        assert!(self.near().exists());
    }
}

fn key(seed: u8) -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => _ = fs::copy(entry.path(), to).unwrap(),
        }
    }
}

/// Changes the record as an attacker would.
type Tampering = fn(&RecordFixture);

/// Every way in which a record is tampered with. Before each, the record is complete; `old` is an older copy.
const CASES: [(&str, Tampering); 14] = [
    ("the last line was cut off", |record| {
        record.edit(|text| {
            let lines: Vec<_> = text.split_inclusive('\n').collect();
            let (_, kept) = lines.split_last().unwrap();
            assert!(!kept.is_empty(), "another case empties the file");
            kept.concat()
        });
    }),
    ("the newest file was emptied", |record| {
        record.edit(|_| String::new());
    }),
    ("every file was removed", |record| {
        for path in record.full_files() {
            fs::remove_file(path).unwrap();
        }
        fs::remove_file(record.log()).unwrap();
    }),
    ("a line was edited", |record| {
        record.edit(|text| text.replacen("\"filler\"", "\"edited\"", 1));
    }),
    (
        "a line was edited, and every hash recomputed",
        RecordFixture::recompute,
    ),
    ("the log was restored from an older copy", |record| {
        record.restore_only("old", "ws");
    }),
    (
        "the log and the checkpoint in the state directory were restored from an older copy",
        |record| {
            record.restore_only("old", "ws");
            record.restore_only("old", "state");
        },
    ),
    (
        "the log was restored from an older copy, and an unsigned checkpoint written that agrees with it",
        |record| {
            record.restore_only("old", "ws");
            record.forge_checkpoint(None);
        },
    ),
    (
        "the same, and the checkpoint was signed with another key",
        |record| {
            record.restore_only("old", "ws");
            record.forge_checkpoint(Some(Signer::new(key(2)).unwrap()));
        },
    ),
    ("two full files were swapped", |record| {
        let full = record.full_files();
        let aside = record.path("aside");
        fs::rename(&full[0], &aside).unwrap();
        fs::rename(&full[1], &full[0]).unwrap();
        fs::rename(&aside, &full[1]).unwrap();
    }),
    ("a full file was removed", |record| {
        fs::remove_file(&record.full_files()[1]).unwrap();
    }),
    (
        "the checkpoint in the state directory was removed",
        |record| {
            fs::remove_file(record.near()).unwrap();
        },
    ),
    ("the checkpoint in the other place was removed", |record| {
        fs::remove_dir_all(record.path("far")).unwrap();
    }),
    ("every checkpoint was removed", |record| {
        fs::remove_file(record.near()).unwrap();
        fs::remove_file(record.far()).unwrap();
    }),
];

/// Returns a row of the table in `docs/audit.md` about the record as it is.
fn verdicts(record: &RecordFixture, what: &str) -> String {
    let (exit, stdout, _) = record.verify(&["--json"]);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let untrusted = report["checkpoints"].as_array().unwrap().iter();
    let untrusted = untrusted
        .map(|checkpoint| word(&checkpoint["verdict"]))
        .find(|verdict| ["unsigned", "signature"].contains(&verdict.as_str()));
    let reason = untrusted.unwrap_or_else(|| word(&report["flaw"]["kind"]));
    let verified = match (exit, report["completeness"].as_str().unwrap()) {
        (Exit::Code(3), "contradicted") => format!("3, `{reason}`"),
        (Exit::Code(4), "unchecked") => String::from("4, `unchecked`"),
        (Exit::Code(0), "checked") => String::from("0, `checked`"),
        other => panic!("{other:?}: {report}"),
    };
    let (plain_exit, text, errors) = record.verify(&[]);
    assert_eq!(plain_exit, exit);
    assert_eq!(text.contains("is whole"), exit == Exit::Code(0), "{text}");
    let unchecked = "chain consistent, completeness not checked";
    assert_eq!(
        text.contains(unchecked),
        exit == Exit::Code(4),
        "{text}{errors}"
    );
    let status = record.status();
    assert_eq!(status["ok"], exit != Exit::Code(3), "{status}");
    let status = word(&status["completeness"]);
    let flags = record.flags();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let begun = match record.begin(&flags) {
        Ok(log) => format!("begins, `{}`", word(&log["completeness"])),
        Err(flaw) => {
            let kind = flaw
                .as_object()
                .and_then(|flaw| flaw.keys().next().cloned());
            format!("refused, `{}`", kind.unwrap_or_else(|| word(&flaw)))
        }
    };
    format!("| {what} | {verified} | `{status}` | {begun} |\n")
}

/// The start and the end of the generated table.
const MARKS: [&str; 2] = ["<!-- tampering -->\n", "<!-- /tampering -->\n"];

#[test]
fn p10_every_tampering_has_the_verdict_of_the_documentation() {
    let record = RecordFixture::new();
    let flags = record.flags();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    record.session(&flags, 2);
    record.append(12);
    record.save("old");
    record.append(17);
    assert!(record.full_files().len() >= 3);
    record.save("whole");
    let mut table = String::from(
        "| what was done | `verify` exits with | `status` says | `begin_session` |\n|---|---|---|---|\n",
    );
    table += &verdicts(&record, "nothing");
    for (what, tamper) in CASES {
        record.restore("whole");
        tamper(&record);
        table += &verdicts(&record, what);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(MARKS[0]).unwrap();
    let (documented, after) = rest.split_once(MARKS[1]).unwrap();
    if documented != table && std::env::var_os("CANDOR_UPDATE_DOCS").is_some() {
        let updated = [before, MARKS[0], &table, MARKS[1], after].concat();
        fs::write(&page, updated).unwrap();
        return;
    }
    assert_eq!(
        documented, table,
        "to update the page, run this test with CANDOR_UPDATE_DOCS=1"
    );
}

#[test]
fn p10_cut_emptied_and_recomputed_logs_are_not_whole() {
    let record = RecordFixture::new();
    fs::create_dir(record.path("far")).unwrap();
    record.session(&[], 400);
    let (exit, text, _) = record.verify(&[]);
    assert_eq!(exit, Exit::Code(0));
    let whole = format!("{} is whole: 401 lines in 1 file\n", record.log().display());
    assert!(text.starts_with(&whole), "{text}");
    let checkpoint = format!("{} agrees up to line 401 of 20", record.near().display());
    assert!(
        text.contains(&checkpoint) && text.ends_with(", not signed\n"),
        "{text}"
    );
    record.save("whole");
    let tamperings: [(Tampering, &str); 3] = [
        (
            |record| record.edit(|text| text.split_inclusive('\n').take(300).collect()),
            "is broken at line 301: the log ends before it, but a checkpoint has seen it",
        ),
        (
            |record| record.edit(|_| String::new()),
            "is broken at line 1: the log ends before it, but a checkpoint has seen it",
        ),
        (
            RecordFixture::recompute,
            "is broken at line 401: it is not the line that a checkpoint has seen",
        ),
    ];
    for (tamper, message) in tamperings {
        record.restore("whole");
        tamper(&record);
        let (exit, text, errors) = record.verify(&[]);
        assert_eq!((exit, text.as_str()), (Exit::Code(3), ""), "{errors}");
        assert!(errors.contains(message), "{errors}");
        assert!(record.begin(&[]).is_err());
    }
}

/// The log has 300 of its lines, and the checkpoint was edited to match.
#[test]
fn p10_unsigned_checkpoint_is_not_accepted_where_a_key_signs() {
    let record = RecordFixture::new();
    fs::create_dir(record.path("far")).unwrap();
    let own = record.path("keys/own").display().to_string();
    let flags = ["--checkpoint-key", own.as_str()];
    record.session(&flags, 30);
    record.edit(|text| text.split_inclusive('\n').take(20).collect());
    record.forge_checkpoint(None);
    assert_eq!(record.begin(&flags), Err(json!("checkpoint_unsigned")));
    // A server without the key does not begin either: the state directory records that one signs.
    assert_eq!(record.begin(&[]), Err(json!("checkpoint_unsigned")));
    let status = record.status();
    assert_eq!(
        (&status["ok"], &status["completeness"]),
        (&json!(false), &json!("contradicted"))
    );
    assert!(
        status["why"]
            .as_str()
            .unwrap()
            .ends_with("is not signed, although a key signs them")
    );
    assert_eq!(record.verify(&[]).0, Exit::Code(3));
    record.forge_checkpoint(Some(Signer::new(key(2)).unwrap()));
    assert_eq!(record.begin(&flags), Err(json!("checkpoint_signature")));
}

#[test]
fn p10_removed_checkpoint_leaves_the_log_unchecked() {
    let record = RecordFixture::new();
    record.session(&[], 30);
    fs::remove_file(record.near()).unwrap();
    let (exit, text, _) = record.verify(&[]);
    assert_eq!(exit, Exit::Code(4));
    assert!(
        text.starts_with("chain consistent, completeness not checked: "),
        "{text}"
    );
    assert!(!text.contains("whole"), "{text}");
    let status = record.status();
    assert_eq!(status["completeness"], "unchecked");
    assert_eq!(status["checkpoints"][0]["verdict"], "gone");
    let refused = record.begin(&["--require-checkpoint"]);
    assert_eq!(refused, Err(json!("checkpoint_missing")));
    let log = record.begin(&[]).unwrap();
    assert_eq!(
        (&log["lines"], &log["completeness"]),
        (&json!(31), &json!("unchecked"))
    );
    assert_eq!(log["checkpoint"], Value::Null);
    let line = record.workspace.log_lines().pop().unwrap();
    assert_eq!(line["tool_name"], "begin_session");
    assert_eq!(line["cause"]["completeness"], "unchecked");
    assert_eq!(
        line["cause"]["checkpoints"],
        json!([record.near().display().to_string()])
    );
    // The session has written a checkpoint again.
    let log = record.begin(&["--require-checkpoint"]).unwrap();
    assert_eq!(
        (&log["completeness"], &log["checkpoint"]["seq"]),
        (&json!("checked"), &json!(32))
    );
    assert_eq!(
        record.workspace.log_lines().pop().unwrap()["cause"],
        Value::Null
    );
    assert_eq!(record.verify(&[]).0, Exit::Code(0));
}

/// A person signs the end of the log once; then servers sign.
#[test]
fn owner_signs_the_log_before_a_server_does() {
    let record = RecordFixture::new();
    record.session(&[], 3);
    let own = record.path("keys/own").display().to_string();
    let flags = ["--checkpoint-key", own.as_str()];
    assert_eq!(record.begin(&flags), Err(json!("checkpoint_unsigned")));
    let sign = |key: &str| {
        let mut command = fixture::candor(&["audit", "checkpoint"]);
        command
            .arg(record.log())
            .arg("--sign-with")
            .arg(record.path(key))
            .arg("--state-dir")
            .arg(record.path("state"));
        command
    };
    let signed = fixture::run_ok(sign("keys/own"));
    let expected = format!("{} is signed at line 4 by SHA256:", record.near().display());
    assert!(signed.starts_with(&expected), "{signed}");
    assert_eq!(record.begin(&flags).unwrap()["completeness"], "checked");
    // A server without the key appends, and the signed checkpoint stays.
    record.session(&[], 3);
    let checkpoint: Value = serde_json::from_slice(&fs::read(record.near()).unwrap()).unwrap();
    assert_eq!(checkpoint["seq"], 5);
    assert!(checkpoint["signature"].is_string());
    assert_eq!(record.begin(&flags).unwrap()["completeness"], "checked");
    // The owner changes the key.
    fixture::run_ok(sign("keys/other"));
    assert_eq!(record.begin(&flags), Err(json!("checkpoint_signature")));
    let other = record.path("keys/other").display().to_string();
    assert!(record.begin(&["--checkpoint-key", &other]).is_ok());
    // A log that contradicts its checkpoint is not signed.
    record.edit(|text| text.split_inclusive('\n').take(2).collect());
    let refused = fixture::run_err_with(3, sign("keys/other"));
    assert!(refused.contains("is broken at line 3"), "{refused}");
}
