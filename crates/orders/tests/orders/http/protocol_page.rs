//! The examples of the protocol page are what is sent and accepted.

use crate::fixture::http_adapter::{send_request, settings};
use crate::fixture::http_server::{start_changing, start_playing};
use crate::fixture::sample_adapter::{SampleAdapter, run_checks};
use candor_orders::check::CheckOptions;
use candor_orders::http::{HttpAdapter, HttpSettings};
use candor_orders::model::{OrderStatus, UtcTime};
use candor_orders::{
    EntityQuery, Failure, Filters, OrderOperation, PAGE_DEFAULT, Request, Response,
};
use candor_testkit::scripted_http::{ScriptedResponse, ScriptedServer};
use serde_json::Value;
use std::sync::{Arc, Mutex};

const PAGE: &str = include_str!("../../../../../docs/adapter-protocol.md");

/// Returns the examples of a kind, with their names.
fn examples(kind: &str) -> Vec<(&'static str, &'static str)> {
    let start = format!("```json {kind}");
    let lines: Vec<_> = PAGE.lines().collect();
    let found = lines.windows(3).filter(|lines| lines[2] == "```");
    let found = found.filter_map(|lines| Some((lines[0].strip_prefix(&start)?.trim(), lines[1])));
    found.collect()
}

/// Parses a change.
fn change(operation: OrderOperation, text: &str) -> Request {
    let text = serde_json::from_str::<Value>(text).unwrap();
    match operation {
        OrderOperation::CreateOrder => Request::Create(serde_json::from_value(text).unwrap()),
        OrderOperation::UpdateOrder => Request::Update(serde_json::from_value(text).unwrap()),
        OrderOperation::CancelOrder => Request::Cancel(serde_json::from_value(text).unwrap()),
        OrderOperation::FulfillOrder => Request::Fulfill(serde_json::from_value(text).unwrap()),
        OrderOperation::CreateReturn => Request::Return(serde_json::from_value(text).unwrap()),
        _ => panic!("a query"),
    }
}

fn query(operation: OrderOperation, filters: Filters) -> Request {
    Request::Query(Box::new(EntityQuery {
        operation,
        filters,
        page_size: PAGE_DEFAULT,
        after: None,
    }))
}

/// Returns the request on the page. It must be sent as it is shown there.
fn request(operation: OrderOperation) -> Request {
    let examples = examples("request");
    let shown = examples.iter().find(|(name, _)| *name == operation.name());
    let request = match shown {
        None => return query(operation, Filters::default()),
        Some((_, text)) if operation.changes() => change(operation, text),
        Some(_) => query(
            operation,
            Filters {
                statuses: Some(vec![OrderStatus::Pending, OrderStatus::Confirmed]),
                created_at_min: UtcTime::read("2025-10-01T00:00:00Z"),
                ..Filters::default()
            },
        ),
    };
    let sent = serde_json::to_string(&request).unwrap();
    assert_eq!(Some(sent.as_str()), shown.map(|(_, text)| *text));
    request
}

/// Rewrites instants in Candor's form.
fn utc(mut value: Value) -> Value {
    fn each(value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
                match member.as_str().filter(|_| name.ends_with("At")) {
                    Some(text) => *member = UtcTime::read(text).unwrap().text().into(),
                    None => each(member),
                }
            }),
            Value::Array(items) => items.iter_mut().for_each(each),
            _ => {}
        }
    }
    each(&mut value);
    value
}

#[tokio::test]
async fn answers_on_the_page_are_accepted() {
    let current = Arc::new(Mutex::new(ScriptedResponse::text(500, "")));
    let server = start_changing(Arc::clone(&current)).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let answers = examples("answer");
    assert_eq!(answers.len(), 7);
    for (name, text) in answers {
        *current.lock().unwrap() = ScriptedResponse::text(200, text);
        let operation = OrderOperation::read(name).unwrap();
        let (result, _) = send_request(&adapter, &request(operation)).await;
        let (member, next) = match result.unwrap() {
            Response::One { entity, .. } => (entity, None),
            Response::Page { items, next, .. } => (items, next),
        };
        let shown: Value = serde_json::from_str(text).unwrap();
        let taken: Value = serde_json::from_str(member.get()).unwrap();
        assert_eq!(taken, utc(shown[operation.member()].clone()));
        assert_eq!(next.as_deref(), shown["nextCursor"].as_str());
    }
}

#[tokio::test]
async fn requests_on_the_page_are_sent_and_accepted() {
    let requests = examples("request");
    assert_eq!(requests.len(), 6);
    for (name, _) in &requests {
        request(OrderOperation::read(name).unwrap());
    }
    let sample = SampleAdapter::start(&[]);
    let adapter = HttpAdapter::connect(&HttpSettings::new(&sample.url))
        .await
        .unwrap();
    let (result, _) = send_request(&adapter, &request(OrderOperation::CreateOrder)).await;
    let Ok(Response::One { entity: order, .. }) = result else {
        panic!("{result:?}");
    };
    assert!(order.get().contains(r#""total":"64.50""#), "{order}");
}

#[tokio::test]
async fn capabilities_and_failures_are_read() {
    let (_, text) = examples("capabilities")[0];
    let server = ScriptedServer::start(move |_| ScriptedResponse::text(200, text)).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    assert_eq!(adapter.capabilities().await.unwrap().operations.len(), 4);
    let (status, text) = examples("failure")[0];
    let server = start_playing(ScriptedResponse::text(status.parse().unwrap(), text)).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (result, _) = send_request(&adapter, &request(OrderOperation::CreateOrder)).await;
    let Err(Failure::Final(stands, _)) = result else {
        panic!("{result:?}");
    };
    insta::assert_snapshot!(format!("{stands:?}"), @r#"Refusal(OrderRefusal { reason: InsufficientInventory, field: Some("order.lineItems.0.quantity"), status: None, available: Some(3), available_amount: None, return_status: None, scope: None, tool: None })"#);
}

#[tokio::test]
async fn every_check_is_documented() {
    let sample = SampleAdapter::start(&[]);
    let report = run_checks(&HttpSettings::new(&sample.url), CheckOptions::default()).await;
    for check in report.checks {
        let name = format!("`{}`", check.name);
        let row = |line: &&str| line.starts_with('|') && line.contains(&name);
        assert!(PAGE.lines().any(|line| row(&line)), "{name}");
    }
}
