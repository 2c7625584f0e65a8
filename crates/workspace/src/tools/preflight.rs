//! `run_preflight`: runs the commands of a phase that prove its work.

use super::ToolContext;
use super::commands::{CommandRequest, CommandRules, RanCommands, run_commands};
use super::plans::{ChosenPlan, choose};
use super::writing::{PendingChanges, PlanChoice};
use crate::command::{CommandOutcome, KeptOutput};
use crate::failure::Failure;
use crate::fields::{arguments, planned};
use crate::notes::CallNotes;
use crate::server::WorkspaceServer;
use candor_street::{CallContext, Reply, Tool, reply};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize)]
struct RunPreflight {
    #[serde(default)]
    fresh: bool,
    #[serde(flatten)]
    by: PlanChoice,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![Tool::mutating(
        "run_preflight",
        "Run the commands of the plan's phase, such as its tests.",
        arguments(
            &[],
            planned(json!({
                "fresh": { "type": "boolean", "description": "Build in an empty directory, which is removed afterwards" }
            })),
        ),
        |server: Arc<WorkspaceServer>, asked: RunPreflight, cx: CallContext<CallNotes>| {
            super::run(server, cx, move |work| run_preflight(work, &asked))
        },
    )]
}

fn run_preflight(work: &ToolContext, asked: &RunPreflight) -> Result<Reply, Failure> {
    if work.server.config.read_only {
        return Err(Failure::ReadOnly);
    }
    let chosen = choose(work, &asked.by)?;
    let rules = CommandRules {
        fresh: asked.fresh,
        must_pass: true,
        has_turn: false,
    };
    let ran = run_checks(work, &chosen, &rules)?;
    let answer = json!({ "plan": chosen.to_json(), "preflight": describe(&ran.outcomes) });
    let reply = reply(&answer)?;
    Ok(match ran.changed {
        Some(changed) => reply.with_pending(PendingChanges::by_commands(work, changed)),
        None => reply,
    })
}

/// Runs every command of a phase, until one fails.
pub(super) fn run_checks(
    work: &ToolContext,
    chosen: &ChosenPlan,
    rules: &CommandRules,
) -> Result<RanCommands, Failure> {
    let root = work.session.root.path();
    let requests = chosen.phase().verify.iter().map(|argv| CommandRequest {
        argv: argv.clone(),
        cwd: root.to_owned(),
        stdin: Vec::new(),
        time: None,
        keep: KeptOutput::Tail,
    });
    run_commands(work, chosen, &requests.collect::<Vec<_>>(), rules)
}

/// Describes the commands that have passed.
pub(super) fn describe(outcomes: &[CommandOutcome]) -> Value {
    let passed = outcomes.iter().map(|ran| {
        json!({
            "argv": ran.argv,
            "exit_code": ran.exit_code,
            "output_tail": ran.output,
        })
    });
    passed.collect()
}
