//! Turns a schema into rules, in the order in which violations are reported.
//!
//! The order is the one that the contract fixes (`not`, `required`, additional properties,
//! properties; array length, then items; `maxLength`, `minLength`, `pattern`), and if the contract
//! has no rule, the order of AJV 8, the library whose wording was frozen: numbers, strings,
//! keywords of every type, arrays, objects. So `const` and `enum` come before `not`; `anyOf`,
//! `oneOf` and `allOf` right after it; `uniqueItems` after the length; the number of members before
//! `required`. `$ref` and `allOf` are transparent: the violations of their subschemas are reported
//! in their position. Keywords that only the library can decide come last.

use crate::hint::{advice, alternatives};
use crate::subschema::{
    Demand, HintSource, ProbeId, RuleText, Subschema, SubschemaId, SubschemaRule,
};
use crate::wording::{missing, rule_text, type_names, unmatched};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The keywords that are explained, in the order of their violations.
const ORDER: [&str; 26] = [
    "type",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "$ref",
    "const",
    "enum",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
    "maxItems",
    "minItems",
    "uniqueItems",
    "items",
    "maxProperties",
    "minProperties",
    "required",
    "additionalProperties",
    "properties",
];

/// The keywords that demand nothing.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "$anchor",
    "$dynamicAnchor",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// The keywords that depend on all others beside them.
const DEPENDENT: [&str; 3] = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef"];

/// A schema as rules: its subschemas, the root first, and the parts that are decided alone.
pub(crate) struct CompiledSchema {
    pub subschemas: Vec<Subschema>,
    pub parts: Vec<Value>,
}

/// Compiles a schema that the library has accepted.
pub(crate) fn compile(root: &Value) -> CompiledSchema {
    let mut compiler = Compiler {
        root,
        subschemas: Vec::new(),
        parts: Vec::new(),
        part_ids: HashMap::new(),
        targets: HashMap::new(),
        pending: Vec::new(),
    };
    compiler.target("");
    // Targets wait their turn, so that a reference to itself ends and a long chain nests nothing.
    while let Some((id, schema)) = compiler.pending.pop() {
        compiler.subschemas[id.0] = compiler.node(schema, id);
    }
    CompiledSchema {
        subschemas: compiler.subschemas,
        parts: compiler.parts,
    }
}

struct Compiler<'a> {
    root: &'a Value,
    subschemas: Vec<Subschema>,
    parts: Vec<Value>,
    part_ids: HashMap<String, ProbeId>,
    targets: HashMap<&'a str, SubschemaId>,
    pending: Vec<(SubschemaId, &'a Value)>,
}

impl<'a> Compiler<'a> {
    /// Compiles the subschema that a pointer refers to.
    fn target(&mut self, pointer: &'a str) -> Option<SubschemaId> {
        if let Some(known) = self.targets.get(pointer) {
            return Some(*known);
        }
        let schema = self.root.pointer(pointer)?;
        let id = self.reserve();
        self.targets.insert(pointer, id);
        self.pending.push((id, schema));
        Some(id)
    }

    fn reserve(&mut self) -> SubschemaId {
        self.subschemas.push(Subschema::default());
        SubschemaId(self.subschemas.len() - 1)
    }

    fn subschema(&mut self, schema: &'a Value) -> SubschemaId {
        let id = self.reserve();
        self.subschemas[id.0] = self.node(schema, id);
        id
    }

    fn node(&mut self, schema: &'a Value, id: SubschemaId) -> Subschema {
        let mut node = Subschema::default();
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                let rule_text = unmatched(String::from("absent"));
                let demand = self.demand(rule_text, schema.clone());
                node.rules.push(SubschemaRule::Demand(demand));
            }
            return node;
        };
        // An embedded resource resolves its references against itself.
        if id != SubschemaId(0) && keywords.contains_key("$id") {
            node.rules.push(self.whole(schema));
            return node;
        }
        let foreign = self.foreign(keywords);
        for keyword in ORDER {
            let Some(rule) = keywords.get(keyword) else {
                continue;
            };
            if keyword == "properties" || !foreign.contains_key(keyword) {
                self.keyword(&mut node, keyword, rule);
            }
        }
        if DEPENDENT.iter().any(|name| foreign.contains_key(*name)) {
            node.rules.push(self.whole(schema));
        } else if !foreign.is_empty() {
            let names: Vec<_> = foreign.keys().map(String::as_str).collect();
            let rule_text = unmatched(format!("what its schema allows ({})", names.join(", ")));
            let demand = self.demand(rule_text, Value::Object(foreign));
            node.rules.push(SubschemaRule::Demand(demand));
        }
        node
    }

    fn keyword(&mut self, node: &mut Subschema, keyword: &'static str, rule: &'a Value) {
        match (keyword, rule) {
            ("$ref", Value::String(reference)) => {
                let target = local(reference).and_then(|pointer| self.target(pointer));
                node.rules.extend(target.map(SubschemaRule::Also));
            }
            ("allOf", Value::Array(branches)) => {
                for branch in branches {
                    let id = self.subschema(branch);
                    self.explain_patterns(id, branch);
                    node.rules.push(SubschemaRule::Also(id));
                }
            }
            ("items", items) => node.rules.push(SubschemaRule::Items(self.subschema(items))),
            ("uniqueItems", Value::Bool(true)) => {
                node.rules
                    .push(SubschemaRule::Unique(rule_text(keyword, rule)));
            }
            ("uniqueItems", _) => {}
            ("required", Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                let required =
                    names.map(|name| SubschemaRule::Required(name.to_owned(), missing(name)));
                node.rules.extend(required);
            }
            ("additionalProperties", Value::Bool(false)) => {
                node.rules
                    .push(SubschemaRule::Closed(rule_text(keyword, rule)));
            }
            ("additionalProperties", others) => {
                node.rules
                    .push(SubschemaRule::Others(self.subschema(others)));
            }
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    let property = self.subschema(schema);
                    node.properties.push((name.clone(), property));
                    node.known.insert(name.clone());
                }
                node.rules.push(SubschemaRule::Properties);
            }
            _ => {
                node.integer |= keyword == "type" && type_names(rule).contains(&"integer");
                let mut rule_text = rule_text(keyword, rule);
                if let ("anyOf", Some(names)) = (keyword, alternatives(rule)) {
                    let names = names.iter().map(|name| name.trim_matches('`'));
                    let names: Vec<_> = names.collect();
                    rule_text.params = json!({ "missingProperties": names }).into();
                }
                let mut demand = self.demand(rule_text, json!({ keyword: rule }));
                demand.advice = advice(keyword, rule);
                node.rules.push(SubschemaRule::Demand(demand));
            }
        }
    }

    /// Records the description of a branch of `allOf` that adds a pattern: it explains the pattern in
    /// words, and becomes the hint.
    fn explain_patterns(&mut self, id: SubschemaId, branch: &Value) {
        let Some(sentence) = branch.get("description").and_then(Value::as_str) else {
            return;
        };
        for rule in &mut self.subschemas[id.0].rules {
            if let SubschemaRule::Demand(demand) = rule
                && demand.rule_text.keyword == "pattern"
            {
                demand.advice = HintSource::Sentence(sentence.to_owned());
            }
        }
    }

    fn demand(&mut self, rule_text: RuleText, part: Value) -> Demand {
        Demand {
            rule_text,
            probe: self.part(part),
            advice: HintSource::Nothing,
            last_resort: false,
        }
    }

    fn whole(&mut self, schema: &Value) -> SubschemaRule {
        let rule_text = unmatched(String::from("what its schema allows"));
        let mut demand = self.demand(rule_text, schema.clone());
        demand.last_resort = true;
        SubschemaRule::Demand(demand)
    }

    /// Adds a part of a subschema. Many subschemas have parts in common (`type: string`); each is
    /// compiled once.
    fn part(&mut self, part: Value) -> ProbeId {
        let next = ProbeId(self.parts.len());
        let id = *self.part_ids.entry(part.to_string()).or_insert(next);
        if id == next {
            self.parts.push(part);
        }
        id
    }

    /// Returns the keywords that only the library can decide, with those that change their meaning.
    fn foreign(&self, keywords: &Map<String, Value>) -> Map<String, Value> {
        let is_foreign = |name: &str, rule: &Value| match name {
            "$ref" => !self.is_local(rule),
            "items" => keywords.contains_key("prefixItems"),
            "additionalProperties" => keywords.contains_key("patternProperties"),
            _ => !ORDER.contains(&name) && !ANNOTATIONS.contains(&name) && !name.starts_with("x-"),
        };
        let foreign = keywords
            .iter()
            .filter(|(name, rule)| is_foreign(name, rule));
        let mut foreign: Map<_, _> = foreign
            .map(|(name, rule)| (name.clone(), rule.clone()))
            .collect();
        if foreign.contains_key("additionalProperties") {
            let names = keywords.get("properties").map(names_only);
            foreign.extend(names.map(|names| (String::from("properties"), names)));
        }
        foreign
    }

    fn is_local(&self, reference: &Value) -> bool {
        let pointer = reference.as_str().and_then(local);
        pointer.is_some_and(|pointer| self.root.pointer(pointer).is_some())
    }
}

/// Returns `properties` without their subschemas.
fn names_only(properties: &Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    names
        .map(|name| (name.clone(), Value::Bool(true)))
        .collect()
}

/// Returns the pointer of a reference into the schema itself.
fn local(reference: &str) -> Option<&str> {
    let pointer = reference.strip_prefix('#')?;
    let plain = pointer.is_empty() || pointer.starts_with('/');
    (plain && !pointer.contains('%')).then_some(pointer)
}
