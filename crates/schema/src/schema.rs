//! A schema that is published and enforced.

use crate::compile::compile;
use crate::decider::{decider, probes};
use crate::depth::{MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH, exceeds};
use crate::error::SchemaError;
use crate::explain::explain;
use crate::indexed_json::IndexedValidator;
use crate::subschema::Subschema;
use crate::violation_collector::{ValueLocation, ViolationCollector};
use crate::wording::{SCHEMA, unmatched};
use candor_fault::Violations;
use candor_json::{IndexedText, JsonRef};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::Arc;

/// One JSON Schema (draft 2020-12): the text that is published, and the rules that enforce that
/// text.
#[derive(Debug)]
pub struct Schema {
    text: Box<RawValue>,
    decider: IndexedValidator,
    subschemas: Vec<Subschema>,
    probes: Vec<Arc<IndexedValidator>>,
}

impl Schema {
    /// Compiles a schema; it may refer to itself, and to nothing else.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        if !schema.is_object() {
            return Err(SchemaError::NotAnObject);
        }
        if exceeds(&schema, MAX_SCHEMA_DEPTH) {
            return Err(SchemaError::TooDeep {
                limit: MAX_SCHEMA_DEPTH,
            });
        }
        let decider = decider(&schema)?;
        let compiled = compile(&schema);
        Ok(Schema {
            text: to_raw_value(&schema).map_err(|error| SchemaError::not_json(&error))?,
            decider,
            probes: probes(&schema, &compiled.parts)?,
            subschemas: compiled.subschemas,
        })
    }

    /// Returns the published text: compact JSON, members in the order in which they were written.
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// Returns the published text, ready to be put into other JSON.
    pub fn raw(&self) -> &RawValue {
        &self.text
    }

    /// Checks a value. Returns everything that is wrong about it, in order.
    pub fn check_indexed(&self, value: JsonRef<'_>) -> Result<(), Violations> {
        if self.decides(value) {
            return Ok(());
        }
        let violations = self.explain(value);
        if violations.is_empty() {
            return Err(whole(value, String::from("what its schema allows")));
        }
        Err(violations)
    }

    /// Checks a value that is a tree.
    ///
    /// A value nested more than [`MAX_VALUE_DEPTH`] levels deep does not match.
    pub fn check(&self, value: &Value) -> Result<(), Violations> {
        if exceeds(value, MAX_VALUE_DEPTH) {
            let levels = format!("nested at most {MAX_VALUE_DEPTH} levels deep");
            // Writing the value out would recurse as deeply as it is nested.
            let kind = if value.is_array() { "array" } else { "object" };
            let omitted = IndexedText::unbounded(&json!({ "omitted": kind }));
            return Err(whole(omitted.root(), levels));
        }
        self.check_indexed(IndexedText::unbounded(value).root())
    }

    pub(crate) fn decides(&self, value: JsonRef<'_>) -> bool {
        self.decider.is_valid(value)
    }

    pub(crate) fn explain(&self, value: JsonRef<'_>) -> Violations {
        explain(&self.subschemas, &self.probes, value)
    }
}

/// Returns the one violation of a value that is wrong as a whole.
fn whole(value: JsonRef<'_>, expected: String) -> Violations {
    let mut report = ViolationCollector::default();
    report.add(SCHEMA, &ValueLocation::Root, value, || {
        (unmatched(expected), None)
    });
    report.into_violations()
}
