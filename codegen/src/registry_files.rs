//! The files that are generated from the registries: tables, schemas and pages.

use crate::lock::{LOCK_PATH, lock};
use crate::{GeneratedFile, error_pages, pretty_json};
use candor::registries::REGISTRIES;
use serde_json::{Map, Value, json};

/// The version of the format of `registry.json` and `registry.lock.json`.
pub(crate) const VERSION: u32 = 1;

/// Returns `registry.json`, the lock, the pages in `docs/errors` and the schemas.
pub(crate) fn registry_files() -> Vec<GeneratedFile> {
    let mut files = vec![
        GeneratedFile::new("registry.json", registry()),
        GeneratedFile::new(LOCK_PATH, lock()),
        GeneratedFile::new("docs/errors/README.md", error_pages::readme()),
    ];
    for registry in REGISTRIES {
        let path = format!("docs/errors/{}.md", registry.name);
        files.push(GeneratedFile::new(path, error_pages::page(registry)));
    }
    for schema in REGISTRIES.iter().flat_map(|registry| (registry.schemas)()) {
        let path = format!("schemas/{}.schema.json", schema.name);
        files.push(GeneratedFile::new(path, pretty_json(&schema.schema)));
    }
    files
}

/// Returns `registry.json`: every registry with its rows.
fn registry() -> String {
    let sections: Map<String, Value> = REGISTRIES
        .iter()
        .map(|registry| (registry.name.to_owned(), json!(registry.rows)))
        .collect();
    pretty_json(&json!({ "version": VERSION, "sections": sections }))
}
