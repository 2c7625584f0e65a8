//! `write_failure_report`: writes a report to `docs/reports` and unlocks the session.

use super::{ToolContext, stopped_failure};
use crate::failure::{BrokenInvariant, Failure};
use crate::fields::{arguments, words};
use crate::lock::{self, Lock};
use crate::notes::{CallNotes, Subject};
use crate::path::{FileKind, PathError, ResolvedPath, TypedPath, resolve_path};
use crate::plan::durable;
use crate::policy::{self, PolicyRequest, PolicyRule};
use crate::protected::is_write_protected;
use crate::report_history::ReportHistory;
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
pub const MAX_BODY: usize = 16_384;

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
            "Report to the people in charge, in docs/reports, what has locked the session. The first report within an hour unlocks it, unless only a person may.",
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
    if session.lock(role)?.is_none() && session.unsettled_journal().is_none() {
        return Err(Failure::NothingLocked);
    }
    for text in [&report.title, &report.body] {
        check_secrets(text)?;
    }
    let turn = session.take_turn()?;
    // Another server of the role may have unlocked it meanwhile.
    let lock = session.lock(role)?.ok_or(Failure::NothingLocked)?;
    let now = server.clock.now();
    let damaged = || BrokenInvariant::State(String::from("the history of reports is damaged"));
    let mut history = ReportHistory::load(&session.state)?.ok_or_else(damaged)?;
    history
        .check(role, &lock, now)
        .map_err(Failure::ReportLimit)?;
    let unlocks = !lock.person && history.may_unlock(role, now);
    let disk = session.root.disk();
    let dir = reports_dir(work)?;
    let at = iso_millis(now);
    let path = free_name(&disk, &dir, &at, &report.title)?;
    let locked = format!("{} (line {} of the audit log)", lock.error_code, lock.seq);
    let text = format!(
        "# {}\n\n- time: {at}\n- role: {role}\n- session: {}\n- locked by: {}\n\n{}\n",
        report.title.trim(),
        session.id,
        locked,
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
    // Counted first, so that reports that cannot be recorded are bounded too.
    history.add(role, &lock, now, unlocks);
    history.save(&session.state)?;
    let applied = super::writing::apply(work, turn, &[change])?;
    cx.mark.done();
    let mut answer = json!({ "path": path, "hash": subject.after, "unlocked": unlocks });
    if !unlocks {
        answer["needs_person"] = json!(true);
    }
    let session = Arc::clone(session);
    // Only once the report is on record.
    let kept = PendingChanges::new(work, applied).then(move || match unlocks {
        true => lock::remove(&session.state, role).map(drop),
        false if lock.person => Ok(()),
        false => {
            let lock = Lock {
                person: true,
                ..lock
            };
            lock::replace(&session.state, role, &lock)
        }
    });
    let reply = reply(&answer)?;
    Ok(reply.with_pending(kept))
}

/// Checks that a text of a report has no secret.
fn check_secrets(text: &str) -> Result<(), Failure> {
    let found = policy::check(PolicyRequest {
        path: REPORTS_DIR,
        before: None,
        after: text.as_bytes(),
        rust_strict: false,
        // A report may quote the markers of a merge that failed.
        exceptions: &[PolicyRule::ConflictMarker],
    });
    match found.is_clean() {
        true => Ok(()),
        false => Err(Failure::Policy(found)),
    }
}

/// Returns the real path of the directory of reports, which is made if it is missing.
fn reports_dir(work: &ToolContext) -> Result<String, Failure> {
    let root = &work.session.root;
    let located = match resolve_path(root, &TypedPath::read(REPORTS_DIR, root)?) {
        Err(PathError::ParentMissing { .. }) => None,
        Err(PathError::ParentIsFile { parent }) => {
            return Err(Failure::ReportsNotDirectory(parent));
        }
        located => Some(located?),
    };
    match located {
        Some(located) if located.any(is_write_protected) => {
            Err(Failure::Protected(REPORTS_DIR.to_owned()))
        }
        Some(ResolvedPath {
            real,
            file_stat: Some(stat),
            ..
        }) => match (stat.kind, real.to_str()) {
            (FileKind::Directory, Some(real)) => Ok(real.to_owned()),
            (FileKind::Directory, None) => Err(Failure::PathNotText(real)),
            (FileKind::File, _) => Err(Failure::ReportsNotDirectory(real)),
        },
        _ => {
            let disk = root.disk();
            durable::ensure_dir(&disk, "", "docs", DIR_MODE)?;
            durable::ensure_dir(&disk, "docs", REPORTS_DIR, DIR_MODE)?;
            Ok(REPORTS_DIR.to_owned())
        }
    }
}

/// Returns a name that no report has.
fn free_name(disk: &impl Disk, dir: &str, at: &str, title: &str) -> Result<String, Failure> {
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
        let path = format!("{dir}/{time}Z-{slug}{more}.md");
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
