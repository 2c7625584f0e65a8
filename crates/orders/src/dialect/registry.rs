//! The orders dialect as data: its codes, its schemas and its page in `docs/errors`.

use super::{Orders, codes, schemas};
use crate::output_schemas;
use candor_fault::{
    AnyFault, Cause, Dialect as _, Effect, ErrorPage, Fault, Form, OpenAnswers, PageExample,
    Refusal, Registry, Retry, SchemaFile, Violations, argument_below_one, missing_argument,
};

/// The registry of the orders dialect.
pub static REGISTRY: Registry = Registry {
    name: "orders",
    summary: "order systems behind adapters",
    rows: codes::ROWS,
    schemas: schema_files,
    replay: AnyFault::replay::<Orders>,
    page: ErrorPage {
        title: "Orders: order systems behind adapters",
        purpose: "The order tools work with any order system. Eight codes name what failed; \
            `details.originalError` is the reason that the order system gives, if it gives one.",
        form: "A failing call is a result with `isError: true` and the ErrorResponse three times: in \
            the text block, in `structuredContent` and as `error`, so that every client recognises a \
            failure. Arguments that violate the published input schema are refused before the tool runs, \
            with JSON-RPC −32602; clients of revision 2026-07-28 get a result here too. A bug is \
            JSON-RPC −32603.",
        open_answers: OpenAnswers {
            retry: "`retryable`",
            wait: "`details.context.retryAfterMs`",
            effect: "`details.context.effect`",
        },
    },
    examples,
};

fn schema_files() -> Vec<SchemaFile> {
    let mut files = vec![
        SchemaFile::new("orders.error", "Orders: a JSON-RPC error", schemas::error()),
        SchemaFile::new(
            "orders.response",
            "Orders: an ErrorResponse",
            schemas::response(),
        ),
        SchemaFile::new(
            "orders.failure",
            "Orders: structuredContent of a failing result",
            schemas::failure(),
        ),
        SchemaFile::new(
            "orders.result",
            "Orders: a failing result",
            schemas::result(),
        ),
    ];
    let entities = output_schemas::entity_files();
    files.extend(entities.map(|(name, title, schema)| SchemaFile::new(name, title, schema)));
    files
}

fn examples() -> Vec<PageExample> {
    let tool = "cancel-order";
    let unknown_order: Fault<Orders> = codes::AdapterError
        .fault(Retry::AfterChange, Effect::None)
        .with_facts(|facts| facts.original_error = Some("ORDER_NOT_FOUND".to_owned()));
    let violations =
        Violations::from_iter([missing_argument("orderId"), argument_below_one("pageSize")]);
    let arguments = Orders::adopt(Refusal::Arguments(violations));
    let bug = Orders::adopt(Refusal::Panicked {
        cause: Cause::from("a bug"),
        effect: Effect::None,
    });
    vec![
        PageExample::new(
            "The order system said no",
            tool,
            Form::Result,
            unknown_order,
        ),
        PageExample::new("Wrong arguments", tool, Form::Protocol, arguments.clone()),
        PageExample::new("Wrong arguments as a result", tool, Form::Result, arguments),
        PageExample::new("A bug", tool, Form::Protocol, bug),
    ]
}
