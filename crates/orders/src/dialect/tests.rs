//! The orders dialect, byte for byte.

use super::{Orders, REGISTRY, codes, schemas};
use candor_dialect_fixtures::{
    AT, DrawnCall, FaultDraw, assert_causes_are_kept, assert_codes_are_found, assert_fits, body,
    call, describe_refusals, drawn_call, encode_drawn, failure_response, fault_draw, missing,
    published, receipt, response, schema_errors, text_block, unknown, violation,
};
use candor_fault::{
    Answer, CallFacts, Cause, Dialect, Effect, Fault, Form, Refusal, Retry, Violation, excerpt,
    to_json,
};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::Duration;

fn not_found() -> Fault<Orders> {
    codes::AdapterError
        .fault(Retry::AfterChange, Effect::None)
        .with_facts(|facts| facts.original_error = Some(String::from("ORDER_NOT_FOUND")))
}

#[test]
fn failure_of_the_specification_is_in_the_result_three_times() {
    let receipt = receipt();
    let facts = CallFacts {
        receipt: Some(&receipt),
        ..call("cancel-order", Form::Protocol)
    };
    insta::assert_snapshot!(response(&Orders::encode_failure(&not_found(), &facts, AT)), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4001,\"message\":\"Adapter error\",\"retryable\":false,\"details\":{\"suggestion\":\"Act on `details.originalError`.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":null},\"originalError\":\"ORDER_NOT_FOUND\"}}}"}],"structuredContent":{"error":{"code":4001,"message":"Adapter error","retryable":false,"details":{"suggestion":"Act on `details.originalError`.","context":{"class":"upstream","effect":"none","retryAfterMs":null},"originalError":"ORDER_NOT_FOUND"}}},"isError":true,"error":{"code":4001,"message":"Adapter error","retryable":false,"details":{"suggestion":"Act on `details.originalError`.","context":{"class":"upstream","effect":"none","retryAfterMs":null},"originalError":"ORDER_NOT_FOUND"}},"_meta":{"dev.candor/receipt":{"seq":7,"hash":"abababababababababababababababababababababababababababababababab"}}}}"#);
}

#[test]
fn text_structure_and_error_contain_the_same_object() {
    let answer = failure_response(&not_found(), "cancel-order", Form::Result);
    let result = &serde_json::from_str::<Value>(&answer).unwrap()["result"];
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    assert_eq!(text["error"], result["error"]);
    let specified = json!({ "code": 4001, "message": "Adapter error", "retryable": false });
    for (name, value) in specified.as_object().unwrap() {
        assert_eq!(&result["error"][name], value);
    }
    assert_eq!(
        result["error"]["details"]["originalError"],
        "ORDER_NOT_FOUND"
    );
}

fn bad_address() -> Fault<Orders> {
    let email = Violation {
        params: json!({ "format": "email" }).into(),
        value: excerpt(&json!("nobody")),
        expected: "an e-mail address".into(),
        ..violation(
            "/order/customer/email",
            "format",
            "must match format \"email\"",
        )
    };
    Orders::adopt(Refusal::Arguments([email].into_iter().collect()))
}

#[test]
fn wrong_params_have_the_form_of_the_specification() {
    insta::assert_snapshot!(failure_response(&bad_address(), "create-sales-order", Form::Protocol), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: order.customer.email must match format \"email\"","data":{"field":"order.customer.email","code":2003,"reason":"format","violations":[{"field":"order.customer.email","code":2003,"reason":"format","expected":"an e-mail address"}]}}}"#);
}

fn several() -> Fault<Orders> {
    let near = Violation {
        hint: Some(String::from("did you mean 'lineItems'?")),
        ..unknown("/order", "lineitems")
    };
    let quantity = Violation {
        expected: "an integer of at least 1".into(),
        value: excerpt(&json!(-4)),
        ..violation("/order/lineItems/0/quantity", "minimum", "must be >= 1")
    };
    let all = [near, missing("/order", "lineItems"), quantity];
    Orders::adopt(Refusal::Arguments(all.into_iter().collect()))
}

#[test]
fn every_violation_is_listed_in_either_form_and_no_value_is_echoed() {
    let protocol = failure_response(&several(), "create-sales-order", Form::Protocol);
    let result = failure_response(&several(), "create-sales-order", Form::Result);
    assert!(!protocol.contains("-4") && !result.contains("-4"));
    insta::assert_snapshot!(protocol, @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: order.lineitems is not a known member (did you mean 'lineItems'?); and 2 more","data":{"field":"order.lineitems","code":2001,"reason":"additionalProperties","violations":[{"field":"order.lineitems","code":2001,"reason":"additionalProperties","expected":"no other member"},{"field":"order.lineItems","code":2002,"reason":"required","expected":"an object with 'lineItems'"},{"field":"order.lineItems.0.quantity","code":2001,"reason":"minimum","expected":"an integer of at least 1"}]}}}"#);
    insta::assert_snapshot!(result, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":2001,\"message\":\"Validation error: order.lineitems is not a known member (did you mean 'lineItems'?); and 2 more\",\"retryable\":false,\"details\":{\"field\":\"order.lineitems\",\"reason\":\"additionalProperties\",\"suggestion\":\"Correct the field named in `details.field`.\",\"context\":{\"class\":\"caller\",\"effect\":\"none\",\"retryAfterMs\":null,\"violations\":[{\"field\":\"order.lineitems\",\"code\":2001,\"reason\":\"additionalProperties\",\"expected\":\"no other member\"},{\"field\":\"order.lineItems\",\"code\":2002,\"reason\":\"required\",\"expected\":\"an object with 'lineItems'\"},{\"field\":\"order.lineItems.0.quantity\",\"code\":2001,\"reason\":\"minimum\",\"expected\":\"an integer of at least 1\"}]}}}}"}],"structuredContent":{"error":{"code":2001,"message":"Validation error: order.lineitems is not a known member (did you mean 'lineItems'?); and 2 more","retryable":false,"details":{"field":"order.lineitems","reason":"additionalProperties","suggestion":"Correct the field named in `details.field`.","context":{"class":"caller","effect":"none","retryAfterMs":null,"violations":[{"field":"order.lineitems","code":2001,"reason":"additionalProperties","expected":"no other member"},{"field":"order.lineItems","code":2002,"reason":"required","expected":"an object with 'lineItems'"},{"field":"order.lineItems.0.quantity","code":2001,"reason":"minimum","expected":"an integer of at least 1"}]}}}},"isError":true,"error":{"code":2001,"message":"Validation error: order.lineitems is not a known member (did you mean 'lineItems'?); and 2 more","retryable":false,"details":{"field":"order.lineitems","reason":"additionalProperties","suggestion":"Correct the field named in `details.field`.","context":{"class":"caller","effect":"none","retryAfterMs":null,"violations":[{"field":"order.lineitems","code":2001,"reason":"additionalProperties","expected":"no other member"},{"field":"order.lineItems","code":2002,"reason":"required","expected":"an object with 'lineItems'"},{"field":"order.lineItems.0.quantity","code":2001,"reason":"minimum","expected":"an integer of at least 1"}]}}}}}"#);
}

#[test]
fn arguments_that_are_not_an_object_are_refused() {
    let fault = Orders::adopt(Refusal::Arguments(
        [violation("", "type", "must be object")]
            .into_iter()
            .collect(),
    ));
    insta::assert_snapshot!(failure_response(&fault, "get-orders", Form::Protocol), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: arguments must be object","data":{"field":"","code":2001,"reason":"type","violations":[{"field":"","code":2001,"reason":"type","expected":"something else"}]}}}"#);
}

#[test]
fn order_state_is_in_the_context() {
    let fault = codes::AdapterError
        .fault(Retry::AfterChange, Effect::None)
        .with_facts(|facts| {
            facts.original_error = Some(String::from("INVALID_ORDER_STATE"));
            facts.context.insert("status".into(), json!("shipped"));
            facts.context.insert("effect".into(), json!("forged"));
        });
    let answer = failure_response(&fault, "cancel-order", Form::Result);
    assert!(answer.contains(
        r#""context":{"class":"upstream","effect":"none","retryAfterMs":null,"status":"shipped"}"#
    ));
    assert!(!answer.contains("forged"));
}

#[test]
fn limit_answer_contains_the_wait() {
    let fault = Orders::adopt(Refusal::Limited {
        after: Duration::from_millis(250),
    });
    insta::assert_snapshot!(failure_response(&fault, "get-orders", Form::Result), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":3001,\"message\":\"Rate limit exceeded\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call.\",\"context\":{\"class\":\"limit\",\"effect\":\"none\",\"retryAfterMs\":250}}}}"}],"structuredContent":{"error":{"code":3001,"message":"Rate limit exceeded","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call.","context":{"class":"limit","effect":"none","retryAfterMs":250}}}},"isError":true,"error":{"code":3001,"message":"Rate limit exceeded","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call.","context":{"class":"limit","effect":"none","retryAfterMs":250}}}}}"#);
}

#[test]
fn violations_do_not_hide_another_code() {
    let fault = not_found().with_violations([missing("", "orderId")].into_iter().collect());
    let answer = failure_response(&fault, "cancel-order", Form::Protocol);
    assert!(answer.contains(r#""error":{"code":4001,"message":"Adapter error","#));
}

#[test]
fn bug_is_a_json_rpc_error() {
    for form in [Form::Protocol, Form::Result] {
        let fault = Orders::adopt(Refusal::Panicked {
            cause: Cause::from("index out of bounds"),
            effect: Effect::Unknown,
        });
        assert_eq!(
            failure_response(&fault, "get-orders", form),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"fault":{"class":"server","retry":"never","retry_after_ms":null,"effect":"unknown","remedy":"Report it to the owner of the server with the time of the call."}}}}"#
        );
    }
}

#[test]
fn repeatable_failures_are_retryable() {
    let retryable = |fault: &Fault<Orders>| {
        failure_response(fault, "t", Form::Result).contains("\"retryable\":true")
    };
    assert!(retryable(&codes::Timeout.fault(Effect::Unknown)));
    assert!(retryable(&codes::RateLimited.fault()));
    assert!(retryable(&codes::BackendUnavailable.fault(Effect::None)));
    assert!(retryable(
        &codes::AdapterError.fault(Retry::SameCall, Effect::None)
    ));
    assert!(!retryable(
        &codes::AdapterError.fault(Retry::Never, Effect::None)
    ));
    assert!(!retryable(&codes::NotImplemented.fault()));
    assert!(!retryable(&codes::Validation.fault()));
}

#[test]
fn codes_are_the_ones_of_the_specification() {
    let table: Vec<_> = codes::ROWS
        .iter()
        .map(|row| {
            let retry = to_json(&row.retry);
            format!(
                "{} {} {} {retry}",
                row.code,
                row.name,
                row.category.unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r#"
    2001 VALIDATION_ERROR Validation "after_change"
    2002 MISSING_REQUIRED_FIELD Validation "after_change"
    2003 INVALID_FORMAT Validation "after_change"
    3001 RATE_LIMIT_EXCEEDED System "after_delay"
    3002 TIMEOUT System "same_call"
    4001 ADAPTER_ERROR Adapter "said_by_each_failure"
    4002 BACKEND_UNAVAILABLE System "after_delay"
    5001 NOT_IMPLEMENTED Adapter "never"
    "#);
}

#[test]
fn raised_constant_is_the_row_of_its_table() {
    let raised: Fault<Orders> = codes::AdapterError.fault(Retry::Never, Effect::None);
    assert_eq!(raised.code(), Some(codes::Code::AdapterError));
    assert!(std::ptr::eq(raised.row(), &codes::ROWS[5]));
    assert!(raised.is(codes::AdapterError));
    assert!(!raised.is(codes::Timeout));
}

#[test]
fn wrong_retryability_does_not_fit_the_schema() {
    let schema = published(&REGISTRY, "orders.response");
    let body = |code: u16, retryable: bool| {
        format!(
            r#"{{"code":{code},"message":"m","retryable":{retryable},"details":{{"suggestion":"s","context":{{"class":"caller","effect":"none","retryAfterMs":null}}}}}}"#
        )
    };
    let fits = |code, retryable| schema_errors(&schema, &body(code, retryable)).is_empty();
    for code in [2001, 2002, 2003, 5001] {
        assert!(fits(code, false) && !fits(code, true), "{code}");
    }
    for code in [3001, 3002, 4002] {
        assert!(fits(code, true) && !fits(code, false), "{code}");
    }
    assert!(fits(4001, true) && fits(4001, false));
}

#[test]
fn failure_schema_is_small_enough_for_every_tool() {
    // Twelve tools of a server list it within its bound of 48 KB.
    assert!(to_json(&schemas::failure()).len() < 1500);
}

#[test]
fn every_refusal_has_its_code_and_keeps_its_cause() {
    insta::assert_snapshot!(describe_refusals::<Orders>(), @r#"
    arguments: 2002 after_change none "Required field is missing"
    arguments, none: 2001 after_change none "Validation error"
    limited: 3001 after_delay 2000 ms none "Rate limit exceeded"
    deadline, none: 3002 same_call none "Operation timed out"
    cancelled, none: 3002 same_call none "The call was cancelled"
    panicked, none: -32603 never none "Internal error"
    unrecorded, none: -32603 after_change none "Internal error"
    deadline, done: 3002 same_call done "Operation timed out"
    cancelled, done: 3002 same_call done "The call was cancelled"
    panicked, done: -32603 never done "Internal error"
    unrecorded, done: -32603 after_change done "Internal error"
    deadline, unknown: 3002 same_call unknown "Operation timed out"
    cancelled, unknown: 3002 same_call unknown "The call was cancelled"
    panicked, unknown: -32603 never unknown "Internal error"
    unrecorded, unknown: -32603 after_change unknown "Internal error"
    "#);
    assert_causes_are_kept::<Orders>();
}

#[test]
fn codes_are_found_in_failures() {
    assert_codes_are_found::<Orders>();
}

/// Makes a failure with random facts.
fn drawn_fault(draw: &FaultDraw) -> Fault<Orders> {
    draw.fault::<Orders>().with_facts(|facts| {
        facts.field = draw.word(0);
        facts.reason = draw.word(1).map(|_| "crossField");
        facts.original_error = draw.word(2).filter(|word| !word.is_empty());
        let names = draw.words.iter().cloned().chain(["class".to_owned()]);
        facts.context = names.map(|name| (name, draw.data.clone())).collect();
    })
}

fn check_failure(fault: &Fault<Orders>, call: DrawnCall) -> Result<(), TestCaseError> {
    static SCHEMAS: LazyLock<[Validator; 3]> = LazyLock::new(|| {
        ["orders.result", "orders.error", "orders.failure"].map(|name| published(&REGISTRY, name))
    });
    let answer = encode_drawn(fault, call)?;
    match &answer {
        Answer::Error(_) => assert_fits(&SCHEMAS[1], &body(&answer)),
        Answer::Result(text) => {
            assert_fits(&SCHEMAS[0], text)?;
            assert_fits(&SCHEMAS[2], &text_block(&answer))
        }
    }
}

proptest! {
    #[test]
    fn every_failure_fits_its_schema(draw in fault_draw(), call in drawn_call()) {
        check_failure(&drawn_fault(&draw), call)?;
        check_failure(&draw.adopted(), call)?;
    }
}
