//! `commit_files`: one commit on a branch, all files or none.

use super::argument_rules::check_files;
use super::{About, writing};
use crate::fields::{self, answer, arguments, branch_to_write, one_of, repo, text};
use crate::forge::Turn;
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

/// How a content is written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    #[default]
    Utf8,
    Base64,
}

#[derive(Deserialize)]
pub(super) struct Content {
    pub(super) path: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) encoding: Encoding,
}

impl Content {
    /// Exactly its bytes; nothing where its base64 is none.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self.encoding {
            Encoding::Utf8 => Some(self.content.as_bytes().to_vec()),
            Encoding::Base64 => STANDARD.decode(&self.content).ok(),
        }
    }
}

#[derive(Deserialize)]
struct Commit {
    repo: RepoName,
    branch: String,
    message: String,
    files: Vec<Content>,
}

#[derive(Serialize)]
struct Committed {
    sha: String,
    parent: String,
    branch: String,
    files: Vec<String>,
    url: String,
}

async fn commit(server: Arc<ForgeServer>, turn: Turn, asked: Commit) -> Result<Committed, Failure> {
    let read = |file: &Content| {
        let bytes = file.bytes()?;
        let path = file.path.clone();
        Some(NewFile { path, bytes })
    };
    let files: Option<Vec<_>> = asked.files.iter().map(read).collect();
    // The check before the call has refused what does not decode.
    let undecoded = || Failure::Broken("a content does not decode", Cause::from("base64"));
    let files = files.ok_or_else(undecoded)?;
    let Commit {
        repo,
        branch,
        message,
        ..
    } = asked;
    let made = server
        .forge
        .commit_files(&turn, &repo, &branch, &message, &files)
        .await?;
    Ok(Committed {
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
    let about = About {
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
    writing(about, commit).with_argument_rules(check_files)
}
