//! The two rules that no schema can state: a path twice in `files`, and base64 that does not decode.

use super::commit::CommitFile;
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Checks the files of `commit_files`.
pub(super) fn check_files(arguments: &Value) -> Violations {
    let files = arguments.get("files").and_then(Value::as_array);
    let mut first = BTreeMap::new();
    let mut violations = Violations::default();
    for (index, file) in files.into_iter().flatten().enumerate() {
        if let Some(path) = file.get("path").and_then(Value::as_str) {
            match first.get(path) {
                Some(earlier) => violations.push(repeated(index, *earlier, path)),
                None => _ = first.insert(path, index),
            }
        }
        let content = CommitFile::deserialize(file);
        if content.is_ok_and(|content| content.bytes().is_none()) {
            violations.push(undecodable(index, &file["content"]));
        }
    }
    violations
}

fn place(index: usize, member: &str) -> ArgumentPath {
    ArgumentPath(vec![
        PathStep::Member(String::from("files")),
        PathStep::Item(index),
        PathStep::Member(member.to_owned()),
    ])
}

fn repeated(index: usize, earlier: usize, path: &str) -> Violation {
    Violation {
        path: place(index, "path"),
        keyword: "uniquePath",
        message: String::from("must NOT repeat a path"),
        params: json!({ "i": index, "j": earlier }),
        value: excerpt(&json!(path)),
        expected: String::from("a path that no other file has"),
        hint: Some(format!(
            "files/{earlier} has the same path: give each path once"
        )),
    }
}

fn undecodable(index: usize, content: &Value) -> Violation {
    Violation {
        path: place(index, "content"),
        keyword: "contentEncoding",
        message: String::from("must be valid base64"),
        params: json!({ "contentEncoding": "base64" }),
        value: excerpt(content),
        expected: String::from("valid base64"),
        hint: Some(String::from(
            "give plain text with `encoding` utf8, or standard base64 with padding",
        )),
    }
}
