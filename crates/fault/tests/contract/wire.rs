//! Plain JSON-RPC errors, byte for byte.

use candor_dialect_fixtures::{AT, call, failure_response};
use candor_fault::codes::wire as codes;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, Dialect, Effect, Fault, Form, Retry};

fn wire(fault: &Fault<Wire>) -> String {
    failure_response(fault, "", Form::Protocol)
}

#[test]
fn protocol_refusal_is_a_plain_error() {
    assert_eq!(
        wire(&codes::ParseError.fault()),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"Parse error"}}"#
    );
    assert_eq!(
        wire(&Wire::invalid_request("a batch")),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: a batch"}}"#
    );
    assert_eq!(
        wire(&codes::MethodNotFound.fault()),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#
    );
    assert_eq!(
        wire(&Wire::invalid_params("name is missing")),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params: name is missing"}}"#
    );
    assert_eq!(
        wire(&Wire::unknown_tool("a\u{2028}b", Some("ab"))),
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: a\\u{2028}b","#,
            r#""data":{"tool":"a\\u{2028}b","hint":"did you mean 'ab'?"}}}"#
        )
    );
    assert_eq!(
        wire(&Wire::unknown_tool("a\u{2028}b", None)),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: a\\u{2028}b"}}"#
    );
    assert_eq!(
        wire(&codes::HeaderMismatch.fault()),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"Header mismatch"}}"#
    );
    assert_eq!(
        wire(&codes::MissingCapability.fault()),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing client capability"}}"#
    );
}

#[test]
fn unknown_revision_lists_the_supported_ones() {
    let fault = codes::UnsupportedVersion.fault().with_facts(|facts| {
        facts.data = Some(String::from(
            r#"{"supported":["2025-11-25"],"requested":"1"}"#,
        ));
    });
    assert_eq!(
        wire(&fault),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2025-11-25"],"requested":"1"}}}"#
    );
}

fn status(fault: &Fault<Wire>) -> u16 {
    match Wire::encode_failure(fault, &call("", Form::Protocol), AT) {
        Answer::Error(body) => body.status,
        Answer::Result(_) => 0,
    }
}

#[test]
fn every_code_has_its_http_status() {
    assert_eq!(status(&codes::ParseError.fault()), 400);
    assert_eq!(status(&codes::InvalidRequest.fault()), 400);
    assert_eq!(status(&codes::MethodNotFound.fault()), 200);
    assert_eq!(status(&codes::InvalidParams.fault()), 200);
    assert_eq!(
        status(&codes::InternalError.fault(Retry::SameCall, Effect::None)),
        503
    );
    assert_eq!(status(&codes::HeaderMismatch.fault()), 400);
    assert_eq!(status(&codes::MissingCapability.fault()), 400);
    assert_eq!(status(&codes::UnsupportedVersion.fault()), 400);
    let large = codes::InvalidRequest
        .fault()
        .with_facts(|facts| facts.status = Some(413));
    assert_eq!(status(&large), 413);
}

#[test]
fn invalid_data_is_left_out() {
    let fault = codes::InvalidRequest
        .fault()
        .with_facts(|facts| facts.data = Some(String::from("{")));
    assert_eq!(
        wire(&fault),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request"}}"#
    );
}
