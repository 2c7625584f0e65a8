//! The two rules that no schema can state: a path twice in `files`, and base64 that does not decode.

use super::commit::Content;
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is wrong about arguments that the schema admits.
pub(crate) fn check_further(tool: &str, arguments: &Value) -> Result<(), Violations> {
    if tool != "commit_files" {
        return Ok(());
    }
    let files = arguments.get("files").and_then(Value::as_array);
    let mut first = BTreeMap::new();
    let mut violations = Violations::default();
    for (index, file) in files.into_iter().flatten().enumerate() {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        match first.get(path) {
            Some(earlier) => violations.push(repeated(index, *earlier, path)),
            None => _ = first.insert(path, index),
        }
        let content: Option<Content> = serde_json::from_value(file.clone()).ok();
        if content.is_some_and(|content| content.bytes().is_none()) {
            violations.push(undecodable(index, &file["content"]));
        }
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
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
