//! The permission to write is checked before the arguments.

use crate::fixture::server::{FixtureOptions, ServerFixture, ToolAnswer, call, fixture};
use crate::fixture::valid_arguments::{self, WRITES};
use serde_json::{Value, json};

fn read_only() -> ServerFixture {
    FixtureOptions::default()
        .with(|options| options.config.allow_writes = false)
        .fixture()
}

/// Arguments that nothing but the order of a call keeps from being refused themselves.
fn wrong() -> Vec<Value> {
    vec![Value::Null, json!({ "zzz": 1 }), json!([])]
}

async fn without_token(fixture: &ServerFixture, tool: &str, arguments: &Value) -> ToolAnswer {
    let mut call = call(tool, arguments);
    call.peer.may_write = false;
    fixture.answer_call(call).await
}

#[tokio::test]
async fn read_only_server_refuses_before_anything_else() {
    let fixture = read_only();
    let expected = |tool: &str| {
        format!(
            concat!(
                r#"{{"code":-32001,"message":"Permission denied: this server does not change anything","#,
                r#""data":{{"tool":"{}","timestamp":"2025-10-12T15:49:21.049Z","#,
                r#""fault":{{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","#,
                r#""remedy":"Ask the owner of this server to start it with --allow-writes."}}}}}}"#
            ),
            tool
        )
    };
    for tool in WRITES {
        for arguments in wrong().into_iter().chain([valid_arguments::for_tool(tool)]) {
            let answer = fixture.call_tool(tool, arguments.clone()).await;
            assert_eq!(answer.text(), expected(tool), "{arguments}");
            // The refusal is the same without a token.
            let answer = without_token(&fixture, tool, &arguments).await;
            assert_eq!(answer.text(), expected(tool), "{arguments}");
        }
    }
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn caller_without_write_token_has_its_own_refusal() {
    let fixture = fixture();
    for tool in WRITES {
        for arguments in wrong().into_iter().chain([valid_arguments::for_tool(tool)]) {
            let answer = without_token(&fixture, tool, &arguments).await;
            assert_eq!(answer.code(), -32001);
            assert_eq!(
                answer.message(),
                "Permission denied: this tool asks for the token for writing"
            );
            let error = answer.error();
            let remedy = error["data"]["fault"]["remedy"].as_str().unwrap();
            assert!(remedy.contains("--write-bearer-file"), "{remedy}");
        }
    }
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn reading_needs_no_permission() {
    let fixture = read_only();
    for (tool, arguments) in valid_arguments::every_tool() {
        if !WRITES.contains(&tool) {
            let answer = without_token(&fixture, tool, &arguments).await;
            answer.value();
        }
    }
}

#[tokio::test]
async fn server_without_a_log_writes_nothing() {
    let fixture = FixtureOptions::default()
        .with(|options| options.without_log = true)
        .fixture();
    for tool in WRITES {
        let answer = fixture
            .call_tool(tool, valid_arguments::for_tool(tool))
            .await;
        assert_eq!(
            (answer.code(), answer.effect()),
            (-32603, String::from("none"))
        );
    }
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
}
