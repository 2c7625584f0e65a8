//! The tools, each written once against the trait `Forge`.

mod argument_rules;
mod commit;
mod contents;
mod history;
mod merge;
mod mergeability;
mod pulls;
mod repositories;

use crate::dialect::Github;
use crate::forge::BackendContext;
use crate::model::{Paging, Revision};
use crate::notes::ForgeNotes;
use crate::server::ForgeServer;
use crate::{Failure, fields};
use candor_fault::{Fault, Violations};
use candor_schema::Int;
use candor_street::{CallContext, JsonRef, Reply, Tool, reply};
pub use contents::MAX_FILE_BYTES;
pub use pulls::MAX_PATCH_BYTES;
pub use repositories::MAX_README_BYTES;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// Returns the fourteen tools of the specification.
pub(crate) fn all() -> Vec<Tool<ForgeServer>> {
    vec![
        repositories::search(),
        repositories::fetch(),
        contents::list_directory(),
        contents::read_file(),
        contents::get_tree(),
        history::get_commits(),
        history::get_branches(),
        pulls::list(),
        mergeability::get_pr_mergeability(),
        mergeability::get_checks_for_sha(),
        pulls::create(),
        pulls::update(),
        merge::merge_pull_request(),
        commit::commit_files(),
    ]
}

/// Returns the tools beyond the specification's.
pub(crate) fn extended() -> Vec<Tool<ForgeServer>> {
    vec![history::create_branch(), pulls::get()]
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
    use candor_call_fixtures::assert_schema_agreement;
    use candor_street::Tools;
    use serde_json::json;

    /// The maximum size of `tools/list`: clients put it into every prompt.
    const MAX_LIST: usize = 24 * 1024;

    #[test]
    fn list_is_small_and_can_be_enforced() {
        let listed = |tools: Vec<Tool<ForgeServer>>| {
            let tools = tools.into_iter().fold(Tools::new("test", "0"), Tools::with);
            tools.verify().unwrap();
            tools.list().len()
        };
        let own = listed(all());
        assert!(own <= MAX_LIST, "{own}");
        assert!(listed(all().into_iter().chain(extended()).collect()) > own);
    }

    #[test]
    fn schemas_agree_with_the_types_of_arguments() {
        let examples = [("content", vec![json!("aGk=")])];
        for tool in all().into_iter().chain(extended()) {
            assert_schema_agreement(&tool, &examples, &[]);
        }
    }
}
