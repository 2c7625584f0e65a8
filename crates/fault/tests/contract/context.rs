//! The context dialect, byte for byte.

use crate::support::{AT, call, failed, missing, receipt, text_block, unknown, wrong_type};
use candor_fault::codes::context as codes;
use candor_fault::dialects::Context;
use candor_fault::{
    CallFacts, Cause, ClientText, Code, Dialect, Effect, Fault, Form, Refusal, Retry, ToolOutput,
    Violation, Violations,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;

#[test]
fn the_six_objects_are_the_specification_s() {
    let objects: String = codes::Code::all()
        .iter()
        .map(|code| Fault::<Context>::replay(*code, Retry::Never, Effect::None))
        .map(|fault| Context::error_object(&fault))
        .collect();
    assert_eq!(
        objects,
        r#"{"error":{"code":"cache_missing","message":"Cache does not exist"}}
{"error":{"code":"cache_invalid","message":"Cache exists but is invalid"}}
{"error":{"code":"invalid_query","message":"Query is invalid"}}
{"error":{"code":"invalid_budget","message":"Budget is invalid"}}
{"error":{"code":"io_error","message":"I/O error occurred"}}
{"error":{"code":"internal_error","message":"Internal error"}}
"#
    );
}

#[test]
fn a_failing_result_is_the_object_and_nothing_else() {
    let fault = codes::CacheInvalid.fault();
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":\"cache_invalid\",\"message\":\"Cache exists but is invalid\"}}\n"}],"isError":true}}"#;
    assert_eq!(failed(&fault, "context.resolve", Form::Result), expected);
    assert_eq!(failed(&fault, "context.resolve", Form::Protocol), expected);
}

#[test]
fn diagnostics_never_reach_the_object() {
    let quiet = codes::IoError.fault();
    let loud = codes::IoError
        .fault()
        .with_message(ClientText::from("cannot read ").quoting("/srv/caches/a"))
        .with_remedy("Look at sha256:0123.")
        .with_cause(Cause::from(std::io::Error::from_raw_os_error(13)))
        .with_violations(Violations::from_iter([missing("", "query")]))
        .after(Duration::from_secs(1));
    let receipt = receipt();
    let recorded = CallFacts {
        receipt: Some(&receipt),
        ..call("context.resolve", Form::Result)
    };
    assert_eq!(
        Context::failure(&loud, &recorded, AT),
        Context::failure(&quiet, &call("context.resolve", Form::Result), AT)
    );
}

fn judged(violations: impl IntoIterator<Item = Violation>) -> Option<codes::Code> {
    Context::adopt(Refusal::Arguments(violations.into_iter().collect())).code()
}

#[test]
fn arguments_are_judged_cache_query_budget_unknown() {
    use codes::Code::{CacheMissing, InvalidBudget, InvalidQuery};
    let stranger = unknown("", "limit");
    let budget = wrong_type("/budget", "integer", &json!("many"));
    let query = wrong_type("/query", "string", &json!(7));
    let cache = missing("", "cache");
    assert_eq!(
        judged([wrong_type("", "object", &json!([]))]),
        Some(InvalidQuery)
    );
    assert_eq!(judged([stranger.clone()]), Some(InvalidQuery));
    assert_eq!(
        judged([stranger.clone(), budget.clone()]),
        Some(InvalidBudget)
    );
    assert_eq!(judged([budget.clone(), query.clone()]), Some(InvalidQuery));
    assert_eq!(judged([stranger, budget, query, cache]), Some(CacheMissing));
    assert_eq!(judged([missing("", "budget")]), Some(InvalidBudget));
}

#[test]
fn a_wrong_cache_is_found_behind_many_unknown_members() {
    let strangers = (0..80).map(|n| unknown("", &format!("m{n}")));
    let cache = wrong_type("/cache", "string", &json!(1));
    let budget = wrong_type("/budget", "integer", &json!(""));
    let all = strangers.chain([cache, budget]);
    assert_eq!(judged(all), Some(codes::Code::CacheMissing));
}

#[test]
fn a_success_ends_with_one_newline_either_way() {
    let facts = call("context.resolve", Form::Result);
    let raw = RawValue::from_string(r#"{"documents":[]}"#.to_owned()).unwrap();
    let json = Context::success(&ToolOutput::Json(raw), &facts);
    let text = Context::success(&ToolOutput::Text("{\"documents\":[]}\n".to_owned()), &facts);
    assert_eq!(json, text);
    assert_eq!(text_block(&json), "{\"documents\":[]}\n");
}
