//! Every code of every dialect, in both forms and both eras: the exact bytes, and
//! the committed schemas.

use crate::fixture::CANDOR;
use crate::requests::{call, mask_times, parse, stateless_call, stateless_headers};
use crate::wire::answers::result;
use crate::wire::fixture::{http, stdio};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The form of failures in dialects that have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Protocol,
    Result,
}

impl Form {
    fn flag(self) -> &'static str {
        match self {
            Form::Protocol => "jsonrpc",
            Form::Result => "result",
        }
    }
}

/// Returns the row of a code as `candor explain` prints it.
struct Row(Value);

impl Row {
    /// Every row, from `candor explain --json`.
    fn all() -> Vec<Row> {
        let output = Command::new(CANDOR)
            .args(["explain", "--json"])
            .output()
            .unwrap();
        assert!(output.status.success());
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert!(rows.len() >= 71, "{} rows", rows.len());
        rows.into_iter().map(Row).collect()
    }

    fn text(&self, column: &str) -> &str {
        self.0[column].as_str().unwrap()
    }

    fn dialect(&self) -> &str {
        self.text("dialect")
    }

    /// The code as JSON.
    fn code(&self) -> String {
        self.0["code"].to_string()
    }

    /// Returns a column of the row, or `default` if each failure states it.
    fn column_or(&self, column: &str, default: &'static str) -> &str {
        match self.text(column) {
            "said_by_each_failure" => default,
            fixed => fixed,
        }
    }

    fn retry(&self) -> &str {
        self.column_or("retry", "never")
    }

    fn effect(&self) -> &str {
        self.column_or("effect", "none")
    }

    fn arguments(&self) -> String {
        format!(
            r#"{{"dialect":"{}","code":{},"retry":"never","effect":"none"}}"#,
            self.dialect(),
            self.code()
        )
    }

    /// The object `fault`.
    fn five(&self) -> String {
        format!(
            r#"{{"class":{},"retry":"{}","retry_after_ms":null,"effect":"{}","remedy":{}}}"#,
            self.0["class"],
            self.retry(),
            self.effect(),
            self.0["remedy"]
        )
    }

    fn sentence(&self) -> String {
        let effect = match self.effect() {
            "none" => "nothing was changed",
            other => panic!("no code fixes the effect {other}"),
        };
        let retry = match self.retry() {
            "never" => "do not retry",
            "after_change" => "do not retry unchanged",
            "same_call" => "the same call may be retried",
            _ => "retry the same call later",
        };
        let (message, remedy) = (self.text("message"), self.text("remedy"));
        format!("{message}; {effect}; {retry}: {remedy}")
    }

    /// Returns the answer after its id.
    fn answer(&self, form: Form) -> String {
        let (code, message) = (self.code(), &self.0["message"]);
        match (self.dialect(), form) {
            ("wire", _) => format!(r#""error":{{"code":{code},"message":{message}}}"#),
            ("github", Form::Protocol) => format!(r#""error":{}"#, self.github()),
            ("github", Form::Result) => {
                failing(&format!("{}\n{}", self.sentence(), self.github()), "", "")
            }
            ("context", _) => {
                let text = format!("{{\"error\":{{\"code\":{code},\"message\":{message}}}}}\n");
                failing(&text, "", "")
            }
            ("workspace", _) => {
                let meta = format!(r#","_meta":{{"dev.candor/fault":{}}}"#, self.five());
                failing(&self.envelope(), "", &meta)
            }
            ("orders", _) => {
                let response = self.order_response();
                let object = format!(r#"{{"error":{response}}}"#);
                failing(&object, &object, &format!(r#","error":{response}"#))
            }
            ("candor" | "context-v1", _) => {
                let five = self.five();
                let error = format!(
                    r#"{{"code":{code},"message":{message},"fault":{five},"violations":[]}}"#
                );
                let object = format!(r#"{{"error":{error}}}"#);
                let text = format!("{}\n{object}", self.sentence());
                failing(
                    &text,
                    &object,
                    &format!(r#","_meta":{{"dev.candor/error":{error}}}"#),
                )
            }
            (other, _) => panic!("an unknown dialect: {other}"),
        }
    }

    fn github(&self) -> String {
        let data = match self.code().as_str() {
            "-32602" => r#"{"tool":"fail","validation_errors":[],"timestamp":"<when>"}"#.to_owned(),
            _ => format!(
                r#"{{"tool":"fail","timestamp":"<when>","fault":{}}}"#,
                self.five()
            ),
        };
        let (code, message) = (self.code(), &self.0["message"]);
        format!(r#"{{"code":{code},"message":{message},"data":{data}}}"#)
    }

    fn envelope(&self) -> String {
        format!(
            r#"{{"error_code":{},"human_message":{},"role":null,"session_id":null,"workspace_root":null,"tool_name":"fail","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":null,"timestamp":"<when>"}}"#,
            self.code(),
            self.0["message"]
        )
    }

    fn order_response(&self) -> String {
        format!(
            r#"{{"code":{},"message":{},"retryable":{},"details":{{"suggestion":{},"context":{{"class":{},"effect":"{}","retryAfterMs":null}}}}}}"#,
            self.code(),
            self.0["message"],
            matches!(self.retry(), "same_call" | "after_delay"),
            self.0["remedy"],
            self.0["class"],
            self.effect()
        )
    }

    /// Returns the status over HTTP. Only refusals before any tool have their own status.
    fn status(&self) -> u16 {
        match (self.dialect(), self.code().as_str()) {
            ("wire", "-32002" | "-32601" | "-32602") => 200,
            ("wire", "-32603") => 503,
            ("wire", _) => 400,
            _ => 200,
        }
    }
}

/// Returns a failing result with a text, structured content and the members after `isError`.
fn failing(text: &str, structured: &str, rest: &str) -> String {
    let structured = match structured {
        "" => String::new(),
        object => format!(r#","structuredContent":{object}"#),
    };
    let content = json!([{ "type": "text", "text": text }]);
    format!(r#""result":{{"content":{content}{structured},"isError":true{rest}}}"#)
}

/// A committed schema.
fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../schemas")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    jsonschema::validator_for(&parse(&text)).unwrap()
}

/// Every committed schema that a failure of a dialect has to meet.
struct Schemas(Vec<(&'static str, Validator)>);

impl Schemas {
    fn new() -> Self {
        const NAMES: [&str; 13] = [
            "candor.failure",
            "candor.result",
            "context-v1.failure",
            "context-v1.result",
            "context.error",
            "context.result",
            "github.error",
            "github.result",
            "orders.failure",
            "orders.response",
            "orders.result",
            "wire.error",
            "workspace.result",
        ];
        let all = NAMES
            .into_iter()
            .map(|name| (name, schema(&format!("{name}.schema.json"))));
        let envelope = (
            "workspace.envelope",
            schema("workspace.envelope.schema.json"),
        );
        Schemas(all.chain([envelope]).collect())
    }

    fn check(&self, name: &str, value: &Value) {
        let (_, schema) = self
            .0
            .iter()
            .find(|(name_of_schema, _)| *name_of_schema == name)
            .unwrap();
        let wrong: Vec<_> = schema
            .iter_errors(value)
            .map(|error| error.to_string())
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}\n{value}");
    }

    /// Checks each part of a dialect's answer against its schema.
    fn check_answer(&self, dialect: &str, answer: &Value) {
        if let Some(error) = answer.get("error") {
            return self.check(&format!("{dialect}.error"), error);
        }
        let mut result = answer["result"].clone();
        // The protocol revision adds this member to every result.
        result.as_object_mut().unwrap().shift_remove("resultType");
        self.check(&format!("{dialect}.result"), &result);
        let text = result["content"][0]["text"].as_str().unwrap();
        let object = || parse(text.trim_end().lines().last().unwrap());
        match dialect {
            "candor" | "context-v1" => {
                self.check(&format!("{dialect}.failure"), &result["structuredContent"]);
                assert_eq!(object(), result["structuredContent"]);
            }
            "context" => self.check("context.error", &object()),
            "github" => self.check("github.error", &object()),
            "orders" => {
                self.check("orders.failure", &result["structuredContent"]);
                self.check("orders.response", &result["error"]);
                assert_eq!(object(), result["structuredContent"]);
            }
            "workspace" => self.check("workspace.envelope", &object()),
            other => panic!("{other} has no failing results"),
        }
    }
}

#[test]
fn every_code_has_its_form() {
    let (rows, schemas) = (Row::all(), Schemas::new());
    let mut reached = BTreeSet::new();
    for form in [Form::Protocol, Form::Result] {
        let mut line = stdio(&["--failures", form.flag()]);
        for row in &rows {
            let expected = row.answer(form);
            let answer = line.ask(call("1", "fail", row.arguments()));
            assert_eq!(
                mask_times(&answer),
                format!(r#"{{"jsonrpc":"2.0","id":1,{expected}}}"#)
            );
            schemas.check_answer(row.dialect(), &parse(&answer));

            let expected =
                expected.replacen(r#""result":{"#, r#""result":{"resultType":"complete","#, 1);
            let answer = line.ask(stateless_call("2", "fail", row.arguments()));
            assert_eq!(
                mask_times(&answer),
                format!(r#"{{"jsonrpc":"2.0","id":2,{expected}}}"#)
            );
            schemas.check_answer(row.dialect(), &parse(&answer));
        }
        reached.extend(line.reached().lines().iter().cloned());
    }
    let all: BTreeSet<_> = rows
        .iter()
        .map(|row| format!("{} {}", row.dialect(), row.code().trim_matches('"')))
        .collect();
    assert_eq!(reached, all, "the drivers know every code by its shape");
}

#[test]
fn every_code_has_its_status_over_http() {
    let server = http(&["--failures", "jsonrpc"]);
    for row in Row::all() {
        let response = server.post(call("1", "fail", row.arguments()), &[]);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,{}}}"#,
            row.answer(Form::Protocol)
        );
        assert_eq!(
            (response.status, mask_times(&response.text())),
            (row.status(), expected)
        );
        let after = (row.status() == 503).then_some("1");
        assert_eq!(response.header("retry-after"), after);
    }
}

/// Without a flag the era decides: older clients get errors, newer ones results that a model sees.
#[test]
fn era_decides_the_form() {
    let mut line = stdio(&[]);
    let server = http(&[]);
    let rows = Row::all();
    let row = rows
        .iter()
        .find(|row| row.dialect() == "github" && row.code() == "-32002")
        .unwrap();
    let old = call("1", "fail", row.arguments());
    let new = stateless_call("1", "fail", row.arguments());
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,{}}}"#,
        row.answer(Form::Protocol)
    );
    assert_eq!(mask_times(&line.ask(old.clone())), expected);
    assert_eq!(mask_times(&server.post(old, &[]).text()), expected);
    let expected = row
        .answer(Form::Result)
        .replacen('{', r#"{"resultType":"complete","#, 1);
    let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{expected}}}"#);
    assert_eq!(mask_times(&line.ask(new.clone())), expected);
    let response = server.post(new, &stateless_headers("tools/call", Some("fail")));
    assert_eq!(mask_times(&response.text()), expected);
}

/// A failure states the answers that its row leaves open, and its wait.
#[test]
fn requested_answers_and_waits_are_returned() {
    let mut line = stdio(&["--failures", "jsonrpc"]);
    let mut fault = |arguments: &str, pointer: &str| {
        let answer = parse(&line.ask(call("1", "fail", arguments)));
        answer.pointer(pointer).cloned().unwrap_or_default()
    };
    let open =
        r#"{"dialect":"github","code":"INTERNAL_ERROR","retry":"after_change","effect":"unknown"}"#;
    let count = fault(open, "/error/data/fault");
    assert_eq!(
        (&count["retry"], &count["effect"]),
        (&json!("after_change"), &json!("unknown"))
    );
    let fixed = r#"{"dialect":"github","code":"NOT_FOUND","retry":"same_call","effect":"done"}"#;
    let count = fault(fixed, "/error/data/fault");
    assert_eq!(
        (&count["retry"], &count["effect"]),
        (&json!("after_change"), &json!("none"))
    );
    let wait = r#"{"dialect":"orders","code":3001,"retry_after_ms":1500}"#;
    assert_eq!(
        fault(wait, "/result/error/details/context/retryAfterMs"),
        1500
    );
    let wait = r#"{"dialect":"candor","code":"limited","retry_after_ms":0}"#;
    assert_eq!(
        fault(wait, "/result/structuredContent/error/fault/retry_after_ms"),
        0
    );
    let never = r#"{"dialect":"candor","code":"internal","effect":"done","retry_after_ms":5}"#;
    assert_eq!(
        fault(
            never,
            "/result/structuredContent/error/fault/retry_after_ms"
        ),
        Value::Null
    );
}

/// Each reason of a code is part of the contract and is in the answer.
#[test]
fn every_reason_is_returned() {
    let (mut line, schemas) = (stdio(&[]), Schemas::new());
    let mut count = 0;
    for row in Row::all() {
        for reason in row.0["reasons"].as_array().into_iter().flatten() {
            let name = reason["name"].as_str().unwrap();
            let arguments = row
                .arguments()
                .replacen('{', &format!(r#"{{"reason":"{name}","#), 1);
            let answer = parse(&line.ask(call("1", "fail", &arguments)));
            schemas.check_answer(row.dialect(), &answer);
            let result = &answer["result"];
            let reason = match row.dialect() {
                "orders" => result["error"]["details"]["originalError"].clone(),
                _ => parse(result["content"][0]["text"].as_str().unwrap())["invariant_id"].clone(),
            };
            assert_eq!(reason, name, "{answer}");
            count += 1;
        }
    }
    assert!(count > 0);
}

/// A bug in a tool is the dialect's internal error; the server and every other call live on.
#[test]
fn panic_gets_an_answer() {
    let mut line = stdio(&[]);
    let server = http(&[]);
    let internal = Row::all()
        .into_iter()
        .find(|row| row.dialect() == "candor" && row.code() == "\"internal\"")
        .unwrap();
    let expected = |id: &str| {
        let answer = internal.answer(Form::Result);
        format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)
    };
    line.send_line(call("\"slow\"", "hang", r#"{"ms":100}"#));
    for id in ["1", "2", "3"] {
        line.send_line(call(id, "panic", "{}"));
        assert_eq!(
            server.post(call(id, "panic", "{}"), &[]).text(),
            expected(id)
        );
    }
    let script = r#"{"script":["panic","ok"]}"#;
    line.send_line(call("4", "flaky", script));
    line.send_line(call("5", "flaky", script));
    let (mut answers, exit) = line.end();
    answers.sort();
    let hung = r#"{"content":[{"type":"text","text":"{\"hung_ms\":100}"}],"structuredContent":{"hung_ms":100}}"#;
    let done =
        r#"{"content":[{"type":"text","text":"{\"call\":1}"}],"structuredContent":{"call":1}}"#;
    let all = [
        result("\"slow\"", hung),
        expected("1"),
        expected("2"),
        expected("3"),
        expected("4"),
        result("5", done),
    ];
    assert_eq!(
        (answers.as_slice(), exit),
        (&all[..], candor_testkit::Exit::Code(0))
    );
}

/// A call that exceeds its deadline gets a failure in its dialect.
#[test]
fn deadline_gets_an_answer() {
    let mut line = stdio(&["--deadline-ms", "50"]);
    let server = http(&["--deadline-ms", "50"]);
    let sent = call("1", "hang", "{}");
    for answer in [line.ask(sent.clone()), server.post(sent, &[]).text()] {
        let error = &parse(&answer)["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "deadline", "{answer}");
        assert_eq!(error["fault"]["retry"], "same_call", "{answer}");
        assert_eq!(error["fault"]["effect"], "none", "{answer}");
    }
}
