//! `--otlp`: spans to an OpenTelemetry collector.

mod caller_trace;
mod collector;

use super::CommandError;
use caller_trace::CallerTrace;
use collector::Collector;
pub use collector::{MAX_COLLECTOR_ANSWER, SEND_TIMEOUT};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::{Layer, Registry};

/// The time for which the end of the process waits until the last spans are sent.
pub const LAST_SPANS_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the remaining spans when it is dropped.
#[derive(Debug)]
pub(super) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST_SPANS_TIMEOUT) {
            tracing::warn!(%error, "some spans were not sent");
        }
    }
}

type BoxLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Returns the layer that sends spans to `url`, if a URL is given.
pub(super) fn start(url: Option<&str>) -> Result<(Option<Spans>, Option<BoxLayer>), CommandError> {
    let Some(url) = url else {
        return Ok((None, None));
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url)
        .with_http_client(Collector::new(url)?)
        .build()
        .map_err(|error| CommandError::new(format!("spans cannot be sent with --otlp: {error}")))?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name("candor").build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("candor"));
    let layer = CallerTrace(layer).with_filter(LevelFilter::INFO).boxed();
    Ok((Some(Spans(provider)), Some(layer)))
}
