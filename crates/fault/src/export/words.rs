//! The words of the generated pages that no table has.

use crate::{Class, Effect, Retry};

/// What a page says about a section beside its rows.
pub(super) struct Section {
    /// The section's name in the registry.
    pub(super) name: &'static str,
    /// The heading of its page.
    pub(super) title: &'static str,
    /// What the section is for.
    pub(super) purpose: &'static str,
    /// How a failure looks.
    pub(super) form: &'static str,
    /// Where an answer says what differs from failure to failure.
    pub(super) places: Places,
    /// The schemas of its answers, by the names of their files.
    pub(super) schemas: &'static [&'static str],
}

/// Where a client finds the answers that a row leaves open; empty where the wire has no place.
pub(super) struct Places {
    pub(super) retry: &'static str,
    pub(super) wait: &'static str,
    pub(super) effect: &'static str,
}

/// Every section, in the order of the registries.
pub(super) const SECTIONS: &[Section] = &[CONTEXT, GITHUB, WORKSPACE, ORDERS, WIRE, CANDOR];

const CONTEXT: Section = Section {
    name: "context",
    title: "Context: deterministic context under a token budget",
    purpose: "The context tools read caches and change nothing, so a failure never leaves anything \
        behind. The six codes and their messages are frozen by the specification of the error object.",
    form: "A failing call is a result with `isError: true` whose one text block is the error object \
        and a newline: a code, the canonical message, and nothing else. Diagnostics never stand in \
        an answer; the command line says them on stderr, and exits with the code's number. The five \
        answers are not on the wire; this page is their place.",
    places: Places {
        retry: "",
        wait: "",
        effect: "",
    },
    schemas: &["context.error", "context.result"],
};

const GITHUB: Section = Section {
    name: "github",
    title: "GitHub: repositories, pull requests, commits",
    purpose: "The GitHub tools answer with JSON-RPC errors of eight codes. A code comes from facts \
        (a status, a header, the step that failed), never from the wording of a message.",
    form: "Clients of the handshake revisions get a JSON-RPC error. Clients of revision 2026-07-28, \
        and everyone where the server was started with `--failures result`, get the same object in \
        a result with `isError: true`: one sentence that can be acted on alone, a newline, and the \
        object. −32602 lists everything that is wrong about the arguments; every other code carries \
        the five answers in `data.fault`, and the facts it has.",
    places: Places {
        retry: "`data.fault.retry`",
        wait: "`data.fault.retry_after_ms`",
        effect: "`data.fault.effect`",
    },
    schemas: &["github.error", "github.result"],
};

const WORKSPACE: Section = Section {
    name: "workspace",
    title: "Workspace: governed edits",
    purpose: "The workspace tools let an agent change a repository under plans that a person \
        approved. Every failure is a SystemError envelope, on record before it is answered.",
    form: "A failing call is a result with `isError: true` whose one text block is the envelope: \
        eleven members, always all of them, in this order; `stack_trace` is a twelfth only where \
        debugging was asked for. The five answers stand beside it in `_meta[\"dev.candor/fault\"]`, \
        and the place in the audit log in `_meta[\"dev.candor/receipt\"]`. Decide on `error_code`; \
        `human_message` is for display only. Failures at start print the envelope on stderr.",
    places: Places {
        retry: "`_meta[\"dev.candor/fault\"].retry`",
        wait: "`_meta[\"dev.candor/fault\"].retry_after_ms`",
        effect: "`_meta[\"dev.candor/fault\"].effect`",
    },
    schemas: &["workspace.envelope", "workspace.result"],
};

const ORDERS: Section = Section {
    name: "orders",
    title: "Orders: order systems behind adapters",
    purpose: "The order tools stand in front of any order system. Eight codes say what failed; \
        `details.originalError` has the word of the order system where there is one.",
    form: "A failing call is a result with `isError: true` and the ErrorResponse three times: in \
        the text block, in `structuredContent` and as `error`, so that every client reads it as a \
        failure. What the published input schema shows is refused before the tool runs, with \
        JSON-RPC −32602; clients of revision 2026-07-28 get it in the first form too. A bug is \
        JSON-RPC −32603.",
    places: Places {
        retry: "`retryable`",
        wait: "`details.context.retryAfterMs`",
        effect: "`details.context.effect`",
    },
    schemas: &[
        "orders.error",
        "orders.response",
        "orders.failure",
        "orders.result",
    ],
};

const WIRE: Section = Section {
    name: "wire",
    title: "Wire: JSON-RPC and MCP",
    purpose: "What is no call of a tool is refused by the protocol itself, the same on every server: \
        broken input, an unknown method, an unknown tool, a revision that is not known here.",
    form: "A JSON-RPC error. Over HTTP it has a status as well. The five answers are not on the \
        wire; this page is their place.",
    places: Places {
        retry: "",
        wait: "",
        effect: "",
    },
    schemas: &["wire.error"],
};

const CANDOR: Section = Section {
    name: "candor",
    title: "candor/1: servers with codes of their own",
    purpose: "A server that is built on these crates declares its own codes and speaks this dialect. \
        The codes below are the ones that every such server has beside its own.",
    form: "A failing call is a result with `isError: true`. Its text block is one sentence that a \
        model can act on alone, a newline, and the object; `structuredContent.error` is the same \
        object for programs, and `_meta[\"dev.candor/error\"]` for clients that show neither.",
    places: Places {
        retry: "`error.fault.retry`",
        wait: "`error.fault.retry_after_ms`",
        effect: "`error.fault.effect`",
    },
    schemas: &["candor.failure", "candor.result"],
};

/// Who has to act.
pub(super) const fn class(class: Class) -> &'static str {
    match class {
        Class::Caller => "the caller, by other arguments or another order of calls",
        Class::Policy => "whoever set the rule that forbids it",
        Class::Limit => "nobody: the call met a limit on rate, time or size",
        Class::Upstream => "whoever runs the system behind this server",
        Class::Server => "whoever runs this server, or its authors",
    }
}

/// What a retry would bring.
pub(super) const fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "it fails again, whatever the caller does",
        Retry::AfterChange => "the same call fails again until something is changed",
        Retry::SameCall => "the same call may be sent again",
        Retry::AfterDelay => "the same call may be sent again after a wait",
    }
}

/// Whether anything happened.
pub(super) const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "nothing was changed",
        Effect::Done => "the change was made, although the call failed",
        Effect::Unknown => "nobody can say whether the change was made",
    }
}
