//! The tools: their register, their roles, and how each one is run.

mod audit;
mod commands;
mod planning;
mod plans;
mod preflight;
mod reading;
mod report;
mod run_command;
mod sessions;
mod writing;

use crate::dialect::Workspace;
use crate::failure::Failure;
use crate::notes::CallNotes;
use crate::role::Role;
use crate::server::WorkspaceServer;
use crate::session::Session;
use candor_fault::Fault;
use candor_street::{CallContext, CallStopped, Reply, Tool, Tools, reply};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) use run_command::RunCommand;
pub(crate) use sessions::{BEGIN_SESSION, SESSION_STATUS};
pub(crate) use writing::{ChangeRequest, PlanChoice, RequestedChange};

pub use audit::{MAX_LINES, MAX_LINES_BYTES};
pub use plans::MAX_WAIT_S;
pub use report::{MAX_BODY, MAX_TITLE, REPORTS_DIR};
pub use run_command::{MAX_STDIN, MAX_TIMEOUT_S};
pub use writing::MAX_PATHS_BYTES;

/// The roles that may use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolRole {
    Both,
    Only(Role),
}

/// Every tool with its roles, and whether it works in a locked session. A tool that is not listed here is
/// not served.
const REGISTER: &[(&str, ToolRole, bool)] = {
    use Role::{Executor, Planner};
    use ToolRole::{Both, Only};
    &[
        ("apply_changes", Only(Executor), false),
        ("begin_session", Both, true),
        ("delete_file", Only(Executor), false),
        ("lint_plan", Only(Planner), true),
        ("list_files", Both, true),
        ("list_plans", Both, true),
        ("move_file", Only(Executor), false),
        ("read_audit_log", Both, true),
        ("read_file", Both, true),
        ("read_plan", Both, true),
        ("run_command", Only(Executor), false),
        ("run_preflight", Only(Executor), false),
        ("save_plan", Only(Planner), false),
        ("search_files", Both, true),
        ("session_status", Both, true),
        ("verify_audit_log", Both, true),
        ("wait_for_approval", Both, true),
        ("write_failure_report", Both, true),
        ("write_file", Only(Executor), false),
    ]
};

fn registered(name: &str) -> Option<(ToolRole, bool)> {
    let row = REGISTER.iter().find(|(known, ..)| *known == name);
    row.map(|(_, whose, locked)| (*whose, *locked))
}

/// Returns true if a tool works in a locked session.
pub(crate) fn works_when_locked(name: &str) -> bool {
    registered(name).is_some_and(|(_, locked)| locked)
}

/// Returns true if a tool works although the log has reached its maximum size.
pub(crate) fn works_when_the_log_is_full(name: &str) -> bool {
    [BEGIN_SESSION, SESSION_STATUS].contains(&name)
}

fn is_for(name: &str, role: Role) -> bool {
    let whose = registered(name).map(|(whose, _)| whose);
    matches!(whose, Some(ToolRole::Both)) || whose == Some(ToolRole::Only(role))
}

/// Returns every tool; those of the other role are present but not listed.
pub(crate) fn all(role: Role) -> Vec<Tool<WorkspaceServer>> {
    let groups = [
        sessions::tools(),
        reading::tools(),
        plans::tools(),
        planning::tools(),
        writing::tools(),
        preflight::tools(),
        run_command::tools(),
        report::tools(),
        audit::tools(),
    ];
    let tools = groups.into_iter().flatten();
    tools
        .map(|tool| match is_for(tool.name(), role) {
            true => tool,
            false => tool.unlisted(),
        })
        .collect()
}

/// Returns how the served tools differ from the register, if they do.
pub(crate) fn disagreement(tools: &Tools<WorkspaceServer>, role: Role) -> Option<String> {
    let served = tools.all();
    let odd = served.iter().find(|tool| {
        registered(tool.name()).is_none() || tool.is_listed() != is_for(tool.name(), role)
    });
    if let Some(tool) = odd {
        return Some(format!(
            "the tool {} is served, but the register has it otherwise",
            tool.name()
        ));
    }
    let names = REGISTER.iter().map(|(name, ..)| *name);
    let mut missing = names.filter(|name| !served.iter().any(|tool| tool.name() == *name));
    missing
        .next()
        .map(|name| format!("the tool {name} is in the register, but it is not served"))
}

/// The arguments of a tool that has none.
#[derive(Deserialize)]
struct NoArguments {}

/// The context of a running tool.
struct ToolContext {
    server: Arc<WorkspaceServer>,
    session: Arc<Session>,
    cx: CallContext<CallNotes>,
}

/// Runs the work of a tool on a thread that may block, and serializes the result.
async fn answer<T: Serialize + Send + 'static>(
    server: Arc<WorkspaceServer>,
    cx: CallContext<CallNotes>,
    work: impl FnOnce(&ToolContext) -> Result<T, Failure> + Send + 'static,
) -> Result<Reply, Fault<Workspace>> {
    run(server, cx, move |own| Ok(reply(&work(own)?)?)).await
}

/// Maps a call that was stopped before it began to change anything.
fn stopped_failure(stopped: CallStopped) -> Failure {
    Failure::from(Fault::<Workspace>::from(stopped))
}

/// The work of a tool, which may block.
type ToolWork = dyn FnOnce(&ToolContext) -> Result<Reply, Failure> + Send;

/// Runs a tool that builds its reply itself.
async fn run(
    server: Arc<WorkspaceServer>,
    cx: CallContext<CallNotes>,
    work: impl FnOnce(&ToolContext) -> Result<Reply, Failure> + Send + 'static,
) -> Result<Reply, Fault<Workspace>> {
    let notes = Arc::clone(&cx.notes);
    let raising = Arc::clone(&server);
    // Boxed, so that the runtime is compiled once and not for each tool.
    let work: Box<ToolWork> = Box::new(work);
    let worked = tokio::task::spawn_blocking(move || {
        let session = server.session().ok_or(Failure::NoSession)?;
        work(&ToolContext {
            server,
            session,
            cx,
        })
    });
    match worked.await {
        Ok(worked) => worked.map_err(|failure| raising.raise(&notes, &failure)),
        Err(join) => match join.try_into_panic() {
            // The panic is answered by the caller, with the effect from the mark.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(raising.raise(&notes, &Failure::NoSession)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::MAX_CHANGES;
    use candor_call_fixtures::assert_schema_agreement;
    use candor_schema::Schema;
    use serde_json::{Value, json};

    /// Returns true if the schema that is published for a tool takes these arguments.
    fn accepts(tool: &str, arguments: &Value) -> bool {
        let listed = Role::ALL.into_iter().flat_map(|role| {
            let empty = Tools::<WorkspaceServer>::new("workspace", "0");
            let tools = all(role).into_iter().fold(empty, Tools::with);
            let listed: Vec<Value> = serde_json::from_str(&tools.list()).unwrap();
            listed
        });
        let tool_entry = listed.into_iter().find(|one| one["name"] == tool).unwrap();
        let schema = Schema::new(tool_entry["inputSchema"].clone()).unwrap();
        schema.check(arguments).is_ok()
    }

    #[test]
    fn arguments_are_bounded_by_their_schemas() {
        let changes =
            |count| json!({ "changes": vec![json!({ "path": "a", "content": "" }); count] });
        assert!(accepts("apply_changes", &changes(MAX_CHANGES)));
        assert!(!accepts("apply_changes", &changes(MAX_CHANGES + 1)));
        let wait = |seconds| json!({ "plan_hash": "0".repeat(8), "timeout_s": seconds });
        assert!(accepts("wait_for_approval", &wait(MAX_WAIT_S)));
        assert!(!accepts("wait_for_approval", &wait(MAX_WAIT_S + 1)));
        let limit = |lines| json!({ "limit": lines });
        assert!(accepts("read_audit_log", &limit(MAX_LINES)));
        assert!(!accepts("read_audit_log", &limit(MAX_LINES + 1)));
        let report = |title, body| json!({ "title": "x".repeat(title), "body": "x".repeat(body) });
        assert!(accepts(
            "write_failure_report",
            &report(MAX_TITLE, MAX_BODY)
        ));
        assert!(!accepts("write_failure_report", &report(MAX_TITLE + 1, 1)));
        assert!(!accepts("write_failure_report", &report(1, MAX_BODY + 1)));
    }

    #[test]
    fn schemas_agree_with_the_types_of_arguments() {
        let phase = json!({
            "id": "A",
            "allow": ["src/**"],
            "operations": ["create"],
            "verify": [["cargo", "test"]],
            "preflight": "each_write",
            "commands": [["cargo", "**"]],
            "writable": ["target"],
            "network": true,
            "env": ["PATH"],
            "policy": {
                "profiles": ["rust-strict"],
                "exceptions": [{ "rule": "r", "path": "src/a.rs", "reason": "why" }]
            }
        });
        let plan = json!({ "title": "t", "objective": "o", "phase": [phase] });
        let text = crate::plan::render(&crate::plan::Plan::from_value(&plan).unwrap());
        let content = [json!(text), json!("aGk=")];
        // Members chosen at random rarely are a change.
        let hash = "0".repeat(64);
        let edits = json!([{ "old": "a", "new": "b", "all": true }]);
        let changes = [
            json!({ "path": "a", "content": "aGk=", "encoding": "base64", "previous_hash": hash, "create_only": true }),
            json!({ "path": "a", "edits": edits, "executable": true }),
            json!({ "path": "a", "patch": "p" }),
            json!({ "path": "a", "delete": true, "previous_hash": hash }),
            json!({ "path": "a", "from": "b", "previous_hash": hash }),
        ];
        let changes = changes.map(|change| json!([change])).to_vec();
        let examples = [
            ("plan", vec![plan]),
            ("content", content.to_vec()),
            ("changes", changes),
        ];
        for tool in Role::ALL.into_iter().flat_map(all) {
            // The guard reads the role.
            assert_schema_agreement(&tool, &examples, &["role"]);
        }
    }
}
