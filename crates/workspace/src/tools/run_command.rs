//! `run_command`: runs a command that a phase grants.

use super::ToolContext;
use super::commands::{CommandRequest, CommandRules, run_commands};
use super::plans::choose;
use super::writing::{PendingChanges, PlanChoice};
use crate::argument_rules::parse_command;
use crate::command::KeptOutput;
use crate::failure::{Failure, PlanFailure};
use crate::fields::{arguments, number, path, planned, words};
use crate::notes::CallNotes;
use crate::path::{FileKind, InvalidPath, PathError, TypedPath, resolve_path};
use crate::plan::{MAX_ARG_BYTES, MAX_ARGS, is_granted};
use crate::server::WorkspaceServer;
use candor_schema::Int;
use candor_street::{CallContext, Reply, Tool, reply};
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The maximum size of the text on stdin, in characters.
pub const MAX_STDIN: usize = 1024 * 1024;

/// The maximum time limit, in seconds.
pub const MAX_TIMEOUT_S: i64 = 600;

const TIMEOUT_S: i64 = 120;

/// The arguments of `run_command`.
#[derive(Deserialize)]
pub(crate) struct RunCommand {
    argv: Vec<String>,
    cwd: Option<String>,
    #[serde(default)]
    stdin: String,
    timeout_s: Option<Int<1, MAX_TIMEOUT_S>>,
    #[serde(flatten)]
    by: PlanChoice,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    let argument = words(MAX_ARG_BYTES, "Not blank");
    vec![Tool::mutating_with_parser(
        "run_command",
        "Run a command that the plan's phase grants, in the sandbox. A command that fails is answered too.",
        arguments(
            &["argv"],
            planned(json!({
                "argv": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_ARGS,
                    "items": argument,
                    "description": "The program and its arguments; no shell. {build_dir} is the private build directory"
                },
                "cwd": path("The working directory, from the workspace root; the root if absent"),
                "stdin": { "type": "string", "maxLength": MAX_STDIN, "description": "The text on its stdin" },
                "timeout_s": number(1, MAX_TIMEOUT_S, "How long it may run; 120 if absent")
            })),
        ),
        parse_command,
        |server: Arc<WorkspaceServer>, asked: RunCommand, cx: CallContext<CallNotes>| {
            super::run(server, cx, move |work| run_command(work, asked))
        },
    )]
}

fn run_command(work: &ToolContext, asked: RunCommand) -> Result<Reply, Failure> {
    let cwd = working_directory(work, asked.cwd.as_deref())?;
    if work.server.config.read_only {
        return Err(Failure::ReadOnly);
    }
    let chosen = choose(work, &asked.by)?;
    let phase = chosen.phase();
    if !is_granted(&phase.commands, &asked.argv) {
        return Err(PlanFailure::CommandNotGranted {
            phase: phase.id.clone(),
            argv: asked.argv,
            granted: phase.commands.clone(),
        }
        .into());
    }
    let seconds = asked.timeout_s.map_or(TIMEOUT_S, Int::get);
    let request = CommandRequest {
        argv: asked.argv,
        cwd,
        stdin: asked.stdin.into_bytes(),
        time: Some(Duration::from_secs(seconds.unsigned_abs())),
        keep: KeptOutput::Ends,
    };
    let rules = CommandRules {
        fresh: false,
        must_pass: false,
        has_turn: false,
    };
    let ran = run_commands(work, &chosen, std::slice::from_ref(&request), &rules)?;
    let changes = ran.changed.iter().flat_map(|changed| &changed.changes);
    let changes = changes.map(|change| {
        json!({
            "path": change.path,
            "operation": change.operation.name(),
            "before": change.before,
            "after": change.after,
        })
    });
    let changes: Vec<_> = changes.collect();
    let outcome = ran.outcomes.first();
    let answer = outcome.map(|ran| {
        json!({
            "argv": ran.argv,
            "exit_code": ran.exit_code,
            "signal": ran.signal,
            "timed_out": ran.timed_out,
            "output": ran.output,
            "output_bytes": ran.output_bytes,
            "omitted_bytes": ran.omitted_bytes,
            "changes": changes,
            "duration_ms": u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            "sandbox": { "level": ran.held.level },
            "plan": chosen.to_json(),
        })
    });
    let reply = reply(&answer)?;
    Ok(match ran.changed {
        Some(changed) => reply.with_pending(PendingChanges::by_commands(work, changed)),
        None => reply,
    })
}

/// Resolves the working directory of a command.
fn working_directory(work: &ToolContext, typed: Option<&str>) -> Result<PathBuf, Failure> {
    let root = &work.session.root;
    let Some(typed) = typed else {
        return Ok(root.path().to_owned());
    };
    let typed = TypedPath::read_or_root(typed, root)?;
    let resolved = resolve_path(root, &typed)?;
    match resolved.file_stat.map(|stat| stat.kind) {
        Some(FileKind::Directory) => Ok(root.path().join(resolved.real)),
        Some(_) => Err(PathError::Invalid(InvalidPath::NotDirectory).into()),
        None => Err(Failure::Missing(resolved.real.display().to_string())),
    }
}
