//! The dialect of the reading tools as data: its codes, its schemas and its page in `docs/errors`.

use super::{ContextV1, codes};
use candor_fault::schemas::{candor_failure, candor_result};
use candor_fault::{
    AnyFault, ClientText, CodeRow, Dialect, ErrorPage, Fault, Form, OpenAnswers, PageExample,
    Refusal, Registry, SchemaFile, Violations, missing_argument,
};

/// The registry of the reading tools.
pub static REGISTRY: Registry = Registry {
    name: "context-v1",
    summary: "reading and searching caches: context_search, context_get, context_list",
    rows: codes::ROWS,
    schemas: schema_files,
    replay: AnyFault::replay::<ContextV1>,
    page: ErrorPage {
        title: "Context, version 1: reading and searching",
        purpose: "The tools of `candor context serve PATH…` read caches and change nothing, so the effect of \
            every failure is none. A failure names what is wrong and, where there is one, the name that was \
            probably meant. The commands search, get and list exit with the exit codes below.",
        form: "The form is that of `candor/1`: a failing call is a result with `isError: true`. Its text block \
            is one sentence that a model can act on, a newline, and the object. The same object is in \
            `structuredContent.error` for programs, and in `_meta[\"dev.candor/error\"]` for clients that \
            show neither. With `--error-format json` the command line prints the object on stderr.",
        open_answers: OpenAnswers {
            retry: "`error.fault.retry`",
            wait: "`error.fault.retry_after_ms`",
            effect: "`error.fault.effect`",
        },
    },
    examples,
};

fn schema_files() -> Vec<SchemaFile> {
    let rows: Vec<&CodeRow> = codes::ROWS.iter().collect();
    vec![
        SchemaFile::new(
            "context-v1.failure",
            "Context, version 1: structuredContent of a failing result",
            candor_failure(&rows),
        ),
        SchemaFile::new(
            "context-v1.result",
            "Context, version 1: a failing result",
            candor_result(&rows),
        ),
    ]
}

fn examples() -> Vec<PageExample> {
    let violations = Violations::from_iter([missing_argument("query")]);
    let arguments: Fault<ContextV1> = ContextV1::adopt(Refusal::Arguments(violations));
    let missing = codes::DocumentMissing
        .fault()
        .with_message(ClientText::from(
            "The cache `docs` has no document `instal.md`; near: `install.md`",
        ));
    vec![
        PageExample::new("Wrong arguments", "context_search", Form::Result, arguments),
        PageExample::new("An unknown document", "context_get", Form::Result, missing),
    ]
}
