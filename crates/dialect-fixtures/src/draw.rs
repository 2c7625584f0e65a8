//! Random failures of any dialect.

use candor_fault::{
    ArgumentPath, Cause, ClientText, Code, Dialect, Effect, Fault, PathStep, Refusal, Retry,
    Violation, excerpt,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::time::Duration;

/// The parts of a random failure. `code` is taken modulo the number of codes.
#[derive(Debug, Clone)]
pub struct FaultDraw {
    pub code: usize,
    pub retry: Retry,
    pub effect: Effect,
    pub message: Option<String>,
    pub remedy: Option<String>,
    pub violations: Vec<Violation>,
    pub cause: Option<Cause>,
    pub wait: Option<Duration>,
    pub words: Vec<String>,
    pub data: Value,
}

impl FaultDraw {
    /// Makes the failure of dialect `D`.
    pub fn fault<D: Dialect>(&self) -> Fault<D> {
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

    /// Makes the failure of dialect `D` that adopts a random refusal.
    pub fn adopted<D: Dialect>(&self) -> Fault<D> {
        let effect = self.effect;
        let violations = self.violations.iter().cloned().collect();
        D::adopt(match (self.code % 6, &self.cause, self.wait) {
            (0, _, Some(after)) => Refusal::Limited { after },
            (1, ..) => Refusal::Deadline { effect },
            (2, ..) => Refusal::Cancelled { effect },
            (3, Some(cause), _) => Refusal::Panicked {
                cause: cause.clone(),
                effect,
            },
            (4, Some(cause), _) => Refusal::Unrecorded {
                cause: cause.clone(),
                effect,
            },
            _ => Refusal::Arguments(violations),
        })
    }

    /// Returns the word at `index`, if that many were drawn.
    pub fn word(&self, index: usize) -> Option<String> {
        self.words.get(index).cloned()
    }
}

/// Text of any kind: plain, or with quotes, line breaks, control and invisible characters.
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
        Violation { path: ArgumentPath(steps), keyword, message: message.into(), params: params.into(), value, expected: expected.into(), hint }
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

/// A few violations, and sometimes more than an answer contains.
fn violations() -> impl Strategy<Value = Vec<Violation>> {
    prop_oneof![4 => vec(violation(), 0..4), 1 => vec(violation(), 0..60)]
}

prop_compose! {
    /// A random failure.
    pub fn fault_draw()(
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
    ) -> FaultDraw {
        FaultDraw { code, retry, effect, message, remedy, violations, cause, wait, words, data }
    }
}
