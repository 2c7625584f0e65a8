//! The capabilities of an order system: when they are fetched, and which are refused.

use super::comparison::{Backend, Exchange};
use crate::fixture::http_adapter::{create, order, query, send_request, settings};
use crate::fixture::http_server::{capabilities, start_playing, start_with};
use candor_fault::Effect;
use candor_orders::http::{HttpAdapter, MAX_NAMES, MAX_STATUSES};
use candor_orders::{Adapter as _, Failure, OrderOperation, Response};
use candor_testkit::scripted_http::{ConnectionEvent, ScriptedResponse, ScriptedServer};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[tokio::test]
async fn capabilities_are_fetched_once() {
    let server = start_playing(ScriptedResponse::json(200, &json!({ "order": order() }))).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    assert!(adapter.keeps_keys());
    for _ in 0..2 {
        let (result, effect) = send_request(&adapter, &create()).await;
        assert!(result.is_ok());
        assert_eq!(effect, Effect::Done);
    }
    let post = "POST /v1/create-sales-order";
    assert_eq!(server.lines(), ["GET /v1/capabilities", post, post]);
}

#[tokio::test]
async fn capabilities_are_fetched_again_after_a_failure() {
    let count = AtomicUsize::new(0);
    let server = ScriptedServer::start(move |request| match request.line().as_str() {
        "GET /v1/capabilities" if count.fetch_add(1, Ordering::SeqCst) == 0 => {
            ScriptedResponse::text(503, "{}")
        }
        "GET /v1/capabilities" => ScriptedResponse::json(200, &capabilities()),
        _ => ScriptedResponse::json(200, &json!({ "order": order() })),
    })
    .await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    assert!(!adapter.keeps_keys());
    assert!(send_request(&adapter, &create()).await.0.is_ok());
    assert!(adapter.keeps_keys());
}

#[tokio::test]
async fn missing_operations_are_not_requested() {
    let server = ScriptedServer::start(|_| {
        let offered = ["get-orders", "teleport-order"];
        ScriptedResponse::json(
            200,
            &json!({ "protocol": 1, "operations": offered, "keepsKeys": false, "more": 1 }),
        )
    })
    .await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let known = adapter.capabilities().await.unwrap();
    assert_eq!(
        Vec::from_iter(&known.operations),
        [&OrderOperation::GetOrders]
    );
    assert!(!adapter.keeps_keys());
    for request in [create(), query()] {
        let (result, effect) = send_request(&adapter, &request).await;
        assert_eq!(result.unwrap_err(), Failure::Unsupported);
        assert_eq!(effect, Effect::None);
    }
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn start_does_not_wait_for_the_order_system() {
    let mut server = ScriptedServer::start(|_| ScriptedResponse::Hang(Vec::new())).await;
    let adapter = HttpAdapter::start(&settings(server.url()), Duration::from_secs(300)).unwrap();
    assert!(!adapter.keeps_keys());
    assert_eq!(server.event().await, ConnectionEvent::Hanging);
    drop(adapter);
    assert_eq!(server.event().await, ConnectionEvent::Closed);
}

#[tokio::test]
async fn capabilities_are_read_again_after_501() {
    let count = Arc::new(AtomicUsize::new(0));
    let reads = Arc::clone(&count);
    let server = ScriptedServer::start(move |request| match request.line().as_str() {
        "GET /v1/capabilities" => {
            let mut known = capabilities();
            // The second time, orders can no longer be created.
            if reads.fetch_add(1, Ordering::SeqCst) > 0 {
                known["operations"] = json!(["get-inventory"]);
            }
            ScriptedResponse::json(200, &known)
        }
        _ => ScriptedResponse::text(501, "{}"),
    })
    .await;
    let adapter = HttpAdapter::start(&settings(server.url()), Duration::from_secs(300)).unwrap();
    assert_eq!(adapter.capabilities().await.unwrap().operations.len(), 12);
    let (result, effect) = send_request(&adapter, &create()).await;
    assert_eq!(
        (result.unwrap_err(), effect),
        (Failure::Unsupported, Effect::None)
    );
    while adapter.capabilities().await.unwrap().operations.len() == 12 {
        tokio::task::yield_now().await;
    }
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn capabilities_are_read_at_their_interval() {
    let (sender, mut reads) = tokio::sync::mpsc::unbounded_channel();
    let server = ScriptedServer::start(move |_| {
        sender.send(()).unwrap();
        ScriptedResponse::json(200, &capabilities())
    })
    .await;
    let _adapter = HttpAdapter::start(&settings(server.url()), Duration::from_millis(5)).unwrap();
    for _ in 0..3 {
        reads.recv().await.unwrap();
    }
}

#[tokio::test]
async fn statuses_of_the_order_system_are_shown_beside_ours() {
    let mut known = capabilities();
    known["statuses"] = json!({ "on_hold": "processing", "neu": "pending" });
    let mut answer = order();
    answer["status"] = json!("neu");
    answer["platformStatus"] = json!("something else");
    let server = ScriptedServer::start(move |request| match request.line().as_str() {
        "GET /v1/capabilities" => ScriptedResponse::json(200, &known),
        _ => ScriptedResponse::json(200, &json!({ "order": answer })),
    })
    .await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let Ok(Response::One { entity, .. }) = send_request(&adapter, &create()).await.0 else {
        panic!("refused");
    };
    let shown = r#""status":"pending","platformStatus":"neu","#;
    assert!(entity.get().contains(shown), "{entity}");
}

#[tokio::test]
async fn unusable_capabilities_are_an_invalid_response() {
    let mut summary = String::new();
    for (name, played) in [
        (
            "protocol 2",
            ScriptedResponse::text(200, r#"{"protocol":2,"operations":[],"keepsKeys":true}"#),
        ),
        (
            "protocol text",
            ScriptedResponse::text(200, r#"{"protocol":"1","operations":[],"keepsKeys":true}"#),
        ),
        (
            "no operations",
            ScriptedResponse::text(200, r#"{"protocol":1,"keepsKeys":true}"#),
        ),
        (
            "status of nobody",
            ScriptedResponse::text(
                200,
                r#"{"protocol":1,"operations":[],"keepsKeys":true,"statuses":{"x":"lost"}}"#,
            ),
        ),
        (
            "filters of another form",
            ScriptedResponse::text(
                200,
                r#"{"protocol":1,"operations":[],"keepsKeys":true,"filters":["ids"]}"#,
            ),
        ),
        (
            "features of another form",
            ScriptedResponse::text(
                200,
                r#"{"protocol":1,"operations":[],"keepsKeys":true,"features":"tax"}"#,
            ),
        ),
        (
            "keepsKeys 1",
            ScriptedResponse::text(200, r#"{"protocol":1,"operations":[],"keepsKeys":1}"#),
        ),
        ("garbage", ScriptedResponse::text(200, "hello")),
        ("array", ScriptedResponse::text(200, "[]")),
        (
            "html",
            ScriptedResponse::new(200, &[("content-type", "text/html")], b"<p>"),
        ),
        ("404", ScriptedResponse::text(404, "{}")),
        ("405", ScriptedResponse::text(405, "{}")),
        ("501", ScriptedResponse::text(501, "{}")),
        (
            "redirect",
            ScriptedResponse::new(302, &[("location", "/other")], b""),
        ),
        ("401", ScriptedResponse::text(401, "{}")),
        (
            "429",
            ScriptedResponse::new(429, &[("retry-after", "9")], b""),
        ),
        ("500", ScriptedResponse::text(500, "{}")),
        ("closed", ScriptedResponse::Part(Vec::new())),
    ] {
        let server = ScriptedServer::start(move |_| played.clone()).await;
        let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
        let (result, effect) = send_request(&adapter, &create()).await;
        assert_eq!(effect, Effect::None, "{name}");
        summary += &format!("{name}: {:?}\n", result.unwrap_err());
        assert_eq!(server.lines(), ["GET /v1/capabilities"]);
    }
    insta::assert_snapshot!(summary);
}

/// Returns the tools in front of a system with these capabilities, which answers 500.
async fn tools_with(known: Value) -> (Backend, ScriptedServer) {
    let response = Arc::new(Mutex::new(ScriptedResponse::text(500, "{}")));
    let server = start_with(known, response).await;
    (Backend::in_front_of(&server).await, server)
}

#[tokio::test]
async fn undeclared_parts_are_not_sent() {
    let mut summary = String::new();
    let mut known = capabilities();
    let unlisted = tools_with(known.clone()).await;
    known["filters"] =
        json!({ "get-orders": ["names", "createdAtMin", "teleport"], "teleport": [] });
    known["features"] = json!(["edits", "teleport"]);
    let listed = tools_with(known).await;
    for (tool, arguments) in [
        ("get-orders", json!({ "ids": ["a"] })),
        ("get-orders", json!({ "names": ["a"] })),
        ("get-orders", json!({ "sort": "createdAt" })),
        (
            "get-orders",
            json!({ "createdAtMin": "2025-10-12T12:00:00Z" }),
        ),
        (
            "get-orders",
            json!({ "updatedAtMin": "2025-10-12T12:00:00Z" }),
        ),
        ("get-returns", json!({ "statuses": ["requested"] })),
        ("get-returns", json!({})),
        (
            "create-sales-order",
            json!({ "idempotencyKey": "k", "order": { "lineItems": [{ "sku": "A", "quantity": 1, "tax": "1" }] } }),
        ),
        (
            "update-order",
            json!({ "idempotencyKey": "k", "orderId": "o", "updates": { "lineItems": [{ "sku": "A", "quantity": 1 }] } }),
        ),
        (
            "update-order",
            json!({ "idempotencyKey": "k", "orderId": "o", "updates": { "lineItems": [{ "sku": "A", "quantity": 1, "line": 1 }] } }),
        ),
    ] {
        let exchange = Exchange {
            tool,
            arguments,
            answer: Value::Null,
        };
        let mut shown = Vec::new();
        for (backend, server) in [&unlisted, &listed] {
            let before = server.lines().len();
            let response = backend
                .play(&exchange, ScriptedResponse::text(500, "{}"))
                .await;
            let answer = response.message();
            let error = &answer["result"]["structuredContent"]["error"];
            let context = error["details"]["context"].to_string();
            let asked = if server.lines().len() > before {
                "asked"
            } else {
                "not asked"
            };
            shown.push(format!("{} {context}, {asked}", error["code"]));
        }
        summary += &format!(
            "{tool} {}\n  unlisted: {}\n  listed: {}\n",
            exchange.arguments, shown[0], shown[1]
        );
    }
    insta::assert_snapshot!(summary);
}

#[tokio::test]
async fn lists_of_capabilities_are_bounded() {
    let names = |count: usize| -> Vec<_> { (0..count).map(|one| format!("n{one}")).collect() };
    let map = |count: usize, value: &Value| -> Value {
        Value::Object(
            names(count)
                .into_iter()
                .map(|name| (name, value.clone()))
                .collect(),
        )
    };
    for (member, fitting, beyond) in [
        (
            "statuses",
            map(MAX_STATUSES, &json!("pending")),
            map(MAX_STATUSES + 1, &json!("pending")),
        ),
        (
            "filters",
            map(MAX_NAMES, &json!([])),
            map(MAX_NAMES + 1, &json!([])),
        ),
        (
            "filters",
            json!({ "get-orders": names(MAX_NAMES) }),
            json!({ "get-orders": names(MAX_NAMES + 1) }),
        ),
        (
            "features",
            json!(names(MAX_NAMES)),
            json!(names(MAX_NAMES + 1)),
        ),
        (
            "lookup",
            json!(names(MAX_NAMES)),
            json!(names(MAX_NAMES + 1)),
        ),
    ] {
        for (value, is_read) in [(fitting, true), (beyond, false)] {
            let mut known = capabilities();
            known[member] = value;
            let server = ScriptedServer::start(move |_| ScriptedResponse::json(200, &known)).await;
            let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
            let read = adapter.capabilities().await;
            assert_eq!(read.is_ok(), is_read, "{member}: {read:?}");
        }
    }
}
