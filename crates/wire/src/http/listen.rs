//! Accepts connections, with their limits and timeouts, and closes them.

use super::admission::Admission;
use super::body::BodyBudget;
use super::endpoint::Endpoint;
use super::respond::{self, HttpResponse};
use super::timed_stream::{BusyFlag, TimedStream};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::any;
use candor_fault::dialects::Wire;
use candor_street::{CancellationToken, MetricsHub, Server};
use futures_util::future::{BoxFuture, join_all};
use http_body_util::Either;
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower_service::Service;

/// The most connections that are served at once; further ones wait to be accepted.
pub const MAX_CONNECTIONS: usize = 512;

/// The most time for receiving a request's head.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// The most time that a connection may be idle.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The time that running requests have after a signal.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The pause in accepting if the process is out of file descriptors.
const BACK_OFF: Duration = Duration::from_millis(50);

/// The time that the answers of interrupted calls have to be sent.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits until every call of one server has ended, at most for the given time; then interrupts the rest.
type DrainFn = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Answers a request to one server.
type ServeFn =
    Box<dyn Fn(Request<Incoming>, IpAddr) -> BoxFuture<'static, HttpResponse> + Send + Sync>;

/// The paths of one process: `/health`, `/metrics`, and one for each server.
pub struct HttpPaths {
    servers: Vec<(String, ServeFn)>,
    router: Router,
    admission: Arc<Admission>,
    body_budget: BodyBudget,
    drains: Vec<DrainFn>,
}

impl fmt::Debug for HttpPaths {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Paths")
            .field("router", &self.router)
            .finish_non_exhaustive()
    }
}

/// Returns the paths of one process, without a server.
pub fn router(admission: Arc<Admission>, metrics: MetricsHub, version: &'static str) -> HttpPaths {
    let health = health_route(Arc::clone(&admission), version);
    let router = Router::new()
        .route("/health", health)
        .route("/metrics", metrics_route(Arc::clone(&admission), metrics));
    HttpPaths {
        servers: Vec::new(),
        router,
        admission,
        body_budget: BodyBudget::default(),
        drains: Vec::new(),
    }
}

impl HttpPaths {
    /// Adds a server at a path.
    pub fn with<S: Server>(mut self, path: &str, endpoint: Arc<Endpoint<S>>) -> Self {
        let endpoint = endpoint.with_body_budget(&self.body_budget);
        let dispatcher = Arc::clone(endpoint.dispatcher());
        self.drains.push(Box::new(move |patience| {
            let dispatcher = Arc::clone(&dispatcher);
            Box::pin(async move { dispatcher.drain(patience).await })
        }));
        let serve = move |request: Request<Incoming>, address| {
            Arc::clone(&endpoint).answer(request, address)
        };
        self.servers.push((path.to_owned(), Box::new(serve)));
        self
    }

    fn into_routes(self) -> (RouteTable, Vec<DrainFn>) {
        let admission = self.admission;
        let fallback = move |ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request<Body>| {
            let answer = not_found(&admission, &request, peer.ip());
            async move { answer.map(Body::new) }
        };
        let routes = RouteTable {
            servers: self.servers,
            router: self.router.fallback(fallback),
        };
        (routes, self.drains)
    }
}

/// Routes requests. Servers are found by their exact path, before the router for the rest:
/// going through it would cost a tenth of a small call.
struct RouteTable {
    servers: Vec<(String, ServeFn)>,
    router: Router,
}

impl RouteTable {
    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> HttpResponse {
        let path = request.uri().path();
        if let Some((_, serve)) = self.servers.iter().find(|(server, _)| server == path) {
            return serve(request, peer.ip()).await;
        }
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        match self.router.clone().call(request).await {
            Ok(answer) => answer.map(Either::Right),
            Err(never) => match never {},
        }
    }
}

fn not_found(admission: &Admission, request: &Request<Body>, address: IpAddr) -> HttpResponse {
    let headers = request.headers();
    let admitted = admission
        .check_host_and_origin(headers)
        .and_then(|()| admission.check_token(headers, address));
    let fault = match admitted {
        Err(fault) => fault,
        Ok(_) => Wire::invalid_request("no server is at this path")
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

fn metrics_route(admission: Arc<Admission>, metrics: MetricsHub) -> axum::routing::MethodRouter {
    any(
        move |ConnectInfo(peer): ConnectInfo<SocketAddr>, request: Request<Body>| {
            let headers = request.headers();
            let admitted = admission
                .check_host_and_origin(headers)
                .and_then(|()| admission.check_token(headers, peer.ip()));
            let answer = match admitted {
                Ok(_) => respond::text(
                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    metrics.text(),
                ),
                Err(fault) => respond::refusal(&fault),
            };
            async move { answer.map(Body::new) }
        },
    )
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
    let graceful = GracefulShutdown::new();
    tokio::select! {
        () = accept(&listener, &routes, &graceful) => {}
        () = stop.cancelled() => {}
    }
    drop(listener);
    close(graceful, &drains).await;
    Ok(())
}

/// Accepts connections for ever.
async fn accept(listener: &TcpListener, routes: &Arc<RouteTable>, graceful: &GracefulShutdown) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BACK_OFF).await;
                continue;
            }
        };
        let connection = graceful.watch(connection(stream, peer, Arc::clone(routes)));
        tokio::spawn(async move {
            // A connection that its peer has broken is not worth a log line.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(slot);
        });
    }
}

/// Closes every connection when its request is answered. Calls get their time even if no client waits
/// for them; the answers of interrupted calls are still sent.
async fn close(graceful: GracefulShutdown, drains: &[DrainFn]) {
    let until = Instant::now() + PATIENCE;
    let mut closed = pin!(graceful.shutdown());
    let in_time = tokio::time::timeout_at(until, &mut closed).await.is_ok();
    let left = until.saturating_duration_since(Instant::now());
    join_all(drains.iter().map(|drain| drain(left))).await;
    if !in_time && tokio::time::timeout(LAST_WORDS, closed).await.is_err() {
        tracing::warn!("some connections were still busy at the end");
    }
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    routes: Arc<RouteTable>,
) -> hyper::server::conn::http1::Connection<
    TokioIo<TimedStream>,
    impl hyper::service::Service<
        Request<Incoming>,
        Response = HttpResponse,
        Error = Infallible,
        Future: Send,
    > + Send,
> {
    // Small answers must not wait for further data.
    let _ = stream.set_nodelay(true);
    let busy = BusyFlag::default();
    let stream = TimedStream::new(stream, busy.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (routes, busy) = (Arc::clone(&routes), busy.clone());
        busy.set(true);
        async move {
            let answer = routes.answer(request, peer).await;
            Ok(busy.until_sent(answer))
        }
    });
    hyper::server::conn::http1::Builder::new()
        // The stream has its own timeouts.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service)
}
