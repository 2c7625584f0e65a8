//! Values that fit a schema, for the part of JSON Schema that the argument schemas use.

use candor_schema::Schema;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Values of members by name, used instead of generated ones. A member without values is left out.
pub type MemberExamples<'a> = &'a [(&'a str, Vec<Value>)];

/// The members that generated objects have.
#[derive(Clone, Copy)]
pub enum ObjectMembers {
    All,
    /// The required members, and others chosen by a seed.
    Some(u64),
}

/// Texts of which each pattern of an argument schema matches at least one.
const TEXTS: [&str; 16] = [
    "a",
    "main",
    "Some words",
    "octo/cat",
    "abcdef0",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "PHASE_1",
    "DE",
    "US",
    "USD",
    "KWD",
    "1",
    "1.5",
    "ada@example.com",
    "Bob@Example.com",
    "2025-10-12T14:00:00+02:00",
];

/// Generates values that fit a schema.
pub struct SchemaValues<'a> {
    root: &'a Value,
    examples: MemberExamples<'a>,
    texts: BTreeMap<String, Vec<Value>>,
    members: ObjectMembers,
    state: u64,
}

impl<'a> SchemaValues<'a> {
    pub fn new(schema: &'a Value, examples: MemberExamples<'a>) -> SchemaValues<'a> {
        SchemaValues {
            root: schema,
            examples,
            texts: BTreeMap::new(),
            members: ObjectMembers::All,
            state: 0,
        }
    }

    /// Generates a value. Rules between members that are stated with `not` may be broken.
    pub fn generate(&mut self, members: ObjectMembers) -> Value {
        self.members = members;
        self.state = match members {
            ObjectMembers::All => 0,
            ObjectMembers::Some(seed) => seed,
        };
        self.value(self.root)
    }

    fn below(&mut self, end: usize) -> usize {
        // A linear congruential generator; its high bits are good enough to choose by.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % end
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn value(&mut self, schema: &'a Value) -> Value {
        let beside = schema;
        let schema = resolve(self.root, schema);
        if let Some(values) = schema["enum"].as_array() {
            return self.one_of(values);
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => self.one_of(kinds),
            None => schema["type"].clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema),
            Some("array") => self.array(schema),
            Some("integer") => self
                .one_of(&[&schema["minimum"], &schema["maximum"]])
                .clone(),
            Some("number") => self.one_of(&[json!(0), json!(12.5), json!(3.0)]),
            Some("boolean") => self.one_of(&[json!(true), json!(false)]),
            Some("string") => {
                let texts = self.texts.entry(beside.to_string());
                let texts = texts.or_insert_with(|| texts_of(schema, beside)).clone();
                self.one_of(&texts)
            }
            _ => panic!("the generator does not know {schema}"),
        }
    }

    fn array(&mut self, schema: &'a Value) -> Value {
        let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
        let more = match self.members {
            ObjectMembers::All => 1,
            ObjectMembers::Some(_) => self.below(3),
        };
        let length = bound("minItems").unwrap_or(0) + more;
        let length = length.min(bound("maxItems").unwrap_or(usize::MAX));
        let mut items: Vec<_> = (0..length).map(|_| self.value(&schema["items"])).collect();
        if schema["uniqueItems"] == true {
            items.sort_by_key(Value::to_string);
            items.dedup();
        }
        Value::Array(items)
    }

    fn object(&mut self, schema: &'a Value) -> Value {
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let mut required = texts_in(&schema["required"]);
        if let Some(alternatives) = schema["anyOf"].as_array() {
            required.extend(texts_in(&self.one_of(alternatives)["required"]));
        }
        if schema["minProperties"].is_number() {
            let names: Vec<_> = properties.keys().cloned().collect();
            required.insert(self.one_of(&names));
        }
        let mut object = Map::new();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let is_chosen = match self.members {
                ObjectMembers::All => true,
                ObjectMembers::Some(_) => required.contains(name) || self.below(2) == 0,
            };
            let examples = self.examples.iter().find(|(example, _)| example == name);
            let value = match examples {
                _ if !is_chosen => continue,
                Some((_, values)) if values.is_empty() => continue,
                Some((_, values)) => self.one_of(values),
                None => self.value(schema),
            };
            object.insert(name.clone(), value);
        }
        Value::Object(object)
    }
}

/// Follows a reference within a schema.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    let referenced = reference.and_then(|reference| root.pointer(&reference[1..]));
    referenced.unwrap_or(schema)
}

fn texts_in(names: &Value) -> BTreeSet<String> {
    let names = names.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns texts that fit a schema and the rules beside the reference to it, the shortest and the
/// longest among them.
fn texts_of(schema: &Value, beside: &Value) -> Vec<Value> {
    let mut beside = beside.clone();
    if let Some(rules) = beside.as_object_mut() {
        rules.shift_remove("$ref");
    }
    let rules = Schema::new(json!({ "allOf": [schema, beside] })).expect("a schema of a text");
    let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
    let min = bound("minLength").unwrap_or(0);
    let lengths = [Some(min), Some(min + 1), bound("maxLength")];
    let long = lengths
        .into_iter()
        .flatten()
        .map(|length| "é".repeat(length));
    let texts = TEXTS.into_iter().map(str::to_owned).chain(long);
    let fitting = texts
        .map(Value::String)
        .filter(|text| rules.check(text).is_ok());
    let fitting: Vec<_> = fitting.collect();
    assert!(!fitting.is_empty(), "no text is known that fits {schema}");
    fitting
}

/// Returns the members of each object of a schema, by the path of the object. A list has the path of
/// its items.
pub fn schema_members(schema: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut members = BTreeMap::new();
    collect_members(schema, schema, "", &mut members);
    members
}

fn collect_members(
    root: &Value,
    schema: &Value,
    path: &str,
    members: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let schema = resolve(root, schema);
    if let Some(properties) = schema["properties"].as_object() {
        members.insert(path.to_owned(), properties.keys().cloned().collect());
        for (name, schema) in properties {
            collect_members(root, schema, &format!("{path}.{name}"), members);
        }
    }
    if schema["items"].is_object() {
        collect_members(root, &schema["items"], path, members);
    }
}

/// A place in arguments for which the schema has a rule.
pub(crate) struct SchemaLocation<'a> {
    /// The path of the members that lead to it; a list has the path of its items.
    pub(crate) path: String,
    /// The JSON pointer.
    pub(crate) pointer: String,
    pub(crate) schema: &'a Value,
}

/// Returns every place of a value that a schema describes, the whole value first.
pub(crate) fn schema_locations<'a>(schema: &'a Value, value: &Value) -> Vec<SchemaLocation<'a>> {
    let mut locations = Vec::new();
    let mut open = vec![(String::new(), String::new(), schema, value)];
    while let Some((path, pointer, at, value)) = open.pop() {
        let at = resolve(schema, at);
        for (name, value) in value.as_object().into_iter().flatten() {
            if let Some(member) = at["properties"].get(name) {
                let below = (format!("{path}.{name}"), format!("{pointer}/{name}"));
                open.push((below.0, below.1, member, value));
            }
        }
        for (index, value) in value.as_array().into_iter().flatten().enumerate() {
            let below = (path.clone(), format!("{pointer}/{index}"));
            open.push((below.0, below.1, &at["items"], value));
        }
        locations.push(SchemaLocation {
            path,
            pointer,
            schema: at,
        });
    }
    locations
}
