//! Pages and their cursors, and answers of the wrong kind.

use crate::house::Plan;
use crate::scripted::{Step, Steps, raw};
use candor_orders::{POSITION_MAX, Request, Response};
use serde_json::{Value, json};

fn page(next: &str) -> Steps {
    vec![Step::Answer(Response::Page {
        items: raw(r#"[{"id":"1"}]"#),
        next: Some(next.to_owned()),
    })]
}

#[tokio::test(start_paused = true)]
async fn a_cursor_leads_to_the_next_page_of_its_query_and_of_no_other() {
    let house = Plan::default().script([page("17.ord_1")]).house();
    let filters = json!({ "statuses": ["pending"], "pageSize": 1 });
    let said = house.ask("get-orders", filters).await;
    insta::assert_snapshot!(said.line(), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"orders\":[{\"id\":\"1\"}],\"nextCursor\":\"MsVj3iq1rlwxNy5vcmRfMQ\"}"}],"structuredContent":{"orders":[{"id":"1"}],"nextCursor":"MsVj3iq1rlwxNy5vcmRfMQ"}}}"#);
    let value = said.value();
    let cursor = &value["result"]["structuredContent"]["nextCursor"];
    for (arguments, wanted) in [
        (json!({ "statuses": ["pending"], "cursor": cursor }), "ok"),
        (json!({ "cursor": cursor }), "2003 none"),
    ] {
        assert_eq!(house.ask("get-orders", arguments).await.told(), wanted);
    }
    let asked = house.adapter.asked();
    let Request::Query(query) = &asked[1].request else {
        panic!("{asked:?}")
    };
    assert_eq!(query.after.as_deref(), Some("17.ord_1"));
    assert_eq!(asked.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_no_cursor_can_name_is_no_answer() {
    let longest = "x".repeat(POSITION_MAX);
    let too_long = "x".repeat(POSITION_MAX + 1);
    let house = Plan::default()
        .script([page(&longest), vec![], page(&too_long)])
        .house();
    let said = house.find().await.value();
    let cursor = said["result"]["structuredContent"]["nextCursor"].clone();
    let next = house.ask("get-orders", json!({ "cursor": cursor })).await;
    assert_eq!(next.told(), "ok");
    let told = house.find().await.told();
    assert_eq!(told, "4001 INVALID_ADAPTER_RESPONSE none");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_wrong_kind_is_no_answer() {
    let house = Plan::default().always(page("1")).house();
    let told = house.create().await.told();
    assert_eq!(told, "4001 INVALID_ADAPTER_RESPONSE none");
    let one = vec![Step::Answer(Response::One(raw("{}")))];
    let house = Plan::default().always(one).house();
    let told = house.find().await.told();
    assert_eq!(told, "4001 INVALID_ADAPTER_RESPONSE none");
}

#[tokio::test(start_paused = true)]
async fn the_last_page_says_so() {
    let said = Plan::default().house().find().await.value();
    let structured = &said["result"]["structuredContent"];
    assert_eq!(
        structured,
        &json!({ "orders": [], "nextCursor": Value::Null })
    );
}
