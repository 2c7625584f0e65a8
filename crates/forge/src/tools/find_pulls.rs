//! The tool `find_pull_requests`.

use super::pulls::{PullSummary, summary};
use super::{PageNumber, ToolSpec, paging, read_tool};
use crate::discussion_model::PullQuery;
use crate::fields::{answer, arguments, base, head, name, one_of, page, per_page, repo};
use crate::forge::BackendContext;
use crate::model::PullFilter;
use crate::server::ForgeServer;
use crate::{Failure, RepoName};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct FindArguments {
    repo: RepoName,
    #[serde(default)]
    state: PullFilter,
    head: Option<String>,
    base: Option<String>,
    author: Option<String>,
    label: Option<String>,
    page: PageNumber,
    per_page: PageNumber,
}

#[derive(Serialize)]
struct FindAnswer {
    pull_requests: Vec<PullSummary>,
    incomplete: bool,
    page: u32,
    per_page: u32,
    more: bool,
}

async fn find(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: FindArguments,
) -> Result<FindAnswer, Failure> {
    let (head_owner, head) = match arguments.head {
        Some(head) => match head.split_once(':') {
            Some((owner, head)) => (Some(owner.to_owned()), Some(head.to_owned())),
            None => (None, Some(head)),
        },
        None => (None, None),
    };
    let query = PullQuery {
        state: arguments.state,
        head_owner,
        head,
        base: arguments.base,
        author: arguments.author,
        label: arguments.label,
    };
    let paging = paging(arguments.page, arguments.per_page);
    let found = server
        .forge
        .find_pulls(&context, &arguments.repo, &query, paging)
        .await?;
    Ok(FindAnswer {
        pull_requests: found.pulls.into_iter().map(PullSummary::from).collect(),
        incomplete: found.incomplete,
        page: paging.page,
        per_page: paging.per_page,
        more: found.more,
    })
}

pub(super) fn find_pull_requests() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "find_pull_requests",
        description: "Find pull requests by branch, author or label, the last opened first; also those that were just opened. `incomplete`: author and label were looked for among the newest 1,000 only. Not for words: use search_issues.",
        input: arguments(
            &["repo"],
            json!({
                "repo": repo(),
                "state": one_of(&["open", "closed", "all"], "open if absent"),
                "head": head(),
                "base": base(),
                "author": name("Who opened it"),
                "label": name("A label that it has"),
                "page": page(),
                "per_page": per_page()
            }),
        ),
        output: answer(
            json!({
                "pull_requests": { "type": "array", "items": answer(summary(), &[]) },
                "incomplete": { "type": "boolean" },
                "page": { "type": "integer" },
                "per_page": { "type": "integer" },
                "more": { "type": "boolean" }
            }),
            &[],
        ),
    };
    read_tool(spec, find)
}
