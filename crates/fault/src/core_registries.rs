//! The registries of the dialects that every server shares.

use crate::codes::{candor, wire};
use crate::dialects::{Candor, Wire};
use crate::{
    AnyFault, CodeRow, Dialect, ErrorPage, Fault, Form, OpenAnswers, PageExample, Refusal,
    Registry, SchemaFile, Violations, missing_argument, schemas, to_json,
};
use serde_json::json;
use std::time::Duration;

/// The JSON-RPC and MCP codes that answer requests that are not tool calls.
pub static WIRE_REGISTRY: Registry = Registry {
    name: "wire",
    summary: "what is refused before any tool is asked",
    rows: wire::ROWS,
    schemas: || {
        let title = "Wire: a JSON-RPC error";
        vec![SchemaFile::new("wire.error", title, schemas::wire_error())]
    },
    replay: AnyFault::replay::<Wire>,
    page: ErrorPage {
        title: "Wire: JSON-RPC and MCP",
        purpose: "These failures are raised by the protocol itself, before a tool is called, and are the same on \
            every server: broken input, an unknown method, an unknown tool, an unsupported revision.",
        form: "The answer is a JSON-RPC error. Over HTTP it also has a status. The five answers are not on the \
            wire; they are listed on this page.",
        open_answers: OpenAnswers::NOT_SENT,
    },
    examples: wire_examples,
};

/// The codes that every server of the neutral dialect has beside its own.
pub static CANDOR_REGISTRY: Registry = Registry {
    name: "candor",
    summary: "every server built on these crates, beside its own codes",
    rows: candor::ROWS,
    schemas: candor_schemas,
    replay: AnyFault::replay::<Candor<candor::Code>>,
    page: ErrorPage {
        title: "candor/1: servers with codes of their own",
        purpose: "A server that is built on these crates declares its own codes and uses this dialect. \
            Every such server also has the codes below.",
        form: "A failing call is a result with `isError: true`. Its text block is one sentence that a \
            model can act on, a newline, and the object. The same object is in `structuredContent.error` \
            for programs, and in `_meta[\"dev.candor/error\"]` for clients that show neither.",
        open_answers: OpenAnswers {
            retry: "`error.fault.retry`",
            wait: "`error.fault.retry_after_ms`",
            effect: "`error.fault.effect`",
        },
    },
    examples: candor_examples,
};

fn candor_schemas() -> Vec<SchemaFile> {
    let rows: Vec<&CodeRow> = candor::ROWS.iter().collect();
    vec![
        SchemaFile::new(
            "candor.failure",
            "candor/1: structuredContent of a failing result",
            schemas::candor_failure(&rows),
        ),
        SchemaFile::new(
            "candor.result",
            "candor/1: a failing result",
            schemas::candor_result(&rows),
        ),
    ]
}

fn wire_examples() -> Vec<PageExample> {
    let revision = wire::UnsupportedVersion.fault().with_facts(|facts| {
        let data = json!({ "supported": ["2025-11-25", "2026-07-28"], "requested": "1999-01-01" });
        facts.data = Some(to_json(&data));
    });
    let tool = Wire::unknown_tool("serch", Some("search"));
    vec![
        PageExample::new("An unknown tool", "", Form::Protocol, tool),
        PageExample::new("An unknown revision", "", Form::Protocol, revision),
    ]
}

fn candor_examples() -> Vec<PageExample> {
    type Neutral = Candor<candor::Code>;
    let violations = Violations::from_iter([missing_argument("city")]);
    let arguments: Fault<Neutral> = Neutral::adopt(Refusal::Arguments(violations));
    let limited = Neutral::adopt(Refusal::Limited {
        after: Duration::from_millis(1500),
    });
    vec![
        PageExample::new("Wrong arguments", "forecast", Form::Result, arguments),
        PageExample::new("Too many calls", "forecast", Form::Result, limited),
    ]
}
