//! Counters and times of calls and guards, by tool and code only, and of connections, breakers and
//! commits by fixed words, in the Prometheus text format.

use candor_fault::{CodeRow, codes};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Every metric's name with its labels.
pub const METRIC_NAMES: &[(&str, &[&str])] = &[
    ("candor_calls_total", &["tool", "code"]),
    ("candor_call_duration_seconds", &["tool"]),
    ("candor_retries_total", &["tool", "code"]),
    ("candor_breaker_refusals_total", &["tool"]),
    ("candor_orders_invalid_answers_total", &["tool"]),
    ("candor_orders_omitted_total", &["tool"]),
    ("candor_orders_breaker_open", &["breaker"]),
    ("candor_orders_connections", &["pool", "state"]),
    ("candor_orders_changes_waiting", &[]),
    ("candor_orders_commit_group_size", &[]),
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

/// Upper bounds of the histogram of commit groups, in changes.
const GROUP_SIZES: [f64; 11] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0,
];

/// A metric without labels that appears with its first use, as those with labels do.
#[derive(Debug)]
struct OnFirstUse<M>(Arc<OnceLock<M>>);

impl<M> Default for OnFirstUse<M> {
    fn default() -> Self {
        OnFirstUse(Arc::default())
    }
}

impl<M> Clone for OnFirstUse<M> {
    fn clone(&self) -> Self {
        OnFirstUse(Arc::clone(&self.0))
    }
}

impl<M: EncodeMetric + TypedMetric> EncodeMetric for OnFirstUse<M> {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.get().map_or(Ok(()), |metric| metric.encode(encoder))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.0.get().is_none()
    }
}

/// Sets gauges to their current values.
type Observer = Box<dyn Fn(&MetricsHub) + Send + Sync>;

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
struct ByBreaker {
    breaker: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPool {
    pool: &'static str,
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
    breaker_open: Family<ByBreaker, Gauge>,
    orders_connections: Family<ByPool, Gauge>,
    changes_waiting: OnFirstUse<Gauge>,
    commit_groups: OnFirstUse<Histogram>,
    connections: Family<ByState, Gauge>,
    evictions: Family<ByState, Counter>,
    http_refusals: Family<ByStatus, Counter>,
    observers: Arc<Mutex<Vec<Observer>>>,
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
        let breaker_open = Family::<ByBreaker, Gauge>::default();
        let help = "1 while the order system is left alone after failures, by breaker";
        registry.register("candor_orders_breaker_open", help, breaker_open.clone());
        let orders_connections = Family::<ByPool, Gauge>::default();
        let help = "Connections to the database of orders, by pool and state";
        registry.register(
            "candor_orders_connections",
            help,
            orders_connections.clone(),
        );
        let changes_waiting = OnFirstUse::<Gauge>::default();
        let help = "Changes of orders that wait for their turn";
        registry.register(
            "candor_orders_changes_waiting",
            help,
            changes_waiting.clone(),
        );
        let commit_groups = OnFirstUse::<Histogram>::default();
        let help = "How many changes of orders shared a commit";
        registry.register(
            "candor_orders_commit_group_size",
            help,
            commit_groups.clone(),
        );
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
            breaker_open,
            orders_connections,
            changes_waiting,
            commit_groups,
            connections,
            evictions,
            http_refusals,
            observers: Arc::default(),
        }
    }
}

impl MetricsHub {
    /// The text of all metrics.
    pub fn text(&self) -> String {
        for observer in self.lock_observers().iter() {
            observer(self);
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Adds a function that sets gauges to their current values. It is called before every
    /// [`MetricsHub::text`] and must not wait.
    pub fn observe(&self, observer: impl Fn(&MetricsHub) + Send + Sync + 'static) {
        self.lock_observers().push(Box::new(observer));
    }

    fn lock_observers(&self) -> MutexGuard<'_, Vec<Observer>> {
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

    /// Sets whether a breaker of the order tools leaves the order system alone.
    pub fn set_breaker_open(&self, breaker: &'static str, is_open: bool) {
        let gauge = self.breaker_open.get_or_create(&ByBreaker { breaker });
        gauge.set(i64::from(is_open));
    }

    /// Sets the number of connections to the database of orders that a pool has in a state.
    pub fn set_orders_connections(&self, pool: &'static str, state: &'static str, count: i64) {
        let gauge = self
            .orders_connections
            .get_or_create(&ByPool { pool, state });
        gauge.set(count);
    }

    /// Sets the number of changes of orders that wait for their turn.
    pub fn set_changes_waiting(&self, count: i64) {
        self.changes_waiting
            .0
            .get_or_init(Gauge::default)
            .set(count);
    }

    /// Counts a commit of this many changes of orders.
    pub fn count_commit_group(&self, changes: u32) {
        let sizes = &self.commit_groups.0;
        let sizes = sizes.get_or_init(|| Histogram::new(GROUP_SIZES));
        sizes.observe(f64::from(changes));
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
