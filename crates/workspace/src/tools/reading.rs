//! `read_file`, `list_files` and `search_files`.

use super::ToolContext;
use crate::failure::Failure;
use crate::fields::{arguments, encoding, number, path, words};
use crate::notes::{CallNotes, Subject};
use crate::path::PathError;
use crate::protected::{DenyRead, EXECUTED, ExecutedFiles};
use crate::reading::{
    ContentEncoding, ListAnswer, ListRequest, ReadAnswer, ReadError, ReadRequest, SearchAnswer,
    SearchRequest, WorkspaceReader,
};
use crate::server::WorkspaceServer;
use candor_disk::{Disk, DiskFile, Open};
use candor_schema::Int;
use candor_street::{CallContext, Tool};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::sync::Arc;

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    offset: Option<Int<1, MAX_LINE>>,
    limit: Option<Int<1, MAX_LINE>>,
    #[serde(default)]
    encoding: ContentEncoding,
}

#[derive(Deserialize)]
struct ListFiles {
    path: Option<String>,
    depth: Option<Int<1, MAX_DEPTH>>,
    glob: Option<String>,
}

/// The file in which a person lists what agents must not read.
const DENY_READ: &str = ".candor/deny_read";

const MAX_LINE: i64 = (1 << 53) - 1;

const MAX_DEPTH: i64 = 64;

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![
        Tool::read_only(
            "read_file",
            "A file, or some of its lines, with the hash of the whole file for previous_hash.",
            arguments(
                &["path"],
                json!({
                    "path": path("The file, from the workspace root"),
                    "offset": number(1, MAX_LINE, "The first line; 1 if absent"),
                    "limit": number(1, MAX_LINE, "How many lines; all if absent"),
                    "encoding": encoding()
                }),
            ),
            |server: Arc<WorkspaceServer>, asked: ReadFile, cx: CallContext<CallNotes>| {
                let line = |number: Int<1, MAX_LINE>| number.get() as u64;
                let request = ReadRequest {
                    path: asked.path,
                    offset: asked.offset.map(line),
                    limit: asked.limit.map(line),
                    encoding: asked.encoding,
                };
                super::answer(server, cx, move |work| read(work, &request))
            },
        ),
        Tool::read_only(
            "list_files",
            "What is in a directory, sorted.",
            arguments(
                &[],
                json!({
                    "path": path("The directory; the workspace root if absent"),
                    "depth": number(1, MAX_DEPTH, "How many levels down"),
                    "glob": words(1000, "Only files whose path matches")
                }),
            ),
            |server: Arc<WorkspaceServer>, asked: ListFiles, cx: CallContext<CallNotes>| {
                let request = ListRequest {
                    path: asked.path,
                    depth: asked.depth.map(|depth| depth.get() as usize),
                    glob: asked.glob,
                };
                super::answer(server, cx, move |work| list(work, &request))
            },
        ),
        Tool::read_only(
            "search_files",
            "Lines that match a regular expression. To read a known file, use read_file.",
            arguments(
                &["pattern"],
                json!({
                    "pattern": words(1000, "A regular expression, as ripgrep has them"),
                    "path": path("Only below this directory"),
                    "glob": words(1000, "Only files whose path matches"),
                    "ignore_case": { "type": "boolean" }
                }),
            ),
            |server: Arc<WorkspaceServer>, asked: SearchRequest, cx: CallContext<CallNotes>| {
                super::answer(server, cx, move |work| search(work, &asked))
            },
        ),
    ]
}

/// Returns the rules of this workspace about files that must not be read.
pub(super) fn denied(work: &ToolContext) -> Result<Arc<DenyRead>, Failure> {
    let bytes = person_file(work, DENY_READ)?;
    let deny = work.session.plan_cache.deny(&bytes);
    deny.map_err(Failure::DenyRead)
}

/// Returns the files that no wildcard of a plan covers.
pub(super) fn executed(work: &ToolContext) -> Result<Arc<ExecutedFiles>, Failure> {
    let bytes = person_file(work, EXECUTED)?;
    let executed = work.session.plan_cache.executed(&bytes);
    executed.map_err(Failure::Executed)
}

/// Reads a file that a person extends a default list with. A missing file adds nothing.
fn person_file(work: &ToolContext, path: &str) -> Result<Vec<u8>, Failure> {
    let file = match work.session.root.disk().open(path, Open::Read) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        opened => opened?,
    };
    Ok(file.read_all(crate::protected::MAX_RULES_BYTES)?)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn with<T>(
    work: &ToolContext,
    look: impl FnOnce(WorkspaceReader<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let deny = denied(work)?;
    let stop = || work.cx.cancel.is_cancelled();
    look(WorkspaceReader {
        root: &work.session.root,
        deny: &deny,
        stop: &stop,
    })
}

fn read(work: &ToolContext, asked: &ReadRequest) -> Result<ReadAnswer, Failure> {
    let answer = with(work, |reading| Ok(reading.read_file(asked)?))?;
    work.cx.notes.update(|notes| {
        notes.subjects = vec![Subject {
            path: answer.path.clone(),
            before: answer.hash.clone(),
            after: answer.hash.clone(),
            bytes: Some(answer.size),
            mode: None,
        }];
    });
    Ok(answer)
}

fn list(work: &ToolContext, asked: &ListRequest) -> Result<ListAnswer, Failure> {
    with(work, |reading| {
        reading.list_files(asked).map_err(|error| match error {
            ReadError::NotFound { path } => PathError::ParentMissing { parent: path }.into(),
            error => error.into(),
        })
    })
}

fn search(work: &ToolContext, asked: &SearchRequest) -> Result<SearchAnswer, Failure> {
    with(work, |reading| Ok(reading.search_files(asked)?))
}
