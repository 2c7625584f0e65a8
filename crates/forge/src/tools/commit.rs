//! `commit_files`: one commit on a branch, all files or none.

use super::argument_rules::check_files;
use super::{ToolSpec, write_tool};
use crate::fields::{self, answer, arguments, branch_to_write, one_of, repo, text};
use crate::forge::BackendContext;
use crate::model::NewFile;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_fault::Cause;
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The encoding of a file's content in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CommitFileEncoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Deserialize)]
pub(super) struct CommitFile {
    pub(super) path: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) encoding: CommitFileEncoding,
}

impl CommitFile {
    /// Returns the bytes of the content. Returns `None` if its base64 does not decode.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self.encoding {
            CommitFileEncoding::Utf8 => Some(self.content.as_bytes().to_vec()),
            CommitFileEncoding::Base64 => STANDARD.decode(&self.content).ok(),
        }
    }
}

#[derive(Deserialize)]
struct CommitArguments {
    repo: RepoName,
    branch: String,
    message: String,
    files: Vec<CommitFile>,
}

#[derive(Serialize)]
struct CommitAnswer {
    sha: String,
    parent: String,
    branch: String,
    files: Vec<String>,
    url: String,
}

async fn commit(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: CommitArguments,
) -> Result<CommitAnswer, Failure> {
    let read = |file: &CommitFile| {
        let bytes = file.bytes()?;
        let path = file.path.clone();
        Some(NewFile { path, bytes })
    };
    let files: Option<Vec<_>> = arguments.files.iter().map(read).collect();
    // The argument rules have refused content that does not decode.
    let undecoded = || Failure::Broken("a content does not decode", Cause::from("base64"));
    let files = files.ok_or_else(undecoded)?;
    let CommitArguments {
        repo,
        branch,
        message,
        ..
    } = arguments;
    let made = server
        .forge
        .commit_files(&context, &repo, &branch, &message, &files)
        .await?;
    Ok(CommitAnswer {
        sha: made.sha,
        parent: made.parent,
        branch,
        files: files.into_iter().map(|file| file.path).collect(),
        url: made.url,
    })
}

pub(super) fn commit_files() -> Tool<ForgeServer> {
    let file = arguments(
        &["path", "content"],
        json!({
            "path": fields::path("Where it goes"),
            "content": { "type": "string", "description": "All of it; with encoding base64 it must be valid base64" },
            "encoding": one_of(&["utf8", "base64"], "utf8 if absent")
        }),
    );
    let spec = ToolSpec {
        name: "commit_files",
        description: "Write 1 to 20 whole files as one commit on a branch that exists; all or nothing, never forced. Not for deleting or moving files.",
        input: arguments(
            &["repo", "branch", "message", "files"],
            json!({
                "repo": repo(),
                "branch": branch_to_write(),
                "message": text(1, 256, "The commit's message"),
                "files": { "type": "array", "minItems": 1, "maxItems": 20, "items": file, "description": "Each path at most once" }
            }),
        ),
        output: answer(
            json!({
                "sha": { "type": "string" },
                "parent": { "type": "string" },
                "branch": { "type": "string" },
                "files": { "type": "array", "items": { "type": "string" } },
                "url": { "type": "string" }
            }),
            &[],
        ),
    };
    write_tool(spec, commit).with_argument_rules(check_files)
}
