//! Schemas: their text, their vocabulary, and the ones that are refused.

use crate::{describe_violations, rules};
use candor_schema::{MAX_SCHEMA_DEPTH, Schema, SchemaError};
use serde_json::{Value, json};

#[test]
fn schema_text_is_compact_and_keeps_its_order() {
    let text = "{ \"type\" : \"object\",\n \"b\": 1.0, \"a\": {\"z\": 1, \"y\": \"é\"} }";
    let compact = r#"{"type":"object","b":1.0,"a":{"z":1,"y":"é"}}"#;
    let schema = Schema::new(serde_json::from_str(text).unwrap()).unwrap();
    assert_eq!(schema.text(), compact);
    assert_eq!(schema.raw().get(), compact);
}

#[test]
fn schemas_are_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Schema>();
}

#[test]
fn invalid_schemas_are_refused() {
    assert_eq!(
        Schema::new(json!(true)).unwrap_err(),
        SchemaError::NotAnObject
    );
    let deep = (0..MAX_SCHEMA_DEPTH).fold(json!({}), |inner, _| json!({ "not": inner }));
    let limit = MAX_SCHEMA_DEPTH;
    assert_eq!(
        Schema::new(deep).unwrap_err(),
        SchemaError::TooDeep { limit }
    );
    let refused = |schema: Value| Schema::new(schema).unwrap_err().to_string();
    for (schema, words) in [
        (
            json!({"properties": {"a": {"minLength": -1}}}),
            "the schema is invalid at /properties/a/minLength: -1 is less than the minimum of 0",
        ),
        (
            json!({"$ref": "#/$defs/nowhere"}),
            "the schema is invalid: Pointer '/$defs/nowhere' does not exist",
        ),
        (
            json!({"pattern": "(?=a)b"}),
            "the schema is invalid at /pattern: \"(?=a)b\" is not a \"regex\"",
        ),
        (
            json!({"pattern": "(a{1000}){1000}"}),
            "the schema is invalid at /pattern: \"(a{1000}){1000}\" is not a \"regex\"",
        ),
    ] {
        assert_eq!(refused(schema), words);
    }
    assert!(refused(json!({"type": "strng"})).starts_with("the schema is invalid at /type: "));
    assert!(refused(json!({"$ref": "https://example.com/s"})).contains("Retrieval is disabled"));
}

#[test]
fn schema_of_the_maximum_depth_compiles_on_a_small_stack() {
    let deep = (1..MAX_SCHEMA_DEPTH).fold(json!({}), |inner, _| json!({ "not": inner }));
    let also =
        (1..MAX_SCHEMA_DEPTH / 2).fold(json!({}), |inner, _| json!({ "properties": {"a": inner} }));
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let compiled = thread.spawn(|| [deep, also].map(|schema| Schema::new(schema).is_ok()));
    assert_eq!(compiled.unwrap().join().unwrap(), [true, true]);
}

#[test]
fn annotations_and_unknown_keywords_are_ignored() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/tool",
        "$comment": "c",
        "title": "t",
        "description": "d",
        "default": 1,
        "examples": [2],
        "deprecated": true,
        "readOnly": true,
        "x-order": 1,
        "kind": "unheard of",
        "required": ["a"],
    });
    assert_eq!(rules(schema, json!({})), ["root required a"]);
}

#[test]
fn keywords_left_to_the_library_give_one_violation() {
    let inner = json!({
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "required": ["c"],
    });
    assert_eq!(
        describe_violations(
            json!({"properties": {"in": inner}}),
            json!({"in": {"a": 1}})
        ),
        json!([{
            "message": "must have required property 'c'",
            "path": "/in",
            "keyword": "required",
            "params": {"missingProperty": "c"},
            "value": {"a": 1},
            "expected": "present",
        }, {
            "message": "must match the schema",
            "path": "/in",
            "keyword": "schema",
            "params": {},
            "value": {"a": 1},
            "expected": "what its schema allows (if, then)",
        }])
    );
}

#[test]
fn keywords_that_affect_others_are_left_to_the_library_together() {
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    assert!(rules(tuple.clone(), json!(["a", 1, 2])).is_empty());
    assert_eq!(rules(tuple, json!(["a", 1, "b"])), ["root schema"]);

    let named = json!({
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^x": {}},
        "additionalProperties": false,
    });
    assert!(rules(named.clone(), json!({"a": "", "x1": 1})).is_empty());
    assert_eq!(rules(named.clone(), json!({"a": 1})), ["/a type"]);
    assert_eq!(rules(named, json!({"a": "", "y": 1})), ["root schema"]);

    let sealed = json!({"allOf": [{"properties": {"a": {"type": "string"}}}], "unevaluatedProperties": false});
    assert!(rules(sealed.clone(), json!({"a": ""})).is_empty());
    assert_eq!(
        rules(sealed.clone(), json!({"a": "", "b": 1})),
        ["root schema"]
    );
    assert_eq!(rules(sealed, json!({"a": 1, "b": 1})), ["/a type"]);
}

#[test]
fn references_may_point_anywhere_in_the_schema() {
    let schema = json!({
        "properties": {
            "a": {"type": "string"},
            "b": {"$ref": "#/properties/a", "minLength": 2},
            "c": {"not": {"$ref": "#/properties/a"}},
            "d": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]},
            "e~/f": {"$ref": "#/properties/e~0~1f/x-own"},
        },
        "$defs": {"n": {"type": "integer"}},
    });
    let mut schema = schema;
    schema["properties"]["e~/f"]["x-own"] = json!({"const": 1});
    assert_eq!(
        rules(
            schema,
            json!({"a": 1, "b": "x", "c": "x", "d": "x", "e~/f": 2})
        ),
        [
            "/a type",
            "/b minLength",
            "/c not",
            "/d anyOf",
            "/e~0~1f const"
        ]
    );
}

#[test]
fn other_references_are_left_to_the_library() {
    let schema = json!({
        "$id": "https://example.com/tool",
        "properties": {
            "a": {"$ref": "#name"},
            "b": {"$ref": "https://example.com/tool#/$defs/n"},
            "c": {"$ref": "#/$defs/own"},
            "d": {"anyOf": [{"$ref": "#name"}, {"type": "null"}]},
        },
        "$defs": {
            "n": {"$anchor": "name", "type": "integer"},
            "own": {"$id": "own", "items": {"$ref": "#/$defs/s"}, "$defs": {"s": {"type": "string"}}},
        },
    });
    assert_eq!(
        rules(
            schema.clone(),
            json!({"a": "x", "b": "x", "c": [1], "d": "x"})
        ),
        ["/a schema", "/b schema", "/c schema", "/d anyOf"]
    );
    assert!(rules(schema, json!({"a": 1, "b": 2, "c": ["x"], "d": null})).is_empty());
}

#[test]
fn encoded_reference_is_left_to_the_library() {
    let definitions = json!({"a%25b": {"type": "string"}, "a%b": {"type": "integer"}});
    let schema = json!({"items": {"$ref": "#/$defs/a%25b"}, "$defs": definitions});
    assert!(rules(schema.clone(), json!([1])).is_empty());
    assert_eq!(rules(schema, json!(["x"])), ["/0 schema"]);
}

#[test]
fn definitions_may_have_any_name() {
    let schema = json!({
        "not": {"$ref": "#/$defs/candor0"},
        "anyOf": [{"$ref": "#/$defs/candor1"}],
        "$defs": {"candor0": {"type": "null"}, "candor1": {"type": "string"}, "candor_": {}},
    });
    assert_eq!(rules(schema, json!(null)), ["root not", "root anyOf"]);
}

#[test]
fn schema_may_have_any_id() {
    for id in ["tool", "urn:x:y", "https://example.com/a/b#", "/a"] {
        let schema =
            json!({"$id": id, "not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}});
        assert_eq!(rules(schema, json!(null)), ["root not"], "{id}");
    }
}

#[test]
fn schema_that_only_refers_to_itself_allows_everything() {
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}});
    assert!(rules(circle, json!(1)).is_empty());
}

#[test]
fn violation_behind_several_references_is_reported_once() {
    let circle = json!({"minLength": 3, "allOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert_eq!(rules(circle, json!("")), ["root minLength"]);
    let twice = json!([{"$ref": "#/$defs/name"}, {"$ref": "#/$defs/name"}]);
    let schema = json!({"items": {"allOf": twice}, "$defs": {"name": {"type": "string"}}});
    assert_eq!(rules(schema, json!([1, "a", 2])), ["/0 type", "/2 type"]);
}

#[test]
fn false_schema_forbids_its_value() {
    assert_eq!(
        describe_violations(json!({"properties": {"a": false}}), json!({"a": 1})),
        json!([{
            "message": "must match the schema",
            "path": "/a",
            "keyword": "schema",
            "params": {},
            "value": 1,
            "expected": "absent",
        }])
    );
}
