//! Parses the arguments of `commit_changes`. Its items are flat, because clients handle `oneOf` badly, so
//! the members of each operation are rules beside the schema, as are unique paths and valid base64.

use super::argument_rules::{repeated, undecodable};
use super::commit_changes::ChangesArguments;
use crate::change_model::{PathChange, PathOperation};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use candor_street::{JsonKind, JsonRef};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The names of the list of changes, and of one of them.
const ITEMS: (&str, &str) = ("changes", "change");

/// The operation of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChangeOp {
    Write,
    Edit,
    Delete,
    Move,
    Chmod,
}

impl ChangeOp {
    fn word(self) -> &'static str {
        match self {
            ChangeOp::Write => "write",
            ChangeOp::Edit => "edit",
            ChangeOp::Delete => "delete",
            ChangeOp::Move => "move",
            ChangeOp::Chmod => "chmod",
        }
    }

    /// Returns the members beside `op` and `path` that it needs, and those that it may have.
    fn members(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            ChangeOp::Write => (&["content"], &["encoding", "executable"]),
            ChangeOp::Edit => (&["old_text", "new_text"], &[]),
            ChangeOp::Delete => (&[], &[]),
            ChangeOp::Move => (&["to"], &["content", "encoding"]),
            ChangeOp::Chmod => (&["executable"], &[]),
        }
    }
}

/// The members that only some operations have.
const MEMBERS: [&str; 6] = [
    "to",
    "content",
    "encoding",
    "old_text",
    "new_text",
    "executable",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ContentEncoding {
    #[default]
    Utf8,
    Base64,
}

/// One change as the caller gives it.
#[derive(Deserialize)]
pub(super) struct ChangeItem {
    pub(super) op: ChangeOp,
    pub(super) path: String,
    pub(super) to: Option<String>,
    content: Option<String>,
    #[serde(default)]
    encoding: ContentEncoding,
    old_text: Option<String>,
    new_text: Option<String>,
    executable: Option<bool>,
    /// The decoded content.
    #[serde(skip)]
    bytes: Option<Vec<u8>>,
}

impl ChangeItem {
    /// Decodes the content. Returns false if it is not valid base64.
    fn decode(&mut self) -> bool {
        self.bytes = match (self.content.take(), self.encoding) {
            (None, _) => None,
            (Some(text), ContentEncoding::Utf8) => Some(text.into_bytes()),
            (Some(text), ContentEncoding::Base64) => match STANDARD.decode(text) {
                Ok(bytes) => Some(bytes),
                Err(_) => return false,
            },
        };
        true
    }

    /// Returns the change. The rules have checked that its members are present.
    pub(super) fn change(self) -> PathChange {
        let operation = match self.op {
            ChangeOp::Write => PathOperation::Write {
                bytes: self.bytes.unwrap_or_default(),
                executable: self.executable,
            },
            ChangeOp::Edit => PathOperation::Edit {
                old_text: self.old_text.unwrap_or_default(),
                new_text: self.new_text.unwrap_or_default(),
            },
            ChangeOp::Delete => PathOperation::Delete,
            ChangeOp::Move => PathOperation::Move {
                to: self.to.unwrap_or_default(),
                bytes: self.bytes,
            },
            ChangeOp::Chmod => PathOperation::Chmod {
                executable: self.executable.unwrap_or_default(),
            },
        };
        PathChange {
            path: self.path,
            operation,
        }
    }
}

/// Parses the arguments of `commit_changes`. Returns `None` if their form is wrong.
pub(super) fn parse_changes(
    arguments: JsonRef<'_>,
) -> Result<Option<ChangesArguments>, Violations> {
    let changes = arguments.get("changes");
    let changes = changes.filter(|changes| changes.kind() == JsonKind::Array);
    let mut first = BTreeMap::new();
    let mut violations = Violations::default();
    let mut parsed = changes.map(|_| Vec::new());
    let items = changes.into_iter().flat_map(|changes| changes.items());
    for (index, value) in items.enumerate() {
        check_members(index, value, &mut violations);
        for member in ["path", "to"] {
            let Some(path) = value.get_or_null(member).as_str() else {
                continue;
            };
            match first.get(&path) {
                Some(earlier) => violations.push(repeated(
                    item_path(index, Some(member)),
                    (index, *earlier),
                    &path,
                    ITEMS,
                )),
                None => _ = first.insert(path, index),
            }
        }
        match (ChangeItem::deserialize(value), &mut parsed) {
            (Ok(mut item), parsed) => match (item.decode(), parsed) {
                (true, Some(parsed)) => parsed.push(item),
                (true, None) => {}
                (false, _) => {
                    let content = value.get_or_null("content").to_value();
                    violations.push(undecodable(item_path(index, Some("content")), &content));
                }
            },
            (Err(_), parsed) => *parsed = None,
        }
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let request = ChangesArguments::deserialize(arguments).ok();
    Ok(request.zip(parsed).map(|(mut request, changes)| {
        request.changes = changes;
        request
    }))
}

/// Checks the members of one change. An operation that does not exist is reported by the schema.
fn check_members(index: usize, value: JsonRef<'_>, violations: &mut Violations) {
    let Some(Ok(op)) = value.get("op").map(ChangeOp::deserialize) else {
        return;
    };
    let (needed, optional) = op.members();
    for member in needed {
        if value.get(member).is_none() {
            violations.push(missing(index, op, member, value));
        }
    }
    // An encoding is one of a content.
    let is_bare = value.get("encoding").is_some() && value.get("content").is_none();
    if is_bare && op == ChangeOp::Move {
        violations.push(missing(index, op, "content", value));
    }
    for member in MEMBERS {
        let is_known = needed.contains(&member) || optional.contains(&member);
        if !is_known && value.get(member).is_some() {
            violations.push(foreign(index, op, member, value));
        }
    }
}

fn item_path(index: usize, member: Option<&str>) -> ArgumentPath {
    let mut steps = vec![
        PathStep::Member(String::from("changes")),
        PathStep::Item(index),
    ];
    steps.extend(member.map(|member| PathStep::Member(member.to_owned())));
    ArgumentPath(steps)
}

fn missing(index: usize, op: ChangeOp, member: &str, item: JsonRef<'_>) -> Violation {
    Violation {
        path: item_path(index, None),
        keyword: "required",
        message: format!("must have required property '{member}'").into(),
        params: json!({ "missingProperty": member }).into(),
        value: excerpt(&item.to_value()),
        expected: format!("the member `{member}`").into(),
        hint: Some(format!("`{}` needs `{member}`", op.word())),
    }
}

fn foreign(index: usize, op: ChangeOp, member: &str, item: JsonRef<'_>) -> Violation {
    Violation {
        path: item_path(index, None),
        keyword: "additionalProperties",
        message: "must NOT have additional properties".into(),
        params: json!({ "additionalProperty": member }).into(),
        value: excerpt(&item.to_value()),
        expected: format!("no `{member}`").into(),
        hint: Some(format!("`{}` takes no `{member}`", op.word())),
    }
}
