//! A day of an agent, through the official Rust client: it looks around, searches, reads on to the end,
//! mends a wrong id from the answer alone, and reads a resource.

use crate::context::fixture::{ContextFixture, run_command};
use crate::fixture::context;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;
use tokio::process::Command;

/// The document that the agent looks for.
pub(crate) const GUIDE: &str = "# Merging\n\nMerge a branch with `git merge`.\n\n## Undo\n\nRevert the merge commit with `git revert -m 1`.\nThen push.\n";

/// Returns the directory of the caches that the agent is given, with the same bytes in every run.
pub(crate) fn caches() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/guide/Merging.md", GUIDE);
    fixture.write("docs/install.md", "# Install\n\nRun the installer.\n");
    fs::create_dir(fixture.path("caches")).unwrap();
    let mut build = fixture.command(&["build", "--sources", "docs", "--cache", "caches/docs"]);
    build.env("SOURCE_DATE_EPOCH", "1700000000");
    assert_eq!(run_command(build).code, 0);
    fixture
}

fn structured(result: &CallToolResult) -> Value {
    result.structured_content.clone().unwrap()
}

#[tokio::test]
async fn agent_finds_reads_and_recovers_in_both_eras() {
    let fixture = caches();
    let eras = [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    ];
    for era in eras {
        let mut command = Command::new(context());
        command.arg("serve").arg(fixture.path("caches"));
        let process = TokioChildProcess::builder(command).stderr(Stdio::null());
        let (process, _) = process.spawn().unwrap();
        let mut session = ().serve_with_lifecycle(process, era).await.unwrap();
        let tools = session.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["context_get", "context_list", "context_search"]);
        let call = async |tool: &'static str, arguments: Value| {
            let arguments = arguments.as_object().unwrap().clone();
            let call = CallToolRequestParams::new(tool).with_arguments(arguments);
            session.call_tool(call).await.unwrap()
        };
        let mut day = String::new();
        // The agent lists the caches and one level of the first.
        let caches = structured(&call("context_list", json!({})).await);
        let cache = caches["caches"][0]["cache"].clone();
        let level = structured(&call("context_list", json!({ "cache": cache })).await);
        day += &format!("{}\n", level["entries"]);
        // Which passage answers the question?
        let question = json!({ "query": "undo revert roll back a merge", "budget": 60 });
        let found = structured(&call("context_search", question).await);
        let passage = &found["passages"][0];
        day += &format!(
            "{} {} {}\n",
            passage["id"], passage["lines"], passage["heading"]
        );
        // The rest of the document, in small steps.
        let mut read = String::new();
        let mut next = json!({ "id": passage["id"], "cache": passage["cache"], "version": passage["version"], "budget": 12 });
        let mut steps = 0;
        loop {
            let part = structured(&call("context_get", next.clone()).await);
            read += part["content"].as_str().unwrap();
            steps += 1;
            if part["next"].is_null() {
                break;
            }
            next["range"] = part["next"].clone();
        }
        assert_eq!(read, GUIDE);
        day += &format!("{steps} steps\n");
        // A wrong id, corrected by the text of the failure alone.
        let wrong = call("context_get", json!({ "id": "docs/Merging.md" })).await;
        assert_eq!(wrong.is_error, Some(true));
        let text = json!(wrong.content)[0]["text"].as_str().unwrap().to_owned();
        let sentence = text.lines().next().unwrap();
        day += &format!("{sentence}\n");
        let (_, near) = sentence.split_once("near: `").unwrap();
        let (id, _) = near.split_once('`').unwrap();
        let mended = structured(&call("context_get", json!({ "id": id })).await);
        assert_eq!(mended["content"], GUIDE);
        // The same document as a resource.
        let resources = session.list_all_resources().await.unwrap();
        let resource = json!(resources[0]);
        day += &format!("{resource}\n");
        let uri = resource["uri"].as_str().unwrap();
        let contents = session
            .read_resource(ReadResourceRequestParams::new(uri))
            .await;
        assert_eq!(json!(contents.unwrap().contents)[0]["text"], GUIDE);
        insta::assert_snapshot!("day", day);
        session.close().await.unwrap();
    }
}
