//! A workspace with an approver's key, and the servers of both roles in it.

use crate::fixture::{self, Directory, LIMIT};
use crate::workspace::requests::AgentClient;
use candor_disk::RealDisk;
use candor_fault::Timestamp;
use candor_testkit::{Exit, Process, ProcessOutput, ReachedCodes, Stdio};
use candor_workspace::approval::{
    self, Approval, ApprovalBinding, ApproverKey, Revocation, RevocationTarget, StatementTime,
    approver_line, sign_approval,
};
use candor_workspace::path::Root;
use candor_workspace::plan::{Plan, PlanHash, store};
use candor_workspace::repository::RepositoryReader;
use candor_workspace::state;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name under which codes count as raised by the workspace server itself: the playground can raise them all.
const SERVED: &str = "workspace-serve";

/// The names of the roles.
pub(crate) const PLANNER: &str = "ANTIGRAVITY";
pub(crate) const EXECUTOR: &str = "WINDSURF";

const APPROVER: &str = "anna";

/// A directory with a workspace, a configuration directory and a state directory.
pub(crate) struct WorkspaceFixture {
    directory: Directory,
    key: ApproverKey,
}

impl WorkspaceFixture {
    /// Contains a source file and no plan.
    pub(crate) fn new() -> WorkspaceFixture {
        WorkspaceFixture::within(Directory::new())
    }

    /// Uses a directory that exists.
    pub(crate) fn within(directory: Directory) -> WorkspaceFixture {
        let fixture = WorkspaceFixture {
            directory,
            key: key(),
        };
        for name in ["ws/src", "config", "state"] {
            fs::create_dir_all(fixture.path_beside(name)).unwrap();
        }
        let approver = approver_line(APPROVER, fixture.key.public_key());
        fs::write(fixture.path_beside("config/approvers"), approver).unwrap();
        fixture.write("src/a.txt", "one\ntwo\nthree\n");
        fixture
    }

    /// Contains an approved plan that allows everything in `src`.
    pub(crate) fn with_plan() -> WorkspaceFixture {
        let fixture = WorkspaceFixture::new();
        fixture.allow(&["src/**"]);
        fixture
    }

    /// Returns a path beside the workspace.
    pub(crate) fn path_beside(&self, name: &str) -> PathBuf {
        let directory = self.directory.root().canonicalize().unwrap();
        directory.join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path_beside("ws")
    }

    /// Returns the root as agents name it.
    pub(crate) fn root_text(&self) -> String {
        self.root().to_str().unwrap().to_owned()
    }

    /// Returns a path in the workspace.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file of the workspace without a tool.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let at = self.path(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, bytes).unwrap();
    }

    /// Returns the content of a file of the workspace.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Returns the hash of a file of the workspace.
    pub(crate) fn hash(&self, path: &str) -> String {
        sha256(&fs::read(self.path(path)).unwrap())
    }

    fn disk(&self) -> RealDisk {
        RealDisk::at(self.root()).unwrap()
    }

    /// Returns the state directory of the workspace.
    pub(crate) fn state(&self) -> PathBuf {
        let root = Root::open(self.root()).unwrap();
        state::of_root(&self.path_beside("state"), root.id())
    }

    /// Stores a plan and returns its hash.
    pub(crate) fn save_plan(&self, plan: Value) -> String {
        let plan = Plan::from_value(&plan).unwrap();
        let (hash, _) = store::save(&self.disk(), &plan).unwrap();
        hash.as_str().to_owned()
    }

    /// Approves a plan with the approver's key.
    pub(crate) fn approve(&self, plan: &str) {
        self.sign(plan, &self.key, -60, 3600);
    }

    /// Signs a plan with any key, for a period in seconds from now.
    pub(crate) fn sign(&self, plan: &str, key: &ApproverKey, from: i64, to: i64) {
        let plan = PlanHash::read(plan).unwrap();
        let (from, to) = (moment(from), moment(to));
        let binding = ApprovalBinding::root(&self.root_text());
        let approval = Approval::new(plan, binding, APPROVER, from, to).unwrap();
        let signed = sign_approval(key, approval).unwrap();
        approval::save_approval(&self.disk(), &signed).unwrap();
    }

    /// Approves a plan for this path and for the repository of the workspace.
    pub(crate) fn sign_here(&self, plan: &str) {
        let path = String::from("/usr/local/bin:/usr/bin:/bin");
        let state = self.path_beside("identity");
        let repository = RepositoryReader::new(&self.root(), state, path).root_commits();
        let binding = ApprovalBinding {
            root: Some(self.root_text()),
            repository: Some(repository.unwrap()),
        };
        let plan = PlanHash::read(plan).unwrap();
        let approval = Approval::new(plan, binding, APPROVER, moment(-60), moment(3600)).unwrap();
        let signed = sign_approval(&self.key, approval).unwrap();
        approval::save_approval(&self.disk(), &signed).unwrap();
    }

    /// Approves a plan with a statement of version 1, for a period in seconds from now.
    pub(crate) fn sign_version_1(&self, plan: &str, from: i64, to: i64) {
        let instant = |seconds| StatementTime::at(moment(seconds)).to_string();
        let members = json!({
            "v": 1,
            "kind": "approval",
            "plan_hash": plan,
            "root": self.root_text(),
            "approver": APPROVER,
            "approved_at": instant(from),
            "not_after": instant(to),
        });
        let approval: Approval = serde_json::from_value(members).unwrap();
        let signed = sign_approval(&self.key, approval).unwrap();
        assert!(signed.to_file().starts_with("{\n  \"v\": 1,\n"));
        approval::save_approval(&self.disk(), &signed).unwrap();
    }

    /// Returns the approver's key.
    pub(crate) fn key(&self) -> &ApproverKey {
        &self.key
    }

    /// Revokes the approval of a plan.
    pub(crate) fn revoke(&self, plan: &str) {
        let plan = RevocationTarget::Plan(PlanHash::read(plan).unwrap());
        let revocation = Revocation::new(plan, &self.root_text(), APPROVER, moment(0)).unwrap();
        let state = state::open(&self.state()).unwrap();
        approval::revoke(&state, &self.key, revocation).unwrap();
    }

    /// Unlocks the executor, as a person would.
    pub(crate) fn unlock(&self) {
        fs::remove_file(self.state().join("lock.WINDSURF.json")).unwrap();
    }

    /// Stores and approves a plan of one phase. Returns its hash.
    pub(crate) fn allow(&self, globs: &[&str]) -> String {
        self.allow_phase(json!({ "allow": globs }))
    }

    /// Stores and approves a plan of one phase with these members. Returns its hash.
    pub(crate) fn allow_phase(&self, phase: Value) -> String {
        let hash = self.save_plan(plan(phase));
        self.approve(&hash);
        hash
    }

    /// Returns `candor workspace serve` for a role.
    pub(crate) fn command(&self, role: &str, flags: &[&str]) -> Command {
        let mut command = fixture::candor(&["workspace", "serve", "--role", role]);
        command
            .arg("--root")
            .arg(self.root())
            .arg("--config-dir")
            .arg(self.path_beside("config"))
            .arg("--state-dir")
            .arg(self.path_beside("state"))
            .args(flags)
            .env("XDG_CACHE_HOME", self.path_beside("cache"))
            .current_dir(self.directory.root());
        command
    }

    /// Starts a command and connects a client to it.
    pub(crate) fn client(&self, command: Command) -> AgentClient {
        let mut server = Stdio::start(command);
        server.reaching(SERVED);
        AgentClient::new(server, self)
    }

    /// Starts a server and connects a client without a session.
    pub(crate) fn serve(&self, role: &str, flags: &[&str]) -> AgentClient {
        self.client(self.command(role, flags))
    }

    /// Starts a session of an executor.
    pub(crate) fn executor(&self, flags: &[&str]) -> AgentClient {
        let mut client = self.serve(EXECUTOR, flags);
        client.begin_session();
        client
    }

    /// Starts a session of a planner.
    pub(crate) fn planner(&self, flags: &[&str]) -> AgentClient {
        let mut client = self.serve(PLANNER, flags);
        client.begin_session();
        client
    }

    /// Returns the envelope of a start that must fail.
    pub(crate) fn failed_start(&self, flags: &[&str]) -> Value {
        failed_start(self.command(EXECUTOR, flags))
    }

    /// Returns the lines of the audit log.
    pub(crate) fn log_lines(&self) -> Vec<Value> {
        lines(&self.path("audit-log.jsonl"))
    }

    /// Returns the log of calls that were refused before a session began.
    pub(crate) fn refusals(&self) -> Vec<Value> {
        lines(&self.path_beside("state/refusals.jsonl"))
    }

    /// Checks that the log is chained and that its lines are numbered without a gap.
    pub(crate) fn verify(&self) {
        let verified = candor_audit::verify(self.disk(), state::LOG).unwrap();
        assert_eq!(verified.flaw, None);
        for (seq, line) in (1..).zip(self.log_lines()) {
            assert_eq!(line["seq"], seq, "{line}");
        }
    }
}

/// Returns the envelope that a process which cannot start prints as the last line of stderr.
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

/// Returns a plan of one phase that allows every operation, with further members of the phase.
pub(crate) fn plan(phase: Value) -> Value {
    let mut whole = json!({ "id": "WORK", "operations": ["create", "modify", "delete"] });
    for (name, value) in phase.as_object().unwrap() {
        whole[name] = value.clone();
    }
    json!({ "title": "Work", "objective": "Change some files", "phase": [whole] })
}

/// Generates a key.
pub(crate) fn key() -> ApproverKey {
    ApproverKey::generate(&mut ssh_key::rand_core::OsRng, "somebody").unwrap()
}

fn moment(seconds: i64) -> Timestamp {
    let now = candor::system_clock().now().as_second();
    Timestamp::from_second(now + seconds).unwrap()
}

/// Returns the lines of a log, or none if there is no log.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
    parsed.collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
