//! Registries: rows, raised constants, and how a wait changes an answer.

use crate::weather;
use candor_dialect_fixtures::assert_codes_are_found;
use candor_fault::codes::{candor, wire};
use candor_fault::dialects::{Candor, Wire};
use candor_fault::{Class, Effect, Fault, ReplayAnswers, Retry, WIRE_REGISTRY, to_json};
use std::mem::size_of;
use std::time::Duration;

#[test]
fn codes_are_found_in_failures() {
    assert_codes_are_found::<Wire>();
    assert_codes_are_found::<Candor<candor::Code>>();
    assert_codes_are_found::<Candor<weather::Code>>();
}

#[test]
fn raised_constant_is_the_row_of_its_table() {
    let raised: Fault<Wire> = wire::InternalError.fault(Retry::Never, Effect::None);
    assert_eq!(raised.code(), Some(wire::Code::InternalError));
    assert!(std::ptr::eq(raised.row(), &wire::ROWS[5]));
    assert!(raised.is(wire::InternalError));
    assert!(!raised.is(wire::ParseError));
}

#[test]
fn failure_is_one_word_wide_and_can_be_shared() {
    fn shareable<T: Send + Sync + Clone>() {}
    shareable::<Fault<Wire>>();
    assert_eq!(size_of::<Fault<Wire>>(), size_of::<usize>());
    assert_eq!(
        size_of::<Result<(), Fault<Candor<candor::Code>>>>(),
        size_of::<usize>()
    );
}

#[test]
fn replay_makes_the_failure_of_a_code_or_name() {
    let answers = ReplayAnswers {
        retry: Retry::SameCall,
        effect: Effect::Done,
        wait: Some(Duration::from_millis(2)),
        reason: None,
    };
    let fault = (WIRE_REGISTRY.replay)("INTERNAL_ERROR", &answers).unwrap();
    assert_eq!(fault.row().code.number(), -32603);
    assert_eq!(
        (fault.retry(), fault.effect()),
        (Retry::AfterDelay, Effect::Done)
    );
    let fixed = (WIRE_REGISTRY.replay)("-32700", &answers).unwrap();
    assert_eq!(
        (fixed.retry(), fixed.effect()),
        (Retry::AfterChange, Effect::None)
    );
    assert!((WIRE_REGISTRY.replay)("-1", &answers).is_none());
}

#[test]
fn words_in_documentation_are_the_words_on_the_wire() {
    let quoted = |word: &str| format!("\"{word}\"");
    assert!(
        Class::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
    assert!(
        Retry::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
    assert!(
        Effect::ALL
            .iter()
            .all(|one| to_json(one) == quoted(one.word()))
    );
}

#[test]
fn wait_narrows_only_retries_of_the_same_call() {
    let wait = Duration::from_micros(1500);
    let answers_after = |retry| {
        let fault: Fault<Wire> = wire::InternalError
            .fault(retry, Effect::Unknown)
            .after(wait);
        (fault.retry(), fault.five_answers().retry_after_ms)
    };
    assert_eq!(answers_after(Retry::SameCall), (Retry::AfterDelay, Some(2)));
    assert_eq!(
        answers_after(Retry::AfterDelay),
        (Retry::AfterDelay, Some(2))
    );
    assert_eq!(
        answers_after(Retry::AfterChange),
        (Retry::AfterChange, None)
    );
    assert_eq!(answers_after(Retry::Never), (Retry::Never, None));
}
