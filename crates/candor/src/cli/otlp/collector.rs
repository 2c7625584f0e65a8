//! The collector, reached with our own HTTP client.

use crate::cli::CommandError;
use candor_http_client::{
    BaseUrl, BodyLimit, ClientOptions, HttpClient, HttpSetupError, PlainHttp,
};
use opentelemetry_http::{Bytes, HttpError, Request, Response};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The time that sending a batch of spans may take.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes that are read of an answer.
pub const MAX_COLLECTOR_ANSWER: u64 = 64 * 1024;

/// Connections are opened for each batch: there is one every few seconds.
const OPTIONS: ClientOptions = ClientOptions {
    connect_timeout: Duration::from_secs(5),
    idle_timeout: Duration::from_secs(1),
    max_idle_connections: 0,
};

/// Sends batches from the thread that makes them, which has no runtime of its own.
#[derive(Debug)]
pub(super) struct Collector {
    client: HttpClient,
    runtime: Runtime,
    /// True if the last batch was not accepted, so that an outage is logged once.
    is_failing: AtomicBool,
}

impl Collector {
    pub(super) fn new(url: &str) -> Result<Collector, CommandError> {
        let base = BaseUrl::parse(url, PlainHttp::AnyHost).map_err(unusable)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Collector {
            client: HttpClient::new(&base, OPTIONS).map_err(unusable)?,
            runtime,
            is_failing: AtomicBool::new(false),
        })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let url = head.uri.to_string();
        let sending = self.client.send(head.method, &url, head.headers, body);
        let (head, body) = sending.await.map_err(Box::new)?.into_parts();
        let body = body.read(BodyLimit::Prefix(MAX_COLLECTOR_ANSWER)).await;
        Ok(Response::from_parts(head, body.map_err(Box::new)?.bytes))
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async { tokio::time::timeout(SEND_TIMEOUT, self.exchange(request)).await };
        let answer = self.runtime.block_on(exchange);
        let answer = answer.unwrap_or_else(|late| Err(late.into()));
        let problem = match &answer {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(response.status().to_string()),
            Err(error) => Some(error.to_string()),
        };
        let was_failing = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        if let Some(problem) = problem.filter(|_| !was_failing) {
            tracing::warn!(
                problem,
                "the collector of --otlp does not accept spans; they are lost"
            );
        }
        answer
    }
}

/// Converts the error of a client into an error with a hint. The URL is not shown: it may have a token
/// in it.
fn unusable(error: HttpSetupError) -> CommandError {
    match error {
        HttpSetupError::InvalidUrl | HttpSetupError::Unencrypted => CommandError::new(
            "--otlp is not a URL to which spans can be sent",
        )
        .with_hint("name the URL of a collector, without a user name and without a query, for instance http://127.0.0.1:4318/v1/traces"),
        HttpSetupError::NoCertificates => {
            CommandError::new("the system has no certificates to trust the collector of --otlp")
                .with_hint("install the package ca-certificates, or set SSL_CERT_FILE")
        }
        HttpSetupError::Tls => CommandError::new("TLS to the collector of --otlp cannot be set up"),
    }
}

impl opentelemetry_http::HttpClient for Collector {
    fn send_bytes<'a, 'sending>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sending>>
    where
        'a: 'sending,
        Self: 'sending,
    {
        Box::pin(async move { self.send(request) })
    }
}
