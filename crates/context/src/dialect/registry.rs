//! The context dialect as data: its codes, its schemas and its page in `docs/errors`.

use super::{Context, codes, schemas};
use candor_fault::{
    AnyFault, ErrorPage, Fault, Form, OpenAnswers, PageExample, Registry, SchemaFile,
};

/// The registry of the context dialect.
pub static REGISTRY: Registry = Registry {
    name: "context",
    summary: "deterministic context under a token budget",
    rows: codes::ROWS,
    schemas: schema_files,
    replay: AnyFault::replay::<Context>,
    page: ErrorPage {
        title: "Context: deterministic context under a token budget",
        purpose: "The context tools read caches and change nothing, so a failure never leaves anything \
            behind. The six codes and their messages are frozen by the specification of the error object.",
        form: "A failing call is a result with `isError: true` whose one text block is the error object \
            and a newline: a code, the canonical message, and nothing else. Details are never part of an \
            answer; the command line prints them on stderr, and exits with the exit code below. The five \
            answers are not on the wire; they are listed on this page.",
        open_answers: OpenAnswers::NOT_SENT,
    },
    examples,
};

fn schema_files() -> Vec<SchemaFile> {
    vec![
        // The specification contains this document, its `$id` included.
        SchemaFile {
            name: "context.error",
            schema: schemas::error(),
        },
        SchemaFile::new(
            "context.result",
            "Context: a failing result",
            schemas::result(),
        ),
    ]
}

fn examples() -> Vec<PageExample> {
    let invalid: Fault<Context> = codes::CacheInvalid.fault();
    vec![PageExample::new(
        "A cache that breaks its own rules",
        "context.resolve",
        Form::Result,
        invalid,
    )]
}
