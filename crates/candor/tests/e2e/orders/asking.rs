//! Calls of tools on either wire, their answers taken apart, and every failure held against the
//! committed schemas.

use candor_testkit::{Http, Stdio};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;

/// A call of the handshake era.
pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// The `_meta` of a complete request of the stateless era.
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A call of the stateless era.
pub(crate) fn stateless(tool: &str, arguments: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{META}}}}}"#
    )
}

/// An answer as a value.
pub(crate) fn parsed(answer: &str) -> Value {
    serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// An order of one line.
pub(crate) fn order(key: &str, sku: &str, quantity: u64) -> Value {
    let order = json!({ "lineItems": [{ "sku": sku, "quantity": quantity }] });
    json!({ "order": order, "idempotencyKey": key })
}

/// An address to ship to.
pub(crate) fn address() -> Value {
    json!({ "address1": "1 Main St", "city": "Oslo", "country": "NO" })
}

/// A server on either wire.
pub(crate) trait Asked {
    /// The whole answer to a message.
    fn answer(&mut self, message: &str) -> String;

    /// The whole answer to a call of the stateless era.
    fn newer(&mut self, tool: &str, arguments: &Value) -> String;

    /// What a call that succeeds answers: the same in both places of the answer.
    fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = parsed(&self.answer(&call(tool, arguments)));
        let result = &answer["result"];
        assert_eq!(result.get("isError"), None, "{tool} {arguments}: {answer}");
        let structured = result["structuredContent"].clone();
        assert_eq!(
            parsed(result["content"][0]["text"].as_str().unwrap()),
            structured
        );
        structured
    }

    /// The whole answer to a call that fails, in both eras: it is the same in both but for the member
    /// that every result of the newer one has.
    fn fails(&mut self, tool: &str, arguments: &Value) -> String {
        let older = self.answer(&call(tool, arguments));
        check(&older);
        let newer = self.newer(tool, arguments);
        check(&newer);
        assert_eq!(newer.replace(r#""resultType":"complete","#, ""), older);
        older
    }

    /// The error of a call that fails, of one era.
    fn failed(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.answer(&call(tool, arguments));
        check(&answer)
    }

    /// The id of a new order.
    fn ordered(&mut self, arguments: &Value) -> String {
        let made = self.done("create-sales-order", arguments);
        made["order"]["id"].as_str().unwrap().to_owned()
    }
}

impl Asked for Stdio {
    fn answer(&mut self, message: &str) -> String {
        self.ask(message)
    }

    fn newer(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask(stateless(tool, arguments))
    }
}

impl Asked for &Http {
    fn answer(&mut self, message: &str) -> String {
        let response = self.post(message, &[]);
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }

    fn newer(&mut self, tool: &str, arguments: &Value) -> String {
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        let response = self.post(stateless(tool, arguments), &headers);
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }
}

/// The committed schemas that failures have to meet.
static SCHEMAS: LazyLock<Vec<(&str, Validator)>> = LazyLock::new(|| {
    let read = |name: &'static str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let text = std::fs::read_to_string(folder.join(format!("{name}.schema.json"))).unwrap();
        (name, jsonschema::validator_for(&parsed(&text)).unwrap())
    };
    [
        "orders.error",
        "orders.failure",
        "orders.response",
        "orders.result",
        "wire.error",
    ]
    .map(read)
    .into()
});

fn meets(name: &str, value: &Value) {
    let (_, schema) = SCHEMAS.iter().find(|(own, _)| *own == name).unwrap();
    let wrong: Vec<_> = schema
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?}\n{value}");
}

/// Holds a failing answer against the schemas of all its parts; its error.
pub(crate) fn check(answer: &str) -> Value {
    let parsed_answer = parsed(answer);
    if let Some(error) = parsed_answer.get("error") {
        match error["data"].get("violations") {
            Some(_) => meets("orders.error", error),
            None => meets("wire.error", error),
        }
        return error.clone();
    }
    let mut result = parsed_answer["result"].clone();
    assert_eq!(result["isError"], true, "{answer}");
    // What the revision adds to every result is not the dialect's.
    result.as_object_mut().unwrap().shift_remove("resultType");
    meets("orders.result", &result);
    meets("orders.failure", &result["structuredContent"]);
    meets("orders.response", &result["error"]);
    assert_eq!(result["structuredContent"]["error"], result["error"]);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(parsed(text), result["structuredContent"]);
    result["error"].clone()
}
