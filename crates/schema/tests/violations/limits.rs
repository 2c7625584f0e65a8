//! Bounds: the violations of a large, deep or hostile value are few and found quickly.

use candor_fault::{
    MAX_NAME_CHARS, MAX_VALUE_BYTES, MAX_VIOLATIONS, Violation, ViolationKind, Violations,
};
use candor_json::IndexedText;
use candor_schema::{MAX_VALUE_DEPTH, Schema};
use serde_json::{Map, Value, json};

const MANY: usize = 100_000;

fn check(schema: Value, value: &Value) -> Violations {
    Schema::new(schema).unwrap().check(value).unwrap_err()
}

#[test]
fn many_wrong_items_are_counted() {
    let schema = json!({"items": {"type": "object", "required": ["sku"]}});
    let value = Value::from(vec![json!({}); MANY]);
    let violations = check(schema, &value);
    assert_eq!(violations.shown().len(), MAX_VIOLATIONS);
    assert_eq!(violations.omitted(), (MANY - MAX_VIOLATIONS) as u64);
    assert_eq!(violations.shown()[49].path.pointer(), "/49");
    assert_eq!(violations.all_kinds().count(), MAX_VIOLATIONS);
}

#[test]
fn many_unknown_members_are_counted() {
    let schema = json!({"properties": {"name0": {}, "other": {}}, "additionalProperties": false, "required": ["name0", "other"]});
    let members: Map<_, _> = (1..=MANY).map(|n| (format!("name{n}"), json!(1))).collect();
    let violations = check(schema, &Value::Object(members));
    assert_eq!(violations.shown().len(), MAX_VIOLATIONS);
    assert_eq!(violations.omitted(), (MANY + 2 - MAX_VIOLATIONS) as u64);
}

#[test]
fn first_violation_of_each_kind_is_kept_past_the_bound() {
    let schema = json!({"items": {"properties": {"a": {"maximum": 1}, "b": {"type": "null"}}, "additionalProperties": false}});
    let mut items = vec![json!({"a": 2}); 60];
    items.push(json!({"a": 2, "b": 1, "c": 1}));
    let violations = check(schema, &Value::from(items));
    assert_eq!(violations.shown().len(), MAX_VIOLATIONS);
    assert_eq!(violations.omitted(), 13);
    let later: Vec<_> = violations
        .all_kinds()
        .skip(MAX_VIOLATIONS)
        .map(Violation::kind)
        .collect();
    assert_eq!(later, [ViolationKind::Unknown, ViolationKind::Type]);
}

#[test]
fn root_that_is_not_an_object_has_its_own_kind() {
    let schema = json!({"allOf": [{"items": {"type": "null"}}, {"type": "object"}]});
    let violations = check(schema, &Value::from(vec![1; 60]));
    assert_eq!(violations.omitted(), 11);
    let first = violations.first_by_kind().map(Violation::kind);
    assert_eq!(first, Some(ViolationKind::NotAnObject));
}

#[test]
fn long_values_and_names_are_cut() {
    let long = "ü".repeat(MAX_NAME_CHARS + 1);
    let shortened = format!("{}…", "ü".repeat(MAX_NAME_CHARS - 1));
    let violations = check(json!({"additionalProperties": false}), &json!({ &long: 1 }));
    let entry = &violations.shown()[0];
    assert_eq!(
        json!(entry.params),
        json!({ "additionalProperty": &shortened })
    );
    assert_eq!(entry.value.get(), r#"{"omitted":"object","bytes":520}"#);
    assert!(entry.value.get().len() <= MAX_VALUE_BYTES);

    let violations = check(
        json!({"additionalProperties": {"type": "null"}}),
        &json!({ &long: 1 }),
    );
    assert_eq!(
        violations.shown()[0].path.pointer(),
        format!("/{shortened}")
    );
}

/// Returns nested empty arrays whose nesting depends on `bits`.
fn shape(mut bits: usize) -> Value {
    let mut shape = json!([]);
    while bits > 0 {
        shape = if bits & 1 == 0 {
            json!([shape])
        } else {
            json!([shape, []])
        };
        bits >>= 1;
    }
    shape
}

#[test]
fn many_different_items_are_compared_in_linear_time() {
    let schema = Schema::new(json!({"uniqueItems": true})).unwrap();
    let mut shapes: Vec<_> = (0..20_000).map(shape).collect();
    assert!(schema.check(&Value::from(shapes.clone())).is_ok());
    shapes.push(shape(7));
    let violations = schema.check(&Value::from(shapes)).unwrap_err();
    assert_eq!(
        json!(violations.shown()[0].params),
        json!({"i": 20_000, "j": 7})
    );
}

#[test]
fn pattern_matching_takes_linear_time() {
    let schema = json!({"pattern": "^(a+)+$"});
    let violations = check(schema, &json!(format!("{}!", "a".repeat(MANY))));
    assert_eq!(violations.shown().len(), 1);
}

fn nested(levels: usize, inner: Value) -> Value {
    (0..levels).fold(inner, |inner, _| json!({ "a": inner }))
}

/// Runs `work` on a stack as small as that of a tool's thread.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(work).unwrap().join().unwrap()
}

fn tree() -> Schema {
    let tree = json!({
        "allOf": [{"type": "object"}, {"properties": {"a": {"$ref": "#/$defs/tree"}}, "additionalProperties": false}],
    });
    Schema::new(json!({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})).unwrap()
}

#[test]
fn violation_at_the_maximum_depth_is_explained() {
    on_a_small_stack(|| {
        let schema = tree();
        let levels = MAX_VALUE_DEPTH;
        assert!(schema.check(&nested(levels - 1, json!({}))).is_ok());
        let violations = schema.check(&nested(levels, json!(1))).unwrap_err();
        assert_eq!(violations.shown().len(), 1);
        assert_eq!(violations.shown()[0].keyword, "type");
        assert_eq!(violations.shown()[0].path.pointer(), "/a".repeat(levels));
    });
}

#[test]
fn violation_behind_too_many_references_is_reported_once() {
    let links = (0..9).map(|n| {
        (
            format!("l{n}"),
            json!({"$ref": format!("#/$defs/l{}", n + 1)}),
        )
    });
    let mut definitions: Map<_, _> = links.collect();
    definitions.insert(
        "l9".into(),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}}),
    );
    let schema = json!({"$ref": "#/$defs/l0", "$defs": definitions});
    let violations = on_a_small_stack(|| check(schema, &nested(MAX_VALUE_DEPTH, json!(1))));
    assert_eq!(violations.shown().len(), 1);
    let entry = &violations.shown()[0];
    assert_eq!((entry.keyword, &*entry.path.pointer()), ("schema", "root"));
    assert_eq!(&*entry.message, "must match the schema");
    assert_eq!(&*entry.expected, "what its schema allows");
}

#[test]
fn value_beyond_the_maximum_depth_is_one_violation() {
    on_a_small_stack(|| {
        let schema = Schema::new(json!({})).unwrap();
        let violations = schema
            .check(&nested(MAX_VALUE_DEPTH + 1, json!({})))
            .unwrap_err();
        assert_eq!(violations.shown().len(), 1);
        let entry = &violations.shown()[0];
        assert_eq!(entry.keyword, "schema");
        assert_eq!(&*entry.message, "must match the schema");
        assert_eq!(json!(entry.params), json!({}));
        assert_eq!(entry.path.pointer(), "root");
        assert_eq!(entry.value.get(), r#"{"omitted":"object"}"#);
        assert_eq!(&*entry.expected, "nested at most 256 levels deep");
    });
}

#[test]
fn schema_whose_work_doubles_with_each_level_is_stopped() {
    let below = json!({"properties": {"a": {"$ref": "#/$defs/tree"}}});
    let tree = json!({"type": ["object", "integer"], "allOf": [below, below]});
    let schema = json!({"$ref": "#/$defs/tree", "$defs": {"tree": tree}});
    let violations = on_a_small_stack(|| check(schema, &nested(100, json!("x"))));
    assert_eq!(violations.shown().len(), MAX_VIOLATIONS);
}

#[test]
fn many_escaped_names_are_looked_up_quickly() {
    let properties: Map<_, _> = (0..100).map(|n| (format!("p{n}"), json!({}))).collect();
    let schema = json!({"properties": properties, "additionalProperties": false});
    let members: Vec<_> = (0..MANY - 1).map(|n| format!(r#""\u006e{n}":1"#)).collect();
    let text = IndexedText::new(format!("{{{}}}", members.join(","))).unwrap();
    let violations = Schema::new(schema).unwrap().check_indexed(text.root());
    let violations = violations.unwrap_err();
    assert_eq!(violations.shown()[0].field(), "n0");
    assert_eq!(violations.omitted(), (MANY - 1 - MAX_VIOLATIONS) as u64);
}
