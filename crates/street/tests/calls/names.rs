//! The list and the lookup of tools.

use crate::fixture::{RecordingServer, answer_until, describe_answer, raw_call};
use candor_street::{CancellationToken, Server, Tool, ToolError, ToolNames, Tools, reply};
use serde_json::{Value, json};

#[tokio::test]
async fn dotted_name_is_also_found_with_an_underscore() {
    for name in ["station.read", "station_read"] {
        let (dispatcher, _, _, _) = RecordingServer::new().dispatcher();
        let call = raw_call(name, Some("{\"steps\":[]}".into()));
        assert_eq!(
            describe_answer(&answer_until(&dispatcher, call, CancellationToken::new()).await),
            "ok"
        );
    }
}

fn tool(name: &'static str) -> Tool<RecordingServer> {
    let run = |_, _: Value, _| async { reply(&json!({})) };
    Tool::read_only(name, "Does nothing.", json!({ "type": "object" }), run)
}

fn tools(names: &[&'static str]) -> Tools<RecordingServer> {
    names
        .iter()
        .fold(Tools::new("s", "1"), |tools, name| tools.with(tool(name)))
}

#[test]
fn tool_list_is_sorted_and_stable() {
    let listed = tools(&["b.x", "a"]).list();
    assert_eq!(
        listed,
        concat!(
            r#"[{"name":"a","description":"Does nothing.","inputSchema":{"type":"object"},"#,
            r#""annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},"#,
            r#"{"name":"b.x","description":"Does nothing.","inputSchema":{"type":"object"},"#,
            r#""annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]"#,
        )
    );
    assert!(
        tools(&["b.x"])
            .with_name_style(ToolNames::Underscore)
            .list()
            .contains(r#""name":"b_x""#)
    );
}

fn marked_tool(property: Value) -> Tools<RecordingServer> {
    let schema = json!({ "type": "object", "properties": { "region": property } });
    let run = |_, _: Value, _| async { reply(&json!({})) };
    let tool = Tool::read_only("look_up", "Does nothing.", schema, run);
    Tools::new("s", "1").with(tool)
}

#[test]
fn header_mark_that_no_client_can_follow_is_refused() {
    let good = marked_tool(json!({ "type": "string", "x-mcp-header": "Region" }));
    assert_eq!(good.verify(), Ok(()));
    assert!(good.list().contains(r#""x-mcp-header":"Region""#));
    let names: Vec<_> = good.all()[0].header_arguments().iter().collect();
    assert_eq!(names[0].name(), "Region");
    let error = |property| marked_tool(property).verify().unwrap_err().to_string();
    assert_eq!(
        error(json!({ "type": "number", "x-mcp-header": "Region" })),
        "the schema of `look_up`: `x-mcp-header` of the property `region` needs the one type `string`, `integer` or `boolean`"
    );
    assert_eq!(
        error(json!({ "type": "string", "x-mcp-header": "my region" })),
        "the schema of `look_up`: `x-mcp-header` of the property `region` is not a token of RFC 9110"
    );
}

#[test]
fn invalid_and_duplicate_tool_names_are_refused() {
    assert_eq!(tools(&["a", "b-c", "d_e"]).verify(), Ok(()));
    assert_eq!(tools(&["a b"]).verify(), Err(ToolError::Name("a b".into())));
    assert_eq!(tools(&[""]).verify(), Err(ToolError::Name(String::new())));
    assert_eq!(
        tools(&["a", "a"]).verify(),
        Err(ToolError::Twice("a".into()))
    );
    assert_eq!(
        tools(&["a.b", "a_b"]).verify(),
        Err(ToolError::Twice("a.b".into()))
    );
    assert_eq!(RecordingServer::new().tools().verify(), Ok(()));
}
