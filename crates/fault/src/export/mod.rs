//! Everything that is generated from the registries and committed: tables, schemas and pages.

mod examples;
mod lock;
mod page;
mod readme;
mod words;

pub use lock::{LOCK_PATH, lock, lock_conflicts};

use crate::{CodeRow, codes, schemas};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version of the form of `registry.json` and `registry.lock.json`.
const FORM: u32 = 1;

/// Every generated file: its path below the root of the repository, and its content.
pub fn files() -> Vec<(String, String)> {
    let mut files = vec![
        (String::from("registry.json"), registry()),
        (String::from(LOCK_PATH), lock()),
        (String::from("docs/errors/README.md"), readme::readme()),
    ];
    for section in words::SECTIONS {
        let path = format!("docs/errors/{}.md", section.name);
        files.push((path, page::page(section)));
    }
    for (name, schema) in schemas::all() {
        files.push((format!("schemas/{name}"), pretty(&schema)));
    }
    files
}

/// `registry.json`: every section with its rows.
pub fn registry() -> String {
    let sections: Map<String, Value> = codes::all()
        .into_iter()
        .map(|(name, rows)| (name.to_owned(), json!(rows)))
        .collect();
    pretty(&json!({ "version": FORM, "sections": sections }))
}

/// The rows of a section.
fn rows(section: &str) -> &'static [CodeRow] {
    let found = codes::all().into_iter().find(|(name, _)| *name == section);
    found.map_or(&[], |(_, rows)| rows)
}

/// JSON for people and diffs: two spaces, a newline at the end.
fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
