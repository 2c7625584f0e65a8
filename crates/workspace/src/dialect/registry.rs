//! The workspace dialect as data: its codes, its schemas and its page in `docs/errors`.

use super::{Workspace, codes, schemas};
use candor_fault::{
    AnyFault, Cause, ErrorPage, Fault, Form, OpenAnswers, PageExample, Receipt, Registry,
    SchemaFile,
};
use serde_json::json;

/// The registry of the workspace dialect.
pub static REGISTRY: Registry = Registry {
    name: "workspace",
    summary: "governed edits: plans, roles, policy, audit",
    rows: codes::ROWS,
    schemas: schema_files,
    replay: AnyFault::replay::<Workspace>,
    page: ErrorPage {
        title: "Workspace: governed edits",
        purpose: "The workspace tools let an agent change a repository under plans that a person \
            approved. Every failure is a SystemError envelope, which is recorded before the answer is sent.",
        form: "A failing call is a result with `isError: true` whose one text block is the envelope: \
            eleven members, always all of them, in this order. A twelfth, `stack_trace`, is present only \
            if debugging is enabled. The five answers are in `_meta[\"dev.candor/fault\"]`, and the line \
            of the audit log is in `_meta[\"dev.candor/receipt\"]`. Branch on `error_code`; \
            `human_message` is for display only. A server that cannot start prints the envelope on stderr.",
        open_answers: OpenAnswers {
            retry: "`_meta[\"dev.candor/fault\"].retry`",
            wait: "`_meta[\"dev.candor/fault\"].retry_after_ms`",
            effect: "`_meta[\"dev.candor/fault\"].effect`",
        },
    },
    examples,
};

fn schema_files() -> Vec<SchemaFile> {
    vec![
        SchemaFile::new(
            "workspace.envelope",
            "Workspace: the SystemError envelope",
            schemas::envelope(),
        ),
        SchemaFile::new(
            "workspace.result",
            "Workspace: a failing result",
            schemas::result(),
        ),
    ]
}

fn examples() -> Vec<PageExample> {
    let (expected, actual) = ("5891b5b522d5df08", "e258d248fda94c63");
    let changed: Fault<Workspace> = codes::HashMismatch
        .fault()
        .with_cause(Cause::Data(
            json!({ "expected": expected, "actual": actual }),
        ))
        .with_facts(|facts| {
            facts.role = Some("WINDSURF".to_owned());
            facts.session_id = Some("550e8400-e29b-41d4-a716-446655440000".to_owned());
            facts.workspace_root = Some("/home/user/project".to_owned());
            facts.phase_id = Some("PHASE_5A".to_owned());
        });
    let receipt = Receipt {
        seq: 17,
        hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
    };
    let title = "A file that changed since it was read";
    let example = PageExample::new(title, "write_file", Form::Result, changed);
    vec![PageExample {
        receipt: Some(receipt),
        ..example
    }]
}
