//! The tool `search_code`: words in the files of one repository.

use super::answer_size::fitting;
use super::{PageNumber, ToolSpec, paging, read_tool};
use crate::fields::{answer, arguments, code_query, page, path, per_page, repo};
use crate::forge::BackendContext;
use crate::search_model::{CodeQuery, CodeResult};
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct SearchArguments {
    repo: RepoName,
    query: String,
    path: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct SearchAnswer {
    results: Vec<CodeResult>,
    total_count: u64,
    incomplete: bool,
    r#ref: String,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn search(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: SearchArguments,
) -> Result<SearchAnswer, Failure> {
    let query = CodeQuery {
        text: arguments.query,
        path: arguments.path,
    };
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .search_code(&context, &arguments.repo, &query, paging)
        .await?;
    let all = found.results.len();
    let results = fitting(found.results);
    Ok(SearchAnswer {
        incomplete: found.incomplete || results.len() < all,
        results,
        total_count: found.total_count,
        r#ref: found.at,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn search_code() -> Tool<ForgeServer> {
    let result = answer(
        json!({
            "path": { "type": "string" },
            "url": { "type": "string" },
            "matches": { "type": "array" }
        }),
        &[],
    );
    let spec = ToolSpec {
        name: "search_code",
        description: "Find files of one repository's default branch that have all words of the query (\"…\" for a phrase; case does not count), with up to 5 lines of each. Not for repositories: use search.",
        input: arguments(
            &["repo", "query"],
            json!({
                "repo": repo(),
                "query": code_query(),
                "path": path("What paths begin with"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "results": { "type": "array", "items": result },
                "total_count": { "type": "integer" },
                "incomplete": { "type": "boolean" },
                "ref": { "type": "string" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, search)
}
