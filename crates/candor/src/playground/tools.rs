//! The playground's own tools.

use super::Playground;
use super::all_dialects::{AllDialects, Neutral, play, replay};
use super::script::{ScriptStep, failure};
use crate::registries::{REGISTRIES, find_registry, find_rows};
use candor_fault::codes::candor as core;
use candor_fault::{
    ArgumentPath, Cause, CodeRow, Dialect, Effect, Fault, PathStep, ReplayAnswers, Retry,
    Violation, Violations, excerpt, schemas,
};
use candor_street::{CallContext, Reply, Tool, reply, reply_text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

type ToolResult = Result<Reply, Fault<AllDialects>>;

/// The largest answer of `flood`.
const MAX_FLOOD: u64 = 8 * 1024 * 1024;

/// The longest wait that can be requested: a day.
const MAX_WAIT_MS: u64 = 86_400_000;

pub(super) fn all() -> Vec<Tool<Playground>> {
    vec![echo(), fail(), flaky(), flood(), hang(), panic()]
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

fn echo() -> Tool<Playground> {
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string", "description": "What comes back" } },
        "required": ["text"],
        "additionalProperties": false
    });
    let success = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
        "additionalProperties": false
    });
    let run = |_, echo: Echo, _| async move { reply(&json!({ "text": echo.text })) };
    Tool::read_only(
        "echo",
        "Answers with the text it was given. Not for anything but tests.",
        schema,
        run,
    )
    .with_output_schema(success, Some(schemas::candor_failure(&Neutral::rows())))
}

#[derive(Deserialize)]
struct Fail {
    dialect: String,
    code: Value,
    retry: Option<Retry>,
    effect: Option<Effect>,
    retry_after_ms: Option<u64>,
    reason: Option<String>,
}

fn fail() -> Tool<Playground> {
    let dialects = REGISTRIES.map(|registry| registry.name);
    let schema = json!({
        "type": "object",
        "properties": {
            "dialect": { "type": "string", "enum": dialects, "description": "The dialect to fail in" },
            "code": { "type": ["string", "integer"], "description": "A code or name of that dialect; `candor explain` lists them" },
            "retry": { "type": "string", "enum": ["never", "after_change", "same_call", "after_delay"], "description": "Where the code leaves it open" },
            "effect": { "type": "string", "enum": ["none", "done", "unknown"], "description": "Where the code leaves it open" },
            "retry_after_ms": { "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS, "description": "Where a wait makes sense" },
            "reason": { "type": "string", "maxLength": 100, "description": "The word below the code: an originalError of orders, an invariant of workspace" }
        },
        "required": ["dialect", "code"],
        "additionalProperties": false
    });
    Tool::read_only(
        "fail",
        "Fails with the code you ask for, in the form of its dialect. Not for work: nothing is ever done.",
        schema,
        |_, fail: Fail, _| async move { Err(requested_fault(&fail)) },
    )
}

fn requested_fault(fail: &Fail) -> Fault<AllDialects> {
    let code = match &fail.code {
        Value::String(code) => code.clone(),
        code => code.to_string(),
    };
    let row = find_rows(&format!("{}/{code}", fail.dialect));
    let reason = match &fail.reason {
        None => None,
        Some(word) => match reason_of(&row, word) {
            Ok(known) => Some(known),
            Err(unknown) => return unknown,
        },
    };
    let answers = ReplayAnswers {
        retry: fail.retry.unwrap_or(Retry::Never),
        effect: fail.effect.unwrap_or(Effect::None),
        wait: fail.retry_after_ms.map(Duration::from_millis),
        reason,
    };
    replay(&fail.dialect, &code, &answers).unwrap_or_else(|| unknown_code(fail, &code))
}

/// Returns the registered reason below a code.
fn reason_of(rows: &[&CodeRow], word: &str) -> Result<&'static str, Fault<AllDialects>> {
    let known: Vec<_> = rows
        .iter()
        .flat_map(|row| row.reasons)
        .map(|reason| reason.name)
        .collect();
    if let Some(name) = known.iter().find(|name| **name == word) {
        return Ok(name);
    }
    let near = candor_schema::nearest(word, known.iter().copied());
    let hint = near.map(|near| format!("did you mean '{near}'?"));
    Err(wrong_argument(
        &["reason"],
        None,
        &json!(word),
        String::from("a word below this code"),
        hint,
    ))
}

/// Makes the fault for a wrong argument that the schema cannot describe.
fn wrong_argument(
    path: &[&str],
    index: Option<usize>,
    value: &Value,
    expected: String,
    hint: Option<String>,
) -> Fault<AllDialects> {
    let members = path.iter().map(|name| PathStep::Member((*name).to_owned()));
    let violation = Violation {
        path: ArgumentPath(members.chain(index.map(PathStep::Item)).collect()),
        keyword: "enum",
        message: "must be equal to one of the allowed values".into(),
        params: json!({}).into(),
        value: excerpt(value),
        expected: expected.into(),
        hint,
    };
    let violations: Violations = [violation].into_iter().collect();
    let fault: Fault<Neutral> = core::InvalidArguments.fault().with_violations(violations);
    play(fault)
}

fn unknown_code(fail: &Fail, code: &str) -> Fault<AllDialects> {
    let rows = find_registry(&fail.dialect).into_iter();
    let names: Vec<_> = rows
        .flat_map(|registry| registry.rows)
        .map(|row| row.code.to_string())
        .collect();
    let near = candor_schema::nearest(code, names.iter().map(String::as_str));
    let hint = near.map(|near| format!("did you mean '{near}'?"));
    let expected = format!("a code of the {} dialect", fail.dialect);
    wrong_argument(&["code"], None, &fail.code, expected, hint)
}

#[derive(Deserialize)]
struct Flaky {
    script: Vec<String>,
    seed: Option<u64>,
}

fn flaky() -> Tool<Playground> {
    let schema = json!({
        "type": "object",
        "properties": {
            "script": {
                "type": "array", "minItems": 1, "maxItems": 100, "items": { "type": "string", "maxLength": 100 },
                "description": "Steps: `ok`, `fail DIALECT/CODE`, `delay MS`, `panic`, `maybe PERCENT STEP`. Each call does the next one, then they begin again"
            },
            "seed": { "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991u64, "description": "Decides every `maybe`; calls with another seed count apart" }
        },
        "required": ["script"],
        "additionalProperties": false
    });
    Tool::read_only(
        "flaky",
        "Follows a script of successes and failures, one step a call. Not for work: nothing is ever done.",
        schema,
        |server: Arc<Playground>, flaky: Flaky, _| async move { follow(&server, flaky).await },
    )
}

async fn follow(server: &Playground, flaky: Flaky) -> ToolResult {
    let mut steps = Vec::new();
    for (index, text) in flaky.script.iter().enumerate() {
        let expected = "`ok`, `fail DIALECT/CODE`, `delay MS`, `panic` or `maybe PERCENT STEP`";
        let step = ScriptStep::parse(text);
        steps.push(step.ok_or_else(|| {
            wrong_argument(
                &["script"],
                Some(index),
                &json!(text),
                expected.into(),
                None,
            )
        })?);
    }
    let seed = flaky.seed.unwrap_or(0);
    let call = server.scripts.advance(&flaky.script, seed);
    let step = steps.swap_remove((call % steps.len() as u64) as usize);
    match step.decide(seed, call) {
        ScriptStep::Ok | ScriptStep::Maybe(..) => {}
        ScriptStep::Delay(wait) => tokio::time::sleep(wait).await,
        ScriptStep::Panic => panic_on_demand("the script said so"),
        ScriptStep::Fail(section, code) => {
            return Err(failure(&section, &code).unwrap_or_else(|| {
                let bug: Fault<Neutral> = core::Internal.fault(Effect::None);
                play(bug.with_cause(Cause::from("a step that was read has no failure")))
            }));
        }
    }
    reply(&json!({ "call": call }))
}

#[derive(Deserialize)]
struct Flood {
    bytes: u64,
}

fn flood() -> Tool<Playground> {
    let schema = json!({
        "type": "object",
        "properties": { "bytes": { "type": "integer", "minimum": 0, "maximum": MAX_FLOOD, "description": "The length of the text" } },
        "required": ["bytes"],
        "additionalProperties": false
    });
    Tool::read_only(
        "flood",
        "Answers with a text of the length you ask for, to see how a client takes large answers.",
        schema,
        |_, flood: Flood, _| async move { reply_text("x".repeat(flood.bytes as usize)) },
    )
}

#[derive(Deserialize)]
struct Hang {
    ms: Option<u64>,
}

fn hang() -> Tool<Playground> {
    let schema = json!({
        "type": "object",
        "properties": { "ms": { "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS, "description": "How long; without it, until the call is cancelled" } },
        "additionalProperties": false
    });
    let run = |_, hang: Hang, cx: CallContext| async move {
        match hang.ms {
            Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            None => cx.cancel.cancelled().await,
        }
        reply(&json!({ "hung_ms": hang.ms }))
    };
    Tool::read_only(
        "hang",
        "Does not answer for a while, or at all, to see what a client's time limits do.",
        schema,
        run,
    )
}

#[derive(Deserialize)]
struct NoArguments {}

fn panic() -> Tool<Playground> {
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    Tool::read_only(
        "panic",
        "Panics inside the server, to show that the answer is an ordinary failure and the server lives on.",
        schema,
        |_, _: NoArguments, _| async move { panic_on_demand("a panic on demand") },
    )
}

#[allow(clippy::panic)] // These tools exist to panic.
fn panic_on_demand<T>(why: &'static str) -> T {
    panic!("{why}")
}
