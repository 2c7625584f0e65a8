//! The tools `list_directory`, `read_file` and `get_tree`.

use super::{RevisionArguments, ToolSpec, read_tool};
use crate::fields::{self, answer, arguments_at, branch, directory, nullable, reference, repo};
use crate::forge::BackendContext;
use crate::model::{DirectoryItem, ItemKind, TreeItem};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_street::Tool;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum size of a file in an answer.
pub const MAX_FILE_BYTES: u64 = 5 * 1024 * 1024;

#[derive(Deserialize)]
struct PathArguments {
    repo: RepoName,
    path: String,
    #[serde(flatten)]
    at: RevisionArguments,
}

#[derive(Serialize)]
pub(super) struct ListedItem {
    name: String,
    r#type: ItemKind,
    path: String,
    size: u64,
    url: String,
}

#[derive(Serialize)]
struct DirectoryAnswer {
    path: String,
    r#ref: String,
    items: Vec<ListedItem>,
    total: usize,
    truncated: bool,
}

/// Returns the first items of a directory as an answer has them.
pub(super) fn listed_items(items: Vec<DirectoryItem>, most: usize) -> Vec<ListedItem> {
    let items = items.into_iter().take(most).map(|item| ListedItem {
        name: item.name,
        r#type: item.kind,
        path: item.path,
        size: item.size,
        url: item.url,
    });
    items.collect()
}

async fn list(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: PathArguments,
) -> Result<DirectoryAnswer, Failure> {
    let at = arguments.at.revision();
    let found = server
        .forge
        .directory(&context, &arguments.repo, &arguments.path, &at)
        .await?;
    let total = found.items.len();
    let items = listed_items(found.items, server.config.max_entries);
    Ok(DirectoryAnswer {
        path: arguments.path,
        r#ref: found.at,
        truncated: items.len() < total,
        items,
        total,
    })
}

fn place(path: Value) -> Value {
    json!({ "repo": repo(), "path": path, "branch": branch(), "ref": reference() })
}

/// Returns the schema of an item of a directory.
pub(super) fn listed_item() -> Value {
    answer(
        json!({
            "name": { "type": "string" },
            "type": { "enum": ["file", "dir", "symlink", "submodule"] },
            "path": { "type": "string" },
            "size": { "type": "integer" },
            "url": { "type": "string" }
        }),
        &[],
    )
}

pub(super) fn list_directory() -> Tool<ForgeServer> {
    let item = listed_item();
    let spec = ToolSpec {
        name: "list_directory",
        description: "List one directory. Not for a whole repository: use get_tree.",
        input: arguments_at(&["repo", "path"], place(directory())),
        output: answer(
            json!({
                "path": { "type": "string" },
                "ref": { "type": "string" },
                "items": { "type": "array", "items": item },
                "total": { "type": "integer" },
                "truncated": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, list)
}

#[derive(Serialize)]
struct FileAnswer {
    path: String,
    r#ref: String,
    content: String,
    encoding: &'static str,
    size: usize,
    url: String,
}

async fn read(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: PathArguments,
) -> Result<FileAnswer, Failure> {
    let at = arguments.at.revision();
    let file = server
        .forge
        .file(
            &context,
            &arguments.repo,
            &arguments.path,
            &at,
            MAX_FILE_BYTES,
        )
        .await?;
    let size = file.bytes.len();
    let (content, encoding) = match String::from_utf8(file.bytes) {
        Ok(text) => (text, "utf8"),
        Err(binary) => (STANDARD.encode(binary.as_bytes()), "base64"),
    };
    Ok(FileAnswer {
        path: arguments.path,
        r#ref: file.at,
        content,
        encoding,
        size,
        url: file.url,
    })
}

pub(super) fn read_file() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "read_file",
        description: "Read one file exactly: as text where it is UTF-8, else as base64; 5 MiB at most. Not for directories: use list_directory.",
        input: arguments_at(&["repo", "path"], place(fields::path("A file"))),
        output: answer(
            json!({
                "path": { "type": "string" },
                "ref": { "type": "string" },
                "content": { "type": "string" },
                "encoding": { "enum": ["utf8", "base64"] },
                "size": { "type": "integer" },
                "url": { "type": "string" }
            }),
            &[],
        ),
    };
    read_tool(spec, read)
}

#[derive(Deserialize)]
struct TreeArguments {
    repo: RepoName,
    #[serde(flatten)]
    at: RevisionArguments,
}

#[derive(Serialize)]
struct TreeAnswer {
    r#ref: String,
    sha: String,
    total: u64,
    truncated: bool,
    #[serde(serialize_with = "serialize_items")]
    tree: Arc<[TreeItem]>,
}

fn serialize_items<S: Serializer>(items: &[TreeItem], serializer: S) -> Result<S::Ok, S::Error> {
    items.serialize(serializer)
}

async fn tree(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: TreeArguments,
) -> Result<TreeAnswer, Failure> {
    let (at, most) = (arguments.at.revision(), server.config.max_entries);
    let found = server
        .forge
        .tree(&context, &arguments.repo, &at, most)
        .await?;
    Ok(TreeAnswer {
        r#ref: found.at,
        sha: found.sha,
        total: found.total,
        truncated: found.truncated,
        tree: found.entries,
    })
}

pub(super) fn get_tree() -> Tool<ForgeServer> {
    let entry = answer(
        json!({
            "path": { "type": "string" },
            "type": { "enum": ["blob", "tree", "commit"] },
            "size": nullable("integer"),
            "mode": { "type": "string" }
        }),
        &[],
    );
    let spec = ToolSpec {
        name: "get_tree",
        description: "List every path of a repository at a branch, tag or SHA, 5,000 entries unless the server says otherwise. Not for one directory: use list_directory.",
        input: arguments_at(
            &["repo"],
            json!({ "repo": repo(), "branch": branch(), "ref": reference() }),
        ),
        output: answer(
            json!({
                "ref": { "type": "string" },
                "sha": { "type": "string" },
                "total": { "type": "integer" },
                "truncated": { "type": "boolean" },
                "tree": { "type": "array", "items": entry }
            }),
            &[],
        ),
    };
    read_tool(spec, tree)
}
