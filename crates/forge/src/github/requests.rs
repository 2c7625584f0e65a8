//! What is asked of GitHub, and what came of it: reads and changes, replies and losses.

use super::exchange_failure::ExchangeFailure;
use super::limits::ANSWER_MAX_BYTES;
use super::route::Route;
use crate::{BackendContext, Failure, MissingItem, RequestKind};
use candor_fault::Effect;
use candor_http_client::{BodyLimit, Bytes, Method};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// What is asked for unless something else is said.
pub(super) const JSON: &str = "application/vnd.github+json";
/// A file's own bytes.
pub(super) const RAW: &str = "application/vnd.github.raw+json";
/// One object whatever stands at a path, a directory too.
pub(super) const OBJECT: &str = "application/vnd.github.object+json";

/// Something to be read.
#[derive(Debug)]
pub(super) struct GithubRead {
    pub(super) route: Route,
    pub(super) accept: &'static str,
    pub(super) limit: BodyLimit,
    pub(super) missing: MissingItem,
}

impl GithubRead {
    /// Asks for JSON; `missing` is what a 404 would be about.
    pub(super) fn new(route: Route, missing: MissingItem) -> GithubRead {
        GithubRead {
            route,
            accept: JSON,
            limit: BodyLimit::Whole(ANSWER_MAX_BYTES),
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

/// Something to be changed.
#[derive(Debug)]
pub(super) struct GithubWrite {
    pub(super) method: Method,
    pub(super) route: Route,
    pub(super) body: Option<Value>,
    pub(super) step: RequestKind,
    pub(super) missing: MissingItem,
}

/// An answer of success.
#[derive(Debug)]
pub(super) struct GithubResponse {
    pub(super) bytes: Bytes,
    /// True if there were more bytes.
    pub(super) truncated: bool,
    /// Whether there is another page.
    pub(super) more: bool,
    /// How long to wait where a limit is used up: GraphQL refuses with a success.
    pub(super) wait: Option<Duration>,
}

impl GithubResponse {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes)
            .map_err(|error| ExchangeFailure::unreadable(&error).into())
    }
}

/// What one exchange brought that is no failure.
#[derive(Debug)]
pub(super) enum ResponseOrRedirect {
    Response(GithubResponse),
    /// A redirect, and where to.
    Redirect(Option<String>),
}

/// A change that brought no success.
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

    /// The failure, with the mark set as the outcome demands; for a change that is the first of its
    /// call.
    pub(super) fn into_failure(self, context: &BackendContext) -> Failure {
        match self.effect {
            Effect::None => context.mark.undone(),
            Effect::Done => context.mark.done(),
            Effect::Unknown => {}
        }
        self.failure
    }
}
