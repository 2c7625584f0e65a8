//! Real failures, rendered by the dialects themselves, for the generated pages.

use crate::codes::{context, github, orders, wire, workspace};
use crate::dialects::{Candor, Context, Github, Orders, Wire, Workspace};
use crate::{
    Answer, ArgumentPath, CallFacts, Cause, Dialect, Effect, Fault, Form, PathStep, Receipt,
    Refusal, Retry, Timestamp, Violation, Violations, codes, excerpt, to_json,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;

/// One failure on the wire.
pub(super) struct Example {
    /// What it shows.
    pub(super) title: &'static str,
    /// The whole JSON-RPC answer.
    pub(super) line: String,
    /// The text of its text block, where it has one.
    pub(super) block: Option<String>,
}

/// When all examples happen.
const AT: Timestamp = Timestamp::constant(1_760_284_161, 49_000_000);

/// The examples of a section, one a form.
pub(super) fn of(section: &str) -> Vec<Example> {
    match section {
        "context" => of_context(),
        "github" => of_github(),
        "workspace" => of_workspace(),
        "orders" => of_orders(),
        "wire" => of_wire(),
        "candor" => of_candor(),
        _ => Vec::new(),
    }
}

fn example<D: Dialect>(title: &'static str, tool: &str, form: Form, fault: &Fault<D>) -> Example {
    let receipt = Receipt {
        seq: 17,
        hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
    };
    // Of these dialects, one puts every call on record.
    let recorded = fault.row().dialect == "workspace";
    let facts = CallFacts {
        tool: Some(tool),
        form,
        receipt: recorded.then_some(&receipt),
    };
    shown(title, &D::failure(fault, &facts, AT))
}

fn shown(title: &'static str, answer: &Answer) -> Example {
    #[derive(Serialize)]
    struct Line<'a> {
        jsonrpc: &'static str,
        id: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a RawValue>,
    }
    let (text, failed) = match answer {
        Answer::Result(text) => (text.to_string(), false),
        Answer::Error(body) => (body.json(), true),
    };
    let raw = serde_json::from_str::<&RawValue>(&text).ok();
    let line = Line {
        jsonrpc: "2.0",
        id: 1,
        result: raw.filter(|_| !failed),
        error: raw.filter(|_| failed),
    };
    Example {
        title,
        line: to_json(&line),
        block: text_block(&text),
    }
}

fn text_block(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let text = result["content"][0]["text"].as_str()?;
    Some(text.to_owned())
}

/// The violation of a member that is missing at the root.
fn missing(name: &str) -> Violation {
    Violation {
        path: ArgumentPath::default(),
        keyword: "required",
        message: format!("must have required property '{name}'"),
        params: json!({ "missingProperty": name }),
        value: excerpt(&json!({})),
        expected: format!("an object with '{name}'"),
        hint: None,
    }
}

/// The violation of a page number that is too small.
fn too_small(name: &str) -> Violation {
    Violation {
        path: ArgumentPath(vec![PathStep::Member(name.to_owned())]),
        keyword: "minimum",
        message: "must be >= 1".to_owned(),
        params: json!({ "comparison": ">=", "limit": 1 }),
        value: excerpt(&json!(0)),
        expected: "an integer of at least 1".to_owned(),
        hint: None,
    }
}

fn refused<D: Dialect>(violations: impl IntoIterator<Item = Violation>) -> Fault<D> {
    D::adopt(Refusal::Arguments(Violations::from_iter(violations)))
}

fn of_context() -> Vec<Example> {
    let fault: Fault<Context> = context::CacheInvalid.fault();
    vec![example(
        "A cache that breaks its own rules",
        "context.resolve",
        Form::Result,
        &fault,
    )]
}

fn of_github() -> Vec<Example> {
    let stale: Fault<Github> = github::HeadMismatch.fault().with_facts(|facts| {
        facts.expected = Some("1f7a7a47".to_owned());
        facts.actual = Some("c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c".to_owned());
    });
    let wrong: Fault<Github> = refused([missing("query")]);
    let both: Fault<Github> = refused([missing("query"), too_small("page")]);
    vec![
        example("Wrong arguments", "search", Form::Protocol, &wrong),
        example(
            "Any other failure",
            "merge_pull_request",
            Form::Protocol,
            &stale,
        ),
        example("Wrong arguments as a result", "search", Form::Result, &both),
    ]
}

fn of_workspace() -> Vec<Example> {
    let (old, new) = ("5891b5b522d5df08", "e258d248fda94c63");
    let changed: Fault<Workspace> = workspace::HashMismatch
        .fault()
        .with_cause(Cause::Data(json!({ "expected": old, "actual": new })))
        .with_facts(|facts| {
            facts.role = Some("WINDSURF".to_owned());
            facts.session_id = Some("550e8400-e29b-41d4-a716-446655440000".to_owned());
            facts.workspace_root = Some("/home/user/project".to_owned());
            facts.phase_id = Some("PHASE_5A".to_owned());
        });
    let title = "A file that changed since it was read";
    vec![example(title, "write_file", Form::Result, &changed)]
}

fn of_orders() -> Vec<Example> {
    let unknown: Fault<Orders> = orders::AdapterError
        .fault(Retry::AfterChange, Effect::None)
        .with_facts(|facts| facts.original_error = Some("ORDER_NOT_FOUND".to_owned()));
    let wrong: Fault<Orders> = refused([missing("orderId"), too_small("pageSize")]);
    let bug = Orders::adopt(Refusal::Panicked {
        cause: Cause::from("a bug"),
        effect: Effect::None,
    });
    vec![
        example(
            "The order system said no",
            "cancel-order",
            Form::Result,
            &unknown,
        ),
        example("Wrong arguments", "cancel-order", Form::Protocol, &wrong),
        example(
            "Wrong arguments as a result",
            "cancel-order",
            Form::Result,
            &wrong,
        ),
        example("A bug", "cancel-order", Form::Protocol, &bug),
    ]
}

fn of_wire() -> Vec<Example> {
    let version = wire::UnsupportedVersion.fault().with_facts(|facts| {
        let data = json!({ "supported": ["2025-11-25", "2026-07-28"], "requested": "1999-01-01" });
        facts.data = Some(to_json(&data));
    });
    let unknown = Wire::unknown_tool("serch", Some("search"));
    vec![
        example("An unknown tool", "", Form::Protocol, &unknown),
        example("An unknown revision", "", Form::Protocol, &version),
    ]
}

fn of_candor() -> Vec<Example> {
    type Server = Candor<codes::candor::Code>;
    let wrong: Fault<Server> = refused([missing("city")]);
    let limited = Server::adopt(Refusal::Limited {
        after: Duration::from_millis(1500),
    });
    vec![
        example("Wrong arguments", "forecast", Form::Result, &wrong),
        example("Too many calls", "forecast", Form::Result, &limited),
    ]
}
