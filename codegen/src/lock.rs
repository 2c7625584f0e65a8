//! `registry.lock.json`: the frozen rows. A locked row never changes and never vanishes.

use crate::pretty_json;
use crate::registry_files::VERSION;
use candor::registries::REGISTRIES;
use candor_fault::{Class, CodeRow, CodeValue, Effect, Retry, RowValue};
use serde::Serialize;
use serde_json::{Value, json};

/// The path of the lock in the repository.
pub(crate) const LOCK_PATH: &str = "registry.lock.json";

/// The locked part of a frozen row. Meaning and remedy are help for people and may be reworded.
#[derive(Serialize)]
struct LockedRow {
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

fn lock_row(row: &CodeRow) -> LockedRow {
    LockedRow {
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

/// Returns the rows that are frozen in the code.
fn frozen_rows() -> Vec<Value> {
    let rows = REGISTRIES.iter().flat_map(|registry| registry.rows);
    rows.filter(|row| row.frozen)
        .map(|row| json!(lock_row(row)))
        .collect()
}

/// Returns the content of the lock for the rows in the code.
pub(crate) fn lock() -> String {
    pretty_json(&json!({ "version": VERSION, "rows": frozen_rows() }))
}

/// Compares the registries with a committed lock. Returns one sentence for each locked row that
/// changed or vanished; new frozen rows, and new words below a code, are not conflicts.
pub(crate) fn lock_conflicts(committed: &str) -> Vec<String> {
    let Ok(lock) = serde_json::from_str::<Value>(committed) else {
        return vec![format!("{LOCK_PATH} is not JSON.")];
    };
    let rows = lock["rows"]
        .as_array()
        .filter(|_| lock["version"] == VERSION);
    let Some(rows) = rows else {
        return vec![format!("{LOCK_PATH} is not of version {VERSION}.")];
    };
    let current = frozen_rows();
    rows.iter()
        .flat_map(|old| row_conflicts(old, find_row(&current, old)))
        .collect()
}

fn find_row<'a>(rows: &'a [Value], key: &Value) -> Option<&'a Value> {
    rows.iter()
        .find(|row| row["dialect"] == key["dialect"] && row["code"] == key["code"])
}

/// Returns the differences of one locked row.
fn row_conflicts(old: &Value, new: Option<&Value>) -> Vec<String> {
    let key = format!("{}/{}", unquoted(&old["dialect"]), unquoted(&old["code"]));
    let Some(new) = new else {
        return vec![format!(
            "{key} is locked and is no longer a frozen row; a locked row may never vanish."
        )];
    };
    let members = old.as_object().into_iter().flatten();
    let changed = members.filter(|(name, was)| match was {
        Value::Array(words) => words.iter().any(|word| !contains(&new[*name], word)),
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

fn contains(list: &Value, word: &Value) -> bool {
    list.as_array().is_some_and(|words| words.contains(word))
}

fn unquoted(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
