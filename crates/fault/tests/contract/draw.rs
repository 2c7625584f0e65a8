//! Any failure of any dialect, drawn at random.

use candor_fault::{
    ArgumentPath, Cause, ClientText, Code, Dialect, Effect, Fault, PathStep, Retry, Violation,
    excerpt,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::time::Duration;

/// Everything a failure may be made of; which code is chosen by a number of any size.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub(crate) code: usize,
    pub(crate) retry: Retry,
    pub(crate) effect: Effect,
    pub(crate) message: Option<String>,
    pub(crate) remedy: Option<String>,
    pub(crate) violations: Vec<Violation>,
    pub(crate) cause: Option<Cause>,
    pub(crate) wait: Option<Duration>,
    pub(crate) words: Vec<String>,
    pub(crate) data: Value,
}

impl Draw {
    /// The failure of dialect `D` that was drawn.
    pub(crate) fn fault<D: Dialect>(&self) -> Fault<D> {
        let codes = D::Code::all();
        let mut fault = Fault::replay(codes[self.code % codes.len()], self.retry, self.effect);
        if let Some(text) = &self.message {
            fault = fault.with_message(ClientText::from("It broke: ").quoting(text));
        }
        if let Some(text) = &self.remedy {
            fault = fault.with_remedy(ClientText::from("Mend ").quoting(text).then("."));
        }
        if let Some(cause) = &self.cause {
            fault = fault.with_cause(cause.clone());
        }
        if let Some(wait) = self.wait {
            fault = fault.after(wait);
        }
        fault.with_violations(self.violations.iter().cloned().collect())
    }

    /// The word with this number, if so many were drawn.
    pub(crate) fn word(&self, place: usize) -> Option<String> {
        self.words.get(place).cloned()
    }
}

/// Text of any kind: plain, or with quotes, line breaks, controls and the invisible.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}",
        vec(any::<char>(), 0..100).prop_map(String::from_iter),
        vec(
            select(vec!['"', '\\', '\n', '\u{0}', '\u{202e}', '~', '/']),
            0..100
        )
        .prop_map(String::from_iter),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((text(), inner), 0..4).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn step() -> impl Strategy<Value = PathStep> {
    prop_oneof![
        text().prop_map(PathStep::Member),
        (0..1000_usize).prop_map(PathStep::Item),
    ]
}

fn rule() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        text().prop_map(|name| ("required", json!({ "missingProperty": name }))),
        text().prop_map(|name| (
            "additionalProperties",
            json!({ "additionalProperty": name })
        )),
        Just(("type", json!({ "type": "string" }))),
        Just(("pattern", json!({ "pattern": "^[a-z]+$" }))),
        any::<u32>().prop_map(|limit| ("minimum", json!({ "comparison": ">=", "limit": limit }))),
        Just(("uniquePath", json!({}))),
    ]
}

prop_compose! {
    fn violation()(
        steps in vec(step(), 0..3),
        (keyword, params) in rule(),
        message in "[ -~]{1,60}",
        value in value(),
        expected in "[ -~]{0,40}",
        hint in option::of("[ -~]{1,40}"),
    ) -> Violation {
        let value = excerpt(&value);
        Violation { path: ArgumentPath(steps), keyword, message, params, value, expected, hint }
    }
}

fn cause() -> impl Strategy<Value = Cause> {
    prop_oneof![
        text().prop_map(Cause::Text),
        value().prop_map(Cause::Data),
        (text(), option::of(text()), text()).prop_map(|(message, code, name)| Cause::Error {
            message,
            code,
            name
        }),
    ]
}

/// Few violations mostly, and sometimes more than are shown.
fn violations() -> impl Strategy<Value = Vec<Violation>> {
    prop_oneof![4 => vec(violation(), 0..4), 1 => vec(violation(), 0..60)]
}

prop_compose! {
    /// Any failure.
    pub(crate) fn draw()(
        code in any::<usize>(),
        retry in select(Retry::ALL),
        effect in select(Effect::ALL),
        message in option::of(text()),
        remedy in option::of(text()),
        violations in violations(),
        cause in option::of(cause()),
        wait in option::of(any::<u64>().prop_map(Duration::from_micros)),
        words in vec(text(), 0..8),
        data in value(),
    ) -> Draw {
        Draw { code, retry, effect, message, remedy, violations, cause, wait, words, data }
    }
}
