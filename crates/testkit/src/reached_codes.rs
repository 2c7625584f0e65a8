//! Which failing codes have come over the wire: noted for whoever compares them with the registry.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The environment variable that names the folder for notes.
const FOLDER: &str = "CANDOR_REACHED";

static FILES: AtomicU32 = AtomicU32::new(0);

/// The codes that one driver has seen, each noted once, in a file of the driver's own.
#[derive(Debug)]
pub struct ReachedCodes {
    dialect: Option<String>,
    file: Option<PathBuf>,
    noted: BTreeSet<String>,
}

impl Default for ReachedCodes {
    fn default() -> Self {
        // Only tests run this, and only they are told by the environment.
        #[allow(clippy::disallowed_methods)]
        let folder = std::env::var_os(FOLDER);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = folder.map(|folder| {
            PathBuf::from(folder).join(format!("{}-{number}.reached", process::id()))
        });
        ReachedCodes {
            dialect: None,
            file,
            noted: BTreeSet::new(),
        }
    }
}

impl ReachedCodes {
    /// From here on failures belong to this dialect, whatever they look like.
    pub fn tell(&mut self, dialect: Option<&str>) {
        self.dialect = dialect.map(String::from);
    }

    /// Every line noted so far.
    pub fn lines(&self) -> &BTreeSet<String> {
        &self.noted
    }

    /// Notes what fails in one message.
    pub fn note(&mut self, message: &[u8]) {
        // Most messages are no failures, and some are very long.
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
        if self.noted.contains(&line) {
            return;
        }
        if let Some(path) = &self.file {
            let file = OpenOptions::new().append(true).create(true).open(path);
            // A folder that cannot be written shows as codes that nobody has reached.
            let _ = file.and_then(|mut file| writeln!(file, "{line}"));
        }
        self.noted.insert(line);
    }
}

/// The codes of a failing answer with the dialect that its shape tells.
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

/// A JSON-RPC error: the wire's own, or one of a dialect that has that form.
fn protocol_codes(error: &Value) -> Vec<(&'static str, String)> {
    let data = &error["data"];
    let has = |name: &str| data.get(name).is_some();
    if has("tool") && has("timestamp") {
        return vec![("github", shown(&error["code"]))];
    }
    if has("field") && has("violations") {
        let of_order = ("orders", shown(&data["code"]));
        return vec![("wire", shown(&error["code"])), of_order];
    }
    vec![("wire", shown(&error["code"]))]
}

fn result_code(result: &Value) -> Option<(&'static str, String)> {
    let structured = &result["structuredContent"]["error"];
    if structured.get("retryable").is_some() {
        return Some(("orders", shown(&structured["code"])));
    }
    if structured.get("fault").is_some() {
        return Some(("candor", shown(&structured["code"])));
    }
    let text = result["content"][0]["text"].as_str()?;
    // The object stands alone, or on its own line after a sentence.
    let object = text.trim_end().lines().next_back()?;
    let object: Value = serde_json::from_str(object).ok()?;
    if object.get("error_code").is_some() {
        return Some(("workspace", shown(&object["error_code"])));
    }
    if object["error"].get("code").is_some() {
        return Some(("context", shown(&object["error"]["code"])));
    }
    object.get("data")?;
    Some(("github", shown(&object["code"])))
}

fn shown(code: &Value) -> String {
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
    fn the_shape_tells_the_dialect() {
        let text =
            |text: &str| json!({ "result": { "content": [{ "text": text }], "isError": true } });
        for (message, wanted) in [
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
            let found = failing_codes(&message);
            let found: Vec<_> = found
                .iter()
                .map(|(dialect, code)| format!("{dialect} {code}"))
                .collect();
            assert_eq!(found, wanted, "{message}");
        }
    }

    #[test]
    fn a_test_can_tell_the_dialect_itself() {
        let mut reached = ReachedCodes::default();
        reached.tell(Some("weather"));
        reached.note(br#"{"error":{"code":-1}}"#);
        reached.note(br#"not JSON"#);
        assert_eq!(reached.lines().iter().collect::<Vec<_>>(), ["weather -1"]);
    }
}
