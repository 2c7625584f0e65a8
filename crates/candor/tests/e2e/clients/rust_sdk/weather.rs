//! The example server: small enough to read at once, and as strict as ours.

use super::session::{call, connect, run};
use super::{ERAS, Expected, Form, cases, quirks};
use crate::clients::target::{Target, workspace};
use serde_json::json;

/// The promise of the README.
const MAX_LINES: usize = 25;

#[test]
fn example_has_at_most_25_lines() {
    let path = workspace().join("examples/weather/src/main.rs");
    let source = std::fs::read_to_string(path).expect("the example is there");
    assert!(source.lines().count() <= MAX_LINES);
    assert!(source.lines().all(|line| line.chars().count() <= 100));
}

#[tokio::test]
async fn example_fails_with_its_own_codes() {
    let target = Target::weather();
    for era in ERAS {
        let expected = Expected {
            session: format!("rmcp, {era:?}, {target:?}"),
            server: ("weather", "1.0.0"),
            era: *era,
            tools: cases::WEATHER,
            cases: &cases::weather(),
            form: Form::Result,
            quirks,
        };
        expected.check(run(&target, *era, expected.cases).await);
    }
}

#[tokio::test]
async fn wrong_arguments_are_described() {
    let mut session = connect(&Target::weather(), ERAS[0]).await;
    let outcome = call(&session, "forecast", &json!({})).await;
    assert_eq!(outcome["is_error"], true, "{outcome:#}");
    let error = &outcome["structured"]["error"];
    assert_eq!(error["code"], "invalid_arguments");
    assert_eq!(error["fault"]["class"], "caller");
    assert_eq!(error["fault"]["retry"], "after_change");
    assert_eq!(error["fault"]["effect"], "none");
    let violation = &error["violations"][0];
    assert_eq!(violation["field"], "city");
    assert_eq!(violation["keyword"], "required");
    assert_eq!(violation["message"], "must have required property 'city'");
    session.close().await.expect("the session ends");
}
