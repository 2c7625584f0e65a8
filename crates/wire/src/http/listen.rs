//! Accepts connections, with their limits and timeouts, and closes them.

use super::admission::Admission;
use super::connection::{TARGET_TOO_LONG, serve_connection};
use super::connection_table::{ConnectionEntry, ConnectionTable, MAX_CONNECTIONS};
use super::endpoint::Endpoint;
use super::readiness::{self, ReadinessCheck, ReadinessChecks};
use super::request_limits::RequestLimits;
use super::respond::{self, HttpResponse};
use axum::Router;
use axum::body::Body;
use axum::routing::any;
use candor_fault::Fault;
use candor_fault::dialects::Wire;
use candor_street::{CancellationToken, MetricsHub, Server};
use futures_util::future::{BoxFuture, join_all};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::{Request, Uri};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::Instant;
use tower_service::Service;

/// The length of the queue of connections that are not accepted yet; the system may lower it.
pub const BACKLOG: u32 = 4_096;

/// The most time for receiving a request's head.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest head.
pub const MAX_HEAD: usize = 64 * 1024;

/// The most fields of a head. The HTTP library has this limit by default, and is faster with its default.
pub const MAX_FIELDS: usize = 100;

/// The longest target of a request.
pub const MAX_TARGET: usize = 8 * 1024;

/// The most time that a connection may be idle after its last answer was written.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most time in which the peer reads nothing of an answer.
pub const UNREAD_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that running requests have after a signal.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The pause in accepting if the process is out of file descriptors.
const BACK_OFF: Duration = Duration::from_millis(50);

/// The time that the answers of interrupted calls have to be sent.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits until every call of one server has ended, at most for the given time; then interrupts the rest.
type DrainFn = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Answers a request to one server.
type ServeFn = Box<
    dyn Fn(Request<Incoming>, Arc<ConnectionEntry>) -> BoxFuture<'static, HttpResponse>
        + Send
        + Sync,
>;

/// The paths of one process: `/health`, `/ready`, `/metrics`, and one for each server.
pub struct HttpPaths {
    servers: Vec<(String, ServeFn)>,
    admission: Arc<Admission>,
    metrics: MetricsHub,
    version: &'static str,
    limits: RequestLimits,
    max_connections: usize,
    drains: Vec<DrainFn>,
    readiness: ReadinessChecks,
}

impl fmt::Debug for HttpPaths {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.servers.iter().map(|(path, _)| path);
        out.debug_list().entries(paths).finish()
    }
}

/// Returns the paths of one process, without a server.
pub fn router(admission: Arc<Admission>, metrics: MetricsHub, version: &'static str) -> HttpPaths {
    HttpPaths {
        servers: Vec::new(),
        admission,
        limits: RequestLimits::new(metrics.clone()),
        metrics,
        version,
        max_connections: MAX_CONNECTIONS,
        drains: Vec::new(),
        readiness: ReadinessChecks::default(),
    }
}

impl HttpPaths {
    /// Adds a server at a path.
    pub fn with<S: Server>(mut self, path: &str, endpoint: Arc<Endpoint<S>>) -> Self {
        let endpoint = endpoint.with_limits(&self.limits);
        let dispatcher = Arc::clone(endpoint.dispatcher());
        self.drains.push(Box::new(move |patience| {
            let dispatcher = Arc::clone(&dispatcher);
            Box::pin(async move { dispatcher.drain(patience).await })
        }));
        let serve =
            move |request: Request<Incoming>, entry| Arc::clone(&endpoint).answer(request, entry);
        self.servers.push((path.to_owned(), Box::new(serve)));
        self
    }

    /// Adds the check of a server to `/ready`.
    pub fn with_readiness(mut self, server: &str, check: ReadinessCheck) -> Self {
        self.readiness.add(server, check);
        self
    }

    /// Lowers the number of open connections, for a process that may not open many files.
    pub fn with_max_connections(mut self, max_connections: usize) -> Self {
        self.max_connections = max_connections;
        self
    }

    fn into_routes(self) -> (RouteTable, Vec<DrainFn>) {
        let table = ConnectionTable::new(self.max_connections, self.metrics.clone());
        let health = health_route(Arc::clone(&self.admission), self.version);
        let ready = readiness::route(Arc::clone(&self.admission), self.readiness);
        let metrics = metrics_route(
            Arc::clone(&self.admission),
            self.metrics,
            Arc::clone(&table),
        );
        let admission = self.admission;
        let fallback = move |request: Request<Body>| {
            let answer = not_found(&admission, &request);
            async move { answer.map(Body::new) }
        };
        let routes = RouteTable {
            servers: self.servers,
            router: Router::new()
                .route("/health", health)
                .route("/ready", ready)
                .route("/metrics", metrics)
                .fallback(fallback),
            limits: self.limits,
            table,
        };
        (routes, self.drains)
    }
}

/// Routes requests. Servers are found by their exact path, before the router for the rest:
/// going through it would cost a tenth of a small call.
pub(super) struct RouteTable {
    servers: Vec<(String, ServeFn)>,
    router: Router,
    limits: RequestLimits,
    table: Arc<ConnectionTable>,
}

impl RouteTable {
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        entry: &Arc<ConnectionEntry>,
    ) -> HttpResponse {
        if target_len(request.uri()) > MAX_TARGET {
            return self.refuse(&too_long());
        }
        let path = request.uri().path();
        if let Some((_, serve)) = self.servers.iter().find(|(server, _)| server == path) {
            return serve(request, Arc::clone(entry)).await;
        }
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Arc::clone(entry));
        let answer = match self.router.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        if answer.status().is_client_error() {
            self.limits.count_refusal(answer.status());
        }
        answer.map(Either::Right)
    }

    fn refuse(&self, fault: &Fault<Wire>) -> HttpResponse {
        let answer = respond::refusal(fault);
        self.limits.count_refusal(answer.status());
        answer
    }

    /// Returns the bytes of the refusal of a head.
    pub(super) fn refuse_head(&self, fault: &Fault<Wire>) -> Vec<u8> {
        let (status, bytes) = respond::raw_refusal(fault);
        self.limits.count_refusal(status);
        bytes
    }
}

fn too_long() -> Fault<Wire> {
    Wire::invalid_request(TARGET_TOO_LONG).with_facts(|facts| facts.status = Some(414))
}

/// Returns the length of a target as it was sent.
fn target_len(target: &Uri) -> usize {
    let path = target
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    let authority = target.authority().map_or(0, |name| name.as_str().len());
    let scheme = target.scheme_str().map_or(0, |scheme| scheme.len() + 3);
    path + authority + scheme
}

/// Checks host, origin and token, and notes that the peer has shown a valid one.
fn check_admission(admission: &Admission, request: &Request<Body>) -> Result<(), Fault<Wire>> {
    let entry = request.extensions().get::<Arc<ConnectionEntry>>();
    let address = entry.map_or(Ipv4Addr::UNSPECIFIED.into(), |entry| entry.peer().ip());
    admission.check_host_and_origin(request.headers())?;
    let peer = admission.check_token(request.headers(), address)?;
    if let (Some(entry), Some(_)) = (entry, peer.credential) {
        entry.note_token();
    }
    Ok(())
}

fn not_found(admission: &Admission, request: &Request<Body>) -> HttpResponse {
    let fault = match check_admission(admission, request) {
        Err(fault) => fault,
        Ok(()) => Wire::invalid_request("no server is at this path")
            .with_facts(|facts| facts.status = Some(404)),
    };
    respond::refusal(&fault)
}

fn health_route(admission: Arc<Admission>, version: &'static str) -> axum::routing::MethodRouter {
    let body = format!("{{\"status\":\"ok\",\"version\":\"{version}\"}}\n");
    any(move |request: Request<Body>| {
        let answer = match admission.check_host_and_origin(request.headers()) {
            Ok(()) => respond::text("application/json", body.clone()),
            Err(fault) => respond::refusal(&fault),
        };
        async move { answer.map(Body::new) }
    })
}

fn metrics_route(
    admission: Arc<Admission>,
    metrics: MetricsHub,
    table: Arc<ConnectionTable>,
) -> axum::routing::MethodRouter {
    any(move |request: Request<Body>| {
        let answer = match check_admission(&admission, &request) {
            Ok(()) => {
                table.update_metrics();
                respond::text(
                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    metrics.text(),
                )
            }
            Err(fault) => respond::refusal(&fault),
        };
        async move { answer.map(Body::new) }
    })
}

/// Listens on an address, with a queue for many simultaneous connections.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Otherwise a server cannot start again while connections of the last one linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `stop` is set, then waits at most [`PATIENCE`] for running calls. Calls that still run
/// are interrupted, recorded and answered.
pub async fn serve(
    listener: TcpListener,
    paths: HttpPaths,
    stop: CancellationToken,
) -> io::Result<()> {
    let (routes, drains) = paths.into_routes();
    let routes = Arc::new(routes);
    tokio::select! {
        () = accept(&listener, &routes) => {}
        () = stop.cancelled() => {}
    }
    drop(listener);
    close(&routes.table, &drains).await;
    Ok(())
}

/// Accepts connections for ever.
async fn accept(listener: &TcpListener, routes: &Arc<RouteTable>) {
    let mut is_failing = false;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Without a free file descriptor this fails even if nobody connects.
                if has_newcomer(listener) {
                    // One line for each time that this begins: it may last for long.
                    if !is_failing {
                        tracing::warn!(%error, "a connection could not be accepted");
                    }
                    is_failing = true;
                    // A closed connection gives back a file descriptor.
                    routes.table.evict_any();
                }
                tokio::time::sleep(BACK_OFF).await;
                continue;
            }
        };
        is_failing = false;
        match routes.table.admit(peer).await {
            Some(entry) => {
                tokio::spawn(serve_connection(stream, entry, Arc::clone(routes)));
            }
            None => tracing::debug!("an address has too many connections"),
        }
    }
}

/// Returns true if a connection waits to be accepted.
fn has_newcomer(listener: &TcpListener) -> bool {
    let mut waiting = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut waiting, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Closes every connection when its request is answered. Calls get their time even if no client waits
/// for them; the answers of interrupted calls are still sent.
async fn close(table: &ConnectionTable, drains: &[DrainFn]) {
    let until = Instant::now() + PATIENCE;
    table.start_closing();
    let mut closed = pin!(table.wait_until_empty());
    let in_time = tokio::time::timeout_at(until, &mut closed).await.is_ok();
    let left = until.saturating_duration_since(Instant::now());
    join_all(drains.iter().map(|drain| drain(left))).await;
    if !in_time && tokio::time::timeout(LAST_WORDS, closed).await.is_err() {
        tracing::warn!("some connections were still busy at the end");
    }
}
