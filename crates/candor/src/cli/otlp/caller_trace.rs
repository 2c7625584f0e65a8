//! Makes the span of a call a child of the caller's own span.
//!
//! The caller's position in its trace is the field `trace_parent` of the span. While the layer below
//! starts such a span, that position is the current one, and the layer takes it as the parent.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The name of the field.
const TRACE_PARENT: &str = "trace_parent";

/// A layer whose spans continue the traces of callers.
pub(super) struct CallerTrace<L>(pub(super) L);

impl<S: Subscriber, L: Layer<S>> Layer<S> for CallerTrace<L> {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut caller = CallerPosition(None);
        attributes.record(&mut caller);
        let _attached = caller.0.map(|position| {
            let remote = opentelemetry::Context::new().with_remote_span_context(position);
            remote.attach()
        });
        self.0.on_new_span(attributes, id, context);
    }

    fn on_record(&self, span: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.0.on_record(span, values, context);
    }

    fn on_follows_from(&self, span: &Id, follows: &Id, context: Context<'_, S>) {
        self.0.on_follows_from(span, follows, context);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.0.on_event(event, context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.0.on_enter(id, context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.0.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.0.on_close(id, context);
    }
}

/// Finds the position among the fields of a span.
struct CallerPosition(Option<SpanContext>);

impl Visit for CallerPosition {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == TRACE_PARENT {
            self.0 = parse(value);
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}

/// Parses a `traceparent` header of version 00.
fn parse(text: &str) -> Option<SpanContext> {
    let mut parts = text.strip_prefix("00-")?.split('-');
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    let position = SpanContext::new(
        trace,
        span,
        TraceFlags::new(flags) & TraceFlags::SAMPLED,
        true,
        TraceState::NONE,
    );
    (parts.next().is_none() && position.is_valid()).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_of_a_caller_is_parsed() {
        let position = parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(
            position.trace_id().to_string(),
            "4bf92f3577b34da6a3ce929d0e0e4736"
        );
        assert_eq!(position.span_id().to_string(), "00f067aa0ba902b7");
        assert!(position.is_remote() && position.is_sampled());
        let unsampled = parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
        assert!(!unsampled.unwrap().is_sampled());
        for other in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
