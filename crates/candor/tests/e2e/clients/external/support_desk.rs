//! Support work through the Node and Python clients: each lists the tools, creates an order with tax and
//! payments, edits it, exchanges goods, and meets every reason of a refusal that support work added.

use super::runner::Runner;
use super::{Client, PYTHON, TYPESCRIPT_CLIENT, TYPESCRIPT_SDK, is_skipped};
use crate::clients::cases::ORDERS;
use crate::clients::report::Era;
use crate::clients::target::{OrderStore, Target};
use serde_json::{Value, json};

/// One session of a client.
struct Desk {
    runner: Runner,
    /// Makes the keys of the session its own.
    name: String,
    calls: usize,
}

impl Desk {
    /// Connects, and checks the listed tools.
    fn open(client: &Client, target: &Target, era: Era, tools: &[&str]) -> Desk {
        let mut runner = Runner::start(client.language, client.script, target, era);
        let mut step = || -> Value { serde_json::from_str(&runner.next_step().unwrap()).unwrap() };
        let connected = step();
        assert_eq!(connected["ok"], true, "{connected}");
        assert_eq!(step()["tools"], json!(tools));
        let name = format!("{}-{:?}", client.script, era.requested);
        Desk {
            runner,
            name,
            calls: 0,
        }
    }

    /// Makes a change with a new key, and returns what the client shows.
    fn change(&mut self, tool: &str, mut arguments: Value) -> Value {
        self.calls += 1;
        arguments["idempotencyKey"] = format!("{}-{}", self.name, self.calls).into();
        let request = json!({ "call": { "name": tool, "arguments": arguments } });
        let line = self.runner.ask(&request).unwrap();
        let shown: Value = serde_json::from_str(&line).unwrap();
        // A client that finds fault with the answer says `refused`.
        assert_eq!(shown["outcome"], "result", "{}: {shown}", self.name);
        shown
    }

    /// As [`Desk::change`], for a success. Returns the structured content.
    fn change_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let shown = self.change(tool, arguments);
        assert_eq!(shown["is_error"], false, "{}: {shown}", self.name);
        shown["structured"].clone()
    }

    /// As [`Desk::change`], for a refusal. Checks its reason, and returns the context.
    fn change_err(&mut self, tool: &str, arguments: Value, reason: &str) -> Value {
        let shown = self.change(tool, arguments);
        assert_eq!(shown["is_error"], true, "{}: {shown}", self.name);
        let error = &shown["structured"]["error"];
        assert_eq!(error["code"], 4001, "{shown}");
        assert_eq!(error["retryable"], false, "{shown}");
        assert_eq!(error["details"]["originalError"], reason, "{shown}");
        error["details"]["context"].clone()
    }
}

fn new_order() -> Value {
    json!({ "order": {
        "lineItems": [
            { "sku": "TEE-BLK-M", "quantity": 2, "tax": "3.20" },
            { "sku": "MUG-350-SND", "quantity": 1 }
        ],
        "shippingAddress": { "address1": "Lindenweg 9", "city": "Berlin", "country": "DE" },
        "shipping": { "carrier": "DHL", "price": "4.90" }, "orderTax": "0.50",
        "payments": [{ "reference": "ch_1", "method": "card", "amount": "30.00" }]
    } })
}

fn support(mut desk: Desk) {
    let created = desk.change_ok("create-sales-order", new_order());
    let order = &created["order"];
    assert_eq!(order["taxTotal"], "3.70");
    assert_eq!(order["paymentStatus"], "partially-paid");
    let id = order["id"].clone();
    let update = |updates: Value| json!({ "orderId": id, "updates": updates });
    let edit = json!({ "lineItems": [{ "sku": "TEE-BLK-M", "quantity": 1, "tax": "1.60" }] });
    let edited = desk.change_ok("update-order", update(edit));
    assert_eq!(edited["order"]["taxTotal"], "2.10");

    let paid = json!({ "payments": [{ "reference": "ch_1", "method": "card", "amount": "1.00" }] });
    desk.change_err("update-order", update(paid), "PAYMENT_REFERENCE_CONFLICT");
    let refund = json!({ "refunds": [{ "reference": "re_1", "amount": "30.01" }] });
    let refused = desk.change_err("update-order", update(refund), "REFUND_EXCEEDS_PAID");
    assert_eq!(refused["availableAmount"], "30.00");
    let step = |id: &Value, status: &str| json!({ "returns": [{ "id": id, "status": status }] });
    let unknown = step(&json!("ret_none"), "received");
    desk.change_err("update-order", update(unknown), "RETURN_NOT_FOUND");

    desk.change_ok(
        "fulfill-order",
        json!({ "orderId": id, "trackingNumbers": ["JD1"] }),
    );
    let exchange = json!({
        "orderId": id, "outcome": "exchange",
        "lineItems": [{ "sku": "TEE-BLK-M", "quantity": 1, "reason": "size" }],
        "exchangeLineItems": [{ "sku": "TEE-BLK-L", "quantity": 1, "unitPrice": "0.00" }]
    });
    let exchanged = desk.change_ok("create-return", exchange);
    assert!(exchanged["return"]["exchangeOrderId"].is_string());
    let early = step(&exchanged["return"]["id"], "completed");
    let refused = desk.change_err("update-order", update(early), "INVALID_RETURN_STATE");
    assert_eq!(refused["returnStatus"], "requested");
    desk.runner.finish();
}

impl Client {
    fn check_support(&self) {
        if is_skipped() {
            return;
        }
        let store = OrderStore::new();
        let (agent, reader) = (
            store.add_client("agent", "write"),
            store.add_client("reader", "read"),
        );
        let listening = store.listening_to_clients();
        let reading: Vec<_> = ORDERS
            .iter()
            .copied()
            .filter(|tool| tool.starts_with("get-"))
            .collect();
        for era in self.eras {
            support(Desk::open(
                self,
                &listening.target_for(&agent),
                *era,
                ORDERS,
            ));
            let mut desk = Desk::open(self, &listening.target_for(&reader), *era, &reading);
            let refused = desk.change_err("create-sales-order", new_order(), "SCOPE_REQUIRED");
            assert_eq!(refused["scope"], "write");
            desk.runner.finish();
        }
    }
}

#[test]
fn python_client_does_support_work() {
    PYTHON.check_support();
}

#[test]
fn typescript_sdk_does_support_work() {
    TYPESCRIPT_SDK.check_support();
}

#[test]
fn typescript_client_does_support_work() {
    TYPESCRIPT_CLIENT.check_support();
}
