//! Parses the arguments of `commit_files`, which have two rules that no schema can state: each path is given
//! once, and base64 decodes.

use super::commit::{CommitArguments, CommitFile};
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Parses the arguments of `commit_files`. Returns `None` if their form is wrong.
pub(super) fn parse_commit(arguments: &Value) -> Result<Option<CommitArguments>, Violations> {
    let files = arguments.get("files").and_then(Value::as_array);
    let mut first = BTreeMap::new();
    let mut violations = Violations::default();
    let mut parsed = files.map(|_| Vec::new());
    for (index, value) in files.into_iter().flatten().enumerate() {
        if let Some(path) = value.get("path").and_then(Value::as_str) {
            match first.get(path) {
                Some(earlier) => violations.push(repeated(index, *earlier, path)),
                None => _ = first.insert(path, index),
            }
        }
        match (
            CommitFile::deserialize(value).map(CommitFile::decode),
            &mut parsed,
        ) {
            (Ok(Some(file)), Some(parsed)) => parsed.push(file),
            (Ok(None), _) => violations.push(undecodable(index, &value["content"])),
            (Ok(Some(_)), None) => {}
            (Err(_), parsed) => *parsed = None,
        }
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let Some((mut request, files)) = CommitArguments::deserialize(arguments).ok().zip(parsed)
    else {
        return Ok(None);
    };
    request.files = files;
    Ok(Some(request))
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
