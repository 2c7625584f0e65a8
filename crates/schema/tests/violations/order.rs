//! The order of violations: the contract's, and AJV's if the contract is silent.

use crate::rules;
use serde_json::json;

#[test]
fn object_violations_are_in_order() {
    let schema = json!({
        "properties": {
            "second": {"type": "object", "required": ["x", "w"], "properties": {"y": {"type": "string"}}},
            "first": {"type": "integer"},
        },
        "additionalProperties": false,
        "required": ["z", "a"],
        "not": {"required": ["q"]},
        "type": "object",
    });
    let value = json!({"q": 1, "first": "1", "b": 2, "second": {"y": 1}});
    assert_eq!(
        rules(schema, value),
        [
            "root not",
            "root required z",
            "root required a",
            "root additionalProperties q",
            "root additionalProperties b",
            "/second required x",
            "/second required w",
            "/second/y type",
            "/first type",
        ]
    );
}

#[test]
fn keywords_of_every_type_come_before_those_of_objects() {
    let schema = json!({
        "properties": {"a": false},
        "required": ["z"],
        "maxProperties": 0,
        "minProperties": 9,
        "allOf": [{"required": ["y"]}, {"not": {}}],
        "oneOf": [false],
        "anyOf": [false],
        "not": {},
        "enum": [1],
        "const": 2,
        "$ref": "#/$defs/more",
        "dependentRequired": {"a": ["w"]},
        "$defs": {"more": {"required": ["x"]}},
    });
    assert_eq!(
        rules(schema, json!({"a": 1})),
        [
            "root required x",
            "root const",
            "root enum",
            "root not",
            "root anyOf",
            "root oneOf",
            "root required y",
            "root not",
            "root maxProperties",
            "root minProperties",
            "root required z",
            "/a schema",
            "root schema",
        ]
    );
}

#[test]
fn length_of_an_array_comes_before_its_items() {
    let schema = json!({
        "items": {"type": "object", "required": ["a"]},
        "uniqueItems": true,
        "minItems": 9,
        "maxItems": 1,
    });
    assert_eq!(
        rules(schema, json!([{}, 1, {}])),
        [
            "root maxItems",
            "root minItems",
            "root uniqueItems",
            "/0 required a",
            "/1 type",
            "/2 required a",
        ]
    );
}

#[test]
fn string_violations_are_in_order() {
    let schema = json!({
        "format": "email",
        "pattern": "^b",
        "minLength": 3,
        "maxLength": 1,
        "allOf": [{"pattern": "^c"}],
    });
    assert_eq!(
        rules(schema, json!("aa")),
        [
            "root maxLength",
            "root minLength",
            "root pattern",
            "root format",
            "root pattern"
        ]
    );
}

#[test]
fn number_violations_are_in_order() {
    let schema = json!({
        "multipleOf": 2,
        "exclusiveMinimum": 5,
        "exclusiveMaximum": 1,
        "minimum": 5,
        "maximum": 1,
    });
    assert_eq!(
        rules(schema, json!(3)),
        [
            "root maximum",
            "root minimum",
            "root exclusiveMaximum",
            "root exclusiveMinimum",
            "root multipleOf",
        ]
    );
}

#[test]
fn wrong_type_hides_all_but_the_enumeration() {
    let schema = json!({
        "type": "string",
        "enum": ["a"],
        "const": "a",
        "not": {"type": "integer"},
        "allOf": [{"type": "null"}],
        "minimum": 9,
    });
    assert_eq!(rules(schema, json!(1)), ["root type", "root enum"]);
}

#[test]
fn fraction_is_checked_against_the_range_of_an_integer() {
    let integer = json!({
        "type": "integer",
        "minimum": 1,
        "exclusiveMinimum": 2,
        "multipleOf": 3,
        "enum": [5],
    });
    assert_eq!(
        rules(integer.clone(), json!(0.5)),
        [
            "root type",
            "root minimum",
            "root exclusiveMinimum",
            "root enum"
        ]
    );
    assert_eq!(rules(integer, json!("0.5")), ["root type", "root enum"]);
    let page = json!({"type": "integer", "minimum": 1, "maximum": 100});
    assert_eq!(rules(page.clone(), json!(1.5)), ["root type"]);
    assert_eq!(rules(page, json!(100.5)), ["root type", "root maximum"]);
}

#[test]
fn integers_may_be_written_as_floats() {
    let page = json!({"type": "integer", "minimum": 1, "maximum": 100});
    for text in ["1", "1.0", "1e0", "100.0", "1E2"] {
        let value = serde_json::from_str(text).unwrap();
        assert!(rules(page.clone(), value).is_empty(), "{text}");
    }
    assert_eq!(rules(page, json!(101.0)), ["root maximum"]);
}

#[test]
fn additional_members_are_checked_in_input_order_before_known_ones() {
    let schema = json!({
        "properties": {"known": {"type": "null"}},
        "additionalProperties": {"type": "integer", "minimum": 3},
    });
    assert_eq!(
        rules(schema, json!({"z": "1", "known": 1, "a": 2})),
        ["/z type", "/a minimum", "/known type"]
    );
}

#[test]
fn references_are_followed_as_deep_as_the_value_goes() {
    let schema = json!({
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/tree"}, "leaf": {"type": "integer"}},
            "additionalProperties": false,
        }},
    });
    assert_eq!(
        rules(schema, json!({"left": {"left": {"leaf": "x", "laef": 1}}})),
        [
            "/left/left additionalProperties laef",
            "/left/left/leaf type"
        ]
    );
}
