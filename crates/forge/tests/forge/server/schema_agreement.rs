//! The enforced schema is the published one: an independent validator of the published list agrees, and
//! the structs of the tools accept every value that the schema accepts.

use crate::fixture::server::{FixtureOptions, ServerFixture, run};
use crate::fixture::valid_arguments::{self, without};
use crate::server::schema_keywords::{pool, validator};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Seek, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

static HOUSE: LazyLock<ServerFixture> = LazyLock::new(|| {
    let unlimited = |options: &mut FixtureOptions| options.config.writes_a_minute = NonZeroU32::MAX;
    FixtureOptions::default().with(unlimited).fixture()
});

static PUBLISHED: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let tools = HOUSE.listed().into_iter();
    tools
        .map(|tool| {
            let rules = validator(&tool["inputSchema"]);
            (tool["name"].as_str().unwrap().to_owned(), rules)
        })
        .collect()
});

/// Every member that some tool has, and one that none has.
fn members() -> Vec<String> {
    let tools = valid_arguments::every_tool().into_iter();
    let mut names: Vec<_> = tools
        .flat_map(|(_, arguments)| {
            arguments
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        })
        .chain([String::from("zzz")])
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Values at the edges of what is right, beside those of the pool.
fn values() -> Vec<Value> {
    let edges = [
        json!(1),
        json!(1.0),
        json!(100),
        json!(100.0),
        json!(1e2),
        json!(-0.0),
        json!("main"),
        json!("a/b"),
        json!("a.b/c-d"),
        json!("abcdef0"),
        json!("open"),
        json!("closed"),
        json!("merge"),
        json!(false),
        json!("🐈"),
        json!("v1.0"),
        json!("octo:main"),
        json!("..."),
    ];
    let nothing = json!({ "maxItems": 20 });
    edges.into_iter().chain(pool(&nothing)).collect()
}

/// Right arguments of a tool with up to two members changed, removed or added.
fn random_call() -> impl Strategy<Value = (&'static str, Value)> {
    let changes = prop::collection::vec((any::<Index>(), prop::option::of(select(values()))), 0..3);
    let call = (select(valid_arguments::every_tool()), changes);
    call.prop_map(|((tool, right), changes)| {
        let own: Vec<_> = right.as_object().unwrap().keys().cloned().collect();
        let names = [own.clone(), own, members()].concat();
        let mut arguments = right;
        for (name, value) in changes {
            let name = name.get(&names);
            match value {
                Some(value) => arguments[name] = value,
                None => arguments = without(arguments, name),
            }
        }
        (tool, arguments)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn server_refuses_exactly_what_its_schema_refuses((tool, arguments) in random_call()) {
        let answer = run(HOUSE.call_tool(tool, arguments.clone()));
        let refused = answer.text().starts_with(r#"{"code":-32602,"#);
        let failed = answer.text().starts_with(r#"{"code":"#);
        let is_right = PUBLISHED[tool].is_valid(&arguments)
            && valid_arguments::has_exactly_one(tool, &arguments);
        prop_assert_eq!(refused, !is_right, "{}", arguments);
        // A right call may still fail if a head is another one, a file lacks the lines, or a review a text.
        let unmet = ["get_file_contents", "create_pull_request_review"];
        let may_fail = |code| code == -32006 || (code == -32003 && unmet.contains(&tool));
        let is_known = failed && !refused && may_fail(answer.code());
        prop_assert!(refused || !failed || is_known, "{tool} {} {}", arguments, answer.text());
    }
}

/// Returns the judgement of AJV for each call, or `None` if it is not installed.
#[allow(clippy::disallowed_methods)] // A test is a program, and owns its environment.
fn judge_with_ajv(calls: &[(&'static str, Value)]) -> Option<Vec<bool>> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let (clients, node) = (variable("CANDOR_CLIENTS")?, variable("CANDOR_NODE")?);
    let schemas: BTreeMap<_, _> = HOUSE
        .listed()
        .into_iter()
        .map(|tool| {
            let name = tool["name"].as_str().unwrap().to_owned();
            (name, tool["inputSchema"].clone())
        })
        .collect();
    let mut input = tempfile::tempfile().unwrap();
    writeln!(input, "{}", json!(schemas)).unwrap();
    for call in calls {
        writeln!(input, "{}", json!(call)).unwrap();
    }
    input.rewind().unwrap();
    let judged = Command::new(node)
        .arg(clients.join("ajv.mjs"))
        .stdin(input)
        .output()
        .unwrap();
    let problem = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success(), "{problem}");
    let lines = String::from_utf8(judged.stdout).unwrap();
    Some(lines.lines().map(|line| line == "true").collect())
}

/// The validator that most clients use decides as the server does.
#[test]
fn server_and_ajv_agree_on_random_calls() {
    let strategy = random_call();
    let mut runner = TestRunner::deterministic();
    let calls: Vec<_> = (0..6_000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect();
    let Some(judgements) = judge_with_ajv(&calls) else {
        return candor_testkit::skip("AJV is not installed; `cargo xtask test` installs it");
    };
    assert_eq!(judgements.len(), calls.len());
    let right = judgements.iter().filter(|is_right| **is_right).count();
    assert!((1_000..5_000).contains(&right), "{right} right calls");
    for ((tool, arguments), is_right) in calls.into_iter().zip(judgements) {
        let is_right = is_right && valid_arguments::has_exactly_one(tool, &arguments);
        let text = arguments.to_string();
        let answer = run(HOUSE.call_tool(tool, arguments));
        let refused = answer.text().starts_with(r#"{"code":-32602,"#);
        assert_eq!(refused, !is_right, "{tool} {text}");
    }
}
