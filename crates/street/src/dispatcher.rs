//! A server that is ready to answer calls, with its listing, metrics and clock.

use crate::answer::{answer, refuse};
use crate::metrics::Metrics;
use crate::{
    Call, CallTarget, Clock, Era, MetricsHub, ResourceMethod, Resources, Server, Tool, ToolError,
};
use candor_fault::dialects::Wire;
use candor_fault::{Answer, CallFacts, Dialect, Fault, Timestamp};
use futures_util::future::BoxFuture;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A server with everything that answering needs.
pub struct Dispatcher<S: Server> {
    pub(crate) server: Arc<S>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Metrics,
    pub(crate) closing: CancellationToken,
    pub(crate) running: TaskTracker,
    list: String,
    calls: AtomicU64,
}

impl<S: Server> Dispatcher<S> {
    /// Makes a server ready; fails where its tools cannot be listed or enforced.
    pub fn new(server: S, clock: Arc<dyn Clock>, hub: &MetricsHub) -> Result<Arc<Self>, ToolError> {
        let tools = server.tools();
        tools.verify()?;
        let resource_methods = match server.resources() {
            Some(_) => &[ResourceMethod::List, ResourceMethod::Read][..],
            None => &[],
        };
        let names = tools.all().iter().map(|tool| tool.name());
        let names = names.chain(resource_methods.iter().map(|method| method.name()));
        let metrics = Metrics::new(hub, names, S::Dialect::rows());
        let list = tools.list();
        Ok(Arc::new(Dispatcher {
            server: Arc::new(server),
            clock,
            metrics,
            closing: CancellationToken::new(),
            running: TaskTracker::new(),
            list,
            calls: AtomicU64::new(0),
        }))
    }

    pub fn server(&self) -> &S {
        &self.server
    }

    /// The array of `tools/list`.
    pub fn list(&self) -> &str {
        &self.list
    }

    /// Returns what a call asks for; `None` if there is no such tool.
    pub(crate) fn find(&self, call: &Call) -> Option<Target<S>> {
        match call.target {
            CallTarget::Tool => self.server.tools().find(&call.name).map(Target::Tool),
            CallTarget::Resources(method) => {
                let resources = self.server.resources()?;
                Some(Target::Resources(method, Arc::clone(resources)))
            }
        }
    }

    /// Returns the tool that answers.
    pub(crate) fn tool<'a>(&'a self, target: &'a Target<S>) -> &'a Tool<S> {
        match target {
            Target::Tool(index) => &self.server.tools().all()[*index],
            Target::Resources(method, resources) => resources.tool(*method),
        }
    }

    /// Returns the position of a target's metrics.
    pub(crate) fn metrics_index(&self, target: &Target<S>) -> usize {
        let tools = self.server.tools().all().len();
        match target {
            Target::Tool(index) => *index,
            Target::Resources(ResourceMethod::List, _) => tools,
            Target::Resources(ResourceMethod::Read, _) => tools + 1,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The number of this call in this process, for the log.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Begins a call. Returns its answer if it need not wait, else the pending call.
    ///
    /// Must be called within a tokio runtime.
    pub fn begin(
        self: &Arc<Self>,
        call: impl Into<Arc<Call>>,
        cancel: CancellationToken,
    ) -> Result<Answer, PendingCall> {
        self.poll_once(answer(Arc::clone(self), call.into(), cancel))
    }

    /// Begins to answer a message that is not a call of a tool. It is recorded and logged like a call.
    pub fn begin_refusal(self: &Arc<Self>, fault: Fault<Wire>) -> Result<Answer, PendingCall> {
        let dispatcher = Arc::clone(self);
        self.poll_once(async move { refuse(&dispatcher, None, fault).await })
    }

    /// Encodes the refusal of a request whose message was not read. It is neither recorded nor logged.
    pub fn encode_refusal(&self, fault: &Fault<Wire>) -> Answer {
        let facts = CallFacts {
            tool: None,
            form: self.server.form(Era::Handshake),
            receipt: None,
        };
        S::Dialect::encode_protocol_fault(fault, &facts, self.now())
    }

    fn poll_once(
        &self,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<Answer, PendingCall> {
        let mut work = Box::pin(work);
        // The idle waker is harmless, because a spawned future is polled again at once.
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Ok(answer),
            Poll::Pending => Err(PendingCall {
                work,
                running: self.running.clone(),
            }),
        }
    }

    /// Waits at most `patience` until every call has ended. Calls that still run are interrupted and
    /// recorded; a change that has begun continues for a little longer. Then closes the server.
    pub async fn drain(&self, patience: Duration) {
        self.end_calls(patience).await;
        let server = Arc::clone(&self.server);
        let closed = tokio::task::spawn_blocking(move || server.close());
        if tokio::time::timeout(LAST_PATIENCE, closed).await.is_err() {
            tracing::error!("the server was still closing at the end");
        }
    }

    async fn end_calls(&self, patience: Duration) {
        self.running.close();
        if tokio::time::timeout(patience, self.running.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.closing.cancel();
        if tokio::time::timeout(LAST_PATIENCE, self.running.wait())
            .await
            .is_err()
        {
            tracing::error!(
                calls = self.running.len(),
                "calls were still running at the end"
            );
        }
    }
}

/// The tool at an index, or a method about resources, that answers a call.
pub(crate) enum Target<S: Server> {
    Tool(usize),
    Resources(ResourceMethod, Arc<Resources<S>>),
}

impl<S: Server> Clone for Target<S> {
    fn clone(&self) -> Self {
        match self {
            Target::Tool(index) => Target::Tool(*index),
            Target::Resources(method, resources) => {
                Target::Resources(*method, Arc::clone(resources))
            }
        }
    }
}

/// A call that has begun and has to wait.
#[must_use = "the call does not continue before `deliver`"]
pub struct PendingCall {
    work: BoxFuture<'static, Answer>,
    running: TaskTracker,
}

impl PendingCall {
    /// Continues the call as a task of its own, independent of its transport, and passes its answer to
    /// `deliver`.
    pub fn deliver<F>(self, deliver: impl FnOnce(Answer) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = self.work;
        self.running.spawn(async move { deliver(work.await).await });
    }
}

impl fmt::Debug for PendingCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PendingCall")
    }
}

/// The time that interrupted calls have for their records, and then the server to close.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

impl<S: Server> fmt::Debug for Dispatcher<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Dispatcher")
            .field("tools", self.server.tools())
            .finish_non_exhaustive()
    }
}
