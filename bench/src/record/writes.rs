//! `write_file` with every gate, compared with a temporary file that is synced and renamed.

use crate::approver::{Approver, clock};
use crate::arguments::BenchOptions;
use crate::figures::{SubjectFigures, ratios};
use crate::report::terminal::ProgressLine;
use crate::statistics::median;
use candor_call_fixtures::{answer, call};
use candor_fault::Answer;
use candor_sandbox::{Helper, Level, Limits};
use candor_street::{Dispatcher, MetricsHub};
use candor_workspace::approval::Signers;
use candor_workspace::path::Root;
use candor_workspace::{CommandConfig, Config, LOCK_AFTER, Role, UnlockPolicy, WorkspaceServer};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The bytes of a file.
const BYTES: usize = 4096;

/// The writes of each kind in one round.
const WRITES: usize = 100;

/// Measures edits.
pub(crate) fn writing(
    options: &BenchOptions,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let scratch = tempfile::tempdir()?;
    let top = scratch.path().canonicalize()?;
    let bare = top.join("bare");
    fs::create_dir(&bare)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let agent = Agent::start(&top, runtime)?;
    let (mut own, mut beside) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds() {
        progress.say(&format!("workspace: round {round} of {}", options.rounds()));
        let (mut gated, mut plain) = (Vec::new(), Vec::new());
        for write in 0..WRITES {
            let content = source_text(round as usize * WRITES + write);
            gated.push(agent.write(&content)?);
            plain.push(bare_write(&bare, content.as_bytes())?);
        }
        own.push(median(gated));
        beside.push(median(plain));
    }
    let what = "write_file with every gate: times as long as write, sync, rename, sync";
    findings.at_most(what, 2.5, "×", Ok(&ratios(&own, &beside)));
    findings.note("write_file", "µs", &own);
    findings.note("bare write, sync, rename, sync", "µs", &beside);
    Ok(())
}

/// Returns the text of a source file, different for each number.
pub(crate) fn source_text(number: usize) -> String {
    let mut text = format!("// {number}\n");
    while text.len() < BYTES {
        text.push_str("fn answer() -> u32 { 42 }\n");
    }
    text
}

/// Replaces a file durably with the fewest steps.
fn bare_write(directory: &Path, bytes: &[u8]) -> io::Result<f64> {
    let since = Instant::now();
    let new = directory.join("file.new");
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&new, directory.join("file"))?;
    File::open(directory)?.sync_all()?;
    Ok(since.elapsed().as_secs_f64() * 1e6)
}

/// An agent with a session and an approved plan.
struct Agent {
    desk: Arc<Dispatcher<WorkspaceServer>>,
    runtime: tokio::runtime::Runtime,
}

impl Agent {
    fn start(top: &Path, runtime: tokio::runtime::Runtime) -> io::Result<Agent> {
        let workspace = top.join("workspace");
        fs::create_dir_all(workspace.join("src"))?;
        let root = Root::open(&workspace)?;
        let approver = Approver::generate()?;
        approver.allow(&root, &json!({ "allow": ["src/**"] }))?;
        let signers = Signers::parse(&approver.line()).map_err(io::Error::other)?;
        let server = WorkspaceServer::new(config(top, root, signers), clock());
        let server = server.map_err(|fault| io::Error::other(format!("{fault:?}")))?;
        let desk =
            Dispatcher::new(server, clock(), &MetricsHub::default()).map_err(io::Error::other)?;
        let agent = Agent { desk, runtime };
        agent.call("begin_session", &json!({ "workspace_root": workspace }))?;
        Ok(agent)
    }

    fn write(&self, content: &str) -> io::Result<f64> {
        let arguments = json!({ "path": "src/lib.rs", "content": content });
        let since = Instant::now();
        self.call("write_file", &arguments)?;
        Ok(since.elapsed().as_secs_f64() * 1e6)
    }

    fn call(&self, tool: &str, arguments: &Value) -> io::Result<()> {
        let call = call(tool, arguments);
        let answer = self.runtime.block_on(answer(&self.desk, call));
        match answer {
            Answer::Result(text) if !text.contains("\"isError\":true") => Ok(()),
            answer => Err(io::Error::other(format!("{tool}: {answer:?}"))),
        }
    }
}

fn config(top: &Path, root: Root, signers: Signers) -> Config {
    Config {
        role: Role::Executor,
        roots: vec![root],
        state: top.join("state"),
        checkpoint_to: Vec::new(),
        signer: None,
        require_checkpoint: false,
        max_rate: None,
        log_max: candor_workspace::LOG_MAX,
        signers,
        person_flags: Vec::new(),
        lock_after: LOCK_AFTER,
        unlock: UnlockPolicy::Report,
        read_only: false,
        rust_strict: false,
        checks: CommandConfig {
            helper: Helper {
                program: PathBuf::from("/proc/self/exe"),
                first_args: Vec::new(),
            },
            readable: Vec::new(),
            never: Vec::new(),
            path: String::new(),
            lang: String::new(),
            scratch: top.join("scratch"),
            build: top.join("build"),
            guarded: Vec::new(),
            variable: Box::new(|_| None),
            least: Level::Full,
            limits: Limits::default(),
        },
        debug_stack: false,
        os_user: String::from("bench"),
        ids: Box::new(|| String::from("550e8400-e29b-41d4-a716-446655440000")),
    }
}
