//! One entry of a log of any server, as it is shown: unknown members are ignored, missing ones are blank.

use candor_audit::LogLine;
use serde_json::{Map, Value};

pub(super) struct LogEntry {
    members: Map<String, Value>,
}

impl LogEntry {
    /// Parses a line. Returns `None` if it is not an entry.
    pub(super) fn parse(raw: &LogLine) -> Option<LogEntry> {
        let members = serde_json::from_slice(&raw.bytes).ok()?;
        Some(LogEntry { members })
    }

    /// Returns the first of these members that is not null, as text.
    fn text(&self, names: &[&str]) -> String {
        let values = names.iter().filter_map(|name| self.value(name));
        let mut present = values.filter(|value| !value.is_null());
        match present.next() {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Returns a member, or a member of a member (`subject.path`).
    fn value(&self, name: &str) -> Option<&Value> {
        match name.split_once('.') {
            None => self.members.get(name),
            Some((outer, inner)) => self.members.get(outer)?.get(inner),
        }
    }

    pub(super) fn timestamp(&self) -> String {
        self.text(&["timestamp", "at"])
    }

    /// Returns the tool, or the kind of an entry without a tool.
    pub(super) fn tool(&self) -> String {
        self.text(&["tool_name", "tool", "kind"])
    }

    /// Returns the code of the failure, or an empty text.
    pub(super) fn code(&self) -> String {
        self.text(&["error_code", "code"])
    }

    /// Returns the code, or the result if there is no code.
    pub(super) fn outcome(&self) -> String {
        match self.code() {
            none if none.is_empty() => self.text(&["result", "effect", "kind"]),
            code => code,
        }
    }

    /// Returns the path, message or repository of the call.
    pub(super) fn detail(&self) -> String {
        self.text(&[
            "subject.path",
            "envelope.human_message",
            "message",
            "arguments.repo",
            "why",
        ])
    }

    /// Returns the cells of a row of the CSV table.
    pub(super) fn columns(&self) -> [(&'static str, String); COLUMNS.len()] {
        COLUMNS.map(|(column, names)| (column, self.text(names)))
    }
}

/// The columns of the CSV table, and the members that fill them.
pub(super) const COLUMNS: [(&str, &[&str]); 18] = [
    ("seq", &["seq"]),
    ("timestamp", &["timestamp", "at"]),
    ("session_id", &["session_id"]),
    ("role", &["role"]),
    ("tool", &["tool_name", "tool"]),
    ("kind", &["kind"]),
    ("result", &["result"]),
    ("code", &["error_code", "code"]),
    ("effect", &["effect"]),
    ("path", &["subject.path"]),
    ("before", &["subject.before"]),
    ("after", &["subject.after"]),
    ("plan_hash", &["plan_hash"]),
    ("phase_id", &["phase_id"]),
    ("approver", &["approval.approver"]),
    ("duration_us", &["duration_us"]),
    ("prev_hash", &["prev_hash"]),
    ("hash", &["hash"]),
];
