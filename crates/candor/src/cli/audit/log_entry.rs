//! One entry of a log as people are shown it, whatever server wrote it: members that are not known are
//! left alone, and ones that are missing are blank.

use candor_audit::LogLine;
use serde_json::{Map, Value};

/// The members of an entry.
pub(super) struct LogEntry {
    members: Map<String, Value>,
}

impl LogEntry {
    /// Reads a line; nothing where it is none.
    pub(super) fn read(raw: &LogLine) -> Option<LogEntry> {
        let members = serde_json::from_slice(&raw.bytes).ok()?;
        Some(LogEntry { members })
    }

    /// The first of these members that says something, as text.
    fn text(&self, names: &[&str]) -> String {
        let values = names.iter().filter_map(|name| self.value(name));
        let mut said = values.filter(|value| !value.is_null());
        match said.next() {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// A member, or a member of a member.
    fn value(&self, name: &str) -> Option<&Value> {
        match name.split_once('.') {
            None => self.members.get(name),
            Some((outer, inner)) => self.members.get(outer)?.get(inner),
        }
    }

    /// When it was.
    pub(super) fn when(&self) -> String {
        self.text(&["timestamp", "at"])
    }

    /// Which tool it is about, or what else it is.
    pub(super) fn tool(&self) -> String {
        self.text(&["tool_name", "tool", "kind"])
    }

    /// The code of its failure; blank where there was none.
    pub(super) fn code(&self) -> String {
        self.text(&["error_code", "code"])
    }

    /// How it ended.
    pub(super) fn outcome(&self) -> String {
        match self.code() {
            none if none.is_empty() => self.text(&["result", "effect", "kind"]),
            code => code,
        }
    }

    /// What it was about.
    pub(super) fn detail(&self) -> String {
        self.text(&[
            "subject.path",
            "envelope.human_message",
            "message",
            "arguments.repo",
            "why",
        ])
    }

    /// The columns of a table.
    pub(super) fn columns(&self) -> [(&'static str, String); COLUMNS.len()] {
        COLUMNS.map(|(column, names)| (column, self.text(names)))
    }
}

/// What a table has, and where it is taken from.
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
