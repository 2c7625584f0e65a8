//! `write_failure_report`: writes a report to `docs/reports` and unlocks the session.

use super::{ToolContext, stopped_failure};
use crate::failure::Failure;
use crate::fields::{arguments, words};
use crate::lock;
use crate::notes::{CallNotes, Subject};
use crate::plan::durable;
use crate::server::WorkspaceServer;
use crate::tools::writing::PendingChanges;
use crate::write::{ChangeKind, FileChange};
use candor_disk::{Disk, Open};
use candor_fault::iso_millis;
use candor_street::{CallContext, Reply, Tool, reply};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::sync::Arc;

/// The directory of reports, relative to the root.
pub const REPORTS_DIR: &str = "docs/reports";

/// The maximum length of a title, in characters.
pub const MAX_TITLE: usize = 200;

/// The maximum length of a report, in characters.
pub const MAX_BODY: usize = 100_000;

/// The maximum length of the part of a file name that comes from the title.
const SLUG_CHARS: usize = 60;

/// The maximum number of reports with the same title in one second.
const MAX_SAME_NAME: usize = 100;

const DIR_MODE: u32 = 0o755;

#[derive(Deserialize)]
struct FailureReport {
    title: String,
    body: String,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![
        Tool::mutating(
            "write_failure_report",
            "Report a failure to the people in charge, in docs/reports. It unlocks a locked session, where a report may.",
            arguments(
                &["title", "body"],
                json!({
                    "title": words(MAX_TITLE, "What failed, in a few words"),
                    "body": words(MAX_BODY, "What happened, why, and what you suggest; Markdown")
                }),
            ),
            |server: Arc<WorkspaceServer>, report: FailureReport, cx: CallContext<CallNotes>| {
                super::run(server, cx, move |work| write(work, &report))
            },
        )
        .additive(),
    ]
}

fn write(work: &ToolContext, report: &FailureReport) -> Result<Reply, Failure> {
    let ToolContext {
        server,
        session,
        cx,
    } = work;
    if server.config.read_only {
        return Err(Failure::ReadOnly);
    }
    let role = server.config.role;
    let lock = session.lock(role)?;
    let turn = session.take_turn()?;
    let disk = session.root.disk();
    durable::ensure_dir(&disk, "", "docs", DIR_MODE)?;
    durable::ensure_dir(&disk, "docs", REPORTS_DIR, DIR_MODE)?;
    let at = iso_millis(server.clock.now());
    let path = free_name(&disk, &at, &report.title)?;
    let locked = lock
        .as_ref()
        .map(|lock| format!("{} (line {} of the audit log)", lock.error_code, lock.seq));
    let text = format!(
        "# {}\n\n- time: {at}\n- role: {role}\n- session: {}\n- locked by: {}\n\n{}\n",
        report.title.trim(),
        session.id,
        locked.as_deref().unwrap_or("nothing"),
        report.body.trim_end()
    );
    let bytes = text.into_bytes();
    let length = bytes.len() as u64;
    let change = FileChange::new(path.clone(), ChangeKind::create(bytes));
    let subject = Subject {
        path: path.clone(),
        before: None,
        after: change.after.clone(),
        bytes: Some(length),
        mode: Some("100644"),
    };
    cx.notes
        .update(|notes| notes.subjects = vec![subject.clone()]);
    cx.mark.begins().map_err(stopped_failure)?;
    let applied = super::writing::apply(work, turn, &[change])?;
    let unlocks = lock.is_some_and(|lock| !lock.person);
    cx.mark.done();
    let answer = json!({ "path": path, "hash": subject.after, "unlocked": unlocks });
    let mut kept = PendingChanges::new(work, applied);
    if unlocks {
        // Only once the report is on record.
        let (server, session) = (Arc::clone(server), Arc::clone(session));
        kept = kept.then(move || {
            lock::remove(&session.state, server.config.role)?;
            Ok(())
        });
    }
    let reply = reply(&answer)?;
    Ok(reply.with_pending(kept))
}

/// Returns a name that no report has.
fn free_name(disk: &impl Disk, at: &str, title: &str) -> Result<String, Failure> {
    let time: String = at
        .chars()
        .take(19)
        .map(|c| if c == ':' { '-' } else { c })
        .collect();
    let slug = slug(title);
    for number in 0..MAX_SAME_NAME {
        let more = if number == 0 {
            String::new()
        } else {
            format!("-{number}")
        };
        let path = format!("{REPORTS_DIR}/{time}Z-{slug}{more}.md");
        match disk.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            _ => {}
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
}

/// Returns the title as small letters, digits and single dashes.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => slug.push(c),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
        if slug.len() >= SLUG_CHARS {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    match slug {
        "" => String::from("report"),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn title_becomes_a_file_name() {
        assert_eq!(slug("Tests fail: 3 of 5!"), "tests-fail-3-of-5");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("日本語"), "report");
        assert_eq!(slug(&"ab ".repeat(60)).len(), 59);
    }
}
