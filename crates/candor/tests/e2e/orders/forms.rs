//! Which form a failure takes: whole answers of both eras, whatever the owner has chosen.

use crate::orders::fixture::OrdersFixture;
use crate::orders::requests::{check_failure, order};
use crate::requests::{Transport, call};
use insta::assert_snapshot;
use serde_json::json;

/// A failure that the schema sees, one that the server sees, one of the store: in each era.
fn answers(form: &str) -> String {
    let fixture = OrdersFixture::sqlite();
    let server = fixture.http(&["--failures", form]);
    let mut wrong = order("k1", "TEA", 1);
    wrong["order"]["total"] = json!("1.00");
    let mut seen = Vec::new();
    for (tool, arguments) in [
        ("create-sales-order", json!({ "order": {} })),
        ("create-sales-order", wrong),
        ("create-sales-order", order("k2", "NONE", 1)),
        ("get-ordres", json!({})),
    ] {
        let older = (&server).send_message(&call(1, tool, &arguments));
        let newer = (&server).send_stateless(tool, &arguments);
        for (era, answer) in [("older", older), ("newer", newer)] {
            check_failure(&answer);
            seen.push(format!("{era} {answer}"));
        }
    }
    seen.join("\n")
}

#[test]
fn each_era_gets_its_own_form_by_default() {
    assert_snapshot!(answers("auto"));
}

#[test]
fn all_get_errors_of_json_rpc_where_there_are_such() {
    assert_snapshot!(answers("jsonrpc"));
}

#[test]
fn all_get_results() {
    assert_snapshot!(answers("result"));
}
