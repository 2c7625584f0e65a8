//! Arguments that a client repeats in HTTP headers: the properties of a schema that are marked with
//! `x-mcp-header`.

use serde_json::{Map, Value};
use std::fmt;

/// The keyword that marks a property.
const MARK: &str = "x-mcp-header";

/// The types of properties that can be marked.
const TYPES: [&str; 3] = ["string", "integer", "boolean"];

/// The keywords whose value is an object of schemas.
const SCHEMAS_BY_NAME: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// The keywords whose value is a schema or an array of schemas.
const SCHEMAS: [&str; 16] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
];

/// An argument that clients of the stateless era repeat in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderArgument {
    name: String,
    header: String,
    path: Vec<String>,
}

impl HeaderArgument {
    /// Returns the name as the schema writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the header in lower case.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the names of the members that lead from the arguments to this one.
    pub fn path(&self) -> &[String] {
        &self.path
    }
}

/// A mark that no client could follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMarkError {
    property: String,
    reason: &'static str,
}

impl fmt::Display for HeaderMarkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeaderMarkError { property, reason } = self;
        write!(out, "`{MARK}` of the property `{property}` {reason}")
    }
}

/// A schema within the schema of the arguments.
struct Position<'a> {
    schema: &'a Map<String, Value>,
    /// The names that lead to it through `properties` alone; `None` if another keyword is on the way.
    path: Option<Vec<String>>,
    /// The names and keywords that lead to it, for the error.
    shown: String,
}

/// Returns the marked properties of a schema, in the order in which they are written.
pub(crate) fn header_arguments(schema: &Value) -> Result<Vec<HeaderArgument>, HeaderMarkError> {
    let mut marked: Vec<HeaderArgument> = Vec::new();
    let mut open = Vec::new();
    if let Value::Object(schema) = schema {
        open.push(Position {
            schema,
            path: Some(Vec::new()),
            shown: String::new(),
        });
    }
    while let Some(position) = open.pop() {
        if let Some(mark) = position.schema.get(MARK) {
            let argument = position.argument(mark)?;
            if marked.iter().any(|other| other.header == argument.header) {
                return Err(position.error("is the header of another property too"));
            }
            marked.push(argument);
        }
        let first = open.len();
        position.push_parts(&mut open);
        // The last one is taken first.
        open[first..].reverse();
    }
    Ok(marked)
}

impl<'a> Position<'a> {
    /// Returns the argument that the mark of this schema stands for.
    fn argument(&self, mark: &Value) -> Result<HeaderArgument, HeaderMarkError> {
        let path = match &self.path {
            Some(path) if !path.is_empty() => path.clone(),
            _ => return Err(self.error("is not reached from the root through `properties` alone")),
        };
        let name = mark.as_str().filter(|name| is_token(name));
        let name = name.ok_or_else(|| self.error("is not a token of RFC 9110"))?;
        let kind = self.schema.get("type").and_then(Value::as_str);
        if !kind.is_some_and(|kind| TYPES.contains(&kind)) {
            return Err(self.error("needs the one type `string`, `integer` or `boolean`"));
        }
        Ok(HeaderArgument {
            name: name.to_owned(),
            header: format!("mcp-param-{}", name.to_ascii_lowercase()),
            path,
        })
    }

    fn error(&self, reason: &'static str) -> HeaderMarkError {
        let property = match self.shown.as_str() {
            "" => String::from("root"),
            shown => shown.to_owned(),
        };
        HeaderMarkError { property, reason }
    }

    fn push_parts(&self, open: &mut Vec<Position<'a>>) {
        for (keyword, value) in self.schema {
            match value {
                Value::Object(parts) if SCHEMAS_BY_NAME.contains(&keyword.as_str()) => {
                    for (name, part) in parts {
                        self.push(open, keyword, Some(name), part);
                    }
                }
                Value::Array(parts) if SCHEMAS.contains(&keyword.as_str()) => {
                    for part in parts {
                        self.push(open, keyword, None, part);
                    }
                }
                one if SCHEMAS.contains(&keyword.as_str()) => self.push(open, keyword, None, one),
                _ => {}
            }
        }
    }

    fn push(
        &self,
        open: &mut Vec<Position<'a>>,
        keyword: &str,
        name: Option<&String>,
        part: &'a Value,
    ) {
        let Value::Object(schema) = part else { return };
        let is_property = keyword == "properties";
        let path = self.path.as_ref().filter(|_| is_property).zip(name);
        let path = path.map(|(path, name)| path.iter().chain([name]).cloned().collect());
        let step = match name {
            Some(name) if is_property => name.clone(),
            Some(name) => format!("{keyword}.{name}"),
            None => keyword.to_owned(),
        };
        let shown = match self.shown.as_str() {
            "" => step,
            before => format!("{before}.{step}"),
        };
        open.push(Position {
            schema,
            path,
            shown,
        });
    }
}

/// Returns true if a text is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_token_char =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_char)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn marked(schema: Value) -> Result<Vec<(String, String)>, String> {
        let arguments = header_arguments(&schema).map_err(|error| error.to_string())?;
        let pair =
            |argument: &HeaderArgument| (argument.header().to_owned(), argument.path().join("."));
        Ok(arguments.iter().map(pair).collect())
    }

    #[test]
    fn marked_properties_are_found_in_order() {
        let schema = json!({
            "type": "object",
            "properties": {
                "z": { "type": "string", "x-mcp-header": "Region" },
                "plain": { "type": "string" },
                "a": { "type": "object", "properties": {
                    "b": { "type": "integer", "x-mcp-header": "!#$%&'*+-.^_`|~9" },
                    "properties": { "type": "boolean", "x-mcp-header": "Deep" }
                } },
                "x-mcp-header": { "type": "string" }
            },
            "default": { "x-mcp-header": 7 },
            "examples": [{ "properties": { "a": { "x-mcp-header": [] } } }]
        });
        let expected = [
            ("mcp-param-region", "z"),
            ("mcp-param-!#$%&'*+-.^_`|~9", "a.b"),
            ("mcp-param-deep", "a.properties"),
        ];
        let expected = expected.map(|(header, path)| (header.to_owned(), path.to_owned()));
        assert_eq!(marked(schema), Ok(expected.to_vec()));
        assert_eq!(marked(json!({ "type": "object" })), Ok(vec![]));
        assert_eq!(marked(json!(true)), Ok(vec![]));
    }

    #[test]
    fn names_are_tokens() {
        for name in [
            json!(""),
            json!("a b"),
            json!("a:b"),
            json!("é"),
            json!("a\n"),
            json!("(a)"),
            json!("a\u{7f}"),
            json!(7),
            json!(null),
            json!(["a"]),
        ] {
            let schema =
                json!({ "properties": { "a": { "type": "string", "x-mcp-header": name } } });
            assert_eq!(
                marked(schema),
                Err(String::from(
                    "`x-mcp-header` of the property `a` is not a token of RFC 9110"
                )),
                "{name}"
            );
        }
    }

    #[test]
    fn properties_have_one_simple_type() {
        for kind in [
            json!("number"),
            json!("object"),
            json!("array"),
            json!("null"),
            json!(["string", "null"]),
            json!(["string"]),
            Value::Null,
        ] {
            let mut property = json!({ "x-mcp-header": "A", "type": kind });
            if kind.is_null() {
                property = json!({ "x-mcp-header": "A", "enum": ["a"] });
            }
            let schema = json!({ "properties": { "a": { "properties": { "b": property } } } });
            assert_eq!(
                marked(schema),
                Err(String::from(
                    "`x-mcp-header` of the property `a.b` needs the one type `string`, `integer` or `boolean`"
                )),
                "{kind}"
            );
        }
    }

    #[test]
    fn headers_are_unique_without_regard_to_case() {
        let property = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        let schema = json!({ "properties": { "a": property("Region"), "b": { "properties": { "c": property("rEGION") } } } });
        assert_eq!(
            marked(schema),
            Err(String::from(
                "`x-mcp-header` of the property `b.c` is the header of another property too"
            ))
        );
    }

    #[test]
    fn marks_beside_properties_are_refused() {
        let part = json!({ "type": "string", "x-mcp-header": "A" });
        let inside = json!({ "properties": { "p": part } });
        for (schema, shown) in [
            (part.clone(), "root"),
            (json!({ "items": part }), "items"),
            (
                json!({ "properties": { "l": { "items": part } } }),
                "l.items",
            ),
            (json!({ "allOf": [true, inside] }), "allOf.p"),
            (json!({ "anyOf": [inside] }), "anyOf.p"),
            (json!({ "if": inside }), "if.p"),
            (json!({ "not": inside }), "not.p"),
            (json!({ "prefixItems": [part] }), "prefixItems"),
            (
                json!({ "additionalProperties": part }),
                "additionalProperties",
            ),
            (json!({ "$defs": { "d": part } }), "$defs.d"),
            (
                json!({ "patternProperties": { "^a": part } }),
                "patternProperties.^a",
            ),
            (
                json!({ "dependentSchemas": { "d": inside } }),
                "dependentSchemas.d.p",
            ),
        ] {
            assert_eq!(
                marked(schema),
                Err(format!(
                    "`x-mcp-header` of the property `{shown}` is not reached from the root through `properties` alone"
                ))
            );
        }
    }
}
