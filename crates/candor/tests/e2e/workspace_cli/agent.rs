//! An agent: the Rust client `rmcp`, with the server that the person configured.

use crate::workspace_cli::place::{CANDOR, LIMIT, Place};
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::{Child, Command};

pub(crate) struct Agent {
    session: RunningService<RoleClient, ()>,
    process: Child,
}

impl Agent {
    /// Starts the server that `init` told the client to run.
    pub(crate) async fn configured(place: &Place, config: &Value) -> Agent {
        let server = &config["mcpServers"]["candor-workspace"];
        let args = server["args"].as_array().unwrap();
        let args: Vec<_> = args.iter().map(|arg| arg.as_str().unwrap()).collect();
        Agent::start(place, server["command"].as_str().unwrap(), &args).await
    }

    /// An executor, whose session has begun.
    pub(crate) async fn executor(place: &Place) -> Agent {
        let args = ["workspace", "serve", "--role", "executor"];
        let agent = Agent::start(place, CANDOR, &args).await;
        agent.begin(place).await;
        agent
    }

    /// A planner, whose session has begun.
    pub(crate) async fn planner(place: &Place) -> Agent {
        let args = ["workspace", "serve", "--role", "planner"];
        let agent = Agent::start(place, CANDOR, &args).await;
        agent.begin(place).await;
        agent
    }

    async fn start(place: &Place, program: &str, args: &[&str]) -> Agent {
        let mut command = Command::from(place.command(program, args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).kill_on_drop(true);
        let mut process = command.spawn().expect("the server can be started");
        let input = process.stdin.take().expect("stdin is piped");
        let output = process.stdout.take().expect("stdout is piped");
        let session = ().serve((output, input)).await;
        let session = session.expect("the client takes the server");
        Agent { session, process }
    }

    pub(crate) async fn begin(&self, place: &Place) {
        let root = json!({ "workspace_root": place.ws().to_str().unwrap() });
        self.done("begin_session", root).await;
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> (bool, Value) {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.session.call_tool(params).await.unwrap();
        let content = serde_json::to_value(&result.content).unwrap();
        let text = content[0]["text"].as_str().unwrap();
        let said = serde_json::from_str(text).unwrap();
        (result.is_error.unwrap_or_default(), said)
    }

    /// What a call that succeeds answers.
    pub(crate) async fn done(&self, tool: &'static str, arguments: Value) -> Value {
        let (is_error, said) = self.call(tool, arguments).await;
        assert!(!is_error, "{tool}: {said}");
        said
    }

    /// The envelope of a call that fails.
    pub(crate) async fn failed(&self, tool: &'static str, arguments: Value) -> Value {
        let (is_error, said) = self.call(tool, arguments).await;
        assert!(is_error, "{tool}: {said}");
        said
    }

    /// The client goes, and the server with it.
    pub(crate) async fn end(mut self) {
        self.session.close().await.unwrap();
        let ended = tokio::time::timeout(LIMIT, self.process.wait()).await;
        assert!(ended.unwrap().unwrap().success());
    }
}
