//! The tools that the official conformance suite calls by name.

use super::Playground;
use super::all_dialects::play;
use candor_fault::codes::wire;
use candor_fault::dialects::Wire;
use candor_fault::{Fault, ToolOutput};
use candor_street::{CallContext, JsonTree, Reply, Tool};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;

/// An image of one pixel.
pub(super) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// An empty sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(super) fn all() -> Vec<Tool<Playground>> {
    let image = || json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    let resource = |uri: &str, kind: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } });
    vec![
        constant(
            "test_simple_text",
            content(vec![text("This is a simple text response for testing.")]),
        ),
        constant("test_image_content", content(vec![image()])),
        constant(
            "test_audio_content",
            content(vec![
                json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" }),
            ]),
        ),
        constant(
            "test_embedded_resource",
            content(vec![resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]),
        ),
        constant(
            "test_multiple_content_types",
            content(vec![
                text("Multiple content types test:"),
                image(),
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    "{\"test\":\"data\",\"value\":123}",
                ),
            ]),
        ),
        constant(
            "test_streaming_elicitation",
            content(vec![text("Nothing is asked of the client.")]),
        ),
        constant(
            "test_logging_tool",
            content(vec![text("Nothing is logged to the client.")]),
        ),
        failing(),
        progressing(),
        capable(),
        mirrored(),
        schematic(),
    ]
}

#[derive(Deserialize)]
struct NoArguments {}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn content(items: Vec<Value>) -> Value {
    json!({ "content": items })
}

fn whole(value: &Value) -> Reply {
    let raw =
        RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned());
    ToolOutput::Whole(raw).into()
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

fn constant(name: &'static str, result: Value) -> Tool<Playground> {
    let run = move |_, _: NoArguments, _| {
        let reply = whole(&result);
        async move { Ok(reply) }
    };
    Tool::read_only(
        name,
        "A fixture of the conformance suite.",
        no_arguments(),
        run,
    )
}

/// Returns the tool that fails with one text, as the suite expects.
fn failing() -> Tool<Playground> {
    let run = |_, _: NoArguments, _| async {
        let content = [text("This tool intentionally returns an error for testing")];
        Ok(whole(&json!({ "content": content, "isError": true })))
    };
    Tool::read_only(
        "test_error_handling",
        "A fixture of the conformance suite.",
        no_arguments(),
        run,
    )
}

fn progressing() -> Tool<Playground> {
    let run = |_, _: NoArguments, cx: CallContext| async move {
        for done in [0.0, 50.0, 100.0] {
            cx.progress().report(done, Some(100.0), None);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(whole(&content(vec![text("Progress was reported.")])))
    };
    Tool::read_only(
        "test_tool_with_progress",
        "A fixture of the conformance suite.",
        no_arguments(),
        run,
    )
}

/// Returns the tool that fails for clients without the capability `sampling`.
fn capable() -> Tool<Playground> {
    let run = |_, _: NoArguments, cx: CallContext| async move {
        let capabilities = cx.call.client.capabilities.as_deref().unwrap_or("{}");
        let has = |JsonTree(tree): JsonTree| tree.get("sampling").is_some();
        if serde_json::from_str(capabilities).is_ok_and(has) {
            return Ok(whole(&content(vec![text("The client can sample.")])));
        }
        let fault: Fault<Wire> = wire::MissingCapability.fault().with_facts(|facts| {
            facts.data = Some(json!({ "requiredCapabilities": { "sampling": {} } }).to_string());
        });
        Err(play(fault))
    };
    Tool::read_only(
        "test_missing_capability",
        "A fixture of the conformance suite.",
        no_arguments(),
        run,
    )
}

/// Returns the tool whose arguments clients repeat in headers.
fn mirrored() -> Tool<Playground> {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "priority": { "type": "integer", "x-mcp-header": "Priority" },
            "options": {
                "type": "object",
                "properties": { "verbose": { "type": "boolean", "x-mcp-header": "Verbose" } },
                "additionalProperties": false
            },
            "query": { "type": "string" }
        },
        "required": ["region"],
        "additionalProperties": false
    });
    let run = |_, _: IgnoredAny, _| async { Ok(whole(&content(vec![text("The headers match.")]))) };
    Tool::read_only(
        "test_header_arguments",
        "A fixture of the conformance suite: arguments that clients repeat in headers.",
        schema,
        run,
    )
}

fn schematic() -> Tool<Playground> {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    });
    let run = |_, _: IgnoredAny, _| async { Ok(whole(&content(vec![text("The arguments fit.")]))) };
    Tool::read_only(
        "json_schema_2020_12_tool",
        "A fixture of the conformance suite: a schema with many features.",
        schema,
        run,
    )
}
