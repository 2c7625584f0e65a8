//! The lock: what the frozen rows say. A locked row never changes and never vanishes.

use super::{FORM, pretty};
use crate::{Class, CodeRow, CodeValue, Effect, Retry, RowValue, codes};
use serde::Serialize;
use serde_json::{Value, json};

/// Where the lock lies below the root of the repository.
pub const LOCK_PATH: &str = "registry.lock.json";

/// What of a frozen row is locked. Meaning and remedy are help for people and may get better words.
#[derive(Serialize)]
struct Locked {
    dialect: &'static str,
    code: CodeValue,
    name: &'static str,
    message: &'static str,
    class: Class,
    retry: RowValue<Retry>,
    effect: RowValue<Effect>,
    category: Option<&'static str>,
    exit: Option<u8>,
    reasons: Vec<&'static str>,
}

fn locked(row: &CodeRow) -> Locked {
    Locked {
        dialect: row.dialect,
        code: row.code,
        name: row.name,
        message: row.message,
        class: row.class,
        retry: row.retry,
        effect: row.effect,
        category: row.category,
        exit: row.exit,
        reasons: row.reasons.iter().map(|reason| reason.name).collect(),
    }
}

/// The rows that are frozen now.
fn current() -> Vec<Value> {
    let rows = codes::all().into_iter().flat_map(|(_, rows)| rows);
    rows.filter(|row| row.frozen)
        .map(|row| json!(locked(row)))
        .collect()
}

/// `registry.lock.json`: the frozen rows as they are now.
pub fn lock() -> String {
    pretty(&json!({ "version": FORM, "rows": current() }))
}

/// What the registries break of a committed lock, one sentence each; empty where nothing is broken.
///
/// New frozen rows, and new words below a code, break nothing.
pub fn lock_conflicts(committed: &str) -> Vec<String> {
    let Ok(lock) = serde_json::from_str::<Value>(committed) else {
        return vec![format!("{LOCK_PATH} is not JSON.")];
    };
    let rows = lock["rows"].as_array().filter(|_| lock["version"] == FORM);
    let Some(rows) = rows else {
        return vec![format!("{LOCK_PATH} is not of version {FORM}.")];
    };
    let current = current();
    rows.iter()
        .flat_map(|old| broken(old, find(&current, old)))
        .collect()
}

fn find<'a>(rows: &'a [Value], wanted: &Value) -> Option<&'a Value> {
    rows.iter()
        .find(|row| row["dialect"] == wanted["dialect"] && row["code"] == wanted["code"])
}

/// What is different about one locked row.
fn broken(old: &Value, new: Option<&Value>) -> Vec<String> {
    let key = format!("{}/{}", plain(&old["dialect"]), plain(&old["code"]));
    let Some(new) = new else {
        return vec![format!(
            "{key} is locked and is no longer a frozen row; a locked row may never vanish."
        )];
    };
    let members = old.as_object().into_iter().flatten();
    let changed = members.filter(|(name, was)| match was {
        Value::Array(words) => words.iter().any(|word| !holds(&new[*name], word)),
        was => new[*name] != **was,
    });
    changed
        .map(|(name, was)| {
            let is = &new[name];
            format!(
                "{key}: `{name}` is locked as {was} and is now {is}; a locked row may never change."
            )
        })
        .collect()
}

fn holds(list: &Value, word: &Value) -> bool {
    list.as_array().is_some_and(|words| words.contains(word))
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
