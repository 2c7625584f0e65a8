//! `lint_plan` and `save_plan`.

use super::plans::{names, person_command, protected};
use super::{ToolContext, stopped_failure};
use crate::argument_rules::{no_plan, parse_plan};
use crate::failure::Failure;
use crate::fields::{arguments, one_of};
use crate::notes::{CallNotes, Subject};
use crate::plan::{self, Plan, PlanError, Severity, durable, store};
use crate::server::WorkspaceServer;
use crate::tools::writing::{PendingChanges, apply};
use crate::write::{ChangeKind, FileChange, file_mode, hash_of};
use candor_disk::{Disk, DiskFile, Open};
use candor_street::{CallContext, Reply, Tool, reply};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;

const DIR_MODE: u32 = 0o755;

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    let schema = |with_schema: bool| {
        let plan = match with_schema {
            true => plan::schema(),
            false => json!({ "type": "object", "description": "As for save_plan" }),
        };
        let members = json!({
            "plan": plan,
            "content": { "type": "string", "description": "The plan as TOML, instead of plan" }
        });
        one_of(arguments(&[], members), &["plan", "content"])
    };
    vec![
        Tool::read_only_with_parser(
            "lint_plan",
            "Everything that is wrong or dubious about a plan, and its canonical text. Saves nothing.",
            schema(false),
            parse_plan,
            |server: Arc<WorkspaceServer>, plan: Plan, cx: CallContext<CallNotes>| {
                super::answer(server, cx, move |_| Ok(lint(&plan)))
            },
        ),
        Tool::mutating_with_parser(
            "save_plan",
            "Save a plan as a draft in docs/plans. It allows nothing until a person has approved it.",
            schema(true),
            parse_plan,
            |server: Arc<WorkspaceServer>, plan: Plan, cx: CallContext<CallNotes>| {
                super::run(server, cx, move |work| save(work, &plan))
            },
        )
        .additive()
        .idempotent(),
    ]
}

fn lint(plan: &Plan) -> Value {
    let text = plan::render(plan);
    let lints = plan::lint(plan, &protected);
    json!({
        "valid": lints.iter().all(|lint| lint.severity != Severity::Error),
        "lints": lints,
        "plan_hash": plan::hash(&text).as_str(),
        "content": text,
    })
}

fn save(work: &ToolContext, plan: &Plan) -> Result<Reply, Failure> {
    let ToolContext {
        server,
        session,
        cx,
    } = work;
    let lints = plan::lint(plan, &protected);
    if let Some(error) = lints.iter().find(|lint| lint.severity == Severity::Error) {
        let message = format!("{} {}", error.at, error.message);
        let error = PlanError::Shape { message };
        return Err(Failure::Arguments(
            std::iter::once(no_plan("plan", &error)).collect(),
        ));
    }
    if server.config.read_only {
        return Err(Failure::ReadOnly);
    }
    let text = plan::render(plan);
    let hash = plan::hash(&text);
    let path = store::path(&hash);
    cx.notes
        .update(|notes| notes.plan_hash = Some(hash.as_str().to_owned()));
    let answer = |saved: &str| json!({ "plan_hash": hash.as_str(), "path": path, "saved": saved, "lints": lints, "content": text });
    let turn = session.take_turn()?;
    let disk = session.root.disk();
    durable::ensure_dir(&disk, "", "docs", DIR_MODE)?;
    durable::ensure_dir(&disk, "docs", store::PLANS_DIR, DIR_MODE)?;
    let bytes = text.clone().into_bytes();
    let what = match held(&disk, &path)? {
        Some((held, _)) if plan::hash(&String::from_utf8_lossy(&held)) == hash => {
            return Ok(reply(&answer("already"))?);
        }
        Some((held, mode)) => ChangeKind::Modify {
            before: hash_of(&held),
            before_mode: mode,
            bytes,
            mode: file_mode(mode, None),
        },
        None => {
            if names(work)?.drafts().count() >= store::MAX_DRAFTS {
                let command = person_command(&server.config, &session.root, "clean --drafts 30d");
                return Err(Failure::TooManyDrafts { command });
            }
            ChangeKind::create(bytes)
        }
    };
    let change = FileChange::new(path.clone(), what);
    let subject = Subject {
        path: path.clone(),
        before: change.what.before().map(String::from),
        after: change.after.clone(),
        bytes: change.what.length(),
        mode: change.what.git_mode(),
    };
    cx.notes.update(|notes| notes.subjects = vec![subject]);
    let saved = if change.what.before().is_some() {
        "repaired"
    } else {
        "new"
    };
    cx.mark.begins().map_err(stopped_failure)?;
    let applied = apply(work, turn, &[change])?;
    cx.mark.done();
    let reply = reply(&answer(saved))?;
    Ok(reply.with_pending(PendingChanges::new(work, applied)))
}

/// Returns the contents and the mode of a plan's file, if it exists.
fn held(disk: &impl Disk, path: &str) -> io::Result<Option<(Vec<u8>, u32)>> {
    let file = match disk.open(path, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let bytes = file.read_all(4 * plan::MAX_PLAN_BYTES)?;
    Ok(Some((bytes, file.mode()?)))
}
