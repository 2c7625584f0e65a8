//! The capabilities of an order system: when they are fetched, and which are refused.

use crate::fixture::http_adapter::{create, order, query, send_request, settings};
use crate::fixture::http_server::{capabilities, start_playing};
use candor_fault::Effect;
use candor_orders::http::HttpAdapter;
use candor_orders::{Adapter as _, Failure, OrderOperation};
use candor_testkit::scripted_http::{ScriptedResponse, ScriptedServer};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

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
