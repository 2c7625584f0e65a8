//! A workspace of a test's own, with a person who approves plans, and servers in it.

use crate::workspace::asking::Client;
use candor_disk::RealDisk;
use candor_fault::Timestamp;
use candor_testkit::{Exit, Process, ProcessOutput, ReachedCodes, Stdio};
use candor_workspace::approval::{
    self, Approval, ApproverKey, Revocation, RevocationTarget, approver_line, sign_approval,
};
use candor_workspace::path::Root;
use candor_workspace::plan::{Plan, PlanHash, store};
use candor_workspace::state;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long anything may take before a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Under this name the codes of the server itself are noted: the playground can raise them all.
const SERVED: &str = "workspace-serve";

/// Who plans, and who executes.
pub(crate) const PLANNER: &str = "ANTIGRAVITY";
pub(crate) const EXECUTOR: &str = "WINDSURF";

const APPROVER: &str = "anna";

/// A folder with a workspace, a configuration and a state directory.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    key: ApproverKey,
}

impl Place {
    /// With some source in it and no plan.
    pub(crate) fn new() -> Place {
        Place::within(tempfile::tempdir().unwrap())
    }

    /// In a folder that is there.
    pub(crate) fn within(folder: tempfile::TempDir) -> Place {
        let place = Place { folder, key: key() };
        for name in ["ws/src", "config", "state"] {
            fs::create_dir_all(place.beside(name)).unwrap();
        }
        let approver = approver_line(APPROVER, place.key.public_key());
        fs::write(place.beside("config/approvers"), approver).unwrap();
        place.put("src/a.txt", "one\ntwo\nthree\n");
        place
    }

    /// With an approved plan that allows everything in `src`.
    pub(crate) fn allowed() -> Place {
        let place = Place::new();
        place.allow(&["src/**"]);
        place
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().canonicalize().unwrap();
        folder.join(name)
    }

    /// The workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.beside("ws")
    }

    /// The workspace as agents name it.
    pub(crate) fn root_text(&self) -> String {
        self.root().to_str().unwrap().to_owned()
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file of the workspace, by no tool.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let at = self.at(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, bytes).unwrap();
    }

    /// What a file of the workspace holds.
    pub(crate) fn got(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// The hash of a file of the workspace.
    pub(crate) fn hash(&self, path: &str) -> String {
        sha256(&fs::read(self.at(path)).unwrap())
    }

    fn disk(&self) -> RealDisk {
        RealDisk::at(self.root()).unwrap()
    }

    /// The state directory of the workspace.
    pub(crate) fn state(&self) -> PathBuf {
        let root = Root::open(self.root()).unwrap();
        state::of_root(&self.beside("state"), root.id())
    }

    /// Stores a plan; its hash.
    pub(crate) fn draft(&self, plan: Value) -> String {
        let plan = Plan::from_value(plan).unwrap();
        let (hash, _) = store::save(&self.disk(), &plan).unwrap();
        hash.as_str().to_owned()
    }

    /// A person signs a plan.
    pub(crate) fn approve(&self, plan: &str) {
        self.sign(plan, &self.key, -60, 3600);
    }

    /// Somebody signs a plan for a time, in seconds from now.
    pub(crate) fn sign(&self, plan: &str, key: &ApproverKey, from: i64, to: i64) {
        let plan = PlanHash::read(plan).unwrap();
        let (from, to) = (moment(from), moment(to));
        let approval = Approval::new(plan, &self.root_text(), APPROVER, from, to).unwrap();
        let signed = sign_approval(key, approval).unwrap();
        approval::save_approval(&self.disk(), &signed).unwrap();
    }

    /// The person's key.
    pub(crate) fn key(&self) -> &ApproverKey {
        &self.key
    }

    /// A person takes an approval back.
    pub(crate) fn revoke(&self, plan: &str) {
        let plan = RevocationTarget::Plan(PlanHash::read(plan).unwrap());
        let revocation = Revocation::new(plan, &self.root_text(), APPROVER, moment(0)).unwrap();
        let state = state::open(&self.state()).unwrap();
        approval::revoke(&state, &self.key, revocation).unwrap();
    }

    /// Stores and approves a plan of one phase; its hash.
    pub(crate) fn allow(&self, globs: &[&str]) -> String {
        self.allow_phase(json!({ "allow": globs }))
    }

    /// The same with more in its phase.
    pub(crate) fn allow_phase(&self, phase: Value) -> String {
        let hash = self.draft(plan(phase));
        self.approve(&hash);
        hash
    }

    /// `candor workspace serve` for a role, not yet started.
    pub(crate) fn command(&self, role: &str, flags: &[&str]) -> Command {
        let mut command = Process::command(CANDOR, &["workspace", "serve", "--role", role]);
        command
            .arg("--root")
            .arg(self.root())
            .arg("--config-dir")
            .arg(self.beside("config"))
            .arg("--state-dir")
            .arg(self.beside("state"))
            .args(flags)
            .env_remove("DEBUG_STACK")
            .env("NO_COLOR", "1")
            .current_dir(self.folder.path());
        command
    }

    /// A client of a server that was started by a command.
    pub(crate) fn client(&self, command: Command) -> Client {
        let mut server = Stdio::start(command);
        server.reaching(SERVED);
        Client::new(server, self)
    }

    /// A client without a session.
    pub(crate) fn serve(&self, role: &str, flags: &[&str]) -> Client {
        self.client(self.command(role, flags))
    }

    /// A client of the executor, with a session.
    pub(crate) fn executor(&self, flags: &[&str]) -> Client {
        let mut client = self.serve(EXECUTOR, flags);
        client.begin();
        client
    }

    /// A client of the planner, with a session.
    pub(crate) fn planner(&self, flags: &[&str]) -> Client {
        let mut client = self.serve(PLANNER, flags);
        client.begin();
        client
    }

    /// The envelope of a start that fails.
    pub(crate) fn failed_start(&self, flags: &[&str]) -> Value {
        failed_start(self.command(EXECUTOR, flags))
    }

    /// The log from its first line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        lines(&self.at("audit-log.jsonl"))
    }

    /// What was refused before there was a session.
    pub(crate) fn refusals(&self) -> Vec<Value> {
        lines(&self.beside("state/refusals.jsonl"))
    }

    /// Every line of the log is there, in order, and chained.
    pub(crate) fn verify(&self) {
        let verified = candor_audit::verify(self.disk(), state::LOG).unwrap();
        assert_eq!(verified.flaw, None);
        for (seq, line) in (1..).zip(self.lines()) {
            assert_eq!(line["seq"], seq, "{line}");
        }
    }
}

/// The envelope that a process prints instead of serving; nothing but it is on stderr's last line.
pub(crate) fn failed_start(command: Command) -> Value {
    let ProcessOutput {
        exit,
        stdout,
        stderr,
    } = Process::run(command, LIMIT);
    assert_eq!((exit, stdout), (Exit::Code(1), Vec::new()), "{stderr}");
    let text = stderr.lines().next_back().unwrap_or_default();
    let envelope: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{stderr}"));
    let mut reached = ReachedCodes::default();
    reached.set_dialect(Some(SERVED));
    let result = json!({ "result": { "isError": true, "content": [{ "text": text }] } });
    reached.record(result.to_string().as_bytes());
    assert_eq!(reached.lines().len(), 1, "{stderr}");
    envelope
}

/// A plan of one phase that may do everything, and what is said about it beside.
pub(crate) fn plan(phase: Value) -> Value {
    let mut whole = json!({ "id": "WORK", "operations": ["create", "modify", "delete"] });
    for (name, value) in phase.as_object().unwrap() {
        whole[name] = value.clone();
    }
    json!({ "title": "Work", "objective": "Change some files", "phase": [whole] })
}

/// A key of somebody.
pub(crate) fn key() -> ApproverKey {
    ApproverKey::generate(&mut ssh_key::rand_core::OsRng, "somebody").unwrap()
}

fn moment(seconds: i64) -> Timestamp {
    let now = candor::system_clock().now().as_second();
    Timestamp::from_second(now + seconds).unwrap()
}

/// The lines of a log; none where there is no log.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
    parsed.collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
