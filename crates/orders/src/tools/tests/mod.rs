//! The published schema of a tool's arguments and the struct that they are read into agree.

mod struct_fields;

use super::query::QueryArguments;
use crate::model::{
    CancelOrder, CreateOrder, CreateReturn, FulfillOrder, TIME_FILTERS, UpdateOrder,
};
use crate::{
    Adapter, AdapterFuture, Compat, Config, Filters, OrderOperation, OrdersServer, ReadinessFuture,
    Request, RequestContext, Response, cursor,
};
use candor_call_fixtures::{
    ObjectMembers, SchemaValues, answer, answer_line, assert_schema_agreement, call,
    schema_members, specification_instant,
};
use candor_street::{Dispatcher, MetricsHub};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use struct_fields::struct_fields;
use tokio::runtime::Runtime;

/// An adapter that records each request and succeeds.
#[derive(Default)]
struct RecordingAdapter(Mutex<Vec<Value>>);

impl Adapter for RecordingAdapter {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn readiness(&self) -> ReadinessFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn call<'a>(&'a self, request: &'a Request, _: &'a RequestContext) -> AdapterFuture<'a> {
        let recorded = serde_json::to_value(request).unwrap();
        self.0.lock().unwrap().push(recorded);
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let response = match request.operation().changes() {
            true => Response::one(raw("{}")),
            false => Response::page(raw("[]"), None),
        };
        Box::pin(std::future::ready(Ok(response)))
    }

    fn keeps_keys(&self) -> bool {
        true
    }
}

fn dispatcher(adapter: &Arc<RecordingAdapter>) -> Arc<Dispatcher<OrdersServer>> {
    let config = Config {
        calls_a_minute: None,
        tool_calls_a_minute: None,
        ..Config::default()
    };
    let metrics = MetricsHub::default();
    let adapter = Arc::clone(adapter) as Arc<dyn Adapter>;
    let server = OrdersServer::new(adapter, config, Arc::new(|| 0), metrics.clone());
    Dispatcher::new(server, Arc::new(specification_instant), &metrics).unwrap()
}

/// Returns the published schema of each tool's arguments.
fn argument_schemas() -> BTreeMap<String, Value> {
    let tools: Vec<Value> = serde_json::from_str(dispatcher(&Arc::default()).list()).unwrap();
    let schemas = tools.into_iter().map(|mut tool| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["inputSchema"].take())
    });
    schemas.collect()
}

/// Returns values that keep the argument rules: a discount below the price, ranges that end after they
/// start, no cursor, because only a page makes one.
fn examples() -> Vec<(&'static str, Vec<Value>)> {
    let min = json!("2024-10-12T14:00:00+02:00");
    let max = json!("2025-10-12T14:00:00+02:00");
    vec![
        ("cursor", Vec::new()),
        (
            "unitDiscount",
            vec![json!("0"), json!("0.5"), json!("00.50")],
        ),
        ("phones", vec![json!(["+49 30 1234567", "030/123 45 68"])]),
        ("outcome", vec![json!("exchange")]),
        ("createdAtMin", vec![min.clone()]),
        ("createdAtMax", vec![max.clone()]),
        ("updatedAtMin", vec![min]),
        ("updatedAtMax", vec![max]),
    ]
}

fn names(object: &Value) -> BTreeSet<&str> {
    let members = object.as_object().unwrap();
    members.keys().map(String::as_str).collect()
}

#[test]
fn arguments_that_fit_the_schema_arrive_whole() {
    let runtime = Runtime::new().unwrap();
    let adapter = Arc::default();
    let dispatcher = dispatcher(&adapter);
    for (tool, schema) in argument_schemas() {
        let operation = OrderOperation::read(&tool).unwrap();
        let examples = examples();
        let values = RefCell::new(SchemaValues::new(&schema, &examples));
        let mut runner = TestRunner::new(Runs {
            cases: 64,
            failure_persistence: None,
            ..Runs::default()
        });
        let generated = runner.run(&any::<u64>(), |seed| {
            let mut arguments = values.borrow_mut().generate(ObjectMembers::Some(seed));
            let answered = runtime.block_on(answer(&dispatcher, call(&tool, &arguments)));
            let line = answer_line(&answered);
            prop_assert!(!line.contains("\"isError\":true"), "{arguments}: {line}");
            prop_assert!(line.contains("\"result\":"), "{arguments}: {line}");
            let request = adapter.0.lock().unwrap().pop().unwrap();
            if operation.changes() {
                arguments
                    .as_object_mut()
                    .unwrap()
                    .shift_remove("idempotencyKey");
                prop_assert_eq!(request, arguments);
            } else {
                // Lists are sorted, times are normalized, and the page size has a default.
                let mut sent = names(&arguments);
                sent.insert("pageSize");
                prop_assert_eq!(names(&request), sent);
            }
            Ok(())
        });
        generated.unwrap();
    }
}

/// Asserts that each object of the schema has the members that its struct has.
fn assert_same_members<T: DeserializeOwned>(schema: &Value) {
    let mut arguments = SchemaValues::new(schema, &examples()).generate(ObjectMembers::All);
    let mut expected = schema_members(schema);
    expected.get_mut("").unwrap().remove("idempotencyKey");
    arguments
        .as_object_mut()
        .unwrap()
        .shift_remove("idempotencyKey");
    assert_eq!(struct_fields::<T>(&arguments), expected);
}

#[test]
fn structs_of_changes_take_exactly_what_the_schemas_publish() {
    let schemas = argument_schemas();
    let schema = |operation: OrderOperation| &schemas[operation.name()];
    assert_same_members::<CreateOrder>(schema(OrderOperation::CreateOrder));
    assert_same_members::<UpdateOrder>(schema(OrderOperation::UpdateOrder));
    assert_same_members::<CancelOrder>(schema(OrderOperation::CancelOrder));
    assert_same_members::<FulfillOrder>(schema(OrderOperation::FulfillOrder));
    assert_same_members::<CreateReturn>(schema(OrderOperation::CreateReturn));
}

/// The queries share one struct; each schema publishes the filters of its entity.
#[test]
fn struct_of_queries_takes_exactly_what_the_schemas_publish() {
    let mut published = BTreeSet::new();
    for (tool, schema) in argument_schemas() {
        if !OrderOperation::read(&tool).unwrap().changes() {
            published.extend(names(&schema["properties"]).into_iter().map(str::to_owned));
        }
    }
    let mut fields = struct_fields::<QueryArguments>(&Value::Object(serde_json::Map::new()));
    let root = fields.get_mut("").unwrap();
    root.extend(TIME_FILTERS.map(str::to_owned));
    assert_eq!(fields, BTreeMap::from([(String::new(), published)]));
}

#[test]
fn types_read_every_member_of_their_schemas() {
    let mut examples = examples();
    for tool in super::all(None) {
        let operation = OrderOperation::read(tool.name()).unwrap();
        let cursor = cursor::write(operation, &Filters::default(), "17.ord_1");
        examples[0] = ("cursor", vec![json!(cursor)]);
        assert_schema_agreement(&tool, &examples, &[]);
    }
}

#[test]
fn arguments_of_the_reference_are_answered_by_a_rule_or_a_success() {
    let runtime = Runtime::new().unwrap();
    let config = Config {
        calls_a_minute: None,
        tool_calls_a_minute: None,
        compat: Some(Compat::Reference),
        ..Config::default()
    };
    let metrics = MetricsHub::default();
    let adapter: Arc<RecordingAdapter> = Arc::default();
    let server = OrdersServer::new(adapter, config, Arc::new(|| 0), metrics.clone());
    let dispatcher = Dispatcher::new(server, Arc::new(specification_instant), &metrics).unwrap();
    let tools: Vec<Value> = serde_json::from_str(dispatcher.list()).unwrap();
    for tool in tools {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        let examples = examples();
        let mut values = SchemaValues::new(schema, &examples);
        let mut successes = 0;
        for seed in 0..200 {
            let arguments = values.generate(ObjectMembers::Some(seed));
            let answered = runtime.block_on(answer(&dispatcher, call(name, &arguments)));
            let line = answer_line(&answered);
            // Neither the schema nor the type refuses what the schema admits.
            assert!(line.contains("\"result\":"), "{arguments}: {line}");
            successes += usize::from(!line.contains("\"isError\":true"));
        }
        assert!(successes > 10, "{name}: {successes}");
    }
}
