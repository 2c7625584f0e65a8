//! Calls of the order tools; every failure is validated against the committed schemas.

use crate::fixture::LIMIT;
use crate::requests::{Transport, call, parse};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::LazyLock;

/// Returns the arguments of an order of one line.
pub(crate) fn order(key: &str, sku: &str, quantity: u64) -> Value {
    let order = json!({ "lineItems": [{ "sku": sku, "quantity": quantity }] });
    json!({ "order": order, "idempotencyKey": key })
}

/// Returns a shipping address.
pub(crate) fn address() -> Value {
    json!({ "address1": "1 Main St", "city": "Oslo", "country": "NO" })
}

/// Posts a message to the order tools on a new connection, with a further header line or none.
/// Returns the status and the body.
pub(crate) fn post(address: SocketAddr, header: &str, message: &str) -> (u16, String) {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    let head = format!(
        "POST /orders/mcp HTTP/1.1\r\nHost: {address}\r\n{header}\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        message.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(message.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

pub(crate) trait OrderCalls: Transport {
    /// Makes a call that must succeed and returns its structured content, which its text must equal.
    fn call_ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = parse(&self.send_message(&call(1, tool, arguments)));
        let result = &answer["result"];
        assert_eq!(result.get("isError"), None, "{tool} {arguments}: {answer}");
        let structured = result["structuredContent"].clone();
        assert_eq!(
            parse(result["content"][0]["text"].as_str().unwrap()),
            structured
        );
        structured
    }

    /// Makes a call that must fail, in both eras. Returns the whole answer, which is the same in both
    /// but for the member that every result of the stateless era has.
    fn call_err_in_both_eras(&mut self, tool: &str, arguments: &Value) -> String {
        let handshake = self.send_message(&call(1, tool, arguments));
        check_failure(&handshake);
        let stateless = self.send_stateless(tool, arguments);
        check_failure(&stateless);
        assert_eq!(
            stateless.replace(r#""resultType":"complete","#, ""),
            handshake
        );
        handshake
    }

    /// Makes a call that must fail, in the handshake era, and returns its error.
    fn call_err(&mut self, tool: &str, arguments: &Value) -> Value {
        check_failure(&self.send_message(&call(1, tool, arguments)))
    }

    /// Creates an order and returns its id.
    fn create_order(&mut self, arguments: &Value) -> String {
        let created = self.call_ok("create-sales-order", arguments);
        created["order"]["id"].as_str().unwrap().to_owned()
    }
}

impl<T: Transport> OrderCalls for T {}

/// The committed schemas of failures.
static SCHEMAS: LazyLock<Vec<(&str, Validator)>> = LazyLock::new(|| {
    let read = |name: &'static str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let text = std::fs::read_to_string(folder.join(format!("{name}.schema.json"))).unwrap();
        (name, jsonschema::validator_for(&parse(&text)).unwrap())
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

fn validate(name: &str, value: &Value) {
    let (_, schema) = SCHEMAS
        .iter()
        .find(|(schema_name, _)| *schema_name == name)
        .unwrap();
    let errors: Vec<_> = schema
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:?}\n{value}");
}

/// Validates all parts of a failing answer against their schemas. Returns its error.
pub(crate) fn check_failure(answer: &str) -> Value {
    let parsed = parse(answer);
    if let Some(error) = parsed.get("error") {
        match error["data"].get("violations") {
            Some(_) => validate("orders.error", error),
            None => validate("wire.error", error),
        }
        return error.clone();
    }
    let mut result = parsed["result"].clone();
    assert_eq!(result["isError"], true, "{answer}");
    // The protocol revision adds this member to every result; the dialect does not have it.
    result.as_object_mut().unwrap().shift_remove("resultType");
    validate("orders.result", &result);
    validate("orders.failure", &result["structuredContent"]);
    validate("orders.response", &result["error"]);
    assert_eq!(result["structuredContent"]["error"], result["error"]);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(parse(text), result["structuredContent"]);
    result["error"].clone()
}
