//! Input validation errors.

use crate::workspace::fixture::WorkspaceFixture;
use serde_json::json;

#[test]
fn invalid_input_type() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.executor(&[]);
    let failed = client.call_err("read_file", json!([]));
    assert_eq!(failed.code(), "INVALID_INPUT_TYPE");
    let failed = client.call_err("read_file", json!({ "path": 5 }));
    assert_eq!(failed.code(), "INVALID_INPUT_TYPE");
    let violations = failed.cause()["violations"].as_array().unwrap();
    assert_eq!(violations[0]["path"], "/path");
}

#[test]
fn invalid_input_format() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for arguments in [
        json!({ "path": "src/b", "content": "x", "plan_hash": "nonsense" }),
        json!({ "path": "src/b", "content": "x", "phase_id": "lower" }),
        json!({ "path": "src/b", "content": "x", "previous_hash": "0123" }),
        json!({ "path": "src/b", "content": "=x=", "encoding": "base64" }),
    ] {
        let failed = client.call_err("write_file", arguments);
        assert_eq!(failed.code(), "INVALID_INPUT_FORMAT", "{failed:?}");
        assert!(failed.cause()["violations"].is_array());
    }
    let mut planner = fixture.planner(&[]);
    let failed = planner.call_err("save_plan", json!({ "content": "title = " }));
    assert_eq!(failed.code(), "INVALID_INPUT_FORMAT");
}

#[test]
fn invalid_input_value() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for (tool, arguments) in [
        ("read_file", json!({ "path": "src/a.txt", "offset": 0 })),
        ("read_file", json!({ "path": "src/a.txt", "unknown": 0 })),
        (
            "write_file",
            json!({ "path": "src/b", "content": "x", "patch": "y" }),
        ),
        ("write_failure_report", json!({ "title": " ", "body": "b" })),
        ("search_files", json!({ "pattern": "" })),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "INVALID_INPUT_VALUE", "{failed:?}");
    }
}

#[test]
fn missing_required_field() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    for (tool, arguments) in [
        ("read_file", json!({})),
        ("write_file", json!({ "content": "x" })),
        ("write_file", json!({ "path": "src/b" })),
        ("delete_file", json!({ "path": "src/a.txt" })),
        ("apply_changes", json!({ "changes": [{ "path": "src/b" }] })),
    ] {
        let failed = client.call_err(tool, arguments);
        assert_eq!(failed.code(), "MISSING_REQUIRED_FIELD", "{failed:?}");
    }
}
