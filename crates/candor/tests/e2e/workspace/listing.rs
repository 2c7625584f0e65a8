//! The tools that each role lists.

use crate::workspace::fixture::{EXECUTOR, PLANNER, WorkspaceFixture};
use serde_json::{Value, json};

const BOTH: [&str; 11] = [
    "begin_session",
    "list_files",
    "list_plans",
    "read_audit_log",
    "read_file",
    "read_plan",
    "search_files",
    "session_status",
    "verify_audit_log",
    "wait_for_approval",
    "write_failure_report",
];

/// The tools that a server lists, as they came.
pub(crate) fn listed(fixture: &WorkspaceFixture, role: &str) -> (String, Vec<Value>) {
    let mut client = fixture.serve(role, &[]);
    let text = client
        .server
        .ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer["result"]["nextCursor"].is_null(), "{answer}");
    let tools = answer["result"]["tools"].as_array().unwrap().clone();
    (text, tools)
}

#[test]
fn each_role_lists_its_own_tools() {
    let fixture = WorkspaceFixture::new();
    let tools_of_role: [(&str, &[&str]); 2] = [
        (PLANNER, &["lint_plan", "save_plan"]),
        (
            EXECUTOR,
            &[
                "apply_changes",
                "delete_file",
                "move_file",
                "run_command",
                "run_preflight",
                "write_file",
            ],
        ),
    ];
    for (role, tools_of_role) in tools_of_role {
        let (text, tools) = listed(&fixture, role);
        assert!(text.len() < 20 * 1024, "{role}: {} bytes", text.len());
        let names: Vec<_> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let mut expected: Vec<_> = BOTH.iter().chain(tools_of_role).copied().collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{role}");
    }
}

#[test]
fn tool_of_the_other_role_is_refused() {
    let fixture = WorkspaceFixture::new();
    let mut planner = fixture.planner(&["--lock-after", "1000"]);
    let mut executor = fixture.executor(&["--lock-after", "1000"]);
    for tool in [
        "apply_changes",
        "delete_file",
        "run_preflight",
        "write_file",
    ] {
        assert_eq!(planner.call_code(tool, json!({})), "UNAUTHORIZED_ACTION");
    }
    for tool in ["lint_plan", "save_plan"] {
        assert_eq!(executor.call_code(tool, json!({})), "UNAUTHORIZED_ACTION");
    }
}
