//! Every refusal of the street, and the failures that a dialect makes of them.

use super::{missing, wrong_type};
use candor_fault::{Cause, Dialect, Effect, Refusal};
use serde_json::json;
use std::time::Duration;

fn every_refusal() -> Vec<(String, Refusal)> {
    let cause = || Cause::from("why");
    let mut all = vec![
        (
            "arguments".to_owned(),
            Refusal::Arguments(
                [missing("", "a"), wrong_type("/b", "string", &json!(1))]
                    .into_iter()
                    .collect(),
            ),
        ),
        (
            "arguments, none".to_owned(),
            Refusal::Arguments(Default::default()),
        ),
        (
            "limited".to_owned(),
            Refusal::Limited {
                after: Duration::from_secs(2),
            },
        ),
    ];
    for effect in Effect::ALL.iter().copied() {
        let named = |name: &str| format!("{name}, {}", effect.word());
        all.push((named("deadline"), Refusal::Deadline { effect }));
        all.push((named("cancelled"), Refusal::Cancelled { effect }));
        all.push((
            named("panicked"),
            Refusal::Panicked {
                cause: cause(),
                effect,
            },
        ));
        all.push((
            named("unrecorded"),
            Refusal::Unrecorded {
                cause: cause(),
                effect,
            },
        ));
    }
    all
}

/// Returns one line for each refusal: code, retry, wait, effect and message of its failure.
pub fn describe_refusals<D: Dialect>() -> String {
    let line = |(name, refusal): (String, Refusal)| {
        let fault = D::adopt(refusal);
        assert!(D::rows().iter().any(|row| row.has_key_of(fault.row())));
        let five = fault.five_answers();
        let wait = five
            .retry_after_ms
            .map_or(String::new(), |wait| format!(" {wait} ms"));
        format!(
            "{name}: {} {}{wait} {} {:?}",
            fault.row().code,
            five.retry.word(),
            five.effect.word(),
            fault.message()
        )
    };
    every_refusal()
        .into_iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Checks that the causes of a panic and of a failed record stay in the failure, for the log.
pub fn assert_causes_are_kept<D: Dialect>() {
    let effect = Effect::None;
    let cause = Cause::from("why");
    let panicked = D::adopt(Refusal::Panicked {
        cause: cause.clone(),
        effect,
    });
    let unrecorded = D::adopt(Refusal::Unrecorded {
        cause: cause.clone(),
        effect,
    });
    assert_eq!(panicked.cause(), Some(&cause));
    assert_eq!(unrecorded.cause(), Some(&cause));
}
