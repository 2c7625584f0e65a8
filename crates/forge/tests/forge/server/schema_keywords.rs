//! Cases that are generated from the published schemas: for every keyword of every argument one set of
//! arguments that violates it.

use crate::fixture::server::{ServerFixture, fixture, run};
use crate::fixture::valid_arguments::{self, without};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Arguments that are wrong, and their violations in order.
struct Case {
    arguments: Value,
    violations: Vec<(String, String)>,
}

/// One keyword with its rule, decided alone.
struct Part {
    keyword: &'static str,
    rule: Validator,
}

/// Returns an independent validator, which asserts formats as this server does.
pub(crate) fn validator(schema: &Value) -> Validator {
    let options = jsonschema::options().should_validate_formats(true);
    options.build(schema).unwrap()
}

impl Part {
    fn of(keyword: &'static str, schema: &Value) -> Part {
        let rule = validator(schema);
        Part { keyword, rule }
    }
}

/// The keywords of a value, in the order in which the page has them looked at.
const ORDER: [&str; 10] = [
    "type",
    "enum",
    "minimum",
    "maximum",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
];

fn parts(schema: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    for keyword in ORDER {
        if let Some(rule) = schema.get(keyword) {
            parts.push(Part::of(keyword, &json!({ keyword: rule })));
        }
    }
    for also in schema["allOf"].as_array().into_iter().flatten() {
        assert!(also.get("pattern").is_some(), "{also}");
        parts.push(Part::of("pattern", also));
    }
    parts
}

/// Values among which there is one that breaks each keyword, and as few others as can be.
pub(crate) fn pool(schema: &Value) -> Vec<Value> {
    let mut pool = vec![
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(0),
        json!(1.5),
        json!(101),
        json!(9_007_199_254_740_992_u64),
    ];
    let texts = [
        "",
        "a b",
        "a b/c",
        "nobody",
        "../b",
        "a/..",
        "a..b",
        "a.",
        "-a",
        ".a",
        "a//b",
        "a.lock",
        "x/../y",
        "/a",
        ".git",
        "x/.git/y",
        "a\0b",
        "A000000",
        "owner:-a",
        "owner:a.lock",
        "owner:a..b",
    ];
    pool.extend(texts.into_iter().map(Value::from));
    for length in [101, 257, 501, 10_001] {
        pool.push(json!("a".repeat(length)));
    }
    pool.push(json!(format!("owner:{}", "a".repeat(101))));
    pool.push(json!(format!("{}:a", "o".repeat(140))));
    if let Some(most) = schema["maxItems"].as_u64() {
        let has = |name: &str| schema["items"]["properties"].get(name).is_some();
        let item = |n| match schema["items"]["type"].as_str() {
            Some("string") => json!(format!("n{n}")),
            _ if has("op") => json!({ "op": "delete", "path": format!("f{n}") }),
            _ if has("line") => json!({ "path": format!("f{n}"), "line": 1, "body": "x" }),
            _ => json!({ "path": format!("f{n}"), "content": "" }),
        };
        pool.push((0..=most).map(item).collect());
    }
    pool
}

/// Returns the parts that a value breaks and that are reported: after a wrong type only `enum` and, for a
/// number, its range.
fn report(parts: &[Part], value: &Value) -> Vec<usize> {
    let violations = |(index, part): (usize, &Part)| (!part.rule.is_valid(value)).then_some(index);
    let violations: Vec<_> = parts.iter().enumerate().filter_map(violations).collect();
    let wrong_type = violations
        .iter()
        .any(|index| parts[*index].keyword == "type");
    let stays = |index: &usize| match parts[*index].keyword {
        "type" | "enum" => true,
        "minimum" | "maximum" => !wrong_type || value.is_number(),
        _ => !wrong_type,
    };
    violations.into_iter().filter(stays).collect()
}

/// Returns for each keyword of a value that is not an object the value that breaks it and the fewest others.
fn broken_values(schema: &Value) -> Vec<(Value, Vec<String>)> {
    let parts = parts(schema);
    let wrong = pool(schema).into_iter().map(|value| {
        let report = report(&parts, &value);
        (value, report)
    });
    let wrong: Vec<_> = wrong.collect();
    let mut cases = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let breaking = wrong.iter().filter(|(_, report)| report.contains(&index));
        let fewest = breaking.min_by_key(|(_, report)| report.len());
        let (value, report) = fewest.unwrap_or_else(|| panic!("{} {schema}", part.keyword));
        let words = report.iter().map(|index| parts[*index].keyword.to_owned());
        cases.push((value.clone(), words.collect()));
    }
    cases
}

/// Every case of a schema, for the value that is right; `path` is where it stands.
fn cases(schema: &Value, right: &Value, path: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let at = if path.is_empty() { "root" } else { path };
    let mut add = |arguments: Value, keywords: &[String]| {
        let violations = keywords.iter().map(|word| (word.clone(), at.to_owned()));
        let violations = violations.collect();
        cases.push(Case {
            arguments,
            violations,
        });
    };
    if right.is_object() {
        objects(schema, right, &mut add);
        cases.extend(members(schema, right, path));
        return cases;
    }
    for (value, keywords) in broken_values(schema) {
        add(value, &keywords);
    }
    if let Some(items) = schema.get("items") {
        for inner in self::cases(items, &right[0], &format!("{path}/0")) {
            let mut violations = inner.violations;
            violations.extend(foreign_members(&inner.arguments, &format!("{path}/0")));
            let arguments = json!([inner.arguments]);
            cases.push(Case {
                arguments,
                violations,
            });
        }
    }
    cases
}

/// The members that a `move` does not take. The rules of operations follow those of the schema.
fn foreign_members(change: &Value, path: &str) -> Vec<(String, String)> {
    let foreign = ["old_text", "new_text", "executable"].into_iter();
    let foreign = foreign.filter(|name| change["op"] == "move" && change.get(name).is_some());
    foreign
        .map(|_| (String::from("additionalProperties"), path.to_owned()))
        .collect()
}

/// The keywords of an object itself.
fn objects(schema: &Value, right: &Value, add: &mut impl FnMut(Value, &[String])) {
    let keywords = schema.as_object().unwrap().keys();
    for keyword in keywords {
        let one = [keyword.clone()];
        match keyword.as_str() {
            "properties" | "description" => {}
            "type" => [json!(null), json!("{}"), json!([]), json!(3)]
                .into_iter()
                .for_each(|value| add(value, &one)),
            "required" => schema["required"]
                .as_array()
                .unwrap()
                .iter()
                .for_each(|name| add(without(right.clone(), name.as_str().unwrap()), &one)),
            "additionalProperties" => {
                assert_eq!(schema["additionalProperties"], false);
                let mut more = right.clone();
                more["zzz"] = json!(1);
                add(more, &one);
            }
            "not" => {
                let mut both = right.clone();
                for name in schema["not"]["required"].as_array().unwrap() {
                    both[name.as_str().unwrap()] = json!("main");
                }
                add(both, &one);
            }
            "minProperties" => {
                let names = schema["required"].as_array().unwrap();
                let few = |mut few: Value, name: &Value| {
                    let name = name.as_str().unwrap();
                    few[name] = right[name].clone();
                    few
                };
                add(names.iter().fold(json!({}), few), &one);
            }
            other => panic!("no case for {other}"),
        }
    }
}

/// The cases of an object's members, each in the object.
fn members(schema: &Value, right: &Value, path: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let groups = ["get_job_logs", "rerun_failed_jobs"].map(valid_arguments::exactly_one);
    let is_group = |group: &&&[&str]| {
        let has = |name: &&str| schema["properties"].get(*name).is_some();
        path.is_empty() && group.iter().all(has) && schema["required"] == json!(["repo"])
    };
    let group = groups.iter().find(is_group).copied().unwrap_or_default();
    for (name, property) in schema["properties"].as_object().unwrap() {
        let excluded = schema["not"]["required"].as_array();
        let mut around = right.clone();
        for other in excluded.into_iter().flatten() {
            if other != name && excluded.unwrap().contains(&json!(name)) {
                around = without(around, other.as_str().unwrap());
            }
        }
        for other in group {
            if other != name && group.contains(&name.as_str()) && right.get(other).is_some() {
                around = without(around, other);
            }
        }
        let value = right.get(name).cloned().unwrap_or_else(|| json!("main"));
        for inner in self::cases(property, &value, &format!("{path}/{name}")) {
            let mut arguments = around.clone();
            arguments[name] = inner.arguments;
            let violations = inner.violations;
            cases.push(Case {
                arguments,
                violations,
            });
        }
    }
    cases
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        None => text,
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

async fn check(fixture: &ServerFixture, tool: &str, case: &Case) -> String {
    let answer = fixture.call_tool(tool, case.arguments.clone()).await;
    assert_eq!(
        answer.violations(),
        case.violations,
        "{tool} {}",
        case.arguments
    );
    let (first, words): (Vec<_>, Vec<_>) = (
        case.violations
            .iter()
            .map(|(_, path)| path.as_str())
            .collect(),
        case.violations
            .iter()
            .map(|(word, _)| word.as_str())
            .collect(),
    );
    let place = first[0].trim_start_matches('/').replace('/', ".");
    let pointer = first[0].trim_start_matches("root");
    let value = case.arguments.pointer(pointer).unwrap();
    format!("{tool} {place} {}: {}", words.join("+"), short(value))
}

#[test]
fn every_keyword_is_enforced_and_named() {
    run(async {
        let fixture = fixture();
        let mut report = String::new();
        for tool in fixture.listed() {
            let name = tool["name"].as_str().unwrap();
            for case in cases(&tool["inputSchema"], &valid_arguments::for_tool(name), "") {
                writeln!(report, "{}", check(&fixture, name, &case).await).unwrap();
            }
        }
        assert_eq!(fixture.backend_calls(), Vec::<String>::new());
        assert_eq!(fixture.logged(), Vec::<String>::new());
        insta::assert_snapshot!(report);
    });
}

#[test]
fn valid_arguments_reach_the_backend() {
    run(async {
        let fixture = fixture();
        for (tool, arguments) in valid_arguments::every_tool() {
            fixture.events.clear();
            fixture.call_tool(tool, arguments).await.value();
            assert!(!fixture.backend_calls().is_empty(), "{tool}");
        }
    });
}

#[test]
fn every_tool_has_valid_arguments() {
    let names = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let listed: Vec<_> = fixture().listed().iter().map(names).collect();
    let here: Vec<_> = valid_arguments::every_tool()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(listed, here);
}
