//! The form of failures: whole answers of both eras, for every choice of `--failures`.

use crate::orders::fixture::OrdersFixture;
use crate::orders::requests::{check_failure, order};
use crate::requests::{Transport, call};
use insta::assert_snapshot;
use serde_json::json;

/// Returns failures of the schema, the server and the database, in each era.
fn answers(form: &str) -> String {
    let fixture = OrdersFixture::sqlite();
    let server = fixture.http(&["--failures", form]);
    let mut wrong = order("k1", "TEA", 1);
    wrong["order"]["total"] = json!("1.00");
    let mut answers_by_era = Vec::new();
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
            answers_by_era.push(format!("{era} {answer}"));
        }
    }
    answers_by_era.join("\n")
}

#[test]
fn each_era_has_its_own_form_by_default() {
    assert_snapshot!(answers("auto"));
}

#[test]
fn failures_are_json_rpc_errors_if_chosen() {
    assert_snapshot!(answers("jsonrpc"));
}

#[test]
fn failures_are_results_if_chosen() {
    assert_snapshot!(answers("result"));
}
