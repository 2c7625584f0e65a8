//! Pages and their cursors, and answers of the wrong kind.

use crate::fixture::guarded::ServerBuilder;
use crate::fixture::scripted_adapter::{AdapterStep, Steps, raw};
use candor_orders::{MAX_POSITION, Request, Response};
use serde_json::{Value, json};

fn page(next: &str) -> Steps {
    let items = raw(r#"[{"id":"1"}]"#);
    vec![AdapterStep::Answer(Response::page(
        items,
        Some(next.to_owned()),
    ))]
}

#[tokio::test(start_paused = true)]
async fn cursor_is_valid_for_its_own_query_only() {
    let server = ServerBuilder::default()
        .with_script([page("17.ord_1")])
        .build();
    let filters = json!({ "statuses": ["pending"], "pageSize": 1 });
    let response = server.call("get-orders", filters).await;
    insta::assert_snapshot!(response.line, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"orders\":[{\"id\":\"1\"}],\"nextCursor\":\"MsVj3iq1rlwxNy5vcmRfMQ\"}"}],"structuredContent":{"orders":[{"id":"1"}],"nextCursor":"MsVj3iq1rlwxNy5vcmRfMQ"}}}"#);
    let value = response.message();
    let cursor = &value["result"]["structuredContent"]["nextCursor"];
    for (arguments, expected) in [
        (json!({ "statuses": ["pending"], "cursor": cursor }), "ok"),
        (json!({ "cursor": cursor }), "2003 none"),
    ] {
        assert_eq!(
            server.call("get-orders", arguments).await.summary(),
            expected
        );
    }
    let received = server.adapter.received();
    let Request::Query(query) = &received[1].request else {
        panic!("{received:?}")
    };
    assert_eq!(query.after.as_deref(), Some("17.ord_1"));
    assert_eq!(received.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn position_too_long_for_a_cursor_is_an_invalid_response() {
    let longest = "x".repeat(MAX_POSITION);
    let too_long = "x".repeat(MAX_POSITION + 1);
    let server = ServerBuilder::default()
        .with_script([page(&longest), vec![], page(&too_long)])
        .build();
    let response = server.find().await.message();
    let cursor = response["result"]["structuredContent"]["nextCursor"].clone();
    let next = server.call("get-orders", json!({ "cursor": cursor })).await;
    assert_eq!(next.summary(), "ok");
    let summary = server.find().await.summary();
    assert_eq!(summary, "4001 INVALID_ADAPTER_RESPONSE none");
}

#[tokio::test(start_paused = true)]
async fn answer_of_the_wrong_kind_is_an_invalid_response() {
    let server = ServerBuilder::default().with_every_call(page("1")).build();
    let summary = server.create().await.summary();
    assert_eq!(summary, "4001 INVALID_ADAPTER_RESPONSE none");
    let one = vec![AdapterStep::Answer(Response::one(raw("{}")))];
    let server = ServerBuilder::default().with_every_call(one).build();
    let summary = server.find().await.summary();
    assert_eq!(summary, "4001 INVALID_ADAPTER_RESPONSE none");
}

#[tokio::test(start_paused = true)]
async fn last_page_has_a_null_cursor() {
    let response = ServerBuilder::default().build().find().await.message();
    let structured = &response["result"]["structuredContent"];
    assert_eq!(
        structured,
        &json!({ "orders": [], "nextCursor": Value::Null })
    );
}
