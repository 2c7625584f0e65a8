//! `search` and `fetch`: list the repositories, and describe one of them.

use super::{PageNumber, ToolSpec, paging, read_tool};
use crate::fields::{answer, arguments, nullable, page, per_page, repo, text};
use crate::forge::BackendContext;
use crate::model::Repository;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The maximum number of bytes of a README in an answer.
pub const MAX_README_BYTES: u64 = 100 * 1024;

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct SearchHit {
    id: String,
    title: String,
    url: String,
}

#[derive(Serialize)]
struct SearchAnswer {
    results: Vec<SearchHit>,
    total_count: u64,
    incomplete: bool,
    filtered: usize,
    page: u32,
    per_page: u32,
}

async fn search_for(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: SearchArguments,
) -> Result<SearchAnswer, Failure> {
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .search(&context, &arguments.query, paging)
        .await?;
    let all = found.repositories.len();
    let admitted = found
        .repositories
        .into_iter()
        .filter(|one| server.config.repos.allows(&one.name));
    let results: Vec<_> = admitted
        .map(|one| SearchHit {
            id: one.name.to_string(),
            title: one.name.to_string(),
            url: one.url,
        })
        .collect();
    Ok(SearchAnswer {
        filtered: all - results.len(),
        results,
        total_count: found.total_count,
        incomplete: found.incomplete,
        page: paging.page,
        per_page: paging.per_page,
    })
}

pub(super) fn search() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "search",
        description: "Search repositories. GitHub's qualifiers work (`language:rust stars:>100`). Not for code: use get_tree and read_file.",
        input: arguments(
            &["query"],
            json!({ "query": text(1, 256, "What to look for"), "page": page(), "per_page": per_page() }),
        ),
        output: answer(
            json!({
                "results": { "type": "array", "items": answer(json!({ "id": { "type": "string" }, "title": { "type": "string" }, "url": { "type": "string" } }), &[]) },
                "total_count": { "type": "integer" },
                "incomplete": { "type": "boolean" },
                "filtered": { "type": "integer", "description": "Left out by --repos" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" }
            }),
            &[],
        ),
    };
    read_tool(spec, search_for)
}

#[derive(Deserialize)]
struct FetchArguments {
    repo: RepoName,
}

#[derive(Serialize)]
struct RepositoryMetadata {
    stars: u64,
    language: Option<String>,
    owner: String,
    default_branch: String,
}

#[derive(Serialize)]
pub(super) struct FetchAnswer {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: RepositoryMetadata,
    truncated: bool,
}

async fn fetch_one(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: FetchArguments,
) -> Result<FetchAnswer, Failure> {
    let repository = server.forge.repository(&context, &arguments.repo).await?;
    let readme = server
        .forge
        .readme(&context, &arguments.repo, MAX_README_BYTES)
        .await?;
    Ok(fetched(repository, readme))
}

/// Returns the answer for a repository and the beginning of its README.
pub(super) fn fetched(repository: Repository, readme: Option<(Vec<u8>, bool)>) -> FetchAnswer {
    let (readme, truncated) = match readme {
        Some((bytes, cut)) => (Some(readable(&bytes, cut)), cut),
        None => (None, false),
    };
    let parts = [repository.description, readme];
    let text: Vec<_> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    FetchAnswer {
        id: repository.name.to_string(),
        title: repository.name.to_string(),
        text: text.join("\n\n"),
        url: repository.url,
        metadata: RepositoryMetadata {
            stars: repository.stars,
            language: repository.language,
            owner: repository.name.owner().to_owned(),
            default_branch: repository.default_branch,
        },
        truncated,
    }
}

/// Returns the bytes as text, without a character that a cut has split.
fn readable(bytes: &[u8], cut: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if cut && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}

pub(super) fn fetch() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "fetch",
        description: "What one repository is: its description and README (100 KiB at most), stars, language, default branch. Not for other files: use read_file.",
        input: arguments(&["repo"], json!({ "repo": repo() })),
        output: fetch_members(),
    };
    read_tool(spec, fetch_one)
}

/// Returns the schema of a repository in an answer.
pub(super) fn fetch_members() -> Value {
    answer(
        json!({
            "id": { "type": "string" },
            "title": { "type": "string" },
            "text": { "type": "string" },
            "url": { "type": "string" },
            "metadata": answer(
                json!({
                    "stars": { "type": "integer" },
                    "language": nullable("string"),
                    "owner": { "type": "string" },
                    "default_branch": { "type": "string" }
                }),
                &[],
            ),
            "truncated": { "type": "boolean" }
        }),
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_splits_no_character() {
        assert_eq!(readable(&"aé".as_bytes()[..2], true), "a");
        assert_eq!(readable(&"aé".as_bytes()[..2], false), "a\u{fffd}");
        assert_eq!(readable(b"\xff!", true), "\u{fffd}!");
    }
}
