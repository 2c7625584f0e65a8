//! Properties that hold for every failure of every dialect.

use super::{body, receipt, schema_errors};
use candor_fault::{
    Answer, CallFacts, Dialect, Fault, Form, Retry, RowValue, Timestamp, Violation, to_json,
};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;

/// A random call that failed.
#[derive(Debug, Clone, Copy)]
pub struct DrawnCall {
    pub form: Form,
    /// False for an unknown tool.
    pub has_tool: bool,
    pub is_recorded: bool,
    /// A moment between the years 1970 and 9999.
    pub at: Timestamp,
}

prop_compose! {
    /// A random call.
    pub fn drawn_call()(
        form in prop_oneof![Just(Form::Protocol), Just(Form::Result)],
        has_tool in any::<bool>(),
        is_recorded in any::<bool>(),
        millis in 0..253_402_207_200_000_i64,
    ) -> DrawnCall {
        let at = Timestamp::from_millisecond(millis).unwrap();
        DrawnCall { form, has_tool, is_recorded, at }
    }
}

/// Encodes a failure twice, and checks the properties that hold in every dialect.
pub fn encode_drawn<D: Dialect>(
    fault: &Fault<D>,
    call: DrawnCall,
) -> Result<Answer, TestCaseError> {
    let receipt = receipt();
    let facts = CallFacts {
        tool: call.has_tool.then_some("a_tool"),
        form: call.form,
        receipt: call.is_recorded.then_some(&receipt),
    };
    let answer = D::encode_failure(fault, &facts, call.at);
    prop_assert_eq!(&answer, &D::encode_failure(&fault.clone(), &facts, call.at));
    let text = body(&answer);
    prop_assert!(
        text.bytes().all(|byte| byte >= 0x20),
        "a raw control character"
    );
    prop_assert!(serde_json::from_str::<Value>(&text).is_ok());
    let row = fault.row();
    prop_assert_eq!(fault.class(), row.class);
    prop_assert_eq!(fault.effect(), row.effect.or(fault.effect()));
    if let RowValue::Fixed(fixed) = row.retry {
        let narrowed = fixed == Retry::SameCall && fault.retry() == Retry::AfterDelay;
        prop_assert!(fault.retry() == fixed || narrowed);
    }
    Ok(answer)
}

/// Checks a JSON text against a schema.
pub fn assert_fits(validator: &Validator, text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(schema_errors(validator, text), [""; 0], "{}", text);
    Ok(())
}

/// Returns the size of violations as JSON.
pub fn violations_size(violations: &[Violation]) -> usize {
    let size = |violation: &Violation| {
        to_json(&violation.path.pointer()).len()
            + to_json(&*violation.message).len()
            + to_json(&violation.params).len()
            + violation.value.get().len()
            + to_json(&violation.hint).len()
    };
    violations.iter().map(size).sum()
}
