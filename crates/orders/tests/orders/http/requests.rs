//! The requests that the adapter sends.

use crate::fixture::http_adapter::{
    CANARY, create, inventory, order, query, request_context, settings,
};
use crate::fixture::http_server::{capabilities, start_playing};
use candor_call_fixtures::writing_mark;
use candor_orders::http::HttpAdapter;
use candor_orders::{Adapter as _, Response};
use candor_street::EffectMark;
use candor_testkit::scripted_http::{RecordedRequest, ScriptedResponse, ScriptedServer};
use serde_json::json;

fn shown(request: &RecordedRequest) -> String {
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .filter(|(name, _)| name != "host")
        .map(|(name, value)| match name.as_str() {
            "candor-deadline-ms" => {
                let left: u64 = value.parse().unwrap();
                assert!((1..=30_000).contains(&left), "{left}");
                format!("{name}: …")
            }
            _ => format!("{name}: {value}"),
        })
        .collect();
    headers.sort();
    let body = String::from_utf8(request.body.clone()).unwrap();
    format!("{}\n{}\n\n{body}", request.line(), headers.join("\n"))
}

#[tokio::test]
async fn change_is_sent_with_its_key_and_client() {
    let server = start_playing(ScriptedResponse::json(200, &json!({ "order": order() }))).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let request_context = request_context(writing_mark(), Some("schlüssel 1"));
    let result = adapter.call(&create(), &request_context).await.unwrap();
    let Response::One { entity, .. } = result else {
        panic!("a page");
    };
    insta::assert_snapshot!(entity.get(), @r#"{"id":"ord_1","externalId":"größe 1","status":"pending","currency":"EUR","lineItems":[{"sku":"LAMP","quantity":2,"unitPrice":"3.00","unitDiscount":"0.00","fulfilledQuantity":0,"cancelledQuantity":0,"returnedQuantity":0}],"subTotal":"6.00","discountTotal":"0.00","total":"6.00","createdAt":"2025-10-12T12:00:00.000000Z","updatedAt":"2025-10-12T12:00:00.000000Z"}"#);
    insta::assert_snapshot!(shown(&server.seen()[0]), @r#"
    GET /v1/capabilities
    accept: application/json
    authorization: Bearer canary-7f3a
    user-agent: candor-test/1
    "#);
    insta::assert_snapshot!(shown(&server.seen()[1]), @r#"
    POST /v1/create-sales-order
    accept: application/json
    authorization: Bearer canary-7f3a
    candor-client: shop
    candor-deadline-ms: …
    content-length: 78
    content-type: application/json
    idempotency-key: b64:c2NobMO8c3NlbCAx
    user-agent: candor-test/1

    {"order":{"externalId":"größe 1","lineItems":[{"sku":"LAMP","quantity":2}]}}
    "#);
    assert!(format!("{adapter:?}").find(CANARY).is_none());
}

#[tokio::test]
async fn query_is_sent_with_its_client_and_without_key() {
    let page = json!({ "inventory": [inventory()], "nextCursor": "18.y" });
    let server = start_playing(ScriptedResponse::json(200, &page)).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let request_context = request_context(EffectMark::read_only(), None);
    let result = adapter.call(&query(), &request_context).await.unwrap();
    let Response::Page { items, next, .. } = result else {
        panic!("no page");
    };
    assert_eq!(next.as_deref(), Some("18.y"));
    insta::assert_snapshot!(items.get(), @r#"[{"sku":"LAMP","locationId":"loc_1","onHand":5,"reservedTotal":1,"availableTotal":4,"createdAt":"2025-10-12T12:00:00.000000Z","updatedAt":"2025-10-12T12:00:00.000000Z"}]"#);
    insta::assert_snapshot!(shown(&server.seen()[1]), @r#"
    POST /v1/get-inventory
    accept: application/json
    authorization: Bearer canary-7f3a
    candor-client: shop
    candor-deadline-ms: …
    content-length: 46
    content-type: application/json
    user-agent: candor-test/1

    {"skus":["LAMP"],"pageSize":2,"cursor":"17.x"}
    "#);
}

#[tokio::test]
async fn no_token_is_sent_if_none_is_configured() {
    let server = ScriptedServer::start(|_| ScriptedResponse::json(200, &capabilities())).await;
    let mut settings = settings(server.url() + "/shop/");
    settings.bearer = None;
    let adapter = HttpAdapter::connect(&settings).await.unwrap();
    assert!(adapter.keeps_keys());
    assert_eq!(server.lines(), ["GET /shop/v1/capabilities"]);
    assert_eq!(server.seen()[0].header("authorization"), None);
}

#[tokio::test]
async fn tenant_and_trace_are_passed_on() {
    let page = json!({ "inventory": [], "nextCursor": null });
    let server = start_playing(ScriptedResponse::json(200, &page)).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let mut context = request_context(EffectMark::read_only(), None);
    context.tenant = Some(String::from("acme"));
    let position = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    context.trace_parent = Some(position.to_owned());
    adapter.call(&query(), &context).await.unwrap();
    let seen = server.seen();
    let header = |name| seen[1].header(name);
    assert_eq!(header("candor-client"), Some("shop"));
    assert_eq!(header("candor-tenant"), Some("acme"));
    assert_eq!(header("traceparent"), Some(position));
    assert_eq!(seen[0].header("candor-tenant"), None);
}
