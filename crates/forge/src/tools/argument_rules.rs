//! Parses the arguments of `commit_files`, which have two rules that no schema can state: each path is given
//! once, and base64 decodes.

use super::commit::{CommitArguments, CommitFile};
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use candor_street::{JsonKind, JsonRef};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The names of the list of files, and of one of them.
const ITEMS: (&str, &str) = ("files", "file");

/// Parses the arguments of `commit_files`. Returns `None` if their form is wrong.
pub(super) fn parse_commit(arguments: JsonRef<'_>) -> Result<Option<CommitArguments>, Violations> {
    let files = arguments.get("files");
    let files = files.filter(|files| files.kind() == JsonKind::Array);
    let mut first = BTreeMap::new();
    let mut violations = Violations::default();
    let mut parsed = files.map(|_| Vec::new());
    let items = files.into_iter().flat_map(|files| files.items());
    for (index, value) in items.enumerate() {
        if let Some(path) = value.get_or_null("path").as_str() {
            match first.get(&path) {
                Some(earlier) => violations.push(repeated(
                    place(index, "path"),
                    (index, *earlier),
                    &path,
                    ITEMS,
                )),
                None => _ = first.insert(path, index),
            }
        }
        match (
            CommitFile::deserialize(value).map(CommitFile::decode),
            &mut parsed,
        ) {
            (Ok(Some(file)), Some(parsed)) => parsed.push(file),
            (Ok(None), _) => violations.push(undecodable(
                place(index, "content"),
                &value.get_or_null("content").to_value(),
            )),
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

/// Returns the violation of a path that an earlier item has too. The items are given by the name of their
/// list and of one of them.
pub(super) fn repeated(
    at: ArgumentPath,
    (index, earlier): (usize, usize),
    path: &str,
    (list, item): (&str, &str),
) -> Violation {
    Violation {
        path: at,
        keyword: "uniquePath",
        message: "must NOT repeat a path".into(),
        params: json!({ "i": index, "j": earlier }).into(),
        value: excerpt(&json!(path)),
        expected: format!("a path that no other {item} has").into(),
        hint: Some(format!(
            "{list}/{earlier} has the same path: give each path once"
        )),
    }
}

/// Returns the violation of a content that is not base64.
pub(super) fn undecodable(at: ArgumentPath, content: &Value) -> Violation {
    Violation {
        path: at,
        keyword: "contentEncoding",
        message: "must be valid base64".into(),
        params: json!({ "contentEncoding": "base64" }).into(),
        value: excerpt(content),
        expected: "valid base64".into(),
        hint: Some(String::from(
            "give plain text with `encoding` utf8, or standard base64 with padding",
        )),
    }
}
