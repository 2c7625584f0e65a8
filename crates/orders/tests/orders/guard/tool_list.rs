//! The list of tools.

use crate::fixture::guarded::ServerBuilder;
use candor_orders::OrderOperation;
use serde_json::Value;

/// The most bytes that a model receives before its first call.
const MOST: usize = 30 * 1024;

#[test]
fn tool_list_is_small_and_stable() {
    let server = ServerBuilder::default().build();
    let list = server.dispatcher.list();
    assert!(list.len() <= MOST, "{}", list.len());
    assert_eq!(list, ServerBuilder::default().build().dispatcher.list());
    let tools: Vec<Value> = serde_json::from_str(list).unwrap();
    let lines: Vec<_> = tools.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_operation_is_a_tool_with_its_annotations() {
    let server = ServerBuilder::default().build();
    let tools: Vec<Value> = serde_json::from_str(server.dispatcher.list()).unwrap();
    assert_eq!(tools.len(), OrderOperation::ALL.len());
    for tool in tools {
        let operation = OrderOperation::read(tool["name"].as_str().unwrap()).unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], !operation.changes());
        assert_eq!(tool["annotations"]["idempotentHint"], true);
        let required = tool["inputSchema"]["required"].as_array().unwrap();
        assert_eq!(
            required.contains(&Value::from("idempotencyKey")),
            operation.changes()
        );
    }
}
