//! Changes the draft state and auto-merge of a pull request and reverts one, which REST cannot do.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_MESSAGE_CHARS;
use super::raw_types::{Number, User, login};
use super::requests::{FailedWrite, GithubWrite};
use super::route::Route;
use crate::{
    AutoMerge, BackendContext, Failure, GithubErrorResponse, MergeMethod, MissingItem, PullRequest,
    RequestKind, RevertInstruction,
};
use candor_http_client::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

const READY: &str = "mutation($id: ID!) { changed: markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft updatedAt } } }";
const DRAFT: &str = "mutation($id: ID!) { changed: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft updatedAt } } }";

const REVERT: &str = "mutation($input: RevertPullRequestInput!) { changed: revertPullRequest(input: $input) { pullRequest: revertPullRequest { number } } }";

const ENABLE_AUTO_MERGE: &str = "mutation($id: ID!, $method: PullRequestMergeMethod!) { changed: enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $method}) { pullRequest { autoMergeRequest { mergeMethod enabledBy { login } } } } }";
const DISABLE_AUTO_MERGE: &str = "mutation($id: ID!) { changed: disablePullRequestAutoMerge(input: {pullRequestId: $id}) { pullRequest { autoMergeRequest { mergeMethod enabledBy { login } } } } }";

/// The auto-merge of a pull request after the change.
#[derive(Debug, Deserialize)]
struct AutoMergeChange {
    #[serde(rename = "autoMergeRequest")]
    request: Option<AutoMergeRequest>,
}

#[derive(Debug, Deserialize)]
struct AutoMergeRequest {
    #[serde(rename = "mergeMethod")]
    method: String,
    #[serde(rename = "enabledBy")]
    enabled_by: Option<User>,
}

impl AutoMergeRequest {
    fn into_model(self) -> AutoMerge {
        AutoMerge {
            merge_method: match self.method.as_str() {
                "SQUASH" => MergeMethod::Squash,
                "REBASE" => MergeMethod::Rebase,
                _ => MergeMethod::Merge,
            },
            enabled_by: login(self.enabled_by),
        }
    }
}

/// Enables auto-merge with a method, or disables it.
pub(super) async fn set_auto_merge(
    api: &Api,
    context: &BackendContext,
    pull: &PullRequest,
    method: Option<MergeMethod>,
) -> Result<Option<AutoMerge>, FailedWrite> {
    let id = pull.node_id.as_deref().unwrap_or_default();
    let body = match method {
        None => json!({ "query": DISABLE_AUTO_MERGE, "variables": { "id": id } }),
        Some(method) => {
            let method = match method {
                MergeMethod::Merge => "MERGE",
                MergeMethod::Squash => "SQUASH",
                MergeMethod::Rebase => "REBASE",
            };
            let variables = json!({ "id": id, "method": method });
            json!({ "query": ENABLE_AUTO_MERGE, "variables": variables })
        }
    };
    let changed: AutoMergeChange = mutate(api, context, pull.number, body).await?;
    Ok(changed.request.map(AutoMergeRequest::into_model))
}

/// A pull request after the change.
#[derive(Debug, Deserialize)]
pub(super) struct Toggled {
    #[serde(rename = "isDraft")]
    pub(super) draft: bool,
    #[serde(rename = "updatedAt")]
    pub(super) updated_at: String,
}

#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Envelope<T> {
    data: Option<Data<T>>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Data<T> {
    changed: Option<Changed<T>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct Changed<T> {
    #[serde(rename = "pullRequest")]
    pull: Option<T>,
}

#[derive(Debug, Deserialize)]
struct GraphqlError {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: String,
}

/// Sets the draft state of a pull request.
pub(super) async fn toggle(
    api: &Api,
    context: &BackendContext,
    number: u64,
    node_id: &str,
    draft: bool,
) -> Result<Toggled, FailedWrite> {
    let query = if draft { DRAFT } else { READY };
    let body = json!({ "query": query, "variables": { "id": node_id } });
    mutate(api, context, number, body).await
}

/// Opens a pull request that reverts a merged one, and returns its number.
pub(super) async fn revert(
    api: &Api,
    context: &BackendContext,
    order: &RevertInstruction,
) -> Result<u64, FailedWrite> {
    let mut input = json!({
        "pullRequestId": order.pull.node_id.as_deref().unwrap_or_default(),
        "draft": order.draft,
    });
    if let Some(title) = &order.title {
        input["title"] = json!(title);
    }
    if let Some(text) = &order.body {
        input["body"] = json!(text);
    }
    let body = json!({ "query": REVERT, "variables": { "input": input } });
    let Number { number } = mutate(api, context, order.pull.number, body).await?;
    Ok(number)
}

/// Sends a mutation of a pull request and returns the pull request of its answer.
async fn mutate<T: DeserializeOwned>(
    api: &Api,
    context: &BackendContext,
    number: u64,
    body: Value,
) -> Result<T, FailedWrite> {
    let change = GithubWrite {
        method: Method::POST,
        // Replaced by the URL of GraphQL.
        route: Route::root("graphql"),
        body: Some(body),
        step: RequestKind::Write,
        missing: MissingItem::PullRequest(number),
    };
    let reply = api.graphql(context, change).await?;
    let envelope: Envelope<T> = reply.json().map_err(FailedWrite::with_unknown_effect)?;
    if let Some(error) = envelope.errors.into_iter().next() {
        let message = api.redactor.text(&error.message);
        return Err(read_error_response(
            error.kind.as_deref(),
            &message,
            number,
            reply.wait,
        ));
    }
    let pull = envelope.data.and_then(|data| data.changed);
    let pull = pull.and_then(|changed| changed.pull);
    pull.ok_or_else(|| {
        FailedWrite::with_unknown_effect(ExchangeFailure::nonsense("neither data nor errors"))
    })
}

/// Maps an error of GraphQL, which has status 200, to the status that REST would return.
fn read_error_response(
    kind: Option<&str>,
    message: &str,
    number: u64,
    wait: Option<Duration>,
) -> FailedWrite {
    let (status, limited) = match kind {
        Some("NOT_FOUND") => (404, false),
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => (403, false),
        Some("RATE_LIMITED" | "RATE_LIMIT") => (403, true),
        Some("UNPROCESSABLE") => (422, false),
        // An error of an unknown type does not prove that nothing happened.
        _ => {
            return FailedWrite::with_unknown_effect(ExchangeFailure::nonsense(
                "an error of a type that is not known",
            ));
        }
    };
    FailedWrite::without_effect(Failure::GithubErrorResponse(GithubErrorResponse {
        status,
        step: RequestKind::Write,
        missing: MissingItem::PullRequest(number),
        message: Some(message.chars().take(MAX_MESSAGE_CHARS).collect()),
        errors: None,
        limited,
        retry_after: wait.filter(|_| limited),
        sso_url: None,
    }))
}
