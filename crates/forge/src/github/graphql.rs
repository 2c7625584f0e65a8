//! Changes the draft state of a pull request, which REST cannot do.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_MESSAGE_CHARS;
use super::requests::{FailedWrite, GithubWrite};
use super::route::Route;
use crate::{BackendContext, Failure, GithubErrorResponse, MissingItem, RequestKind};
use candor_http_client::Method;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

const READY: &str = "mutation($id: ID!) { changed: markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft updatedAt } } }";
const DRAFT: &str = "mutation($id: ID!) { changed: convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft updatedAt } } }";

/// A pull request after the change.
#[derive(Debug, Deserialize)]
pub(super) struct Toggled {
    #[serde(rename = "isDraft")]
    pub(super) draft: bool,
    #[serde(rename = "updatedAt")]
    pub(super) updated_at: String,
}

#[derive(Debug, Deserialize)]
struct Envelope {
    data: Option<Data>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

#[derive(Debug, Deserialize)]
struct Data {
    changed: Option<Changed>,
}

#[derive(Debug, Deserialize)]
struct Changed {
    #[serde(rename = "pullRequest")]
    pull: Option<Toggled>,
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
    let change = GithubWrite {
        method: Method::POST,
        // Replaced by the URL of GraphQL.
        route: Route::root("graphql"),
        body: Some(json!({ "query": query, "variables": { "id": node_id } })),
        step: RequestKind::Write,
        missing: MissingItem::PullRequest(number),
    };
    let reply = api.graphql(context, change).await?;
    let envelope: Envelope = reply.json().map_err(FailedWrite::with_unknown_effect)?;
    if let Some(error) = envelope.errors.into_iter().next() {
        return Err(read_error_response(error, number, reply.wait));
    }
    let pull = envelope.data.and_then(|data| data.changed);
    let pull = pull.and_then(|changed| changed.pull);
    pull.ok_or_else(|| {
        FailedWrite::with_unknown_effect(ExchangeFailure::nonsense("neither data nor errors"))
    })
}

/// Maps an error of GraphQL, which has status 200, to the status that REST would return.
fn read_error_response(error: GraphqlError, number: u64, wait: Option<Duration>) -> FailedWrite {
    let (status, limited) = match error.kind.as_deref() {
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
        message: Some(error.message.chars().take(MAX_MESSAGE_CHARS).collect()),
        errors: None,
        limited,
        retry_after: wait.filter(|_| limited),
    }))
}
