//! An agent: the Rust client `rmcp`, with the server that the owner configured.

use crate::fixture::{CANDOR, LIMIT};
use crate::workspace_cli::fixture::OwnerFixture;
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
    /// Starts the server that `init` printed for the client.
    pub(crate) async fn configured(fixture: &OwnerFixture, config: &Value) -> Agent {
        let server = &config["mcpServers"]["candor-workspace"];
        let args = server["args"].as_array().unwrap();
        let args: Vec<_> = args.iter().map(|arg| arg.as_str().unwrap()).collect();
        Agent::start(fixture, server["command"].as_str().unwrap(), &args).await
    }

    /// Starts a session of an executor.
    pub(crate) async fn executor(fixture: &OwnerFixture) -> Agent {
        let args = ["workspace", "serve", "--role", "executor"];
        let agent = Agent::start(fixture, CANDOR, &args).await;
        agent.begin(fixture).await;
        agent
    }

    /// Starts a session of a planner.
    pub(crate) async fn planner(fixture: &OwnerFixture) -> Agent {
        let args = ["workspace", "serve", "--role", "planner"];
        let agent = Agent::start(fixture, CANDOR, &args).await;
        agent.begin(fixture).await;
        agent
    }

    async fn start(fixture: &OwnerFixture, program: &str, args: &[&str]) -> Agent {
        let mut command = Command::from(fixture.command(program, args));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).kill_on_drop(true);
        let mut process = command.spawn().expect("the server can be started");
        let input = process.stdin.take().expect("stdin is piped");
        let output = process.stdout.take().expect("stdout is piped");
        let session = ().serve((output, input)).await;
        let session = session.expect("the client takes the server");
        Agent { session, process }
    }

    pub(crate) async fn begin(&self, fixture: &OwnerFixture) {
        let root = json!({ "workspace_root": fixture.workspace().to_str().unwrap() });
        self.call_ok("begin_session", root).await;
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> (bool, Value) {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.session.call_tool(params).await.unwrap();
        let content = serde_json::to_value(&result.content).unwrap();
        let text = content[0]["text"].as_str().unwrap();
        let content = serde_json::from_str(text).unwrap();
        (result.is_error.unwrap_or_default(), content)
    }

    /// Makes a call that must succeed and returns its content.
    pub(crate) async fn call_ok(&self, tool: &'static str, arguments: Value) -> Value {
        let (is_error, content) = self.call(tool, arguments).await;
        assert!(!is_error, "{tool}: {content}");
        content
    }

    /// Makes a call that must fail and returns its envelope.
    pub(crate) async fn call_err(&self, tool: &'static str, arguments: Value) -> Value {
        let (is_error, content) = self.call(tool, arguments).await;
        assert!(is_error, "{tool}: {content}");
        content
    }

    /// Closes the session; the server must then exit with 0.
    pub(crate) async fn end(mut self) {
        self.session.close().await.unwrap();
        let ended = tokio::time::timeout(LIMIT, self.process.wait()).await;
        assert!(ended.unwrap().unwrap().success());
    }
}
