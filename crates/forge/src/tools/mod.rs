//! The tools, each written once against the trait `Forge`.

mod answer_size;
mod argument_rules;
mod auto_merge;
mod change_rules;
mod code_search;
mod comments;
mod commit;
mod commit_changes;
mod comparison;
mod contents;
mod exactly_one;
mod file_contents;
mod find_pulls;
mod history;
mod issues;
mod job_logs;
mod log_text;
mod merge;
mod mergeability;
mod pull_branch;
mod pulls;
mod releases;
mod repositories;
mod repository_changes;
mod reviews;
mod workflow_runs;

use crate::dialect::Github;
use crate::forge::BackendContext;
use crate::model::{Paging, Revision};
use crate::notes::ForgeNotes;
use crate::server::ForgeServer;
use crate::toolsets::ToolSelection;
use crate::{Failure, fields};
pub use answer_size::MAX_ANSWER_BYTES;
use candor_fault::{Fault, Violations};
use candor_schema::Int;
use candor_street::{CallContext, JsonRef, Reply, Tool, reply};
pub use commit_changes::MAX_CHANGES;
pub use contents::MAX_FILE_BYTES;
pub use file_contents::{MAX_LINES_BYTES, MAX_TEXT_BYTES};
pub use job_logs::{MAX_JOB_LOG_BYTES, MAX_LOG_BYTES, MAX_LOG_LINES};
pub use pulls::MAX_PATCH_BYTES;
pub use repositories::MAX_README_BYTES;
pub use reviews::MAX_REVIEW_COMMENTS;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// Makes a tool.
type ToolMaker = fn() -> Tool<ForgeServer>;

/// Every tool by its name. A tool that is not offered is not made: its schemas would take memory.
const TOOLS: [(&str, ToolMaker); 46] = [
    ("search", repositories::search),
    ("fetch", repositories::fetch),
    ("list_directory", contents::list_directory),
    ("read_file", contents::read_file),
    ("get_tree", contents::get_tree),
    ("get_commits", history::get_commits),
    ("get_branches", history::get_branches),
    ("list_pull_requests", pulls::list),
    ("get_pr_mergeability", mergeability::get_pr_mergeability),
    ("get_checks_for_sha", mergeability::get_checks_for_sha),
    ("create_pull_request", pulls::create),
    ("update_pull_request", pulls::update),
    ("merge_pull_request", merge::merge_pull_request),
    ("commit_files", commit::commit_files),
    ("create_branch", history::create_branch),
    ("get_pull_request", pulls::get),
    ("get_file_contents", file_contents::get_file_contents),
    ("compare_commits", comparison::compare_commits),
    ("get_commit", comparison::get_commit),
    ("commit_changes", commit_changes::commit_changes),
    ("search_code", code_search::search_code),
    (
        "update_pull_request_branch",
        pull_branch::update_pull_request_branch,
    ),
    ("revert_pull_request", pull_branch::revert_pull_request),
    (
        "get_pull_request_comments",
        comments::get_pull_request_comments,
    ),
    ("add_issue_comment", comments::add_issue_comment),
    (
        "add_reply_to_pull_request_comment",
        comments::add_reply_to_pull_request_comment,
    ),
    ("find_pull_requests", find_pulls::find_pull_requests),
    (
        "create_pull_request_review",
        reviews::create_pull_request_review,
    ),
    (
        "request_pull_request_reviewers",
        reviews::request_pull_request_reviewers,
    ),
    ("set_auto_merge", auto_merge::set_auto_merge),
    ("list_issues", issues::list_issues),
    ("get_issue", issues::get_issue),
    ("create_issue", issues::create_issue),
    ("update_issue", issues::update_issue),
    ("search_issues", issues::search_issues),
    ("get_job_logs", job_logs::get_job_logs),
    ("list_workflow_runs", workflow_runs::list_workflow_runs),
    ("rerun_failed_jobs", workflow_runs::rerun_failed_jobs),
    ("list_commits", repository_changes::list_commits),
    (
        "get_repository_tree",
        repository_changes::get_repository_tree,
    ),
    ("delete_branch", repository_changes::delete_branch),
    ("create_repository", repository_changes::create_repository),
    ("list_tags", releases::list_tags),
    ("create_tag", releases::create_tag),
    ("list_releases", releases::list_releases),
    ("create_release", releases::create_release),
];

/// Returns the selected tools.
pub(crate) fn selected(selection: &ToolSelection) -> impl Iterator<Item = Tool<ForgeServer>> {
    let offered = TOOLS.into_iter();
    let offered = offered.filter(|(name, _)| selection.contains(name));
    offered.map(|(_, make)| make())
}

/// Name, description and schemas of a tool.
struct ToolSpec {
    name: &'static str,
    description: &'static str,
    input: Value,
    output: Value,
}

/// Creates a tool that reads.
fn read_tool<T, A, F>(
    spec: ToolSpec,
    run: impl Fn(Arc<ForgeServer>, BackendContext, T) -> F + Send + Sync + 'static,
) -> Tool<ForgeServer>
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + 'static,
    F: Future<Output = Result<A, Failure>> + Send + 'static,
{
    let work = move |server: Arc<ForgeServer>, arguments: T, cx: CallContext<ForgeNotes>| {
        let context = server.backend_context(false, &cx);
        answer(run(server, context, arguments), cx)
    };
    Tool::read_only(spec.name, spec.description, spec.input, work)
        .with_output_schema(spec.output, None)
        .open_world()
}

/// As [`read_tool`], for arguments with rules that no schema can state.
fn read_tool_with_parser<T, A, F>(
    spec: ToolSpec,
    parse: fn(JsonRef<'_>) -> Result<Option<T>, Violations>,
    run: impl Fn(Arc<ForgeServer>, BackendContext, T) -> F + Send + Sync + 'static,
) -> Tool<ForgeServer>
where
    T: Send + 'static,
    A: Serialize + 'static,
    F: Future<Output = Result<A, Failure>> + Send + 'static,
{
    let work = move |server: Arc<ForgeServer>, arguments: T, cx: CallContext<ForgeNotes>| {
        let context = server.backend_context(false, &cx);
        answer(run(server, context, arguments), cx)
    };
    Tool::read_only_with_parser(spec.name, spec.description, spec.input, parse, work)
        .with_output_schema(spec.output, None)
        .open_world()
}

/// Creates a tool that changes something.
fn write_tool<T, A, F>(
    spec: ToolSpec,
    run: impl Fn(Arc<ForgeServer>, BackendContext, T) -> F + Send + Sync + 'static,
) -> Tool<ForgeServer>
where
    T: DeserializeOwned + Send + 'static,
    A: Serialize + 'static,
    F: Future<Output = Result<A, Failure>> + Send + 'static,
{
    let work = move |server: Arc<ForgeServer>, arguments: T, cx: CallContext<ForgeNotes>| {
        let context = server.backend_context(true, &cx);
        answer(run(server, context, arguments), cx)
    };
    Tool::mutating(spec.name, spec.description, spec.input, work)
        .with_output_schema(spec.output, None)
        .open_world()
}

/// As [`write_tool`], for arguments with rules that no schema can state.
fn write_tool_with_parser<T, A, F>(
    spec: ToolSpec,
    parse: fn(JsonRef<'_>) -> Result<Option<T>, Violations>,
    run: impl Fn(Arc<ForgeServer>, BackendContext, T) -> F + Send + Sync + 'static,
) -> Tool<ForgeServer>
where
    T: Send + 'static,
    A: Serialize + 'static,
    F: Future<Output = Result<A, Failure>> + Send + 'static,
{
    let work = move |server: Arc<ForgeServer>, arguments: T, cx: CallContext<ForgeNotes>| {
        let context = server.backend_context(true, &cx);
        answer(run(server, context, arguments), cx)
    };
    Tool::mutating_with_parser(spec.name, spec.description, spec.input, parse, work)
        .with_output_schema(spec.output, None)
        .open_world()
}

/// Waits for the work of a tool and serializes its result.
async fn answer<A: Serialize>(
    work: impl Future<Output = Result<A, Failure>>,
    cx: CallContext<ForgeNotes>,
) -> Result<Reply, Fault<Github>> {
    let done = work.await;
    reply(&done.map_err(|failure| failure.fault(cx.mark.effect()))?)
}

/// The argument `page` or `per_page`.
type PageNumber = Option<Int<1, 100>>;

/// The default of `per_page`.
const PER_PAGE: u32 = 30;

fn paging(page: PageNumber, per_page: PageNumber) -> Paging {
    let arguments = |number: PageNumber| number.and_then(|number| u32::try_from(number.get()).ok());
    Paging {
        page: arguments(page).unwrap_or(1),
        per_page: arguments(per_page).unwrap_or(PER_PAGE),
    }
}

/// The arguments `branch` and `ref`.
#[derive(Deserialize)]
struct RevisionArguments {
    branch: Option<String>,
    r#ref: Option<String>,
}

impl RevisionArguments {
    fn revision(self) -> Revision {
        match (self.branch, self.r#ref) {
            (Some(branch), _) => Revision::Branch(branch),
            (None, Some(name)) => Revision::Named(name),
            (None, None) => Revision::Default,
        }
    }
}

/// The argument `prNumber`.
type PullNumber = Int<1, { fields::MAX_NUMBER }>;

fn number(number: PullNumber) -> u64 {
    number.get().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_CORE_LIST_BYTES, MAX_DEFAULT_LIST_BYTES, MAX_TOOLSET_LIST_BYTES, TOOLSETS};
    use candor_call_fixtures::assert_schema_agreement;
    use candor_street::Tools;
    use serde_json::json;

    fn listed(selection: &ToolSelection) -> usize {
        let tools = selected(selection).fold(Tools::new("test", "0"), Tools::with);
        tools.verify().unwrap();
        tools.list().len()
    }

    #[test]
    fn lists_are_small_and_can_be_enforced() {
        let core = listed(&ToolSelection::core());
        assert!(core <= MAX_CORE_LIST_BYTES, "{core}");
        let default = ToolSelection::parse(&[String::from("default")], &[]);
        let default = listed(&default.unwrap());
        assert!(
            core < default && default <= MAX_DEFAULT_LIST_BYTES,
            "{default}"
        );
        for toolset in TOOLSETS.iter().skip(2) {
            let further = ToolSelection::parse(&[String::from(toolset.name)], &[]);
            let further = listed(&further.unwrap()) - core;
            let name = toolset.name;
            assert!(further <= MAX_TOOLSET_LIST_BYTES, "{name}: {further}");
        }
    }

    #[test]
    fn toolsets_name_every_tool_once() {
        let mut tools: Vec<_> = TOOLS.iter().map(|(_, make)| make().name()).collect();
        assert_eq!(tools, TOOLS.map(|(name, _)| name));
        tools.sort_unstable();
        let mut named: Vec<_> = TOOLSETS.iter().flat_map(|one| one.tools.to_vec()).collect();
        named.sort_unstable();
        assert_eq!(tools, named);
    }

    #[test]
    fn schemas_agree_with_the_types_of_arguments() {
        let changes = json!([
            { "op": "write", "path": "a", "content": "aGk=", "encoding": "base64", "executable": true },
            { "op": "edit", "path": "b", "old_text": "a", "new_text": "b" },
            { "op": "delete", "path": "c" },
            { "op": "move", "path": "d", "to": "e" }
        ]);
        let examples = [("content", vec![json!("aGk=")]), ("changes", vec![changes])];
        for tool in selected(&ToolSelection::all()) {
            assert_schema_agreement(&tool, &examples, &[]);
        }
    }
}
