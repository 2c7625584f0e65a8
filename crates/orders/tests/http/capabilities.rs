//! What is known about an order system, and when.

use crate::scripted::{Play, Scripted, capabilities};
use crate::stage::{asked, create, order, query, settings};
use candor_fault::Effect;
use candor_orders::http::HttpAdapter;
use candor_orders::{Adapter as _, Failure, OrderOperation};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn they_are_asked_for_once() {
    let server = Scripted::playing(Play::json(200, &json!({ "order": order() }))).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    assert!(adapter.keeps_keys());
    for _ in 0..2 {
        let (done, effect) = asked(&adapter, &create()).await;
        assert!(done.is_ok());
        assert_eq!(effect, Effect::Done);
    }
    let post = "POST /v1/create-sales-order";
    assert_eq!(server.lines(), ["GET /v1/capabilities", post, post]);
}

#[tokio::test]
async fn after_a_failure_they_are_asked_for_again() {
    let count = AtomicUsize::new(0);
    let server = Scripted::start(move |request| match request.line.as_str() {
        "GET /v1/capabilities" if count.fetch_add(1, Ordering::SeqCst) == 0 => {
            Play::text(503, "{}")
        }
        "GET /v1/capabilities" => Play::json(200, &capabilities()),
        _ => Play::json(200, &json!({ "order": order() })),
    })
    .await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    assert!(!adapter.keeps_keys());
    assert!(asked(&adapter, &create()).await.0.is_ok());
    assert!(adapter.keeps_keys());
}

#[tokio::test]
async fn what_is_not_offered_is_not_asked_for() {
    let server = Scripted::start(|_| {
        let offered = ["get-orders", "teleport-order"];
        Play::json(
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
        let (done, effect) = asked(&adapter, &request).await;
        assert_eq!(done.unwrap_err(), Failure::Unsupported);
        assert_eq!(effect, Effect::None);
    }
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_used_is_an_invalid_response() {
    let mut told = String::new();
    for (name, play) in [
        (
            "protocol 2",
            Play::text(200, r#"{"protocol":2,"operations":[],"keepsKeys":true}"#),
        ),
        (
            "protocol text",
            Play::text(200, r#"{"protocol":"1","operations":[],"keepsKeys":true}"#),
        ),
        (
            "no operations",
            Play::text(200, r#"{"protocol":1,"keepsKeys":true}"#),
        ),
        (
            "keepsKeys 1",
            Play::text(200, r#"{"protocol":1,"operations":[],"keepsKeys":1}"#),
        ),
        ("garbage", Play::text(200, "hello")),
        ("array", Play::text(200, "[]")),
        (
            "html",
            Play::new(200, &[("content-type", "text/html")], b"<p>"),
        ),
        ("404", Play::text(404, "{}")),
        ("405", Play::text(405, "{}")),
        ("501", Play::text(501, "{}")),
        ("redirect", Play::new(302, &[("location", "/other")], b"")),
        ("401", Play::text(401, "{}")),
        ("429", Play::new(429, &[("retry-after", "9")], b"")),
        ("500", Play::text(500, "{}")),
        ("closed", Play::Part(Vec::new())),
    ] {
        let server = Scripted::start(move |_| play.clone()).await;
        let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
        let (done, effect) = asked(&adapter, &create()).await;
        assert_eq!(effect, Effect::None, "{name}");
        told += &format!("{name}: {:?}\n", done.unwrap_err());
        assert_eq!(server.lines(), ["GET /v1/capabilities"]);
    }
    insta::assert_snapshot!(told);
}
