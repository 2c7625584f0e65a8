//! The tool `set_auto_merge`.

use super::{PullNumber, ToolSpec, number, write_tool};
use crate::discussion_model::AutoMerge;
use crate::fields::{self, answer, arguments, flag, nullable, one_of, repo};
use crate::forge::BackendContext;
use crate::model::{MergeMethod, PullState};
use crate::server::ForgeServer;
use crate::{Failure, RepoName, UnmetPrecondition};
use candor_street::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
struct AutoMergeArguments {
    repo: RepoName,
    #[serde(rename = "prNumber")]
    number: PullNumber,
    enabled: bool,
    #[serde(default)]
    merge_method: MergeMethod,
}

#[derive(Serialize)]
struct AutoMergeAnswer {
    number: u64,
    auto_merge: Option<AutoMerge>,
}

async fn set(
    server: Arc<ForgeServer>,
    context: BackendContext,
    arguments: AutoMergeArguments,
) -> Result<AutoMergeAnswer, Failure> {
    let (repo, number) = (&arguments.repo, number(arguments.number));
    let pull = server.forge.pull_request(&context, repo, number).await?;
    if arguments.enabled && pull.state == PullState::Closed {
        return Err(UnmetPrecondition::NotOpen(number).into());
    }
    let method = arguments.enabled.then_some(arguments.merge_method);
    let auto_merge = server
        .forge
        .set_auto_merge(&context, repo, &pull, method)
        .await?;
    Ok(AutoMergeAnswer { number, auto_merge })
}

pub(super) fn set_auto_merge() -> Tool<ForgeServer> {
    let spec = ToolSpec {
        name: "set_auto_merge",
        description: "Let a pull request be merged as soon as the rules of its base allow it, or no longer. Not for one that can be merged now: use merge_pull_request.",
        input: arguments(
            &["repo", "prNumber", "enabled"],
            json!({
                "repo": repo(),
                "prNumber": fields::number(),
                "enabled": flag("false takes it back"),
                "merge_method": one_of(&["merge", "squash", "rebase"], "merge if absent")
            }),
        ),
        output: answer(
            json!({
                "number": { "type": "integer" },
                "auto_merge": nullable("object")
            }),
            &[],
        ),
    };
    write_tool(spec, set).additive().idempotent()
}
