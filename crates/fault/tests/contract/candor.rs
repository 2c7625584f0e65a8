//! The neutral dialect `candor/1`, byte for byte.

use crate::weather::{self, Code};
use candor_dialect_fixtures::{AT, call, failure_response, missing, receipt, response, unknown};
use candor_fault::dialects::Candor;
use candor_fault::{
    CallFacts, ClientText, Dialect, Effect, Fault, Form, Refusal, Retry, Violation,
};
use serde_json::Value;

type Weather = Candor<Code>;

fn wrong_arguments() -> Fault<Weather> {
    let near = Violation {
        hint: Some(String::from("did you mean 'city'?")),
        ..unknown("", "town")
    };
    Weather::adopt(Refusal::Arguments(
        [missing("", "city"), near].into_iter().collect(),
    ))
}

#[test]
fn wrong_arguments_are_in_text_structure_and_meta() {
    insta::assert_snapshot!(failure_response(&wrong_arguments(), "forecast", Form::Result), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`city` is required; `town` is not an argument of this tool (did you mean 'city'?); nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.\n{\"error\":{\"code\":\"invalid_arguments\",\"message\":\"The arguments do not fit the tool's schema\",\"fault\":{\"class\":\"caller\",\"retry\":\"after_change\",\"retry_after_ms\":null,\"effect\":\"none\",\"remedy\":\"Correct every violation; tools/list has the schema.\"},\"violations\":[{\"path\":\"root\",\"field\":\"city\",\"keyword\":\"required\",\"message\":\"must have required property 'city'\",\"expected\":\"an object with 'city'\",\"value\":{}},{\"path\":\"root\",\"field\":\"town\",\"keyword\":\"additionalProperties\",\"message\":\"must NOT have additional properties\",\"expected\":\"no other member\",\"value\":{},\"hint\":\"did you mean 'city'?\"}]}}"}],"structuredContent":{"error":{"code":"invalid_arguments","message":"The arguments do not fit the tool's schema","fault":{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Correct every violation; tools/list has the schema."},"violations":[{"path":"root","field":"city","keyword":"required","message":"must have required property 'city'","expected":"an object with 'city'","value":{}},{"path":"root","field":"town","keyword":"additionalProperties","message":"must NOT have additional properties","expected":"no other member","value":{},"hint":"did you mean 'city'?"}]}},"isError":true,"_meta":{"dev.candor/error":{"code":"invalid_arguments","message":"The arguments do not fit the tool's schema","fault":{"class":"caller","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Correct every violation; tools/list has the schema."},"violations":[{"path":"root","field":"city","keyword":"required","message":"must have required property 'city'","expected":"an object with 'city'","value":{}},{"path":"root","field":"town","keyword":"additionalProperties","message":"must NOT have additional properties","expected":"no other member","value":{},"hint":"did you mean 'city'?"}]}}}}"#);
}

#[test]
fn text_structure_and_meta_contain_the_same_object() {
    let answer = failure_response(&wrong_arguments(), "forecast", Form::Protocol);
    let result = &serde_json::from_str::<Value>(&answer).unwrap()["result"];
    let text = result["content"][0]["text"].as_str().unwrap();
    let object: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    assert_eq!(object, result["structuredContent"]);
    assert_eq!(object["error"], result["_meta"]["dev.candor/error"]);
}

#[test]
fn code_of_a_server_has_the_same_form() {
    let fault = weather::StationDown
        .fault(Retry::SameCall, Effect::None)
        .with_message(
            ClientText::from("Station ")
                .number(7)
                .then(" does not answer"),
        );
    let receipt = receipt();
    let facts = CallFacts {
        receipt: Some(&receipt),
        ..call("forecast", Form::Result)
    };
    insta::assert_snapshot!(response(&Weather::encode_failure(&fault, &facts, AT)), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Station 7 does not answer; nothing was changed; the same call may be retried: Try another station.\n{\"error\":{\"code\":42,\"message\":\"Station 7 does not answer\",\"fault\":{\"class\":\"upstream\",\"retry\":\"same_call\",\"retry_after_ms\":null,\"effect\":\"none\",\"remedy\":\"Try another station.\"},\"violations\":[]}}"}],"structuredContent":{"error":{"code":42,"message":"Station 7 does not answer","fault":{"class":"upstream","retry":"same_call","retry_after_ms":null,"effect":"none","remedy":"Try another station."},"violations":[]}},"isError":true,"_meta":{"dev.candor/error":{"code":42,"message":"Station 7 does not answer","fault":{"class":"upstream","retry":"same_call","retry_after_ms":null,"effect":"none","remedy":"Try another station."},"violations":[]},"dev.candor/receipt":{"seq":7,"hash":"abababababababababababababababababababababababababababababababab"}}}}"#);
}

#[test]
fn sentence_names_five_violations_and_counts_the_rest() {
    let many = (0..60).map(|n| unknown("", &format!("m{n}")));
    let fault = Weather::adopt(Refusal::Arguments(many.collect()));
    insta::assert_snapshot!(candor_fault::sentence(&fault), @"`m0` is not an argument of this tool; `m1` is not an argument of this tool; `m2` is not an argument of this tool; `m3` is not an argument of this tool; `m4` is not an argument of this tool; and 55 more; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.");
}

#[test]
fn every_row_of_a_server_is_listed_once() {
    let names =
        |rows: Vec<&candor_fault::CodeRow>| rows.iter().map(|row| row.name).collect::<Vec<_>>();
    let own = ["unknown_city", "STATION_DOWN"];
    assert_eq!(names(Weather::rows())[6..], own);
    assert_eq!(Candor::<candor_fault::codes::candor::Code>::rows().len(), 6);
}
