//! Compares the schema of a tool's arguments with the type that the tool decodes them into.

use crate::schema_values::{
    MemberExamples, ObjectMembers, SchemaLocation, SchemaValues, schema_locations, schema_members,
};
use candor_schema::Schema;
use candor_street::{Server, Tool};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The number of arguments that are generated for each tool.
const CASES: u64 = 256;

/// Asserts that a tool's type takes what its schema admits, and reads every member of it.
///
/// A member is read if a value of another form in its place is refused by the type too. So a field
/// whose name is misspelled is found even if it is optional. `unread` names members that the server
/// reads and not the tool.
pub fn assert_schema_agreement<S: Server>(
    tool: &Tool<S>,
    examples: MemberExamples<'_>,
    unread: &[&str],
) {
    let schema = tool.input_schema().expect("a schema that compiles");
    let published: Value = serde_json::from_str(schema.text()).expect("a schema is JSON");
    let comparison = Comparison { tool, schema };
    let mut values = SchemaValues::new(&published, examples);
    let random = (0..CASES).map(ObjectMembers::Some);
    let random: Vec<_> = random.map(|members| values.generate(members)).collect();
    let small = small_arguments(&published, &values.generate(ObjectMembers::All));
    let mut read = BTreeSet::new();
    for arguments in random.into_iter().chain(small) {
        if schema.check(&arguments).is_err() {
            continue;
        }
        match tool.takes(&arguments) {
            Ok(true) => {}
            Ok(false) => panic!(
                "{}: the type refuses what the schema admits: {arguments}",
                tool.name()
            ),
            Err(_) => continue,
        }
        for location in schema_locations(&published, &arguments) {
            let is_unread = unread.contains(&location.path.trim_start_matches('.'));
            if !is_unread && !read.contains(&location.path) {
                comparison.check(&arguments, &location);
            }
        }
        let paths = schema_locations(&published, &arguments).into_iter();
        read.extend(paths.map(|location| location.path));
    }
    for (path, names) in schema_members(&published) {
        for name in names {
            let path = format!("{path}.{name}");
            let name = tool.name();
            assert!(read.contains(&path), "{name}: no arguments with {path}");
        }
    }
}

/// Returns arguments with the required members and one other, for each other.
fn small_arguments(schema: &Value, all: &Value) -> Vec<Value> {
    let members = all.as_object().into_iter().flatten();
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.contains(&json!(name)));
    let small = members.clone().map(|(other, _)| {
        let members = members.clone();
        let chosen = members.filter(|(name, _)| is_required(name) || name == &other);
        let chosen = chosen.map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(chosen.collect())
    });
    small.collect()
}

struct Comparison<'a, S: Server> {
    tool: &'a Tool<S>,
    schema: &'a Schema,
}

impl<S: Server> Comparison<'_, S> {
    /// Asserts that schema and type refuse the arguments with anything else at this location.
    fn check(&self, arguments: &Value, location: &SchemaLocation<'_>) {
        for value in wrong_values(location.schema) {
            let mut wrong = arguments.clone();
            if let Some(target) = wrong.pointer_mut(&location.pointer) {
                *target = value;
            }
            self.assert_refused(&wrong);
        }
        let required = location.schema["required"].as_array();
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let mut wrong = arguments.clone();
            let object = wrong.pointer_mut(&location.pointer);
            if let Some(object) = object.and_then(Value::as_object_mut) {
                object.shift_remove(name);
            }
            self.assert_refused(&wrong);
        }
    }

    fn assert_refused(&self, arguments: &Value) {
        let name = self.tool.name();
        let admitted = self.schema.check(arguments).is_ok();
        assert!(!admitted, "{name}: the schema admits {arguments}");
        let taken = self.tool.takes(arguments).unwrap_or(false);
        assert!(!taken, "{name}: the type takes {arguments}");
    }
}

/// Returns values of every form that a schema refuses and that no type may take for it. They are not
/// `null`, which an optional field takes, nor a list for an object, which is the other form of a struct.
fn wrong_values(schema: &Value) -> Vec<Value> {
    let forms: Vec<_> = match &schema["type"] {
        Value::Array(forms) => forms.iter().filter_map(Value::as_str).collect(),
        form => form.as_str().into_iter().collect(),
    };
    let other = [
        ("boolean", json!(true)),
        ("number", json!(7.5)),
        ("string", json!("a text")),
        ("object", json!({})),
        ("array", json!([])),
    ];
    let is_other = |name: &str| {
        let is_list_of_object = name == "array" && forms.contains(&"object");
        !forms.contains(&name) && !is_list_of_object
    };
    let mut wrong: Vec<_> = other
        .into_iter()
        .filter(|(name, _)| is_other(name))
        .collect();
    if let Some(min) = schema["minimum"].as_i64() {
        wrong.push(("integer", json!(min - 1)));
    }
    if let Some(max) = schema["maximum"].as_i64() {
        wrong.push(("integer", json!(max + 1)));
    }
    wrong.into_iter().map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::MarkLender;
    use candor_schema::Int;
    use candor_street::reply;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    #[derive(Deserialize)]
    struct Page {
        #[serde(rename = "page")]
        _page: Option<Int<1, 9>>,
    }

    #[derive(Deserialize)]
    struct Listing {
        #[serde(rename = "path")]
        _path: String,
        #[serde(flatten)]
        _page: Page,
    }

    #[derive(Deserialize)]
    struct MisspelledPage {
        #[serde(rename = "pgae")]
        _page: Option<u64>,
    }

    #[derive(Deserialize)]
    struct MisspelledListing {
        #[serde(rename = "path")]
        _path: String,
        #[serde(flatten)]
        _page: MisspelledPage,
    }

    #[derive(Deserialize)]
    struct OptionalListing {
        #[serde(rename = "path")]
        _path: Option<String>,
        #[serde(flatten)]
        _page: Page,
    }

    #[derive(Deserialize)]
    struct StricterListing {
        #[serde(rename = "path")]
        _path: String,
        #[serde(rename = "page")]
        _page: Int<1, 9>,
    }

    #[derive(Deserialize)]
    struct UnboundedListing {
        #[serde(rename = "path")]
        _path: String,
        #[serde(rename = "page")]
        _page: Option<u64>,
    }

    fn compare<T: DeserializeOwned + Send + 'static>() {
        let schema = json!({
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": { "type": "string", "minLength": 1 },
                "page": { "type": "integer", "minimum": 1, "maximum": 9 }
            },
            "additionalProperties": false
        });
        let run = |_, _: T, _| async { reply(&json!({})) };
        let tool = Tool::<MarkLender>::read_only("list", "Lists.", schema, run);
        assert_schema_agreement(&tool, &[], &[]);
    }

    #[test]
    #[should_panic(expected = "\"page\":0}")]
    fn missing_bound_is_found() {
        compare::<UnboundedListing>();
    }

    #[test]
    fn agreement_is_accepted() {
        compare::<Listing>();
    }

    #[test]
    #[should_panic(expected = "\"page\":true}")]
    fn misspelled_optional_field_is_found() {
        compare::<MisspelledListing>();
    }

    #[test]
    #[should_panic(expected = "the type takes {\"page\":")]
    fn optional_field_of_a_required_member_is_found() {
        compare::<OptionalListing>();
    }

    #[test]
    #[should_panic(expected = "the type refuses what the schema admits")]
    fn required_field_of_an_optional_member_is_found() {
        compare::<StricterListing>();
    }
}
