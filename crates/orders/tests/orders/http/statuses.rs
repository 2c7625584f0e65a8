//! Every status of the protocol, and every answer that cannot be used.

use crate::fixture::http_adapter::{
    create, inventory, order, query, send_request, send_with, settings,
};
use crate::fixture::http_server::start_changing;
use candor_fault::Effect;
use candor_orders::http::HttpAdapter;
use candor_orders::{Failure, FinalFailure, RefusalReason, Request, Response};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Describes the result of each played response.
async fn summary(request: &Request, played: Vec<(&str, ScriptedResponse)>) -> String {
    let mut summary = String::new();
    let current = Arc::new(Mutex::new(ScriptedResponse::text(500, "")));
    let server = start_changing(Arc::clone(&current)).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    for (name, played) in played {
        *current.lock().unwrap() = played;
        let (result, effect) = send_request(&adapter, request).await;
        let result = match result {
            Ok(Response::One { entity, .. }) => format!("Ok {entity}"),
            Ok(Response::Page {
                items,
                next,
                corrections,
            }) => match corrections.omitted.as_slice() {
                [] => format!("Ok {items} {next:?}"),
                omitted => format!("Ok {items} {next:?} {omitted:?}"),
            },
            Err(failure) => format!("{failure:?}"),
        };
        summary += &format!("{name}\n  effect {effect:?}\n  {result}\n");
    }
    summary
}

fn error(code: Value) -> Value {
    json!({ "error": { "code": code, "retryable": false, "message": "words" } })
}

#[tokio::test]
async fn every_status_of_a_change() {
    let named = |status, code: &str| ScriptedResponse::json(status, &error(json!(code)));
    let after = |status, wait| ScriptedResponse::new(status, &[("retry-after", wait)], b"");
    let dated = ScriptedResponse::new(
        429,
        &[
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT"),
        ],
        b"",
    );
    let html = ScriptedResponse::new(404, &[("content-type", "text/html")], b"<h1>Not here</h1>");
    let retryable = json!({ "error": { "code": "LOCKED", "retryable": true } });
    let facts = json!({ "error": {
        "code": "INSUFFICIENT_INVENTORY",
        "context": { "field": "order.lineItems.0.sku", "available": 3, "status": "shipped", "secret": "x", "availableAmount": "12.50", "returnStatus": "received" }
    } });
    let odd = json!({ "error": {
        "code": "INSUFFICIENT_INVENTORY",
        "retryable": "true",
        "context": { "field": "a b", "available": -3, "status": "lost", "availableAmount": "-1", "returnStatus": "lost" }
    } });
    let played = vec![
        ("400 named", named(400, "ADDRESS_REFUSED")),
        ("400 nameless", ScriptedResponse::text(400, "{}")),
        ("400 odd name", named(400, "no such name")),
        ("400 name of ours", named(400, "WRITE_TOKEN_REQUIRED")),
        (
            "400 number as name",
            ScriptedResponse::json(400, &error(json!(7))),
        ),
        ("401", named(401, "WHO_ARE_YOU")),
        ("403", ScriptedResponse::text(403, "{}")),
        ("402", named(402, "PAY_FIRST")),
        ("404 named", named(404, "ORDER_NOT_FOUND")),
        ("404 nameless", ScriptedResponse::text(404, "")),
        ("404 html", html),
        ("404 cut", ScriptedResponse::cut(404, "{\"error\":")),
        ("405", ScriptedResponse::text(405, "{}")),
        ("408", ScriptedResponse::text(408, "{}")),
        ("409 named", named(409, "EXTERNAL_ID_CONFLICT")),
        ("409 retryable", ScriptedResponse::json(409, &retryable)),
        ("409 facts", ScriptedResponse::json(409, &facts)),
        ("409 odd facts", ScriptedResponse::json(409, &odd)),
        ("422", named(422, "TOTAL_MISMATCH")),
        (
            "422 twice",
            ScriptedResponse::text(422, r#"{"error":{"code":"A","code":"B"}}"#),
        ),
        ("429", after(429, "7")),
        ("429 silent", ScriptedResponse::text(429, "{}")),
        ("429 date", dated),
        ("429 far", after(429, "86400")),
        ("500", named(500, "ORDER_NOT_FOUND")),
        ("501", ScriptedResponse::text(501, "{}")),
        ("502", ScriptedResponse::text(502, "bad gateway")),
        ("503", after(503, "11")),
        ("504", ScriptedResponse::text(504, "{}")),
        ("599", ScriptedResponse::text(599, "{}")),
        (
            "301",
            ScriptedResponse::new(301, &[("location", "/v1/elsewhere")], b""),
        ),
        (
            "307",
            ScriptedResponse::new(307, &[("location", "http://127.0.0.1:9/")], b""),
        ),
        (
            "304",
            ScriptedResponse::Answer(b"HTTP/1.1 304 Played\r\n\r\n".to_vec()),
        ),
        ("604", ScriptedResponse::text(604, "{}")),
    ];
    insta::assert_snapshot!(summary(&create(), played).await);
}

#[tokio::test]
async fn every_answer_of_a_change() {
    let whole = json!({ "order": order() });
    let with = |name: &str, value: Value| {
        let mut order = order();
        order[name] = value;
        ScriptedResponse::json(200, &json!({ "order": order }))
    };
    let without = |name: &str| {
        let mut order = order();
        order.as_object_mut().unwrap().shift_remove(name);
        ScriptedResponse::json(200, &json!({ "order": order }))
    };
    let line = |quantity: Value| {
        let mut order = order();
        order["lineItems"][0]["quantity"] = quantity;
        ScriptedResponse::json(200, &json!({ "order": order }))
    };
    let said = |kind: &str| {
        ScriptedResponse::new(200, &[("content-type", kind)], whole.to_string().as_bytes())
    };
    let deep = format!("{{\"order\":{}", "[".repeat(100_000));
    let repeated = whole.to_string().replacen('{', "{\"order\":1,", 1);
    let played = vec![
        ("200", ScriptedResponse::json(200, &whole)),
        ("201", ScriptedResponse::json(201, &whole)),
        ("charset", said("Application/JSON; charset=utf-8")),
        ("html", said("text/html")),
        ("problem", said("application/problem+json")),
        (
            "no type",
            ScriptedResponse::new(200, &[], whole.to_string().as_bytes()),
        ),
        (
            "204",
            ScriptedResponse::Answer(b"HTTP/1.1 204 Played\r\n\r\n".to_vec()),
        ),
        ("empty", ScriptedResponse::text(200, "")),
        ("garbage", ScriptedResponse::text(200, "hello")),
        (
            "html body",
            ScriptedResponse::text(200, "<html>Welcome</html>"),
        ),
        ("half", ScriptedResponse::text(200, "{\"order\":")),
        ("two", ScriptedResponse::text(200, "{} {}")),
        ("array", ScriptedResponse::text(200, "[]")),
        ("no member", ScriptedResponse::text(200, r#"{"orders":[]}"#)),
        ("null", ScriptedResponse::text(200, r#"{"order":null}"#)),
        ("repeated", ScriptedResponse::text(200, &repeated)),
        ("deep", ScriptedResponse::text(200, &deep)),
        (
            "surrogate",
            ScriptedResponse::text(200, r#"{"order":"\ud800"}"#),
        ),
        (
            "no UTF-8",
            ScriptedResponse::new(
                200,
                &[("content-type", "application/json")],
                b"{\"\xff\":1}",
            ),
        ),
        ("no id", without("id")),
        ("no total", without("total")),
        ("total number", with("total", json!(6))),
        ("total sign", with("total", json!("-6.00"))),
        ("status", with("status", json!("lost"))),
        ("null name", with("name", json!(null))),
        ("instant", with("createdAt", json!("yesterday"))),
        ("quantity text", line(json!("2"))),
        ("quantity half", line(json!(2.5))),
        ("quantity negative", line(json!(-1))),
        ("quantity huge", line(json!(1e30))),
        (
            "error in success",
            ScriptedResponse::json(200, &error(json!("ORDER_NOT_FOUND"))),
        ),
    ];
    insta::assert_snapshot!(summary(&create(), played).await);
}

#[tokio::test]
async fn every_answer_of_a_query() {
    let page = |items: Vec<Value>, next: Value| {
        ScriptedResponse::json(200, &json!({ "inventory": items, "nextCursor": next }))
    };
    let one = || vec![inventory()];
    let mut unsold = inventory();
    unsold["locationId"] = json!("loc_2");
    unsold["availableTotal"] = json!(-1);
    let played = vec![
        ("last", page(one(), json!(null))),
        ("none", page(Vec::new(), json!(null))),
        ("more", page(one(), json!("x".repeat(3)))),
        ("long cursor", page(one(), json!("x".repeat(701)))),
        ("empty cursor", page(one(), json!(""))),
        ("number cursor", page(one(), json!(1))),
        (
            "no cursor",
            ScriptedResponse::json(200, &json!({ "inventory": [] })),
        ),
        (
            "no array",
            ScriptedResponse::json(200, &json!({ "inventory": {}, "nextCursor": null })),
        ),
        ("too long", page(vec![inventory(); 3], json!(null))),
        ("second wrong", page(vec![inventory(), unsold], json!(null))),
        (
            "404",
            ScriptedResponse::json(404, &error(json!("LOCATION_NOT_FOUND"))),
        ),
        ("500", ScriptedResponse::text(500, "{}")),
    ];
    insta::assert_snapshot!(summary(&query(), played).await);
    let longest = page(one(), json!("x".repeat(700)));
    assert!(send_with(longest, &query()).await.0.is_ok());
}

/// serde_json reads an object whose first member has this name as the text of that member.
#[tokio::test]
async fn private_name_of_the_parser_is_an_ordinary_member() {
    let name = "$serde_json::private::RawValue";
    let mut with_unknown = order();
    with_unknown["unknown"] = json!({ name: "no JSON" });
    let in_disguise = json!({ name: order().to_string() });
    let send = async |order| {
        let played = ScriptedResponse::json(200, &json!({ "order": order }));
        send_with(played, &create()).await.0
    };
    assert!(send(with_unknown).await.is_ok());
    let result = send(in_disguise).await;
    assert!(matches!(result, Err(Failure::Final(..))), "{result:?}");
    let facts = json!({ "code": "ORDER_NOT_FOUND", "context": { name: "no JSON" } });
    let played = ScriptedResponse::json(404, &json!({ "error": facts }));
    let (result, _) = send_with(played, &create()).await;
    let Err(Failure::Final(stands, _)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        *stands,
        FinalFailure::Refusal(RefusalReason::OrderNotFound.into())
    );
}

#[tokio::test]
async fn answer_with_too_many_values_is_refused() {
    let many = format!(
        "{{\"order\":[{}0]}}",
        "0,".repeat(candor_orders::http::MAX_VALUES)
    );
    let (result, effect) = send_with(ScriptedResponse::text(200, &many), &create()).await;
    let Err(Failure::Final(stands, _)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(
        *stands,
        FinalFailure::Refusal(RefusalReason::InvalidAdapterResponse.into())
    );
    assert_eq!(effect, Effect::Unknown);
}
