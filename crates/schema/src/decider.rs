//! The validator: `jsonschema`, draft 2020-12, formats asserted, patterns in linear time, nothing
//! fetched.

use crate::error::SchemaError;
use crate::indexed_json::{IndexedJson, IndexedValidator};
use crate::unique_items::first_repeat;
use candor_json::JsonRef;
use jsonschema::{
    Draft, EmailOptions, Keyword, PatternOptions, Registry, Retrieve, ValidationError,
    ValidationOptions,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The most bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 10 << 20;

/// The address of a schema without `$id`, for the parts that refer into it.
const DOCUMENT: &str = "json-schema:///candor";

/// Compiles one schema.
pub(crate) fn decider(schema: &Value) -> Result<IndexedValidator, SchemaError> {
    let built = options().build(schema);
    built.map_err(|error| SchemaError::invalid(&error))
}

/// Compiles parts of a schema, each to be decided alone.
pub(crate) fn probes(
    schema: &Value,
    parts: &[Value],
) -> Result<Vec<Arc<IndexedValidator>>, SchemaError> {
    let (document, names) = with_parts(schema, parts);
    let own = schema.get("$id").and_then(Value::as_str);
    let address = own.map_or(DOCUMENT, |id| id.trim_end_matches('#'));
    let registry = Registry::new()
        .draft(Draft::Draft202012)
        .add(address, &document)
        .and_then(|registry| registry.prepare())
        .map_err(|error| SchemaError::invalid(&ValidationError::from(error)))?;
    let build = |(part, name): (&Value, &String)| {
        if !refers(part) {
            return shared_decider(part);
        }
        let reference = json!({ "$ref": format!("{address}#/$defs/{name}") });
        let built = options().with_registry(&registry).build(&reference);
        built
            .map(Arc::new)
            .map_err(|error| SchemaError::invalid(&error))
    };
    parts.iter().zip(&names).map(build).collect()
}

/// The validators of parts that some schema uses, by the text of the part.
static SHARED: Mutex<BTreeMap<String, Weak<IndexedValidator>>> = Mutex::new(BTreeMap::new());

/// Compiles a part, or returns the validator of an equal one. The tools of a server repeat a few patterns,
/// and a compiled pattern takes many times the memory of its text.
fn shared_decider(part: &Value) -> Result<Arc<IndexedValidator>, SchemaError> {
    let text = part.to_string();
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = shared.get(&text).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let compiled = Arc::new(decider(part)?);
    shared.retain(|_, validator| validator.strong_count() > 0);
    shared.insert(text, Arc::downgrade(&compiled));
    Ok(compiled)
}

/// Returns true if a part may refer to something outside of it.
fn refers(part: &Value) -> bool {
    match part {
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| name.ends_with("Ref") || name == "$ref" || refers(member)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Adds the parts that contain references to the schema as further definitions, so that they
/// resolve in it.
fn with_parts(schema: &Value, parts: &[Value]) -> (Value, Vec<String>) {
    let mut document = schema.as_object().cloned().unwrap_or_default();
    let own = document.get("$defs").and_then(Value::as_object).cloned();
    let mut definitions: Map<String, Value> = own.unwrap_or_default();
    let mut prefix = String::from("candor");
    while definitions.keys().any(|name| name.starts_with(&prefix)) {
        prefix.push('_');
    }
    let names: Vec<_> = (0..parts.len()).map(|n| format!("{prefix}{n}")).collect();
    let referring = names.iter().zip(parts).filter(|(_, part)| refers(part));
    definitions.extend(referring.map(|(name, part)| (name.clone(), part.clone())));
    document.insert(String::from("$defs"), Value::Object(definitions));
    (Value::Object(document), names)
}

fn options<'i>() -> ValidationOptions<'i, Arc<dyn Retrieve>, IndexedJson> {
    jsonschema::options_for::<IndexedJson>()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        // The format is RFC 5321's mailbox, which has no display name.
        .with_email_options(EmailOptions::default().without_display_text())
        .with_keyword("uniqueItems", |_, rule, _| {
            Ok(Box::new(UniqueItems(rule == &Value::Bool(true))))
        })
        .offline()
}

/// `uniqueItems` in linear time.
struct UniqueItems(bool);

impl<'i> Keyword<'i, IndexedJson> for UniqueItems {
    fn validate(&self, value: JsonRef<'i>) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            Ok(())
        } else {
            Err(ValidationError::custom("an item comes twice"))
        }
    }

    fn is_valid(&self, value: JsonRef<'i>) -> bool {
        !self.0 || first_repeat(value).is_none()
    }
}
