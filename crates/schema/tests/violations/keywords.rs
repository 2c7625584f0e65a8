//! The complete violation of each keyword in the contract's table.

use crate::describe_violations;
use serde_json::json;

#[test]
fn missing_required_member_is_reported() {
    assert_eq!(
        describe_violations(json!({"type": "object", "required": ["query"]}), json!({})),
        json!([{
            "message": "must have required property 'query'",
            "path": "root",
            "keyword": "required",
            "params": {"missingProperty": "query"},
            "value": {},
            "expected": "present",
        }])
    );
}

#[test]
fn unknown_member_is_reported() {
    let schema = json!({"properties": {"page": {}}, "additionalProperties": false});
    assert_eq!(
        describe_violations(schema, json!({"page": 1, "zoom": 2})),
        json!([{
            "message": "must NOT have additional properties",
            "path": "root",
            "keyword": "additionalProperties",
            "params": {"additionalProperty": "zoom"},
            "value": {"page": 1, "zoom": 2},
            "expected": "absent",
        }])
    );
}

#[test]
fn wrong_type_is_reported() {
    let words = [
        ("string", "a string"),
        ("integer", "an integer"),
        ("number", "a number"),
        ("boolean", "a boolean"),
        ("array", "an array"),
        ("object", "an object"),
    ];
    for (name, expected) in words {
        assert_eq!(
            describe_violations(
                json!({"properties": {"a": {"type": name}}}),
                json!({"a": null})
            ),
            json!([{
                "message": format!("must be {name}"),
                "path": "/a",
                "keyword": "type",
                "params": {"type": name},
                "value": null,
                "expected": expected,
            }])
        );
    }
    assert_eq!(
        describe_violations(json!({"type": ["string", "null"]}), json!(true)),
        json!([{
            "message": "must be string,null",
            "path": "root",
            "keyword": "type",
            "params": {"type": ["string", "null"]},
            "value": true,
            "expected": "a string or null",
        }])
    );
}

#[test]
fn wrong_text_length_is_reported() {
    assert_eq!(
        describe_violations(json!({"minLength": 1}), json!("")),
        json!([{
            "message": "must NOT have fewer than 1 characters",
            "path": "root",
            "keyword": "minLength",
            "params": {"limit": 1},
            "value": "",
            "expected": "at least 1 character long",
        }])
    );
    assert_eq!(
        describe_violations(json!({"maxLength": 256}), json!("é".repeat(257))),
        json!([{
            "message": "must NOT be longer than 256 characters",
            "path": "root",
            "keyword": "maxLength",
            "params": {"limit": 256},
            "value": {"omitted": "string", "bytes": 516},
            "expected": "at most 256 characters long",
        }])
    );
}

#[test]
fn text_length_counts_code_points() {
    assert_eq!(
        describe_violations(json!({"maxLength": 2}), json!("𝒳é")),
        json!([])
    );
    assert_eq!(
        describe_violations(json!({"maxLength": 2}), json!("e\u{301}")),
        json!([])
    );
}

#[test]
fn text_that_does_not_match_is_reported() {
    let pattern = "^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$";
    assert_eq!(
        describe_violations(
            json!({"properties": {"repo": {"pattern": pattern}}}),
            json!({"repo": "candor"})
        ),
        json!([{
            "message": "must match pattern \"^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$\"",
            "path": "/repo",
            "keyword": "pattern",
            "params": {"pattern": pattern},
            "value": "candor",
            "expected": "text that matches ^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$",
        }])
    );
}

#[test]
fn value_outside_the_enumeration_is_reported() {
    assert_eq!(
        describe_violations(json!({"enum": ["open", "closed", "all"]}), json!("merged")),
        json!([{
            "message": "must be equal to one of the allowed values",
            "path": "root",
            "keyword": "enum",
            "params": {"allowedValues": ["open", "closed", "all"]},
            "value": "merged",
            "expected": "one of \"open\", \"closed\", \"all\"",
        }])
    );
}

#[test]
fn number_out_of_range_is_reported() {
    let schema = json!({"items": {"type": "integer", "minimum": 1, "maximum": 100}});
    assert_eq!(
        describe_violations(schema, json!([0, 101])),
        json!([{
            "message": "must be >= 1",
            "path": "/0",
            "keyword": "minimum",
            "params": {"comparison": ">=", "limit": 1},
            "value": 0,
            "expected": "at least 1",
        }, {
            "message": "must be <= 100",
            "path": "/1",
            "keyword": "maximum",
            "params": {"comparison": "<=", "limit": 100},
            "value": 101,
            "expected": "at most 100",
        }])
    );
}

#[test]
fn number_on_an_exclusive_bound_is_reported() {
    let schema = json!({"items": {"exclusiveMinimum": 0, "exclusiveMaximum": 1.5}});
    assert_eq!(
        describe_violations(schema, json!([0, 1.5])),
        json!([{
            "message": "must be > 0",
            "path": "/0",
            "keyword": "exclusiveMinimum",
            "params": {"comparison": ">", "limit": 0},
            "value": 0,
            "expected": "greater than 0",
        }, {
            "message": "must be < 1.5",
            "path": "/1",
            "keyword": "exclusiveMaximum",
            "params": {"comparison": "<", "limit": 1.5},
            "value": 1.5,
            "expected": "less than 1.5",
        }])
    );
}

#[test]
fn wrong_array_length_is_reported() {
    assert_eq!(
        describe_violations(json!({"minItems": 1}), json!([])),
        json!([{
            "message": "must NOT have fewer than 1 items",
            "path": "root",
            "keyword": "minItems",
            "params": {"limit": 1},
            "value": [],
            "expected": "an array of at least 1 item",
        }])
    );
    assert_eq!(
        describe_violations(json!({"maxItems": 2}), json!([1, 2, 3])),
        json!([{
            "message": "must NOT have more than 2 items",
            "path": "root",
            "keyword": "maxItems",
            "params": {"limit": 2},
            "value": [1, 2, 3],
            "expected": "an array of at most 2 items",
        }])
    );
}

#[test]
fn wrong_member_count_is_reported() {
    assert_eq!(
        describe_violations(json!({"minProperties": 3}), json!({"a": 1})),
        json!([{
            "message": "must NOT have fewer than 3 properties",
            "path": "root",
            "keyword": "minProperties",
            "params": {"limit": 3},
            "value": {"a": 1},
            "expected": "an object with at least 3 members",
        }])
    );
    assert_eq!(
        describe_violations(json!({"maxProperties": 1}), json!({"a": 1, "b": 2})),
        json!([{
            "message": "must NOT have more than 1 properties",
            "path": "root",
            "keyword": "maxProperties",
            "params": {"limit": 1},
            "value": {"a": 1, "b": 2},
            "expected": "an object with at most 1 member",
        }])
    );
}

#[test]
fn wrong_format_is_reported() {
    assert_eq!(
        describe_violations(json!({"format": "date-time"}), json!("yesterday")),
        json!([{
            "message": "must match format \"date-time\"",
            "path": "root",
            "keyword": "format",
            "params": {"format": "date-time"},
            "value": "yesterday",
            "expected": "a date and time like 2025-10-12T15:49:21Z",
        }])
    );
    let email = json!({"format": "email"});
    assert_eq!(
        describe_violations(email.clone(), json!("ada@example.com")),
        json!([])
    );
    assert_ne!(
        describe_violations(email, json!("Ada <ada@example.com>")),
        json!([])
    );
}

#[test]
fn other_value_than_the_constant_is_reported() {
    assert_eq!(
        describe_violations(json!({"const": "utf8"}), json!("utf16")),
        json!([{
            "message": "must be equal to constant",
            "path": "root",
            "keyword": "const",
            "params": {"allowedValue": "utf8"},
            "value": "utf16",
            "expected": "\"utf8\"",
        }])
    );
}

#[test]
fn repeated_item_is_reported() {
    assert_eq!(
        describe_violations(json!({"uniqueItems": true}), json!(["a", 1, "b", 1.0, "a"])),
        json!([{
            "message": "must NOT have duplicate items",
            "path": "root",
            "keyword": "uniqueItems",
            "params": {"i": 3, "j": 1},
            "value": ["a", 1, "b", 1.0, "a"],
            "expected": "an array in which no item comes twice",
        }])
    );
    assert_eq!(
        describe_violations(json!({"uniqueItems": false}), json!([1, 1])),
        json!([])
    );
}

#[test]
fn number_that_is_not_a_multiple_is_reported() {
    assert_eq!(
        describe_violations(json!({"multipleOf": 0.01}), json!(19.999)),
        json!([{
            "message": "must be multiple of 0.01",
            "path": "root",
            "keyword": "multipleOf",
            "params": {"multipleOf": 0.01},
            "value": 19.999,
            "expected": "a multiple of 0.01",
        }])
    );
    assert_eq!(
        describe_violations(json!({"multipleOf": 0.01}), json!(19.99)),
        json!([])
    );
}

#[test]
fn value_that_matches_no_alternative_is_reported() {
    let schema = json!({"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]});
    assert_eq!(
        describe_violations(schema, json!("a")),
        json!([{
            "message": "must match a schema in anyOf",
            "path": "root",
            "keyword": "anyOf",
            "params": {},
            "value": "a",
            "expected": "valid in at least one of the ways that its schema allows",
        }])
    );
}

#[test]
fn value_that_matches_two_alternatives_is_reported() {
    let schema = json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]});
    assert_eq!(
        describe_violations(schema, json!(3)),
        json!([{
            "message": "must match exactly one schema in oneOf",
            "path": "root",
            "keyword": "oneOf",
            "params": {},
            "value": 3,
            "expected": "valid in exactly one of the ways that its schema allows",
        }])
    );
}

#[test]
fn excluded_value_is_reported() {
    assert_eq!(
        describe_violations(
            json!({"not": {"required": ["branch", "ref"]}}),
            json!({"branch": "main", "ref": "v1"})
        ),
        json!([{
            "message": "must NOT be valid",
            "path": "root",
            "keyword": "not",
            "params": {},
            "value": {"branch": "main", "ref": "v1"},
            "expected": "an object with at most one of `branch` and `ref`",
            "hint": "give `branch` or `ref`, not both",
        }])
    );
}

#[test]
fn reported_value_keeps_its_bytes() {
    let schema = candor_schema::Schema::new(json!({"required": ["x"]})).unwrap();
    let value = serde_json::from_str(r#"{ "b": 1.0, "a": 1e2 }"#).unwrap();
    let violations = schema.check(&value).unwrap_err();
    assert_eq!(violations.shown()[0].value.get(), r#"{"b":1.0,"a":100.0}"#);
}
