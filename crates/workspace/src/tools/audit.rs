//! `read_audit_log` and `verify_audit_log`.

use super::{NoArguments, ToolContext};
use crate::failure::Failure;
use crate::fields::{arguments, number};
use crate::notes::CallNotes;
use crate::server::WorkspaceServer;
use crate::state::LOG;
use candor_schema::Int;
use candor_street::{CallContext, Tool};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum number of lines of the log in one answer.
pub const MAX_LINES: usize = 500;

/// The maximum size of the lines in one answer, in bytes.
pub const MAX_LINES_BYTES: usize = 1024 * 1024;

const LINES: i64 = 50;
const MAX_SEQ: i64 = (1 << 53) - 1;

#[derive(Deserialize)]
struct ReadAuditLog {
    after_seq: Option<Int<0, MAX_SEQ>>,
    limit: Option<Int<1, { MAX_LINES as i64 }>>,
}

#[derive(Serialize)]
struct LogPage {
    lines: Vec<Box<RawValue>>,
    more: bool,
    next_after_seq: Option<u64>,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![
        Tool::read_only(
            "read_audit_log",
            "Lines of the audit log, the oldest first.",
            arguments(
                &[],
                json!({
                    "after_seq": number(0, MAX_SEQ, "Only lines behind this number"),
                    "limit": number(1, MAX_LINES as i64, "How many; 50 if absent")
                }),
            ),
            |server: Arc<WorkspaceServer>, asked: ReadAuditLog, cx: CallContext<CallNotes>| {
                super::answer(server, cx, move |work| read(work, &asked))
            },
        ),
        Tool::read_only(
            "verify_audit_log",
            "Check every line of the audit log and its checkpoints.",
            arguments(&[], json!({})),
            |server: Arc<WorkspaceServer>, _: NoArguments, cx: CallContext<CallNotes>| {
                super::answer(server, cx, verify)
            },
        ),
    ]
}

fn read(work: &ToolContext, asked: &ReadAuditLog) -> Result<LogPage, Failure> {
    let after = asked.after_seq.map_or(0, Int::get) as u64;
    let limit = asked.limit.map_or(LINES, Int::get) as usize;
    let disk = work.session.log_disk.clone();
    let page = candor_audit::page(disk, LOG, after, limit, MAX_LINES_BYTES)?;
    let next = page.lines.last().and_then(|raw| raw.seq);
    let lines = page.lines.into_iter().map(|raw| {
        let text = String::from_utf8_lossy(&raw.bytes).into_owned();
        // A line that is not JSON is shown as text, because the log may be damaged.
        RawValue::from_string(text.trim_end().to_owned())
            .or_else(|_| serde_json::value::to_raw_value(&text))
            .map_err(|error| Failure::Io(error.into()))
    });
    Ok(LogPage {
        lines: lines.collect::<Result<_, _>>()?,
        more: page.more,
        next_after_seq: next.filter(|_| page.more),
    })
}

fn verify(work: &ToolContext) -> Result<Value, Failure> {
    let judged = work.session.verify(&work.server.config)?;
    let verified = judged.verification;
    Ok(json!({
        "verified": true,
        "lines": verified.lines,
        "files": verified.files,
        "bytes": verified.bytes,
        "last": verified.last,
        "completeness": judged.completeness,
    }))
}
