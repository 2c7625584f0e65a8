//! Progress reports: never block, never fail, never go backwards.

use serde::Serialize;
use std::fmt;
use std::sync::{Arc, Mutex};

/// The transport's receiver of progress; it may drop a report, it may not block.
pub trait ProgressSink: Send + Sync + 'static {
    /// Takes the text of one `params` object.
    fn report(&self, params: String);
}

/// The way of one call's progress to its client, if the client asked for any.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Inner>>);

struct Inner {
    token: Box<serde_json::value::RawValue>,
    sink: Box<dyn ProgressSink>,
    last: Mutex<f64>,
}

#[derive(Serialize)]
struct Params<'a> {
    #[serde(rename = "progressToken")]
    token: &'a serde_json::value::RawValue,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl Progress {
    /// Progress for a client that gave `token`.
    pub fn new(token: Box<serde_json::value::RawValue>, sink: impl ProgressSink) -> Self {
        Progress(Some(Arc::new(Inner {
            token,
            sink: Box::new(sink),
            last: Mutex::new(f64::NEG_INFINITY),
        })))
    }

    /// Returns true if the client asked for progress.
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Reports; a value that does not exceed the last one is not sent, as the protocol demands.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(inner) = &self.0 else { return };
        let Ok(mut last) = inner.last.lock() else {
            return;
        };
        if !progress.is_finite() || progress <= *last {
            return;
        }
        *last = progress;
        inner.sink.report(candor_fault::to_json(&Params {
            token: &inner.token,
            progress,
            total,
            message,
        }));
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Progress(wanted: {})", self.is_wanted())
    }
}
