//! The order of violations: the contract's, and AJV's if the contract is silent.

use crate::rules;
use serde_json::json;

#[test]
fn an_object_from_not_to_its_properties() {
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
fn what_goes_for_every_type_comes_before_the_parts_of_an_object() {
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
fn the_length_of_an_array_then_its_items() {
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
fn text_from_its_length_to_its_format() {
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
fn numbers_from_their_range_to_their_step() {
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
fn a_wrong_type_ends_all_but_the_enumeration() {
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
fn a_fraction_is_still_held_to_the_range_of_its_integer() {
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
fn other_members_are_looked_at_in_the_order_given_and_before_the_known_ones() {
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
