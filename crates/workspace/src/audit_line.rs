//! Builds the lines of the audit log: which actor did something, under which plan, with which
//! result. Lines contain lengths and hashes, no contents.

use crate::command_starts::CommandStart;
use crate::dialect::Workspace;
use crate::governed::{MAX_GOVERNED_CHANGES, Recovered};
use crate::notes::{CallNotes, CommandRecord, Notes, Subject};
use crate::owner_actions::OwnerAction;
use crate::role::Role;
use crate::write::{Settlement, hash_of};
use candor_audit::TornBytes;
use candor_fault::{Cause, Effect, Fault, Timestamp, iso_millis};
use candor_secrets::redact;
use candor_street::{Call, CallOutcome, CallRecord};
use serde_json::{Map, Number, Value, json};

/// The version of a line's form.
pub(crate) const VERSION: u64 = 2;

/// The `tool_name` of the line that is written before the commands of a call start.
pub(crate) const START_TOOL: &str = "command_start";

/// The maximum number of characters of an argument of a command that are recorded, and of all of them if
/// they are many.
const ARGUMENT_CHARS: usize = 1024;
const ARGUMENTS_CHARS: usize = 16 * 1024;

/// The maximum number of characters of a request id or a client name that are recorded.
pub(crate) const NAME_CHARS: usize = 256;

/// Whole numbers up to this one are exact for every reader.
pub(crate) const MAX_EXACT: u64 = (1 << 53) - 1;

/// The process that a record is about.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// `None` for a person, who has no role.
    pub(crate) role: Option<Role>,
    pub(crate) os_user: String,
    pub(crate) version: &'static str,
}

/// Builds the line of a call.
pub(crate) fn call_line(
    actor: &Actor,
    session: Option<&str>,
    entry: &CallRecord<'_, Workspace, CallNotes>,
    notes: &Notes,
) -> Map<String, Value> {
    let mut line = empty_line(actor, session, entry.at);
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("tool_name", json!(entry.tool));
    set("effect", json!(entry.effect));
    let took = u64::try_from(entry.took.as_micros()).unwrap_or(MAX_EXACT);
    set("duration_us", json!(took.min(MAX_EXACT)));
    set_notes(&mut line, actor, entry.call, notes);
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    match &entry.outcome {
        CallOutcome::Done(_) => {
            set("cause", plain(json!(notes.cause)));
            set("result", json!("ok"))
        }
        CallOutcome::Refused(fault) => {
            set(
                "cause",
                plain(json!({ "code": fault.row().code, "message": redact(fault.message()) })),
            );
            set("result", json!("error"))
        }
        CallOutcome::Failed(fault) => {
            let facts = fault.facts();
            set("error_code", json!(fault.row().code));
            set("invariant_id", json!(facts.invariant_id));
            set("plan_hash", json!(facts.plan_hash));
            set("phase_id", json!(facts.phase_id));
            set("cause", plain(json!(fault.cause())));
            let mut envelope = Workspace::envelope_value(fault, entry.tool, entry.at);
            if let Some(members) = envelope.as_object_mut() {
                members.shift_remove("stack_trace");
            }
            set("envelope", plain(envelope));
            set("result", json!("error"))
        }
    };
    line
}

/// Sets the members that a call and its start have in common.
fn set_notes(line: &mut Map<String, Value>, actor: &Actor, call: Option<&Call>, notes: &Notes) {
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("subject", subject(&notes.subjects));
    set("approval", json!(notes.approval));
    set("plan_hash", json!(notes.plan_hash));
    set("phase_id", json!(notes.phase_id));
    set(
        "commands",
        json!(notes.commands.as_deref().map(cut_commands)),
    );
    set("sandbox", plain(json!(notes.sandbox)));
    if let Some(call) = call {
        set("request_id", json!(redact_and_cut(&call.id)));
        let args_hash = notes.args_hash.clone();
        set(
            "args_hash",
            json!(args_hash.unwrap_or_else(|| self::args_hash(call))),
        );
        set("actor", actor_json(actor, Some(call)));
    }
}

/// Builds the line that is durable before the first command of a call starts.
pub(crate) fn command_start_line(
    actor: &Actor,
    session: &str,
    at: Timestamp,
    call: &Call,
    notes: &Notes,
) -> Map<String, Value> {
    let mut line = empty_line(actor, Some(session), at);
    set_notes(&mut line, actor, Some(call), notes);
    line.insert(String::from("tool_name"), json!(START_TOOL));
    line.insert(String::from("effect"), json!(Effect::Unknown));
    line.insert(String::from("result"), json!("ok"));
    line
}

/// Builds the line about commands whose server died before their end was recorded.
pub(crate) fn command_recovery_line(
    actor: &Actor,
    at: Timestamp,
    start: &CommandStart,
) -> Map<String, Value> {
    let message = format!(
        "the commands of request {} in session {} were started at line {}, and the server died before their end was recorded",
        start.request_id, start.session_id, start.seq
    );
    let mut line = recovery_line(actor, at, "Recovery", &message, Vec::new(), Effect::Unknown);
    set_start(&mut line, start.seq);
    for name in ["commands", "plan_hash", "phase_id", "approval"] {
        line.insert(String::from(name), start.line[name].clone());
    }
    line
}

/// Adds the number of the start that a recovery ends.
fn set_start(line: &mut Map<String, Value>, start_seq: u64) {
    if let Some(Value::Object(cause)) = line.get_mut("cause") {
        cause.insert(String::from("start_seq"), json!(start_seq));
    }
}

/// Returns commands as they are recorded: redacted, and cut if they are long.
fn cut_commands(commands: &[CommandRecord]) -> Vec<CommandRecord> {
    let mut left = ARGUMENTS_CHARS;
    let mut cut = |argument: &String| {
        let shown: String = redact(argument)
            .chars()
            .take(ARGUMENT_CHARS.min(left))
            .collect();
        left -= shown.chars().count();
        shown
    };
    let cut = commands.iter().map(|command| CommandRecord {
        argv: command.argv.iter().map(&mut cut).collect(),
        ..command.clone()
    });
    cut.collect()
}

/// Builds the line about torn bytes that a crash left at the end of the log.
pub(crate) fn torn_log_line(actor: &Actor, at: Timestamp, torn: &TornBytes) -> Map<String, Value> {
    let message = format!(
        "{} bytes behind the last whole line were put aside; their SHA-256 is {}",
        torn.bytes, torn.hash
    );
    recovery_line(actor, at, "TornLog", &message, Vec::new(), Effect::None)
}

/// Builds the line about a change that a dead process left unfinished.
pub(crate) fn settlement_line(
    actor: &Actor,
    at: Timestamp,
    settled: &Settlement,
    start_seq: Option<u64>,
) -> Map<String, Value> {
    let about = &settled.about;
    let what = match (settled.finished, settled.left) {
        (true, _) => "was finished",
        (false, 0) => "was undone",
        (false, _) => "was undone, but for files that somebody has changed since",
    };
    let message = format!(
        "the {} of request {} in session {} {what}",
        about.tool_name, about.request_id, about.session_id
    );
    let subjects = settled.paths.iter().map(|path| Subject {
        path: path.clone(),
        ..Subject::default()
    });
    let effect = if settled.finished {
        Effect::Done
    } else {
        Effect::None
    };
    let subjects = subjects.collect();
    let mut line = recovery_line(actor, at, "Recovery", &message, subjects, effect);
    if let Some(start_seq) = start_seq {
        set_start(&mut line, start_seq);
    }
    line
}

/// Builds the line about files that commands changed whose server died; they were put back.
pub(crate) fn governed_line(
    actor: &Actor,
    at: Timestamp,
    recovered: &Recovered,
    start_seq: Option<u64>,
) -> Map<String, Value> {
    let about = &recovered.about;
    let message = format!(
        "what the commands of request {} in session {} changed was put back",
        about.request_id, about.session_id
    );
    let subjects = recovered.paths.iter().map(|path| Subject {
        path: path.clone(),
        ..Subject::default()
    });
    let subjects = subjects.take(MAX_GOVERNED_CHANGES).collect();
    let mut line = recovery_line(actor, at, "Recovery", &message, subjects, Effect::None);
    if let Some(start_seq) = start_seq {
        set_start(&mut line, start_seq);
    }
    line
}

/// Builds the line about a change that a dead process left, and that can be neither finished nor undone.
pub(crate) fn unsettled_line(
    actor: &Actor,
    at: Timestamp,
    fault: &Fault<Workspace>,
    paths: &[String],
) -> Map<String, Value> {
    let subjects = paths.iter().map(|path| Subject {
        path: path.clone(),
        ..Subject::default()
    });
    let mut line = recovery_line(actor, at, "", "", subjects.collect(), Effect::None);
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("result", json!("error"));
    set("error_code", json!(fault.row().code));
    set("invariant_id", json!(fault.facts().invariant_id));
    set("cause", plain(json!(fault.cause())));
    let mut envelope = Workspace::envelope_value(fault, Some("recovery"), at);
    if let Some(members) = envelope.as_object_mut() {
        members.shift_remove("stack_trace");
    }
    set("envelope", plain(envelope));
    line
}

fn recovery_line(
    actor: &Actor,
    at: Timestamp,
    name: &str,
    message: &str,
    subjects: Vec<Subject>,
    effect: Effect,
) -> Map<String, Value> {
    let mut line = empty_line(actor, None, at);
    let cause = Cause::Error {
        message: message.to_owned(),
        code: None,
        name: name.to_owned(),
    };
    line.insert(String::from("cause"), json!(cause));
    line.insert(String::from("subject"), subject(&subjects));
    line.insert(String::from("effect"), json!(effect));
    line.insert(String::from("result"), json!("ok"));
    line.insert(String::from("tool_name"), json!("recovery"));
    line
}

/// Builds the line about an action of the owner.
pub(crate) fn owner_action_line(
    actor: &Actor,
    at: Timestamp,
    action: &OwnerAction<'_>,
) -> Map<String, Value> {
    let mut line = empty_line(actor, None, at);
    let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
    set("tool_name", json!(action.name()));
    set("approval", json!(action.approval()));
    set("plan_hash", json!(action.plan()));
    let cause = |message| Cause::Error {
        message,
        code: None,
        name: String::from("Person"),
    };
    set("cause", json!(action.detail().map(cause)));
    set("effect", json!(Effect::Done));
    set("result", json!("ok"));
    line
}

/// Builds a line with every member, each with its default.
fn empty_line(actor: &Actor, session: Option<&str>, at: Timestamp) -> Map<String, Value> {
    let line = json!({
        "v": VERSION,
        "timestamp": iso_millis(at),
        "session_id": session,
        "role": actor.role.map(Role::wire_name),
        "tool_name": null,
        "request_id": null,
        "actor": actor_json(actor, None),
        "args_hash": null,
        "subject": null,
        "commands": null,
        "sandbox": null,
        "approval": null,
        "result": null,
        "error_code": null,
        "invariant_id": null,
        "plan_hash": null,
        "phase_id": null,
        "cause": null,
        "envelope": null,
        "duration_us": 0,
        "effect": Effect::None,
    });
    match line {
        Value::Object(line) => line,
        _ => Map::new(),
    }
}

fn actor_json(actor: &Actor, call: Option<&Call>) -> Value {
    let client = call.map(|call| &call.client);
    let name = client.and_then(|client| client.name.as_deref());
    let version = client.and_then(|client| client.version.as_deref());
    json!({
        "os_user": actor.os_user,
        "client": name.map(redact_and_cut),
        "client_version": version.map(redact_and_cut),
        "candor": actor.version,
    })
}

/// Returns the hash of the arguments as they came, byte for byte.
pub(crate) fn args_hash(call: &Call) -> String {
    hash_of(call.arguments.as_deref().unwrap_or("{}").as_bytes())
}

fn subject(subjects: &[Subject]) -> Value {
    // The caller chooses the path, so it can contain a secret too.
    let subjects = subjects.iter().map(|subject| Subject {
        path: redact(&subject.path).into_owned(),
        ..subject.clone()
    });
    let mut subjects: Vec<_> = subjects.collect();
    match subjects.len() {
        0 => Value::Null,
        1 => json!(subjects.remove(0)),
        _ => json!(subjects),
    }
}

/// Returns a text as it is recorded: redacted and cut.
pub(crate) fn redact_and_cut(text: &str) -> String {
    redact(text).chars().take(NAME_CHARS).collect()
}

/// Replaces numbers that some readers cannot represent exactly by their text. Bounded like a cause.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) if !is_exact(&number) => Value::String(number.to_string()),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            Value::Object(members.map(|(name, value)| (name, plain(value))).collect())
        }
        other => other,
    }
}

fn is_exact(number: &Number) -> bool {
    number
        .as_i64()
        .is_some_and(|whole| whole.unsigned_abs() <= MAX_EXACT)
}
