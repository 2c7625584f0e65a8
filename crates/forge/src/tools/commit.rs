//! `commit_files`: one commit on a branch, all files or none.

use super::argument_rules::parse_commit;
use super::{ToolSpec, write_tool_with_parser};
use crate::fields::{self, answer, arguments, branch_to_write, one_of, repo, text};
use crate::forge::BackendContext;
use crate::model::NewFile;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The encoding of a file's content in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CommitFileEncoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Deserialize)]
pub(super) struct CommitFile {
    path: String,
    content: String,
    #[serde(default)]
    encoding: CommitFileEncoding,
}

impl CommitFile {
    /// Decodes the content. Returns `None` if it is not valid base64.
    pub(super) fn decode(self) -> Option<NewFile> {
        let path = self.path;
        let bytes = match self.encoding {
            CommitFileEncoding::Utf8 => self.content.into_bytes(),
            CommitFileEncoding::Base64 => STANDARD.decode(self.content).ok()?,
        };
        Some(NewFile { path, bytes })
    }
}

#[derive(Deserialize)]
pub(super) struct CommitArguments {
    repo: RepoName,
    branch: String,
    message: String,
    /// The files, decoded by the argument rules.
    #[serde(skip)]
    pub(super) files: Vec<NewFile>,
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
    let CommitArguments {
        repo,
        branch,
        message,
        files,
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
    write_tool_with_parser(spec, parse_commit, commit)
}
