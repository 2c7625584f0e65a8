//! An order system that does, call after call, what a test tells it to.

use candor_orders::{
    Adapter, AdapterFuture, Failure, OrderOperation, Request, RequestContext, Response,
};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// One step of a call; a call whose steps are over succeeds.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Begin,
    Done,
    Undone,
    Take(Duration),
    Hang,
    Panic,
    Fail(Failure),
    /// Succeeds with this answer instead of the usual one.
    Answer(Response),
}

pub(crate) type Steps = Vec<Step>;

/// A failure that is the whole call.
pub(crate) fn fails(failure: impl Into<Failure>) -> Steps {
    vec![Step::Fail(failure.into())]
}

/// One call as the order system saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    pub(crate) request: Request,
}

#[derive(Debug)]
pub(crate) struct Scripted {
    keeps_keys: bool,
    script: Mutex<VecDeque<Steps>>,
    otherwise: Steps,
    asked: Mutex<Vec<Asked>>,
    dropped: AtomicUsize,
}

impl Scripted {
    /// Calls follow `script` one after another, and `otherwise` once it is over.
    pub(crate) fn new(keeps_keys: bool, script: Vec<Steps>, otherwise: Steps) -> Scripted {
        Scripted {
            keeps_keys,
            script: Mutex::new(script.into()),
            otherwise,
            asked: Mutex::default(),
            dropped: AtomicUsize::new(0),
        }
    }

    /// Every call so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many calls there were.
    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// How many calls were dropped before they ended.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    async fn follow(&self, request: &Request, turn: &RequestContext) -> Result<Response, Failure> {
        self.asked.lock().unwrap().push(Asked {
            at: Instant::now(),
            request: request.clone(),
        });
        let next = self.script.lock().unwrap().pop_front();
        for step in next.unwrap_or_else(|| self.otherwise.clone()) {
            match step {
                Step::Begin => turn.mark.begins()?,
                Step::Done => turn.mark.done(),
                Step::Undone => turn.mark.undone(),
                Step::Take(time) => sleep(time).await,
                Step::Hang => pending().await,
                Step::Panic => panic!("the order system was reached"),
                Step::Fail(failure) => return Err(failure),
                Step::Answer(response) => return Ok(response),
            }
        }
        Ok(usual(request.operation()))
    }
}

/// Counts a call that is dropped while it runs.
struct Running<'a>(Option<&'a AtomicUsize>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.map(|dropped| dropped.fetch_add(1, Ordering::SeqCst));
    }
}

impl Adapter for Scripted {
    fn call<'a>(&'a self, request: &'a Request, turn: &'a RequestContext) -> AdapterFuture<'a> {
        Box::pin(async move {
            let mut running = Running(Some(&self.dropped));
            let ended = self.follow(request, turn).await;
            running.0 = None;
            ended
        })
    }

    fn keeps_keys(&self) -> bool {
        self.keeps_keys
    }
}

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn usual(operation: OrderOperation) -> Response {
    match operation.changes() {
        true => Response::One(raw(r#"{"id":"1"}"#)),
        false => Response::Page {
            items: raw("[]"),
            next: None,
        },
    }
}
