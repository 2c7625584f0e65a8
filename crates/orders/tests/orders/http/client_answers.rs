//! Answers of an order system as the client sees them, and what is logged about them.

use crate::fixture::http_adapter::{CANARY, settings};
use crate::fixture::http_server::{start_changing, start_playing};
use crate::fixture::log::Log;
use crate::requests::ToolResponse;
use candor_call_fixtures::{answer, call};
use candor_fault::Timestamp;
use candor_guard::retry::RetryPolicy;
use candor_orders::http::HttpAdapter;
use candor_orders::{Config, GuardConfig, OrdersServer};
use candor_street::{Dispatcher, MetricsHub};
use candor_testkit::scripted_http::{ConnectionEvent, ScriptedResponse, ScriptedServer};
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The order tools in front of this order system; every call is one attempt.
async fn dispatcher(server: &ScriptedServer, deadline: Duration) -> Arc<Dispatcher<OrdersServer>> {
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let config = Config {
        guard: GuardConfig {
            deadline,
            breaker_failures: None,
            retry: RetryPolicy {
                attempts: NonZeroU32::MIN,
                ..RetryPolicy::default()
            },
            ..GuardConfig::default()
        },
        ..Config::default()
    };
    let orders = OrdersServer::new(
        Arc::new(adapter),
        config,
        Arc::new(|| 0),
        MetricsHub::default(),
    );
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    Dispatcher::new(orders, clock, &MetricsHub::default()).unwrap()
}

/// Calls `create-sales-order` and returns the result.
async fn create_order(dispatcher: &Arc<Dispatcher<OrdersServer>>) -> String {
    let order = json!({ "lineItems": [{ "sku": "LAMP", "quantity": 1 }] });
    let arguments = json!({ "order": order, "idempotencyKey": "k" });
    let answer = answer(dispatcher, call("create-sales-order", arguments)).await;
    ToolResponse::new(&answer).whole
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn foreign_text_never_reaches_a_client() {
    let error = json!({ "error": {
        "code": format!("no {CANARY}"),
        "message": CANARY,
        "context": { "field": format!("order {CANARY}"), "status": CANARY, "other": CANARY },
        CANARY: CANARY
    } });
    let headers = [
        ("content-type", "application/json"),
        ("x-why", CANARY),
        ("location", CANARY),
    ];
    let current = Arc::new(Mutex::new(ScriptedResponse::text(500, "")));
    let server = start_changing(Arc::clone(&current)).await;
    let dispatcher = dispatcher(&server, LONG).await;
    for status in [
        200, 302, 400, 401, 404, 408, 409, 422, 429, 500, 501, 503, 504,
    ] {
        for body in [error.to_string(), CANARY.to_owned()] {
            *current.lock().unwrap() = ScriptedResponse::new(status, &headers, body.as_bytes());
            let create_order = create_order(&dispatcher).await;
            assert!(create_order.contains("\"isError\":true"), "{create_order}");
            assert!(!create_order.contains(CANARY), "{status} {create_order}");
        }
    }
}

#[tokio::test]
async fn named_refusal_is_passed_on_with_its_facts() {
    let error = json!({ "error": {
        "code": "INSUFFICIENT_INVENTORY",
        "context": { "field": "order.lineItems.0.quantity", "available": 0 }
    } });
    let server = start_playing(ScriptedResponse::json(409, &error)).await;
    insta::assert_snapshot!(create_order(&dispatcher(&server, LONG).await).await, @r#"{"content":[{"type":"text","text":"{\"error\":{\"code\":4001,\"message\":\"Adapter error: there is less stock than the call needs\",\"retryable\":false,\"details\":{\"suggestion\":\"Ask for no more than `details.context.available`, or wait for stock; call again with a new idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":null,\"key\":\"bound\",\"field\":\"order.lineItems.0.quantity\",\"available\":0},\"originalError\":\"INSUFFICIENT_INVENTORY\"}}}"}],"structuredContent":{"error":{"code":4001,"message":"Adapter error: there is less stock than the call needs","retryable":false,"details":{"suggestion":"Ask for no more than `details.context.available`, or wait for stock; call again with a new idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"bound","field":"order.lineItems.0.quantity","available":0},"originalError":"INSUFFICIENT_INVENTORY"}}},"isError":true,"error":{"code":4001,"message":"Adapter error: there is less stock than the call needs","retryable":false,"details":{"suggestion":"Ask for no more than `details.context.available`, or wait for stock; call again with a new idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"bound","field":"order.lineItems.0.quantity","available":0},"originalError":"INSUFFICIENT_INVENTORY"}}}"#);
}

#[tokio::test]
async fn response_that_is_late_is_a_timeout_with_unknown_effect() {
    let begun = b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec();
    let mut server = start_playing(ScriptedResponse::Hang(begun)).await;
    let create_order = create_order(&dispatcher(&server, Duration::from_millis(200)).await).await;
    insta::assert_snapshot!(create_order, @r#"{"content":[{"type":"text","text":"{\"error\":{\"code\":3002,\"message\":\"Operation timed out\",\"retryable\":true,\"details\":{\"suggestion\":\"Send the same call with the same idempotencyKey; it finds what the first attempt did.\",\"context\":{\"class\":\"limit\",\"effect\":\"unknown\",\"retryAfterMs\":null,\"key\":\"keep\"}}}}"}],"structuredContent":{"error":{"code":3002,"message":"Operation timed out","retryable":true,"details":{"suggestion":"Send the same call with the same idempotencyKey; it finds what the first attempt did.","context":{"class":"limit","effect":"unknown","retryAfterMs":null,"key":"keep"}}}},"isError":true,"error":{"code":3002,"message":"Operation timed out","retryable":true,"details":{"suggestion":"Send the same call with the same idempotencyKey; it finds what the first attempt did.","context":{"class":"limit","effect":"unknown","retryAfterMs":null,"key":"keep"}}}}"#);
    assert_eq!(server.event().await, ConnectionEvent::Hanging);
    assert_eq!(server.event().await, ConnectionEvent::Closed);
}

#[tokio::test]
async fn missing_capabilities_are_logged_without_foreign_text() {
    let log = Log::default();
    let _guard = log.listen();
    for played in [
        ScriptedResponse::text(503, CANARY),
        ScriptedResponse::text(200, CANARY),
    ] {
        let server = ScriptedServer::start(move |_| played.clone()).await;
        HttpAdapter::connect(&settings(server.url())).await.unwrap();
    }
    insta::assert_snapshot!(log.text(), @r#"
    WARN candor_orders::http::known_capabilities: the capabilities of the order system could not be read; it is asked again reason="status 503"
    WARN candor_orders::http::known_capabilities: the capabilities of the order system could not be read; it is asked again reason="capabilities: the answer cannot be read: it is no JSON that is taken, at line 1 column 1"
    "#);
}
