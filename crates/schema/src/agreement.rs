//! Tests that explaining finds a violation exactly if the library refuses a value, on random input.

use crate::Schema;
use candor_fault::{PathStep, Violation};
use candor_json::IndexedText;
use jsonschema::{Draft, EmailOptions, Validator};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

const NAMES: [&str; 4] = ["a", "b", "c", "long_name"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2..6i64).prop_map(Value::from),
        (-4..12i32).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        select(vec![
            json!(9007199254740993u64),
            json!(9007199254740992.0),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e300),
            json!(-0.0),
        ]),
        select(vec![
            "",
            "a",
            "b",
            "ab",
            "ba",
            "aé",
            "𝒳",
            "7",
            " ",
            "2025-10-12",
            "a@b.co",
            "127.0.0.1",
        ])
        .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((select(&NAMES[..]), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(members: Vec<(&str, Value)>) -> Value {
    let members = members.into_iter();
    members
        .map(|(name, member)| (name.to_owned(), member))
        .collect()
}

/// Keywords about the value itself.
fn assertions() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let types = vec![
        "string", "integer", "number", "boolean", "array", "object", "null",
    ];
    let one_type = select(types.clone()).prop_map(Value::from);
    let several = subsequence(types, 1..4).prop_map(Value::from);
    let number = || {
        (-4..10i32).prop_map(|n| {
            if n % 2 == 0 {
                json!(n / 2)
            } else {
                json!(f64::from(n) / 2.0)
            }
        })
    };
    let patterns = vec![
        "^a", "b$", "^[ab]*$", "^(a|b)$", r"\d", r"^\S*$", "^.$", "^a$", r"^\w+$", "é",
    ];
    let formats = vec!["date", "email", "ipv4", "uuid", "unheard-of"];
    let keyword = prop_oneof![
        6 => prop_oneof![3 => one_type, 1 => several].prop_map(|rule| ("type", rule)),
        4 => (select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), number()),
        1 => select(vec![json!(1), json!(2), json!(0.5), json!(2.0)]).prop_map(|rule| ("multipleOf", rule)),
        4 => (select(vec!["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]), (0..4u8).prop_map(Value::from)),
        2 => select(patterns).prop_map(|rule| ("pattern", rule.into())),
        1 => select(formats).prop_map(|rule| ("format", rule.into())),
        1 => value().prop_map(|rule| ("const", rule)),
        2 => prop::collection::vec(scalar(), 1..5).prop_map(|rule| ("enum", rule.into())),
        1 => any::<bool>().prop_map(|rule| ("uniqueItems", rule.into())),
        2 => subsequence(NAMES.to_vec(), 1..4).prop_map(|rule| ("required", rule.into())),
        1 => Just(("description", json!("words"))),
    ];
    prop::collection::vec(keyword, 0..4)
}

fn members(schema: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((select(&NAMES[..]), schema), 0..4).prop_map(object)
}

/// Generates keywords that apply subschemas; `deep` may refer to any subschema, `here` may not.
fn applicators(
    here: BoxedStrategy<Value>,
    deep: BoxedStrategy<Value>,
    foreign: bool,
) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let list = || prop::collection::vec(here.clone(), 1..3).prop_map(Value::from);
    let explained = prop_oneof![
        4 => members(deep.clone()).prop_map(|rule| ("properties", rule)),
        1 => Just(("additionalProperties", json!(false))),
        1 => deep.clone().prop_map(|rule| ("additionalProperties", rule)),
        3 => deep.clone().prop_map(|rule| ("items", rule)),
        1 => here.clone().prop_map(|rule| ("not", rule)),
        1 => list().prop_map(|rule| ("anyOf", rule)),
        1 => list().prop_map(|rule| ("oneOf", rule)),
        2 => list().prop_map(|rule| ("allOf", rule)),
    ];
    let others = prop_oneof![
        (select(vec!["if", "then", "else"]), here.clone()),
        deep.clone().prop_map(|rule| ("contains", rule)),
        here.clone().prop_map(|rule| ("propertyNames", rule)),
        prop::collection::vec(deep.clone(), 1..3).prop_map(|rule| ("prefixItems", rule.into())),
        deep.clone()
            .prop_map(|rule| ("patternProperties", json!({"^[ab]": rule}))),
        select(&NAMES[..]).prop_map(|name| ("dependentRequired", json!({"a": [name]}))),
        Just(("unevaluatedProperties", json!(false))),
        deep.prop_map(|rule| ("unevaluatedItems", rule)),
    ];
    let weight = u32::from(foreign);
    let keyword = prop_oneof![3 => explained, weight => others];
    prop::collection::vec(keyword, 0..4)
}

fn schema(foreign: bool) -> impl Strategy<Value = Value> {
    let joined = |(one, other): (Vec<_>, Vec<_>)| object(one.into_iter().chain(other).collect());
    let leaf = prop_oneof![
        6 => assertions().prop_map(object),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({"$ref": "#/$defs/leaf"})),
    ];
    let any = leaf.prop_recursive(3, 24, 4, move |inner| {
        let back = Just(json!({"$ref": "#/$defs/tree"}));
        let deep = prop_oneof![5 => inner.clone(), 1 => back].boxed();
        (assertions(), applicators(inner.boxed(), deep, foreign)).prop_map(joined)
    });
    let tree = any.clone();
    (any, tree, assertions()).prop_map(|(root, tree, leaf)| {
        let mut root = match root {
            Value::Object(root) => root,
            _ => Map::new(),
        };
        let definitions = json!({"tree": tree, "leaf": object(leaf)});
        root.insert(String::from("$defs"), definitions);
        Value::Object(root)
    })
}

/// Makes choices; once they have run out, it chooses the first.
struct Picks(std::vec::IntoIter<Index>);

impl Picks {
    fn pick(&mut self, len: usize) -> usize {
        self.0.next().map_or(0, |index| index.index(len))
    }
}

/// Generates a value that tries to fit a schema.
fn fitting(schema: &Value, root: &Value, picks: &mut Picks, depth: u8) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference.and_then(|pointer| root.pointer(&pointer[1..])) {
        return fitting(target, root, picks, depth - 1);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        return allowed[picks.pick(allowed.len())].clone();
    }
    let wanted = match schema.get("type") {
        Some(Value::Array(names)) => names[picks.pick(names.len())].as_str().unwrap(),
        Some(name) => name.as_str().unwrap(),
        None if schema.get("items").is_some() => "array",
        None => "object",
    };
    let at_least = |keyword| schema.get(keyword).and_then(Value::as_u64).unwrap_or(0) as usize;
    match wanted {
        "string" => {
            let text = ["a", "b", "ab", "aab", "7"][picks.pick(5)];
            json!(text.repeat(at_least("minLength").max(1)))
        }
        "integer" | "number" => json!(picks.pick(6) as i64 - 1),
        "boolean" => json!(picks.pick(2) == 0),
        "null" => Value::Null,
        "array" => {
            let len = at_least("minItems") + picks.pick(2);
            let items = schema.get("items").unwrap_or(&Value::Null);
            let item = |_| fitting(items, root, picks, depth - 1);
            (0..len).map(item).collect()
        }
        _ => fitting_object(schema, root, picks, depth),
    }
}

fn fitting_object(schema: &Value, root: &Value, picks: &mut Picks, depth: u8) -> Value {
    let known = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let known_names = known.into_iter().flat_map(Map::keys).map(String::as_str);
    let member = |name: &str| {
        let schema = known.and_then(|known| known.get(name));
        let schema = schema.unwrap_or(&Value::Null);
        (name.to_owned(), fitting(schema, root, picks, depth - 1))
    };
    known_names.chain(required).map(member).collect()
}

/// Changes one part of a value.
fn change(value: &mut Value, picks: &mut Picks, other: &Value) {
    match value {
        Value::Array(items) if !items.is_empty() && picks.pick(3) > 0 => {
            let at = picks.pick(items.len());
            change(&mut items[at], picks, other);
        }
        Value::Object(members) if picks.pick(4) == 0 => {
            members.insert(String::from("lnog_name"), other.clone());
        }
        Value::Object(members) if !members.is_empty() && picks.pick(4) > 0 => {
            let at = picks.pick(members.len());
            let name = members.keys().nth(at).unwrap().clone();
            if picks.pick(3) == 0 {
                members.shift_remove(&name);
            } else {
                change(&mut members[&name], picks, other);
            }
        }
        _ => *value = other.clone(),
    }
}

fn case(foreign: bool) -> impl Strategy<Value = (Value, Value)> {
    let picks = prop::collection::vec(any::<Index>(), 40);
    (schema(foreign), value(), picks, 0..4u8).prop_map(|(schema, other, picks, how)| {
        let mut picks = Picks(picks.into_iter());
        let mut value = fitting(&schema, &schema, &mut picks, 6);
        match how {
            0 => value = other,
            1 | 2 => change(&mut value, &mut picks, &other),
            _ => {}
        }
        (schema, value)
    })
}

/// Compiles a schema with the unmodified library, with the same formats.
fn library(schema: &Value) -> Validator {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_email_options(EmailOptions::default().without_display_text())
        .build(schema)
        .unwrap()
}

fn at<'v>(violation: &Violation, value: &'v Value) -> Option<&'v Value> {
    violation
        .path
        .0
        .iter()
        .try_fold(value, |value, step| match step {
            PathStep::Member(name) => value.get(name),
            PathStep::Item(index) => value.get(index),
        })
}

fn agrees(schema: &Value, value: &Value) -> Result<(), TestCaseError> {
    let valid = library(schema).is_valid(value);
    let compiled = Schema::new(schema.clone()).unwrap();
    let indexed = IndexedText::unbounded(value);
    prop_assert_eq!(compiled.decides(indexed.root()), valid);
    let explained = compiled.explain(indexed.root());
    prop_assert_eq!(explained.is_empty(), valid, "{:?}", explained);
    for violation in explained.shown() {
        let there = at(violation, value);
        prop_assert_eq!(
            there.map(|there| candor_fault::excerpt(there).get().to_owned()),
            Some(violation.value.get().to_owned())
        );
        prop_assert!(!violation.expected.is_empty() && !violation.message.is_empty());
    }
    let checked = compiled.check(value);
    prop_assert_eq!(checked.is_ok(), valid);
    prop_assert_eq!(checked.err().unwrap_or_default(), explained);
    Ok(())
}

proptest! {
    #![proptest_config(Config::with_cases(600))]

    #[test]
    fn explaining_agrees_with_deciding((schema, value) in case(false)) {
        agrees(&schema, &value)?;
    }

    #[test]
    fn explaining_agrees_where_only_the_library_knows((schema, value) in case(true)) {
        agrees(&schema, &value)?;
    }
}

#[test]
fn the_cases_are_of_both_kinds() {
    let mut runner = TestRunner::deterministic();
    let strategy = case(false);
    let draw = |runner: &mut TestRunner| strategy.new_tree(runner).unwrap().current();
    let valid = (0..400)
        .filter(|_| {
            let (schema, value) = draw(&mut runner);
            library(&schema).is_valid(&value)
        })
        .count();
    assert!((80..320).contains(&valid), "{valid} of 400 are valid");
}
