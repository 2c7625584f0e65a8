//! A key store in front of an order system that keeps no keys: at most once through this server.

use crate::fixture::http_adapter::settings;
use crate::fixture::http_server::capabilities;
use crate::requests::ToolResponse;
use candor_call_fixtures::{answer, call_by, specification_instant};
use candor_orders::http::{HttpAdapter, KeyStoreAdapter, KeyStoreError};
use candor_orders::{Config, OrdersServer};
use candor_street::{Dispatcher, MetricsHub};
use candor_testkit::scripted_http::{RecordedRequest, ScriptedResponse, ScriptedServer};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(86_400);

/// An order system, the file of a key store, and the tools in front of both.
struct Keyed {
    system: ScriptedServer,
    directory: TempDir,
    dispatcher: Option<Arc<Dispatcher<OrdersServer>>>,
}

/// Starts an order system without keys; `play` answers everything but the capabilities.
async fn start_system(
    lookup: bool,
    play: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
) -> ScriptedServer {
    let mut known = capabilities();
    known["keepsKeys"] = json!(false);
    if lookup {
        known["lookup"] = json!(["externalId"]);
    }
    ScriptedServer::start(move |request| match request.line().as_str() {
        "GET /v1/capabilities" => ScriptedResponse::json(200, &known),
        _ => play(request),
    })
    .await
}

impl Keyed {
    async fn start(
        lookup: bool,
        play: impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Keyed {
        let mut keyed = Keyed {
            system: start_system(lookup, play).await,
            directory: TempDir::new().unwrap(),
            dispatcher: None,
        };
        keyed.restart(DAY).await;
        keyed
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("keys.db")
    }

    /// Ends the server, and starts another one on the same file.
    async fn restart(&mut self, keep: Duration) {
        self.dispatcher = None;
        let adapter = HttpAdapter::connect(&settings(self.system.url()))
            .await
            .unwrap();
        // The lock of the last server is released by a thread of its own.
        let adapter = KeyStoreAdapter::open(adapter, &self.file(), keep)
            .await
            .unwrap();
        let mut config = Config {
            calls_a_minute: None,
            tool_calls_a_minute: None,
            ..Config::default()
        };
        config.guard.breaker_failures = None;
        config.guard.deadline = Duration::from_millis(1500);
        let metrics = MetricsHub::default();
        let orders = OrdersServer::new(Arc::new(adapter), config, Arc::new(|| 0), metrics.clone());
        let clock = Arc::new(specification_instant);
        self.dispatcher = Some(Dispatcher::new(orders, clock, &metrics).unwrap());
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResponse {
        let call = call_by(Some("shop"), tool, arguments);
        let dispatcher = self.dispatcher.as_ref().unwrap();
        ToolResponse::new(&answer(dispatcher, call).await)
    }

    async fn create(&self) -> ToolResponse {
        self.call("create-sales-order", create("k")).await
    }

    /// Counts the changes that were sent.
    fn sent(&self) -> usize {
        let lines = self.system.lines().into_iter();
        lines.filter(|line| line.contains("create")).count()
    }
}

fn create(key: &str) -> Value {
    json!({ "idempotencyKey": key, "order": {
        "externalId": "x-1", "lineItems": [{ "sku": "LAMP", "quantity": 2 }]
    } })
}

/// An order whose name has a hidden character.
fn order(number: usize) -> Value {
    json!({
        "id": format!("ord_{number}"), "externalId": "x-1", "name": "a\u{7}b", "status": "pending",
        "currency": "EUR", "subTotal": "6.00", "discountTotal": "0.00", "total": "6.00",
        "createdAt": "2025-10-12T12:00:00Z", "updatedAt": "2025-10-12T12:00:00Z",
        "lineItems": [{
            "sku": "LAMP", "quantity": 2, "unitPrice": "3.00", "unitDiscount": "0.00",
            "fulfilledQuantity": 0, "cancelledQuantity": 0, "returnedQuantity": 0
        }]
    })
}

/// Answers each create with another order.
fn new_orders() -> impl Fn(&RecordedRequest) -> ScriptedResponse + Send + Sync + 'static {
    let count = AtomicUsize::new(0);
    move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        ScriptedResponse::json(200, &json!({ "order": order(number) }))
    }
}

#[tokio::test]
async fn known_outcomes_are_replayed_to_the_byte() {
    let mut keyed = Keyed::start(false, new_orders()).await;
    let first = keyed.create().await;
    assert!(first.text.contains("\"cleaned\":1"), "{}", first.text);
    assert_eq!(keyed.create().await.whole, first.whole);
    keyed.restart(DAY).await;
    assert_eq!(keyed.create().await.whole, first.whole);
    assert_eq!(keyed.sent(), 1);
    let other = keyed.call("create-sales-order", create("k2")).await;
    assert_ne!(other.text, first.text);
}

#[tokio::test]
async fn final_failures_are_replayed_to_the_byte() {
    let refused =
        json!({ "error": { "code": "INSUFFICIENT_INVENTORY", "context": { "available": 1 } } });
    for (played, summary) in [
        (
            ScriptedResponse::json(409, &refused),
            "4001 INSUFFICIENT_INVENTORY none",
        ),
        (
            ScriptedResponse::text(200, "<html>"),
            "4001 INVALID_ADAPTER_RESPONSE unknown",
        ),
    ] {
        let mut keyed = Keyed::start(false, move |_| played.clone()).await;
        let first = keyed.create().await;
        assert_eq!(first.summary(), summary);
        assert_eq!(first.context("key"), "bound");
        assert_eq!(keyed.create().await.whole, first.whole);
        keyed.restart(DAY).await;
        assert_eq!(keyed.create().await.whole, first.whole);
        assert_eq!(keyed.sent(), 1);
    }
}

#[tokio::test]
async fn key_with_other_arguments_is_refused() {
    let keyed = Keyed::start(false, new_orders()).await;
    keyed.create().await;
    let mut other = create("k");
    other["order"]["lineItems"][0]["quantity"] = json!(3);
    let summary = keyed.call("create-sales-order", other).await.summary();
    assert_eq!(summary, "4001 IDEMPOTENCY_KEY_REUSED none");
    assert_eq!(keyed.sent(), 1);
}

#[tokio::test]
async fn duplicates_at_the_same_time_are_one_execution() {
    let keyed = Keyed::start(false, new_orders()).await;
    let answers = join_all((0..16).map(|_| keyed.create())).await;
    assert!(answers.iter().all(|one| one.text == answers[0].text));
    assert_eq!(answers[0].summary(), "ok");
    assert_eq!(keyed.sent(), 1);
}

#[tokio::test]
async fn refusals_without_effect_leave_the_key_free() {
    for (played, summary, key) in [
        (
            ScriptedResponse::new(429, &[("retry-after", "2")], b""),
            "3001 retryable none 2000ms",
            "keep",
        ),
        (
            ScriptedResponse::json(
                409,
                &json!({ "error": { "code": "LOCKED", "retryable": true } }),
            ),
            "4001 LOCKED retryable none",
            "keep",
        ),
        (
            ScriptedResponse::text(401, "{}"),
            "4001 ADAPTER_UNAUTHORIZED none",
            "free",
        ),
        (ScriptedResponse::text(501, "{}"), "5001 none", "free"),
    ] {
        let count = AtomicUsize::new(0);
        let keyed = Keyed::start(false, move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => played.clone(),
            number => ScriptedResponse::json(200, &json!({ "order": order(number) })),
        })
        .await;
        let first = keyed.create().await;
        assert_eq!(first.summary(), summary);
        assert_eq!(first.context("key"), key, "{summary}");
        assert_eq!(keyed.create().await.summary(), "ok", "{summary}");
        assert_eq!(keyed.sent(), 2);
    }
}

#[tokio::test]
async fn lost_change_is_never_sent_again() {
    for lost in [
        ScriptedResponse::Part(Vec::new()),
        ScriptedResponse::text(500, "{}"),
        ScriptedResponse::Hang(Vec::new()),
    ] {
        let mut keyed = Keyed::start(false, move |_| lost.clone()).await;
        let first = keyed.create().await;
        assert_eq!(first.summary(), "4001 OUTCOME_UNKNOWN unknown");
        assert_eq!(first.context("key"), "bound");
        // Outcomes that are known expire, this one does not.
        keyed.restart(Duration::ZERO).await;
        for _ in 0..2 {
            assert_eq!(keyed.create().await.whole, first.whole);
        }
        assert_eq!(keyed.sent(), 1);
    }
}

#[tokio::test]
async fn lost_order_is_looked_up_by_its_external_id() {
    let mut changed = order(1);
    changed["lineItems"][0]["quantity"] = json!(1);
    changed["subTotal"] = json!("3.00");
    changed["total"] = json!("3.00");
    for (found, summary) in [
        (vec![order(1)], "ok"),
        (vec![], "4001 OUTCOME_UNKNOWN unknown"),
        (vec![changed], "4001 OUTCOME_UNKNOWN unknown"),
        (vec![order(1), order(2)], "4001 OUTCOME_UNKNOWN unknown"),
    ] {
        let page = json!({ "orders": found, "nextCursor": null });
        let mut keyed = Keyed::start(true, move |request| {
            match request.line().ends_with("get-orders") {
                true => ScriptedResponse::json(200, &page),
                false => ScriptedResponse::Part(Vec::new()),
            }
        })
        .await;
        let first = keyed.create().await;
        assert_eq!(first.summary(), summary, "{}", first.text);
        keyed.restart(DAY).await;
        assert_eq!(keyed.create().await.whole, first.whole);
        assert_eq!(keyed.sent(), 1);
        let seen = keyed.system.seen();
        let query = seen.iter().find(|one| one.line().ends_with("get-orders"));
        let query = query.unwrap();
        assert_eq!(
            query.json(),
            json!({ "externalIds": ["x-1"], "pageSize": 2 })
        );
        assert_eq!(query.header("idempotency-key"), None);
    }
}

#[tokio::test]
async fn lost_change_without_external_id_is_not_looked_up() {
    let keyed = Keyed::start(true, |_| ScriptedResponse::Part(Vec::new())).await;
    let mut arguments = create("k");
    arguments["order"]
        .as_object_mut()
        .unwrap()
        .shift_remove("externalId");
    for _ in 0..2 {
        let lost = keyed.call("create-sales-order", arguments.clone()).await;
        assert_eq!(lost.summary(), "4001 OUTCOME_UNKNOWN unknown");
    }
    let lines = keyed.system.lines();
    assert_eq!(
        lines,
        ["GET /v1/capabilities", "POST /v1/create-sales-order"]
    );
}

#[tokio::test]
async fn failing_lookup_is_retryable() {
    let keyed = Keyed::start(true, |_| ScriptedResponse::Part(Vec::new())).await;
    let lost = keyed.create().await;
    assert_eq!(lost.summary(), "4002 retryable unknown 1000ms");
    assert_eq!(lost.context("key"), "keep");
    assert_eq!(keyed.sent(), 1);
}

#[tokio::test]
async fn keys_of_the_order_system_are_used_if_it_has_them() {
    let system = ScriptedServer::start(|request| match request.line().as_str() {
        "GET /v1/capabilities" => ScriptedResponse::json(200, &capabilities()),
        _ => ScriptedResponse::json(200, &json!({ "order": order(1) })),
    })
    .await;
    let directory = TempDir::new().unwrap();
    let mut keyed = Keyed {
        system,
        directory,
        dispatcher: None,
    };
    keyed.restart(DAY).await;
    for _ in 0..2 {
        assert_eq!(keyed.create().await.summary(), "ok");
    }
    assert_eq!(keyed.sent(), 2);
}

#[tokio::test]
async fn file_belongs_to_one_server() {
    let keyed = Keyed::start(false, new_orders()).await;
    let open = |path: PathBuf| async move {
        let adapter = HttpAdapter::new(&settings(String::from("http://127.0.0.1:1"))).unwrap();
        let opened = KeyStoreAdapter::open(adapter, &path, DAY).await;
        opened.map(|_| ()).unwrap_err()
    };
    let error = open(keyed.file()).await;
    assert!(matches!(error, KeyStoreError::InUse), "{error}");
    let text = keyed.directory.path().join("text");
    std::fs::write(
        &text,
        "not a database, but a text of some length, longer than a header".repeat(9),
    )
    .unwrap();
    let error = open(text).await;
    assert!(matches!(error, KeyStoreError::Other), "{error:?}");
}
