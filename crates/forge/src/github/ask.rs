//! What is asked of GitHub, and what came of it: reads and changes, replies and losses.

use super::broken::Broken;
use super::limits::ANSWER_MAX_BYTES;
use super::route::Route;
use crate::{Failure, Missing, Step, Turn};
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
pub(super) struct Ask {
    pub(super) route: Route,
    pub(super) accept: &'static str,
    pub(super) limit: BodyLimit,
    pub(super) missing: Missing,
}

impl Ask {
    /// Asks for JSON; `missing` is what a 404 would be about.
    pub(super) fn new(route: Route, missing: Missing) -> Ask {
        Ask {
            route,
            accept: JSON,
            limit: BodyLimit::Whole(ANSWER_MAX_BYTES),
            missing,
        }
    }

    pub(super) fn accepting(mut self, accept: &'static str) -> Ask {
        self.accept = accept;
        self
    }

    pub(super) fn with_limit(mut self, limit: BodyLimit) -> Ask {
        self.limit = limit;
        self
    }
}

/// Something to be changed.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) method: Method,
    pub(super) route: Route,
    pub(super) body: Option<Value>,
    pub(super) step: Step,
    pub(super) missing: Missing,
}

/// An answer of success.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) bytes: Bytes,
    /// True if there were more bytes.
    pub(super) truncated: bool,
    /// Whether there is another page.
    pub(super) more: bool,
    /// How long to wait where a limit is used up: GraphQL refuses with a success.
    pub(super) wait: Option<Duration>,
}

impl Reply {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes).map_err(|error| Broken::unreadable(&error).into())
    }
}

/// What one exchange brought that is no failure.
#[derive(Debug)]
pub(super) enum Got {
    Reply(Reply),
    /// A redirect, and where to.
    Moved(Option<String>),
}

/// A change that brought no success.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    pub(super) outcome: Outcome,
}

/// What became of a change that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was not made.
    NotMade,
    /// Nobody knows.
    Unknown,
    /// It was made; only the answer was lost.
    Made,
}

impl Lost {
    pub(super) fn not_made(failure: impl Into<Failure>) -> Lost {
        Lost {
            failure: failure.into(),
            outcome: Outcome::NotMade,
        }
    }

    pub(super) fn unknown(failure: impl Into<Failure>) -> Lost {
        Lost {
            failure: failure.into(),
            outcome: Outcome::Unknown,
        }
    }

    pub(super) fn made(failure: impl Into<Failure>) -> Lost {
        Lost {
            failure: failure.into(),
            outcome: Outcome::Made,
        }
    }

    /// The failure, with the mark set as the outcome demands; for a change that is the first of its
    /// call.
    pub(super) fn settled(self, turn: &Turn) -> Failure {
        match self.outcome {
            Outcome::NotMade => turn.mark.undone(),
            Outcome::Made => turn.mark.done(),
            Outcome::Unknown => {}
        }
        self.failure
    }
}
