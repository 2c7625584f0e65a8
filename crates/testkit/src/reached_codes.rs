//! Records the failing codes that came over the wire, so that `xtask` can compare them with the
//! registry.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The environment variable that names the folder for the records.
const FOLDER: &str = "CANDOR_REACHED";

static FILES: AtomicU32 = AtomicU32::new(0);

/// The codes that one driver has seen. Each is recorded once, in a file of the driver's own.
#[derive(Debug)]
pub struct ReachedCodes {
    dialect: Option<String>,
    file: Option<PathBuf>,
    recorded: BTreeSet<String>,
}

impl Default for ReachedCodes {
    fn default() -> Self {
        // The environment is how the test runner talks to its tests.
        #[allow(clippy::disallowed_methods)]
        let folder = std::env::var_os(FOLDER);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = folder.map(|folder| {
            PathBuf::from(folder).join(format!("{}-{number}.reached", process::id()))
        });
        ReachedCodes {
            dialect: None,
            file,
            recorded: BTreeSet::new(),
        }
    }
}

impl ReachedCodes {
    /// Records failures under this dialect from now on, whatever their shape.
    pub fn set_dialect(&mut self, dialect: Option<&str>) {
        self.dialect = dialect.map(String::from);
    }

    /// Returns every recorded line.
    pub fn lines(&self) -> &BTreeSet<String> {
        &self.recorded
    }

    /// Records the failure in a message, if it is one.
    pub fn record(&mut self, message: &[u8]) {
        // Most messages are not failures, and some are very long.
        let text = String::from_utf8_lossy(message);
        if !text.contains("\"error\"") && !text.contains("\"isError\"") {
            return;
        }
        let Ok(message) = serde_json::from_str(&text) else {
            return;
        };
        for (dialect, code) in failing_codes(&message) {
            let dialect = self.dialect.as_deref().unwrap_or(dialect);
            self.write(format!("{dialect} {code}"));
        }
    }

    fn write(&mut self, line: String) {
        if self.recorded.contains(&line) {
            return;
        }
        if let Some(path) = &self.file {
            let file = OpenOptions::new().append(true).create(true).open(path);
            // If the folder cannot be written, `xtask` reports codes that no test has reached.
            let _ = file.and_then(|mut file| writeln!(file, "{line}"));
        }
        self.recorded.insert(line);
    }
}

/// Returns the codes of a failing answer, with the dialect that its shape implies.
pub fn failing_codes(message: &Value) -> Vec<(&'static str, String)> {
    if let Some(error) = message.get("error") {
        return protocol_codes(error);
    }
    let result = &message["result"];
    if result["isError"] != true {
        return Vec::new();
    }
    result_code(result).into_iter().collect()
}

/// Returns the codes of a JSON-RPC error: those of the wire, or of a dialect that uses this form.
fn protocol_codes(error: &Value) -> Vec<(&'static str, String)> {
    let data = &error["data"];
    let has = |name: &str| data.get(name).is_some();
    if has("tool") && has("timestamp") {
        return vec![("github", code_text(&error["code"]))];
    }
    if has("field") && has("violations") {
        let of_order = ("orders", code_text(&data["code"]));
        return vec![("wire", code_text(&error["code"])), of_order];
    }
    vec![("wire", code_text(&error["code"]))]
}

fn result_code(result: &Value) -> Option<(&'static str, String)> {
    let structured = &result["structuredContent"]["error"];
    if structured.get("retryable").is_some() {
        return Some(("orders", code_text(&structured["code"])));
    }
    if structured.get("fault").is_some() {
        return Some((candor_dialect(structured), code_text(&structured["code"])));
    }
    let text = result["content"][0]["text"].as_str()?;
    // The object is the whole text, or its last line.
    let object = text.trim_end().lines().next_back()?;
    let object: Value = serde_json::from_str(object).ok()?;
    if object.get("error_code").is_some() {
        return Some(("workspace", code_text(&object["error_code"])));
    }
    if object["error"].get("code").is_some() {
        return Some(("context", code_text(&object["error"]["code"])));
    }
    object.get("data")?;
    Some(("github", code_text(&object["code"])))
}

/// Returns the dialect of a failure in the form of `candor/1`: the reading tools of context have codes of
/// their own, and one that differs from a core code by its message only.
fn candor_dialect(error: &Value) -> &'static str {
    const CONTEXT_V1: [&str; 7] = [
        "cache_missing",
        "cache_invalid",
        "io_error",
        "internal_error",
        "document_missing",
        "version_changed",
        "answer_too_large",
    ];
    let is_own = |code: &str| CONTEXT_V1.contains(&code);
    match error["code"].as_str() {
        Some(code) if is_own(code) => "context-v1",
        Some("invalid_arguments") if error["message"] == "The arguments are not right" => {
            "context-v1"
        }
        _ => "candor",
    }
}

fn code_text(code: &Value) -> String {
    match code {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shape_implies_the_dialect() {
        let text =
            |text: &str| json!({ "result": { "content": [{ "text": text }], "isError": true } });
        for (message, expected) in [
            (json!({ "error": { "code": -32700 } }), vec!["wire -32700"]),
            (
                json!({ "error": { "code": -32002, "data": { "tool": "x", "timestamp": "y" } } }),
                vec!["github -32002"],
            ),
            (
                json!({ "error": { "code": -32602, "data": { "field": "a", "code": 2002, "violations": [] } } }),
                vec!["wire -32602", "orders 2002"],
            ),
            (
                json!({ "result": { "isError": true, "structuredContent": { "error": { "code": 3001, "retryable": false } } } }),
                vec!["orders 3001"],
            ),
            (
                json!({ "result": { "isError": true, "structuredContent": { "error": { "code": "internal", "fault": {} } } } }),
                vec!["candor internal"],
            ),
            (
                json!({ "result": { "isError": true, "structuredContent": { "error": { "code": "document_missing", "fault": {} } } } }),
                vec!["context-v1 document_missing"],
            ),
            (
                json!({ "result": { "isError": true, "structuredContent": { "error": { "code": "invalid_arguments", "message": "The arguments are not right", "fault": {} } } } }),
                vec!["context-v1 invalid_arguments"],
            ),
            (
                text("{\"error\":{\"code\":\"io_error\"}}\n"),
                vec!["context io_error"],
            ),
            (
                text("{\"error_code\":\"FILE_NOT_FOUND\"}"),
                vec!["workspace FILE_NOT_FOUND"],
            ),
            (
                text("A sentence.\n{\"code\":-32001,\"data\":{}}"),
                vec!["github -32001"],
            ),
            (text("only words"), vec![]),
            (json!({ "result": { "content": [] } }), vec![]),
        ] {
            let codes = failing_codes(&message);
            let codes: Vec<_> = codes
                .iter()
                .map(|(dialect, code)| format!("{dialect} {code}"))
                .collect();
            assert_eq!(codes, expected, "{message}");
        }
    }

    #[test]
    fn dialect_of_the_test_takes_precedence() {
        let mut reached = ReachedCodes::default();
        reached.set_dialect(Some("weather"));
        reached.record(br#"{"error":{"code":-1}}"#);
        reached.record(br#"not JSON"#);
        assert_eq!(reached.lines().iter().collect::<Vec<_>>(), ["weather -1"]);
    }
}
