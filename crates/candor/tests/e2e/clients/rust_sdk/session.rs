//! One session of the client, reported step by step as the runners of the other clients do.

use crate::clients::cases::Case;
use crate::clients::report::{Era, STATELESS};
use crate::clients::target::Target;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{IntoTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::Command;

/// The client sends `server/discover`, and accepts only the new era.
pub(crate) const DISCOVER: &str = STATELESS;

/// The client sends `server/discover`, and falls back to the handshake.
pub(crate) const AUTO: &str = "auto";

pub(crate) type Session = RunningService<RoleClient, ()>;

/// Runs one session. The report has one value for each step.
pub(crate) async fn run(target: &Target, era: Era, cases: &[Case]) -> Vec<Value> {
    let mut session = connect(target, era).await;
    let mut report = vec![introduction(&session), list(&session).await];
    for (index, case) in cases.iter().enumerate() {
        let mut step = json!({ "step": "call", "index": index });
        let outcome = call(&session, case.name, &case.arguments).await;
        if let (Value::Object(step), Value::Object(outcome)) = (&mut step, outcome) {
            step.extend(outcome);
        }
        report.push(step);
    }
    let closed = session.close().await.is_ok();
    report.push(json!({ "step": "close", "ok": closed }));
    report
}

/// Connects to a server.
pub(crate) async fn connect(target: &Target, era: Era) -> Session {
    match target {
        Target::Stdio { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            let process = TokioChildProcess::builder(command).stderr(Stdio::null());
            let (process, _) = process.spawn().expect("the server can be started");
            serve(process, era).await
        }
        Target::Http { url, .. } => {
            // Servers under test are on loopback, which no proxy can reach.
            let http = reqwest::Client::builder().no_proxy().build();
            let http = http.expect("a client without settings can be built");
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            serve(
                StreamableHttpClientTransport::with_client(http, config),
                era,
            )
            .await
        }
    }
}

async fn serve<T, E, A>(transport: T, era: Era) -> Session
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era.requested {
        Some(DISCOVER) => ClientLifecycleMode::Discover { preferred_versions },
        Some(AUTO) => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    let served = ().serve_with_lifecycle(transport, lifecycle).await;
    served.expect("the client takes the server")
}

fn introduction(session: &Session) -> Value {
    let server = session.peer_info().expect("the server is known");
    let name = |server: &rmcp::model::Implementation| json!({ "name": server.name, "version": server.version });
    json!({
        "step": "connect",
        "ok": true,
        "protocol": server.protocol_version,
        "server": server.server_info.as_ref().map(name),
        "instructions": server.instructions
    })
}

async fn list(session: &Session) -> Value {
    let tools = session.list_all_tools().await.expect("tools are listed");
    let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
    json!({ "step": "list", "tools": names })
}

/// Makes one call. Returns its outcome as the report describes it.
pub(crate) async fn call(session: &Session, name: &'static str, arguments: &Value) -> Value {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    match session.call_tool(params).await {
        Ok(result) => of_result(result),
        Err(ServiceError::McpError(error)) => json!({
            "outcome": "error",
            "code": error.code,
            "message": error.message,
            "data": error.data
        }),
        Err(other) => json!({ "outcome": "refused", "reason": other.to_string() }),
    }
}

fn of_result(result: CallToolResult) -> Value {
    let mut extra = json!({});
    if let Some(kind) = &result.result_type {
        extra["resultType"] = json!(kind);
    }
    json!({
        "outcome": "result",
        "is_error": result.is_error.unwrap_or_default(),
        "content": result.content,
        "structured": result.structured_content,
        "meta": result.meta,
        "extra": extra
    })
}
