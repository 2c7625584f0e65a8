//! The GitHub dialect as data: its codes, its schemas and its page in `docs/errors`.

use super::{Github, codes, schemas};
use candor_fault::{
    AnyFault, Dialect as _, ErrorPage, Fault, Form, OpenAnswers, PageExample, Refusal, Registry,
    SchemaFile, Violation, argument_below_one, missing_argument,
};

/// The registry of the GitHub dialect.
pub static REGISTRY: Registry = Registry {
    name: "github",
    summary: "repositories, pull requests, commits",
    rows: codes::ROWS,
    schemas: schema_files,
    replay: AnyFault::replay::<Github>,
    page: ErrorPage {
        title: "GitHub: repositories, pull requests, commits",
        purpose: "The GitHub tools answer with JSON-RPC errors of eight codes. A code is chosen \
            from facts (a status, a header, the step that failed), never from the wording of a message.",
        form: "Clients of the handshake revisions get a JSON-RPC error. Clients of revision 2026-07-28, \
            and all clients of a server that was started with `--failures result`, get the same object in \
            a result with `isError: true`: one sentence that a model can act on, a newline, and the \
            object. −32602 lists everything that is wrong in the arguments; every other code contains \
            the five answers in `data.fault`, and further facts if there are any.",
        open_answers: OpenAnswers {
            retry: "`data.fault.retry`",
            wait: "`data.fault.retry_after_ms`",
            effect: "`data.fault.effect`",
        },
    },
    examples,
};

fn schema_files() -> Vec<SchemaFile> {
    vec![
        SchemaFile::new("github.error", "GitHub: a JSON-RPC error", schemas::error()),
        SchemaFile::new(
            "github.result",
            "GitHub: a failing result",
            schemas::result(),
        ),
    ]
}

fn examples() -> Vec<PageExample> {
    let stale: Fault<Github> = codes::HeadMismatch.fault().with_facts(|facts| {
        facts.expected = Some("1f7a7a47".to_owned());
        facts.actual = Some("c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c".to_owned());
    });
    let one = wrong_arguments([missing_argument("query")]);
    let two = wrong_arguments([missing_argument("query"), argument_below_one("page")]);
    vec![
        PageExample::new("Wrong arguments", "search", Form::Protocol, one),
        PageExample::new(
            "Any other failure",
            "merge_pull_request",
            Form::Protocol,
            stale,
        ),
        PageExample::new("Wrong arguments as a result", "search", Form::Result, two),
    ]
}

fn wrong_arguments(violations: impl IntoIterator<Item = Violation>) -> Fault<Github> {
    Github::adopt(Refusal::Arguments(violations.into_iter().collect()))
}
