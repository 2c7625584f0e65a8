//! Spans to an OpenTelemetry collector.

use super::CommandError;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::{Layer, Registry};

/// Sends the remaining spans when it is dropped.
#[derive(Debug)]
pub(super) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
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
        .build()
        .map_err(|error| CommandError::new(format!("cannot send spans to {url}: {error}")))?;
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name("candor").build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("candor"))
        .with_filter(LevelFilter::INFO)
        .boxed();
    Ok((Some(Spans(provider)), Some(layer)))
}
