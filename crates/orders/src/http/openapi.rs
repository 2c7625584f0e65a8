//! The adapter protocol as an OpenAPI 3.1 document, generated from the schemas that are enforced.

use super::PROTOCOL;
use crate::model::{Feature, TIME_FILTERS, filter_names};
use crate::server::OrdersServer;
use crate::{OrderOperation, output_schemas, tools};
use candor_street::Tool;
use serde_json::{Map, Value, json};

/// The prefix of references to the definitions of a tool's schema.
const DEFINITIONS: &str = "#/$defs/";

/// The prefix of references to the document's schemas.
const COMPONENTS: &str = "#/components/schemas/";

/// Returns the document that `candor orders openapi` prints.
pub fn openapi_text() -> String {
    let mut text = serde_json::to_string_pretty(&openapi()).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the document of the adapter protocol.
fn openapi() -> Value {
    let tools = tools::all(None);
    let mut schemas = Map::new();
    schemas.insert(String::from("failure"), failure());
    let mut paths = Map::new();
    paths.insert(
        String::from("/v1/capabilities"),
        json!({ "get": capabilities() }),
    );
    for operation in OrderOperation::ALL {
        let path = format!("/v1/{}", operation.name());
        let post = describe(operation, &tools, &mut schemas);
        paths.insert(path, json!({ "post": post }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Candor's adapter protocol",
            "version": PROTOCOL.to_string(),
            "summary": "What an order system implements so that the order tools of Candor can work with it.",
            "license": { "name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT" }
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "security": [{}, { "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } }
        }
    })
}

fn capabilities() -> Value {
    let names = OrderOperation::ALL.map(OrderOperation::name);
    let texts =
        json!({ "type": "array", "maxItems": super::MAX_NAMES, "items": { "type": "string" } });
    let queries = OrderOperation::ALL.into_iter().filter(|one| !one.changes());
    let filters: Map<_, _> = queries
        .map(|query| {
            let (first, declared) = filter_names(query);
            let names: Vec<_> = first.iter().chain(declared).chain(&TIME_FILTERS).collect();
            let items = json!({ "type": "string", "examples": names });
            let names = json!({ "type": "array", "maxItems": super::MAX_NAMES, "items": items });
            (query.name().to_owned(), names)
        })
        .collect();
    let mut features = texts.clone();
    features["items"]["examples"] = json!(Feature::ALL.map(Feature::word));
    let schema = json!({
        "type": "object",
        "required": ["protocol", "operations", "keepsKeys"],
        "properties": {
            "protocol": { "const": PROTOCOL },
            "operations": { "type": "array", "items": { "type": "string", "examples": names } },
            "keepsKeys": { "type": "boolean" },
            "statuses": {
                "type": "object",
                "maxProperties": super::MAX_STATUSES,
                "additionalProperties": { "enum": crate::model::OrderStatus::ALL.map(crate::model::OrderStatus::word) }
            },
            "filters": {
                "type": "object",
                "maxProperties": super::MAX_NAMES,
                "properties": filters,
                "additionalProperties": texts
            },
            "features": features,
            "lookup": texts
        }
    });
    json!({
        "operationId": "capabilities",
        "summary": "What the adapter can do",
        "responses": { "200": response("The capabilities", schema), "default": failed() }
    })
}

/// Describes an operation, and adds the definitions of its arguments to the schemas.
fn describe(
    operation: OrderOperation,
    tools: &[Tool<OrdersServer>],
    schemas: &mut Map<String, Value>,
) -> Value {
    let mut headers = vec![
        header("Candor-Client", "The client that makes the call"),
        header(
            "Candor-Deadline-Ms",
            "The milliseconds after which Candor stops waiting",
        ),
    ];
    for (name, description) in [
        ("Candor-Tenant", "The tenant of the client, if it has one"),
        (
            "traceparent",
            "The position in the client's trace (W3C Trace Context), if it has sent one",
        ),
    ] {
        let mut optional = header(name, description);
        optional["required"] = json!(false);
        headers.push(optional);
    }
    if operation.changes() {
        headers.push(header(
            "Idempotency-Key",
            "The key of the change; it belongs to the client and the operation",
        ));
    }
    json!({
        "operationId": operation.name(),
        "parameters": headers,
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": arguments(operation, tools, schemas) } }
        },
        "responses": {
            "2XX": response("The operation succeeded", answer(operation)),
            "501": { "description": "The operation is not offered" },
            "default": failed()
        }
    })
}

/// Returns the schema of a success.
fn answer(operation: OrderOperation) -> Value {
    let (member, entity) = (operation.member(), output_schemas::entity(operation));
    if operation.changes() {
        let properties = json!({ member: entity });
        return json!({ "type": "object", "required": [member], "properties": properties });
    }
    let properties = json!({
        member: { "type": "array", "items": entity },
        "nextCursor": { "type": ["string", "null"] }
    });
    json!({ "type": "object", "required": [member, "nextCursor"], "properties": properties })
}

/// Returns the schema of a request: the tool's arguments without the key.
fn arguments(
    operation: OrderOperation,
    tools: &[Tool<OrdersServer>],
    schemas: &mut Map<String, Value>,
) -> Value {
    let tool = tools.iter().find(|tool| tool.name() == operation.name());
    let schema = tool.and_then(|tool| tool.input_schema().ok());
    let text = schema.map_or("{}", |schema| schema.text());
    let mut schema: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(members) = schema.as_object_mut() {
        if let Some(Value::Object(definitions)) = members.shift_remove("$defs") {
            schemas.extend(definitions);
        }
        members.shift_remove("$schema");
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.shift_remove("idempotencyKey");
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != "idempotencyKey");
    }
    for schema in schemas.values_mut().chain([&mut schema]) {
        point_to_components(schema);
    }
    schema
}

/// Rewrites the references of a schema. Schemas of arguments have few levels.
fn point_to_components(schema: &mut Value) {
    match schema {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| match value {
            Value::String(text) if name == "$ref" => {
                if let Some(definition) = text.strip_prefix(DEFINITIONS) {
                    *text = format!("{COMPONENTS}{definition}");
                }
            }
            value => point_to_components(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(point_to_components),
        _ => {}
    }
}

fn header(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "header",
        "required": true,
        "description": description,
        "schema": { "type": "string" }
    })
}

fn response(description: &str, schema: Value) -> Value {
    json!({
        "description": description,
        "content": { "application/json": { "schema": schema } }
    })
}

fn failed() -> Value {
    let reference = json!({ "$ref": format!("{COMPONENTS}failure") });
    response("The operation failed", reference)
}

fn failure() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,63}$" },
                    "retryable": { "type": "boolean" },
                    "message": { "type": "string" },
                    "context": {
                        "type": "object",
                        "properties": {
                            "field": { "type": "string", "maxLength": 200 },
                            "status": { "type": "string" },
                            "available": { "type": "integer", "minimum": 0 },
                            "availableAmount": { "type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,4})?$" },
                            "returnStatus": { "type": "string" }
                        }
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENAPI_SCHEMA: &str = include_str!("openapi-3.1.schema.json");
    const COMMITTED: &str = include_str!("../../../../docs/adapter-protocol.openapi.json");

    #[test]
    fn document_is_valid_openapi() {
        let schema: Value = serde_json::from_str(OPENAPI_SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let document = openapi();
        let errors: Vec<_> = validator
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, [] as [String; 0]);
    }

    #[test]
    fn every_schema_is_valid_and_every_reference_resolves() {
        let document = openapi();
        let text = document.to_string();
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert!(jsonschema::meta::is_valid(schema), "{name}");
        }
    }

    #[test]
    fn committed_document_is_up_to_date() {
        assert_eq!(COMMITTED, openapi_text(), "run cargo xtask codegen");
    }
}
