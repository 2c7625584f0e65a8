//! The calls that every client makes, and what a client shows that leaves nothing out.
//!
//! An outcome is written as the runners report it (`tests/clients/README.md`); points in time are `TIME`.

use serde_json::{Value, json};

/// The tools of the playground, as listed.
pub(crate) const PLAYGROUND: &[&str] = &["echo", "fail", "flaky", "flood", "hang", "panic"];

/// The tools of the example server.
pub(crate) const WEATHER: &[&str] = &["forecast"];

/// The form of a failure where its dialect has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON-RPC error.
    Error,
    /// A result with `isError`.
    Result,
}

/// One call and its outcome.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    outcome: Value,
    /// The outcome as a JSON-RPC error, where the dialect has that form too.
    error: Option<Value>,
}

impl Case {
    fn new(name: &'static str, arguments: Value, outcome: Value) -> Self {
        Case {
            name,
            arguments,
            outcome,
            error: None,
        }
    }

    /// What a client shows that leaves nothing out.
    pub(crate) fn outcome(&self, form: Form) -> Value {
        match &self.error {
            Some(error) if form == Form::Error => error.clone(),
            _ => self.outcome.clone(),
        }
    }
}

/// A good call, a failing one in each dialect, a panic and an unknown tool; the last call comes after
/// every failure, so the server has to live on.
pub(crate) fn playground() -> Vec<Case> {
    let mut cases = vec![echo("first"), context()];
    cases.extend(github());
    cases.extend([
        workspace(),
        orders(),
        panic(),
        invalid(),
        unknown_tool(),
        echo("last"),
    ]);
    cases
}

fn fail(dialect: &str, code: Value) -> Value {
    json!({ "dialect": dialect, "code": code })
}

fn echo(text: &str) -> Case {
    let said = json!({ "text": text });
    let outcome = result(said.to_string(), json!({ "structured": said }));
    Case::new("echo", said, outcome)
}

fn context() -> Case {
    let text = r#"{"error":{"code":"cache_missing","message":"Cache does not exist"}}"#;
    let outcome = failed(format!("{text}\n"), json!({}));
    Case::new("fail", fail("context", json!("cache_missing")), outcome)
}

/// The GitHub dialect, which has two forms.
pub(crate) fn github() -> [Case; 2] {
    let not_found = github_case(
        json!({
            "code": -32002,
            "message": "Not found: it does not exist, or the token cannot see it",
            "data": {
                "tool": "fail",
                "timestamp": "TIME",
                "fault": five("caller", "after_change", None, "Check owner, repository, ref and path.")
            }
        }),
        "Not found: it does not exist, or the token cannot see it; nothing was changed; do not retry unchanged: \
         Check owner, repository, ref and path.",
    );
    let invalid = github_case(
        json!({
            "code": -32602,
            "message": "Invalid params",
            "data": { "tool": "fail", "validation_errors": [], "timestamp": "TIME" }
        }),
        "Invalid params; nothing was changed; do not retry unchanged: \
         Correct every field named in `validation_errors`; `tools/list` has the schema.",
    );
    [not_found, invalid]
}

fn github_case(error: Value, sentence: &str) -> Case {
    let arguments = fail("github", error["code"].clone());
    let outcome = failed(format!("{sentence}\n{error}"), json!({}));
    Case {
        error: Some(error_of(error)),
        ..Case::new("fail", arguments, outcome)
    }
}

fn workspace() -> Case {
    let envelope = json!({
        "error_code": "FILE_NOT_FOUND",
        "human_message": "The file does not exist",
        "role": null,
        "session_id": null,
        "workspace_root": null,
        "tool_name": "fail",
        "invariant_id": null,
        "phase_id": null,
        "plan_hash": null,
        "cause": null,
        "timestamp": "TIME"
    });
    let fault = five(
        "caller",
        "after_change",
        None,
        "Check the name with list_files.",
    );
    let outcome = failed(
        envelope.to_string(),
        json!({ "meta": { "dev.candor/fault": fault } }),
    );
    Case::new("fail", fail("workspace", json!("FILE_NOT_FOUND")), outcome)
}

fn orders() -> Case {
    let error = json!({
        "code": 3001,
        "message": "Rate limit exceeded",
        "retryable": true,
        "details": {
            "suggestion": "Wait `retryAfterMs`, then send the same call.",
            "context": { "class": "limit", "effect": "none", "retryAfterMs": 250 }
        }
    });
    let structured = json!({ "error": error });
    let outcome = failed(
        structured.to_string(),
        json!({ "structured": structured, "extra": { "error": error } }),
    );
    let mut arguments = fail("orders", json!(3001));
    arguments["retry_after_ms"] = json!(250);
    Case::new("fail", arguments, outcome)
}

fn panic() -> Case {
    let remedy = "Report it to the author of the server with the time of the call.";
    let error = json!({
        "code": "internal",
        "message": "Internal error",
        "fault": five("server", "never", None, remedy),
        "violations": []
    });
    let sentence = format!("Internal error; nothing was changed; do not retry: {remedy}");
    Case::new("panic", json!({}), neutral(&sentence, error))
}

fn invalid() -> Case {
    let remedy = "Correct every violation; tools/list has the schema.";
    let error = json!({
        "code": "invalid_arguments",
        "message": "The arguments do not fit the tool's schema",
        "fault": five("caller", "after_change", None, remedy),
        "violations": [{
            "path": "/code",
            "field": "code",
            "keyword": "enum",
            "message": "must be equal to one of the allowed values",
            "expected": "a code of the context dialect",
            "value": "cache_mising",
            "hint": "did you mean 'cache_missing'?"
        }]
    });
    let sentence = format!(
        "`code` must be a code of the context dialect, and was \"cache_mising\" \
         (did you mean 'cache_missing'?); nothing was changed; do not retry unchanged: {remedy}"
    );
    Case::new(
        "fail",
        fail("context", json!("cache_mising")),
        neutral(&sentence, error),
    )
}

fn unknown_tool() -> Case {
    let error = json!({ "code": -32602, "message": "Unknown tool: ecko", "data": null });
    Case::new("ecko", json!({}), error_of(error))
}

/// The example server: a success and its two own codes. It publishes an `outputSchema`, so strict clients
/// check the failures against it.
pub(crate) fn weather() -> Vec<Case> {
    let ask = |city: &str| json!({ "city": city });
    let snow = json!({ "sky": "snow" });
    let good = result(snow.to_string(), json!({ "structured": snow }));
    let offline = json!({
        "code": "station_offline",
        "message": "The city's station does not answer",
        "fault": five("upstream", "after_delay", Some(60_000), "Wait, then send the same call."),
        "violations": []
    });
    let unknown = json!({
        "code": "unknown_city",
        "message": "No station reports from this city",
        "fault": five("caller", "after_change", None, "Ask for Oslo or Lima."),
        "violations": []
    });
    let offline_sentence = "The city's station does not answer; nothing was changed; \
                            retry the same call after 60000 ms: Wait, then send the same call.";
    let unknown_sentence = "No station reports from this city; nothing was changed; \
                            do not retry unchanged: Ask for Oslo or Lima.";
    vec![
        Case::new("forecast", ask("Oslo"), good),
        Case::new("forecast", ask("Lima"), neutral(offline_sentence, offline)),
        Case::new("forecast", ask("Pune"), neutral(unknown_sentence, unknown)),
    ]
}

/// The five answers where nothing happened.
fn five(class: &str, retry: &str, retry_after_ms: Option<u64>, remedy: &str) -> Value {
    json!({
        "class": class,
        "retry": retry,
        "retry_after_ms": retry_after_ms,
        "effect": "none",
        "remedy": remedy
    })
}

/// A failing result of the neutral dialect.
fn neutral(sentence: &str, error: Value) -> Value {
    let structured = json!({ "error": error });
    failed(
        format!("{sentence}\n{structured}"),
        json!({ "structured": structured, "meta": { "dev.candor/error": error } }),
    )
}

/// A result with one text and whatever else it has.
fn result(text: String, more: Value) -> Value {
    let mut outcome = json!({
        "outcome": "result",
        "is_error": false,
        "content": [{ "type": "text", "text": text }],
        "structured": null,
        "meta": null,
        "extra": {}
    });
    for member in ["structured", "meta", "extra"] {
        if let Some(given) = more.get(member) {
            outcome[member] = given.clone();
        }
    }
    outcome
}

fn failed(text: String, more: Value) -> Value {
    let mut outcome = result(text, more);
    outcome["is_error"] = json!(true);
    outcome
}

fn error_of(error: Value) -> Value {
    json!({
        "outcome": "error",
        "code": error["code"],
        "message": error["message"],
        "data": error["data"]
    })
}
