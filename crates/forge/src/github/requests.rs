//! Requests to GitHub and their results.

use super::exchange_failure::ExchangeFailure;
use super::limits::MAX_ANSWER_BYTES;
use super::route::Route;
use crate::{BackendContext, Failure, MissingItem, RequestKind};
use candor_fault::Effect;
use candor_http_client::{BodyLimit, Bytes, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// The default.
pub(super) const JSON: &str = "application/vnd.github+json";
/// A file's own bytes.
pub(super) const RAW: &str = "application/vnd.github.raw+json";
/// JSON with the texts that match.
pub(super) const TEXT_MATCH: &str = "application/vnd.github.text-match+json";
/// One object for any path, also a directory.
pub(super) const OBJECT: &str = "application/vnd.github.object+json";

/// A request that reads.
#[derive(Debug)]
pub(super) struct GithubRead {
    pub(super) route: Route,
    pub(super) accept: &'static str,
    pub(super) limit: BodyLimit,
    pub(super) missing: MissingItem,
}

impl GithubRead {
    /// Requests JSON. `missing` is the item that a 404 refers to.
    pub(super) fn new(route: Route, missing: MissingItem) -> GithubRead {
        GithubRead {
            route,
            accept: JSON,
            limit: BodyLimit::Whole(MAX_ANSWER_BYTES),
            missing,
        }
    }

    pub(super) fn with_accept(mut self, accept: &'static str) -> GithubRead {
        self.accept = accept;
        self
    }

    pub(super) fn with_limit(mut self, limit: BodyLimit) -> GithubRead {
        self.limit = limit;
        self
    }
}

/// A request that changes something.
#[derive(Debug)]
pub(super) struct GithubWrite {
    pub(super) method: Method,
    pub(super) route: Route,
    pub(super) body: Option<Value>,
    pub(super) step: RequestKind,
    pub(super) missing: MissingItem,
}

/// A successful response.
#[derive(Debug)]
pub(super) struct GithubResponse {
    pub(super) bytes: Bytes,
    /// True if there were more bytes.
    pub(super) truncated: bool,
    /// True if there is a next page.
    pub(super) more: bool,
    /// The wait if a limit is exhausted: GraphQL refuses with status 200.
    pub(super) wait: Option<Duration>,
}

impl GithubResponse {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes)
            .map_err(|error| ExchangeFailure::unreadable(&error).into())
    }
}

/// The result of an exchange that did not fail.
#[derive(Debug)]
pub(super) enum ResponseOrRedirect {
    Response(GithubResponse),
    /// A redirect with its `Location`.
    Redirect(Option<String>),
}

/// A change that failed.
#[derive(Debug)]
pub(super) struct FailedWrite {
    pub(super) failure: Failure,
    pub(super) effect: Effect,
}

impl FailedWrite {
    pub(super) fn without_effect(failure: impl Into<Failure>) -> FailedWrite {
        FailedWrite {
            failure: failure.into(),
            effect: Effect::None,
        }
    }

    pub(super) fn with_unknown_effect(failure: impl Into<Failure>) -> FailedWrite {
        FailedWrite {
            failure: failure.into(),
            effect: Effect::Unknown,
        }
    }

    pub(super) fn after_effect(failure: impl Into<Failure>) -> FailedWrite {
        FailedWrite {
            failure: failure.into(),
            effect: Effect::Done,
        }
    }

    /// Sets the mark by the effect and returns the failure. For the first change of a call.
    pub(super) fn into_failure(self, context: &BackendContext) -> Failure {
        match self.effect {
            Effect::None => context.mark.undone(),
            Effect::Done => context.mark.done(),
            Effect::Unknown => {}
        }
        self.failure
    }
}
