//! The official Rust client, `rmcp`, with the context server.

use crate::context::fixture::{ContextFixture, error_object};
use crate::fixture::context;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::Command;

fn text(result: &CallToolResult) -> Value {
    assert_eq!((&result.structured_content, &result.meta), (&None, &None));
    json!(result.content)
}

#[tokio::test]
async fn rust_client_gets_answers_and_failures_in_both_eras() {
    let fixture = ContextFixture::with_cache();
    let eras = [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ];
    for era in eras {
        let mut command = Command::new(context());
        command.args(["serve", "--root"]).arg(fixture.root());
        let process = TokioChildProcess::builder(command).stderr(Stdio::null());
        let (process, _) = process.spawn().unwrap();
        let mut session = ().serve_with_lifecycle(process, era).await.unwrap();
        let tools = session.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            names,
            [
                "context.inspect_cache",
                "context.list_caches",
                "context.resolve"
            ]
        );
        let call = async |cache: &str, budget: i64| {
            let arguments = json!({ "cache": cache, "query": "fox", "budget": budget });
            let arguments = arguments.as_object().unwrap().clone();
            let arguments = CallToolRequestParams::new("context.resolve").with_arguments(arguments);
            session.call_tool(arguments).await.unwrap()
        };
        let good = call("cache", 9).await;
        assert_ne!(good.is_error, Some(true));
        let output = fixture.resolve("cache", "fox", "9").stdout;
        assert_eq!(text(&good), json!([{ "type": "text", "text": output }]));
        for (cache, budget, code) in [
            ("cache", -1, "invalid_budget"),
            ("nowhere", 9, "cache_missing"),
            ("docs", 9, "cache_invalid"),
        ] {
            let failed = call(cache, budget).await;
            assert_eq!(failed.is_error, Some(true), "{code}");
            assert_eq!(
                text(&failed),
                json!([{ "type": "text", "text": error_object(code) }])
            );
        }
        session.close().await.unwrap();
    }
}
