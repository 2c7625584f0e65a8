//! Values that fit a schema, for the part of JSON Schema that the argument schemas use.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The members that generated objects have.
#[derive(Clone, Copy)]
pub(super) enum ObjectMembers {
    All,
    /// The required members, and others chosen by a seed.
    Some(u64),
}

/// Generates arguments that fit the schema of a tool. Cursors are left out: only a page makes one.
pub(super) fn generate(schema: &Value, members: ObjectMembers) -> Value {
    let mut generator = Generator {
        root: schema,
        members,
        state: match members {
            ObjectMembers::All => 0,
            ObjectMembers::Some(seed) => seed,
        },
    };
    generator.value("", schema)
}

struct Generator<'a> {
    root: &'a Value,
    members: ObjectMembers,
    state: u64,
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(&reference[1..]).unwrap(),
        None => schema,
    }
}

impl<'a> Generator<'a> {
    fn below(&mut self, end: usize) -> usize {
        // A linear congruential generator; its high bits are good enough to choose by.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap() % end
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn value(&mut self, name: &str, schema: &'a Value) -> Value {
        if let Some(values) = schema["enum"].as_array() {
            return self.one_of(values);
        }
        if schema["pattern"]
            .as_str()
            .is_some_and(|pattern| pattern.contains('@'))
        {
            return self.one_of(&[json!("ada@example.com"), json!("Bob@Example.com")]);
        }
        let schema = resolve(self.root, schema);
        match schema["type"].as_str() {
            Some("object") => self.object(schema),
            Some("array") => {
                let min = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).unwrap();
                let more = match self.members {
                    ObjectMembers::All => 1,
                    ObjectMembers::Some(_) => self.below(3),
                };
                (0..min + more)
                    .map(|_| self.value(name, &schema["items"]))
                    .collect()
            }
            Some("integer") => {
                let bounds = [&schema["minimum"], &schema["maximum"]];
                self.one_of(&bounds).clone()
            }
            Some("string") => self.string(name, schema).into(),
            _ => panic!("the generator does not know {schema}"),
        }
    }

    fn object(&mut self, schema: &'a Value) -> Value {
        let listed = |names: &Value| -> BTreeSet<String> {
            let names = names.as_array().into_iter().flatten();
            names
                .map(|name| name.as_str().unwrap().to_owned())
                .collect()
        };
        let properties = schema["properties"].as_object().unwrap();
        let mut required = listed(&schema["required"]);
        if let Some(alternatives) = schema["anyOf"].as_array() {
            required.append(&mut listed(&self.one_of(alternatives)["required"]));
        }
        if schema["minProperties"].is_number() {
            let names: Vec<_> = properties.keys().cloned().collect();
            required.insert(self.one_of(&names));
        }
        let mut object = Map::new();
        for (name, schema) in properties.iter().filter(|(name, _)| *name != "cursor") {
            let is_chosen = match self.members {
                ObjectMembers::All => true,
                ObjectMembers::Some(_) => required.contains(name) || self.below(2) == 0,
            };
            if is_chosen {
                object.insert(name.clone(), self.value(name, schema));
            }
        }
        Value::Object(object)
    }

    /// Generates a string that also keeps the argument rules: known codes, a discount below the price,
    /// ranges that end after they start.
    fn string(&mut self, name: &str, schema: &Value) -> String {
        if schema["format"] == "date-time" {
            let year = if name.ends_with("Min") { 2024 } else { 2025 };
            return format!("{year}-10-12T14:00:00+02:00");
        }
        let length = |member: &str| schema[member].as_u64().map(|n| usize::try_from(n).unwrap());
        match schema["pattern"].as_str() {
            Some("^[A-Z]{3}$") => self.one_of(&["USD", "EUR", "KWD"]).to_owned(),
            Some("^[A-Z]{2}$") => self.one_of(&["DE", "US"]).to_owned(),
            Some(_) if name == "unitDiscount" => self.one_of(&["0", "0.5", "00.50"]).to_owned(),
            Some(_) => self.one_of(&["1", "1.5", "999.99"]).to_owned(),
            None => {
                let (min, max) = (
                    length("minLength").unwrap_or(0),
                    length("maxLength").unwrap(),
                );
                let length = self.one_of(&[min, min + 1, max]);
                "é".repeat(length)
            }
        }
    }
}

/// Collects the members of each object of a schema, by path.
pub(super) fn members(
    root: &Value,
    schema: &Value,
    path: String,
    found: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let schema = resolve(root, schema);
    if let Some(properties) = schema["properties"].as_object() {
        found.insert(path.clone(), properties.keys().cloned().collect());
        for (name, schema) in properties {
            members(root, schema, format!("{path}.{name}"), found);
        }
    }
    if schema["items"].is_object() {
        members(root, &schema["items"], path, found);
    }
}
