//! Calls of the workspace tools; every failure is checked against the whole contract of the envelope.

use crate::requests::{call, parse};
use crate::workspace::fixture::WorkspaceFixture;
use candor_testkit::{Exit, Stdio};
use candor_workspace::dialect::codes::ROWS;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The members of the envelope, in their order.
pub(crate) const KEYS: [&str; 11] = [
    "error_code",
    "human_message",
    "role",
    "session_id",
    "workspace_root",
    "tool_name",
    "invariant_id",
    "phase_id",
    "plan_hash",
    "cause",
    "timestamp",
];

/// The only client of one server.
pub(crate) struct AgentClient {
    pub(crate) server: Stdio,
    root: String,
    logs: [PathBuf; 2],
    /// The id of the session; `None` before it begins.
    pub(crate) session: Option<String>,
    last_id: u64,
}

#[derive(Debug)]
pub(crate) struct CallFailure {
    /// The text of the answer.
    pub(crate) text: String,
    pub(crate) envelope: Value,
    pub(crate) meta: Value,
    /// Its line of the log, if it has one.
    pub(crate) line: Option<Value>,
}

impl CallFailure {
    pub(crate) fn code(&self) -> &str {
        self.envelope["error_code"].as_str().unwrap()
    }

    pub(crate) fn message(&self) -> &str {
        self.envelope["human_message"].as_str().unwrap()
    }

    pub(crate) fn cause(&self) -> &Value {
        &self.envelope["cause"]
    }

    pub(crate) fn effect(&self) -> &str {
        self.meta["dev.candor/fault"]["effect"].as_str().unwrap()
    }
}

impl AgentClient {
    pub(crate) fn new(server: Stdio, fixture: &WorkspaceFixture) -> AgentClient {
        AgentClient {
            server,
            root: fixture.root_text(),
            logs: [
                fixture.path("audit-log.jsonl"),
                fixture.path_beside("state/refusals.jsonl"),
            ],
            session: None,
            last_id: 0,
        }
    }

    pub(crate) fn begin_session(&mut self) -> Value {
        let session = self.call_ok("begin_session", json!({ "workspace_root": self.root }));
        self.session = Some(session["session_id"].as_str().unwrap().to_owned());
        session
    }

    /// Makes a call and returns the whole answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.last_id += 1;
        let answer = self.server.ask(call(self.last_id, tool, arguments));
        let answer = parse(&answer);
        assert_eq!(answer["id"], self.last_id, "{answer}");
        answer
    }

    /// Makes a call that must succeed, and returns its structured content.
    pub(crate) fn call_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.call(tool, &arguments);
        let failed = answer["result"]["isError"] == true || answer.get("error").is_some();
        assert!(!failed, "{tool} {arguments}: {answer}");
        let receipt = &answer["result"]["_meta"]["dev.candor/receipt"];
        assert!(receipt["seq"].is_u64(), "{answer}");
        answer["result"]["structuredContent"].take()
    }

    /// Makes a call that must fail as the contract demands.
    pub(crate) fn call_err(&mut self, tool: &str, arguments: Value) -> CallFailure {
        let answer = self.call(tool, &arguments);
        let failed = self.parse_failure(&answer);
        assert_eq!(failed.envelope["tool_name"], tool);
        failed
    }

    /// Makes a call and returns its code, or `ok` if it succeeds.
    pub(crate) fn call_code(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, &arguments);
        match answer["result"]["isError"] == true {
            true => self.parse_failure(&answer).code().to_owned(),
            false => {
                assert!(answer.get("error").is_none(), "{answer}");
                String::from("ok")
            }
        }
    }

    /// Parses a failing answer and checks it against the contract.
    pub(crate) fn parse_failure(&self, answer: &Value) -> CallFailure {
        let result = &answer["result"];
        let members: Vec<_> = result.as_object().unwrap().keys().collect();
        assert_eq!(members, ["content", "isError", "_meta"], "{answer}");
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{answer}");
        assert_eq!(result["content"][0]["type"], "text");
        let text = result["content"][0]["text"].as_str().unwrap();
        let envelope: Value = serde_json::from_str(text).unwrap();
        assert_eq!(envelope.to_string(), text, "compact JSON");
        self.check(&envelope);
        let meta = result["_meta"].clone();
        CallFailure {
            line: self.line(&meta["dev.candor/receipt"], &envelope),
            text: text.to_owned(),
            envelope,
            meta,
        }
    }

    /// Checks what every envelope must contain.
    fn check(&self, envelope: &Value) {
        let mut keys: Vec<_> = envelope.as_object().unwrap().keys().collect();
        keys.retain(|key| *key != "stack_trace");
        assert_eq!(keys, KEYS, "{envelope}");
        let code = envelope["error_code"].as_str().unwrap();
        assert!(
            ROWS.iter().any(|row| row.code.text() == code),
            "{code} is not registered"
        );
        assert!(!envelope["cause"].is_null(), "{envelope}");
        assert!(envelope["cause"].to_string().len() <= 16 * 1024);
        AgentClient::check_cause(code, &envelope["cause"]);
        let time = envelope["timestamp"].as_str().unwrap();
        assert!(
            time.len() == "2026-01-02T03:04:05.678Z".len() && time.ends_with('Z'),
            "{time}"
        );
        assert_eq!(
            envelope["invariant_id"].is_null(),
            code != "INVARIANT_VIOLATION"
        );
        assert!(envelope["role"].is_string());
        assert_eq!(envelope["session_id"], json!(self.session));
        let root = self.session.as_ref().map(|_| &self.root);
        assert_eq!(envelope["workspace_root"], json!(root));
    }

    /// Checks that the cause has the form that its code demands.
    fn check_cause(code: &str, cause: &Value) {
        let keys: Vec<_> = cause.as_object().unwrap().keys().collect();
        let starts_with = |names: &[&str]| keys.iter().zip(names).all(|(key, name)| *key == name);
        let is = |names: &[&str]| keys.len() == names.len() && starts_with(names);
        let error = ["message", "code", "name"];
        let right = match code {
            "HASH_MISMATCH" => is(&["expected", "actual"]),
            "SESSION_LOCKED" => is(&["error_code", "human_message", "seq"]),
            "PREFLIGHT_FAILED" => {
                starts_with(&["argv", "exit_code", "signal", "timed_out", "output_tail"])
            }
            "POLICY_VIOLATION" | "RUST_POLICY_VIOLATION" => is(&["findings", "omitted"]),
            "AUDIT_LOG_FAILED" | "AUDIT_LOCK_FAILED" => {
                starts_with(&error) || keys[0] == "recording"
            }
            "INVALID_INPUT_TYPE" => starts_with(&["violations"]),
            "INVALID_INPUT_FORMAT" | "INVALID_INPUT_VALUE" | "MISSING_REQUIRED_FIELD" => {
                starts_with(&["violations"]) || starts_with(&error)
            }
            _ => starts_with(&error) && keys.len() >= error.len(),
        };
        assert!(right, "{code}: {cause}");
    }

    /// Returns the log line of a receipt, which must contain the envelope without its stack.
    fn line(&self, receipt: &Value, envelope: &Value) -> Option<Value> {
        if receipt.is_null() {
            let code = envelope["error_code"].as_str().unwrap();
            assert!(code.starts_with("AUDIT_"), "{envelope}");
            return None;
        }
        let log = &self.logs[usize::from(self.session.is_none())];
        let text = fs::read_to_string(log).unwrap();
        let hash = format!("\"hash\":{},", receipt["hash"]);
        let line = text.lines().rev().find(|line| line.contains(&hash));
        let line = line.unwrap_or_else(|| panic!("{receipt} is not in {}", log.display()));
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seq"], receipt["seq"]);
        let mut sent = envelope.clone();
        sent.as_object_mut().unwrap().shift_remove("stack_trace");
        assert_eq!(line["envelope"], sent);
        assert_eq!(line["result"], "error");
        for name in [
            "tool_name",
            "error_code",
            "invariant_id",
            "plan_hash",
            "phase_id",
            "timestamp",
            "cause",
            "role",
            "session_id",
        ] {
            assert_eq!(line[name], envelope[name], "{name}");
        }
        Some(line)
    }

    /// Closes stdin; the server must then exit with 0.
    pub(crate) fn end(&mut self) {
        assert_eq!(self.server.end(), (vec![], Exit::Code(0)));
    }
}
