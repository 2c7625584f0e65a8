//! `run_preflight`: runs the commands of a phase in the sandbox.

use super::ToolContext;
use super::plans::choose;
use super::reading::denied;
use super::writing::PlanChoice;
use crate::command::{CommandOutcome, CommandSpec, Fence, Fingerprint, PathRules, run};
use crate::failure::{BrokenInvariant, Failure};
use crate::fields::{arguments, planned};
use crate::lock;
use crate::notes::{CallNotes, CommandRecord};
use crate::plan::Phase;
use crate::protected::is_write_protected;
use crate::role::Role;
use crate::sandbox_record::{describe_sandbox, expected_protection};
use crate::server::WorkspaceServer;
use crate::state;
use candor_sandbox::{Hosts, Level, Network, probe};
use candor_secrets::redact;
use candor_street::{CallContext, Tool};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// Paths below the root that no command may change. The log has its own proof, and git's objects
/// are identified by their hashes.
const PROTECTED: [&str; 11] = [
    ".candor",
    ".git/HEAD",
    ".git/config",
    ".git/hooks",
    ".git/index",
    ".git/info",
    ".git/logs",
    ".git/packed-refs",
    ".git/refs",
    ".git/worktrees",
    "docs/plans",
];

/// Returns the paths below the state directory of the root that no command may change.
fn protected_state() -> impl Iterator<Item = String> {
    let locks = Role::ALL.into_iter().map(lock::file);
    locks.chain([crate::approval::REVOCATIONS_DIR.to_owned()])
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![Tool::mutating(
        "run_preflight",
        "Run the commands of the plan's phase, such as its tests.",
        arguments(&[], planned(json!({}))),
        |server: Arc<WorkspaceServer>, by: PlanChoice, cx: CallContext<CallNotes>| {
            super::answer(server, cx, move |work| {
                if work.server.config.read_only {
                    return Err(Failure::ReadOnly);
                }
                let chosen = choose(work, &by)?;
                let checks = run_all(work, chosen.phase())?;
                Ok(json!({ "plan": chosen.to_json(), "preflight": checks }))
            })
        },
    )]
}

/// Runs every command of a phase, until one fails.
pub(super) fn run_all(work: &ToolContext, phase: &Phase) -> Result<Value, Failure> {
    record_start(work, phase)?;
    let mut passed = Vec::new();
    for (index, argv) in phase.verify.iter().enumerate() {
        let mut ran = one(work, phase, argv)?;
        record_outcome(work, index, &ran);
        if let Cow::Owned(hidden) = redact(&ran.output_tail) {
            ran.output_tail = hidden;
        }
        if !ran.is_success() {
            return Err(Failure::Check(Box::new(ran)));
        }
        passed.push(json!({
            "argv": ran.argv,
            "exit_code": ran.exit_code,
            "output_tail": ran.output_tail,
        }));
    }
    Ok(json!(passed))
}

/// Records that the commands of a phase are about to run.
fn record_start(work: &ToolContext, phase: &Phase) -> Result<(), Failure> {
    if phase.verify.is_empty() {
        return Ok(());
    }
    let commands = phase.verify.iter().map(|argv| CommandRecord {
        argv: argv.clone(),
        ..CommandRecord::default()
    });
    let commands: Vec<_> = commands.collect();
    let offer = work
        .session
        .offer
        .get_or_init(|| probe(&work.server.config.checks.helper));
    let expected = expected_protection(offer, phase.network);
    let notes = &work.cx.notes;
    notes.update(|notes| {
        notes.commands = Some(commands);
        notes.sandbox = Some(describe_sandbox(&expected, 0, 0));
    });
    let recorded = work
        .session
        .record_command_start(&work.cx.call, &notes.read());
    if recorded.is_err() {
        notes.update(|notes| (notes.commands, notes.sandbox) = (None, None));
    }
    recorded
}

/// Notes how a command of the call ended.
fn record_outcome(work: &ToolContext, index: usize, ran: &CommandOutcome) {
    work.cx.notes.update(|notes| {
        let so_far = |name: &str| {
            let sandbox = notes.sandbox.as_ref();
            sandbox
                .and_then(|sandbox| sandbox["network"][name].as_u64())
                .unwrap_or(0)
        };
        let connections = so_far("connections") + ran.connections;
        let refused = so_far("refused") + ran.refused;
        notes.sandbox = Some(describe_sandbox(&ran.held, connections, refused));
        let commands = notes.commands.as_mut();
        if let Some(command) = commands.and_then(|commands| commands.get_mut(index)) {
            command.exit_code = ran.exit_code;
            command.signal = ran.signal;
            command.timed_out = ran.timed_out;
        }
    });
}

fn one(work: &ToolContext, phase: &Phase, argv: &[String]) -> Result<CommandOutcome, Failure> {
    let ToolContext {
        server, session, ..
    } = work;
    let checks = &server.config.checks;
    let root = session.root.path();
    let deny = denied(work)?;
    let env = phase.env.iter().filter_map(|env| {
        let value = match env.value() {
            Some(value) => Some(value.to_owned()),
            None => (checks.variable)(env.name()),
        };
        Some((env.name().to_owned(), value?))
    });
    let spec = CommandSpec {
        argv: argv.to_vec(),
        root: root.to_owned(),
        write: phase.writable.iter().map(PathBuf::from).collect(),
        env: env.collect(),
        network: match phase.network {
            true => Network::Proxy(Hosts::Any),
            false => Network::Off,
        },
        limits: checks.limits,
        read: checks.readable.clone(),
        hide: checks.never.clone(),
        path: checks.path.clone(),
        lang: checks.lang.clone(),
        scratch: checks
            .scratch
            .join(format!("candor-{}", (server.config.ids)())),
        least: checks.least,
    };
    let protected_paths =
        [state::LOG, ".candor", crate::plan::store::PLANS_DIR, ".git"].map(PathBuf::from);
    let fence = Fence {
        // A process that can open the log can hold its lock.
        is_hidden: &|path| deny.denies(path) || state::is_log_path(path),
        is_protected: &is_write_protected,
        protected_paths: &protected_paths,
    };
    let rules = PathRules {
        is_hidden: fence.is_hidden,
        can_be_writable: &|path| fence.can_be_writable(path),
    };
    let own = state::of_root(&server.config.state, session.root.id());
    let inside = PROTECTED.iter().map(|path| root.join(path));
    let watched: Vec<_> = inside
        .chain(protected_state().map(|path| own.join(path)))
        .collect();
    // Mounts protect everything at the full level.
    let before = match checks.least {
        Level::Full => None,
        _ => Some(Fingerprint::take(&watched)?),
    };
    let cancel = work.cx.cancel.clone();
    let runtime = tokio::runtime::Handle::current();
    let mut watch = None;
    let ran = run(&spec, &rules, &checks.helper, |handle| {
        watch = Some(runtime.spawn(async move {
            cancel.cancelled().await;
            handle.stop();
        }));
    });
    if let Some(watch) = watch {
        watch.abort();
    }
    let changed = match (&before, &ran) {
        (Some(before), Ok(ran)) if ran.held.level < Level::Full => {
            let after = Fingerprint::take(&watched)?;
            // Landlock protects contents, but not modes; and other processes may change paths whose
            // contents are not compared.
            let changed = match ran.held.level {
                Level::None => before.differences(&after),
                _ => before.permissions(&after),
            };
            changed.into_iter().map(PathBuf::from).collect()
        }
        _ => Vec::new(),
    };
    match changed.is_empty() {
        true => Ok(ran?),
        false => Err(BrokenInvariant::Protected(changed).into()),
    }
}
