//! Counters and times of calls and guards, by tool and code only, and of connections by state, in the
//! Prometheus text format.

use candor_fault::{CodeRow, codes};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Every metric's name with its labels.
pub const METRIC_NAMES: &[(&str, &[&str])] = &[
    ("candor_calls_total", &["tool", "code"]),
    ("candor_call_duration_seconds", &["tool"]),
    ("candor_retries_total", &["tool", "code"]),
    ("candor_breaker_refusals_total", &["tool"]),
    ("candor_orders_invalid_answers_total", &["tool"]),
    ("candor_orders_omitted_total", &["tool"]),
    ("candor_connections", &["state"]),
    ("candor_connections_evicted_total", &["state"]),
    ("candor_http_refusals_total", &["status"]),
];

/// The code of a success.
const OK: &str = "ok";

/// Upper bounds of the histogram, in seconds.
const BUCKETS: [f64; 10] = [
    0.000_05, 0.000_2, 0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCode {
    tool: &'static str,
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByTool {
    tool: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStatus {
    status: u16,
}

/// The metrics of one process, shared by its servers.
#[derive(Clone)]
pub struct MetricsHub {
    registry: Arc<Registry>,
    calls: Family<ByCode, Counter>,
    duration: Family<ByTool, Histogram, fn() -> Histogram>,
    retries: Family<ByCode, Counter>,
    refusals: Family<ByTool, Counter>,
    invalid_answers: Family<ByTool, Counter>,
    omitted: Family<ByTool, Counter>,
    connections: Family<ByState, Gauge>,
    evictions: Family<ByState, Counter>,
    http_refusals: Family<ByStatus, Counter>,
}

impl Default for MetricsHub {
    fn default() -> Self {
        let mut registry = Registry::default();
        let calls = Family::<ByCode, Counter>::default();
        registry.register("candor_calls", "Calls by tool and code", calls.clone());
        let duration: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let help = "How long calls took, by tool";
        registry.register("candor_call_duration_seconds", help, duration.clone());
        let retries = Family::<ByCode, Counter>::default();
        let help = "Attempts that failed and were followed by another, by tool and code";
        registry.register("candor_retries", help, retries.clone());
        let refusals = Family::<ByTool, Counter>::default();
        let help = "Calls answered without asking a system that is left alone, by tool";
        registry.register("candor_breaker_refusals", help, refusals.clone());
        let invalid_answers = Family::<ByTool, Counter>::default();
        let help = "Answers of an order system that could not be used, by tool";
        registry.register(
            "candor_orders_invalid_answers",
            help,
            invalid_answers.clone(),
        );
        let omitted = Family::<ByTool, Counter>::default();
        let help = "Entities of an order system that were left out of pages, by tool";
        registry.register("candor_orders_omitted", help, omitted.clone());
        let connections = Family::<ByState, Gauge>::default();
        let help = "Open HTTP connections by state";
        registry.register("candor_connections", help, connections.clone());
        let evictions = Family::<ByState, Counter>::default();
        let help = "HTTP connections closed to make room for others, by state";
        registry.register("candor_connections_evicted", help, evictions.clone());
        let http_refusals = Family::<ByStatus, Counter>::default();
        let help = "HTTP requests refused before their message was read, by status";
        registry.register("candor_http_refusals", help, http_refusals.clone());
        MetricsHub {
            registry: Arc::new(registry),
            calls,
            duration,
            retries,
            refusals,
            invalid_answers,
            omitted,
            connections,
            evictions,
            http_refusals,
        }
    }
}

impl MetricsHub {
    /// The text of all metrics.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts an attempt of a tool that failed with this code and is followed by another.
    pub fn count_retry(&self, tool: &'static str, code: impl fmt::Display) {
        let code = code.to_string();
        self.retries.get_or_create(&ByCode { tool, code }).inc();
    }

    /// Counts a call of a tool that was answered without asking a system that is left alone.
    pub fn count_breaker_refusal(&self, tool: &'static str) {
        self.refusals.get_or_create(&ByTool { tool }).inc();
    }

    /// Counts an answer of an order system that could not be used.
    pub fn count_invalid_answer(&self, tool: &'static str) {
        self.invalid_answers.get_or_create(&ByTool { tool }).inc();
    }

    /// Counts entities of an order system that were left out of a page.
    pub fn count_omitted(&self, tool: &'static str, count: usize) {
        let counter = self.omitted.get_or_create(&ByTool { tool });
        counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Sets the number of open connections in a state.
    pub fn set_connections(&self, state: &'static str, count: i64) {
        self.connections
            .get_or_create(&ByState { state })
            .set(count);
    }

    /// Counts a connection that was closed to make room for another.
    pub fn count_eviction(&self, state: &'static str) {
        self.evictions.get_or_create(&ByState { state }).inc();
    }

    /// Counts a request that was refused before its message was read.
    pub fn count_http_refusal(&self, status: u16) {
        self.http_refusals.get_or_create(&ByStatus { status }).inc();
    }
}

impl fmt::Debug for MetricsHub {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("MetricsHub")
    }
}

/// The metrics of one server. A counter appears with its first call.
pub(crate) struct Metrics {
    calls: Family<ByCode, Counter>,
    tools: Vec<&'static str>,
    rows: Vec<&'static CodeRow>,
    /// The indexes of the rows, in the order of their addresses.
    by_address: Vec<usize>,
    counters: Vec<OnceLock<Counter>>,
    times: Vec<Histogram>,
}

impl Metrics {
    /// Metrics for these tools, whose failures have these rows.
    pub(crate) fn new(
        hub: &MetricsHub,
        names: impl Iterator<Item = &'static str>,
        server_rows: Vec<&'static CodeRow>,
    ) -> Self {
        // Index 0 is for messages that are not calls of a tool.
        let tools: Vec<_> = std::iter::once("").chain(names).collect();
        let times = tools
            .iter()
            .map(|tool| hub.duration.get_or_create(&ByTool { tool }).clone())
            .collect();
        let rows: Vec<_> = server_rows.into_iter().chain(codes::wire::ROWS).collect();
        let mut by_address: Vec<_> = (0..rows.len()).collect();
        by_address.sort_unstable_by_key(|index| address(rows[*index]));
        let counters = (0..tools.len() * (rows.len() + 1))
            .map(|_| OnceLock::new())
            .collect();
        Metrics {
            calls: hub.calls.clone(),
            tools,
            rows,
            by_address,
            counters,
            times,
        }
    }

    /// Counts one call of the tool at `index`, or of none.
    pub(crate) fn count(
        &self,
        index: Option<usize>,
        failed: Option<&'static CodeRow>,
        took: Duration,
    ) {
        let tool = index.map_or(0, |index| index + 1);
        let code = failed.map_or(0, |row| self.row_index(row) + 1);
        let cell = self.counters.get(tool * (self.rows.len() + 1) + code);
        if let Some(cell) = cell {
            cell.get_or_init(|| self.counter(tool, failed)).inc();
        }
        if let Some(times) = self.times.get(tool) {
            times.observe(took.as_secs_f64());
        }
    }

    fn row_index(&self, row: &'static CodeRow) -> usize {
        let address_at = |index: &usize| address(self.rows[*index]);
        let is_equal = |candidate: &&'static CodeRow| candidate.has_key_of(row);
        // Looking for the address first is quick, and nearly always enough.
        let found = self
            .by_address
            .binary_search_by_key(&address(row), address_at);
        match found {
            Ok(found) => self.by_address[found],
            Err(_) => self.rows.iter().position(is_equal).unwrap_or_default(),
        }
    }

    fn counter(&self, tool: usize, failed: Option<&'static CodeRow>) -> Counter {
        let code = failed.map_or_else(|| OK.to_owned(), |row| row.code.to_string());
        let tool = self.tools.get(tool).copied().unwrap_or_default();
        self.calls.get_or_create(&ByCode { tool, code }).clone()
    }
}

fn address(row: &'static CodeRow) -> usize {
    std::ptr::from_ref(row).addr()
}
