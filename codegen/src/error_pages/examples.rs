//! Examples of failures, encoded by the dialects themselves.

use candor_fault::{Answer, CallFacts, PageExample, Timestamp, to_json};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A failure as it is on the wire.
pub(super) struct EncodedExample {
    pub(super) title: &'static str,
    /// The whole JSON-RPC response.
    pub(super) response: String,
    /// The text of its text block, if it has one.
    pub(super) text_block: Option<String>,
}

/// The time of all examples.
const AT: Timestamp = Timestamp::constant(1_760_284_161, 49_000_000);

/// Encodes an example in its dialect.
pub(super) fn encode(example: &PageExample) -> EncodedExample {
    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'static str,
        id: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a RawValue>,
    }
    let call = CallFacts {
        tool: Some(example.tool),
        form: example.form,
        receipt: example.receipt.as_ref(),
    };
    let (text, is_error) = match example.fault.answer(&call, AT) {
        Answer::Result(text) => (text.to_string(), false),
        Answer::Error(body) => (body.json(), true),
    };
    let raw = serde_json::from_str::<&RawValue>(&text).ok();
    let response = Response {
        jsonrpc: "2.0",
        id: 1,
        result: raw.filter(|_| !is_error),
        error: raw.filter(|_| is_error),
    };
    EncodedExample {
        title: example.title,
        response: to_json(&response),
        text_block: text_block(&text),
    }
}

fn text_block(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let text = result["content"][0]["text"].as_str()?;
    Some(text.to_owned())
}
