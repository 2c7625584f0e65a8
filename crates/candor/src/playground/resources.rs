//! The resources that the official conformance suite reads by name.

use super::Playground;
use super::all_dialects::{AllDialects, play};
use super::conformance::PNG;
use candor_fault::Fault;
use candor_fault::codes::wire;
use candor_street::{
    Resource, ResourceContent, ResourceData, ResourceFailure, ResourcePage, ResourceTemplate,
    Resources,
};
use serde_json::json;

const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";

/// The cursor of the second page of the list.
const SECOND_PAGE: &str = "2";

pub(super) fn fixtures() -> Resources<Playground> {
    let list = |_, cursor: Option<String>, _| async move { page(cursor.as_deref()) };
    let read = |_, uri: String, _| async move { content(uri) };
    Resources::new(list, read, classify).with_template(ResourceTemplate {
        uri_template: "test://template/{id}/data",
        name: "template",
        description: "A fixture of the conformance suite.",
        mime_type: Some("application/json"),
    })
}

fn page(cursor: Option<&str>) -> Result<ResourcePage, Fault<AllDialects>> {
    let resource = |uri: &str, name: &str, mime_type| Resource {
        uri: uri.to_owned(),
        name: name.to_owned(),
        description: Some(String::from("A fixture of the conformance suite.")),
        mime_type: Some(mime_type),
        ..Resource::default()
    };
    match cursor {
        None => Ok(ResourcePage {
            resources: vec![resource(STATIC_TEXT, "static-text", "text/plain")],
            next_cursor: Some(SECOND_PAGE.to_owned()),
        }),
        Some(SECOND_PAGE) => Ok(ResourcePage {
            resources: vec![resource(STATIC_BINARY, "static-binary", "image/png")],
            next_cursor: None,
        }),
        Some(_) => Err(play(wire::InvalidParams.fault())),
    }
}

fn content(uri: String) -> Result<ResourceContent, Fault<AllDialects>> {
    let (mime_type, data) = match uri.as_str() {
        STATIC_TEXT => (
            "text/plain",
            ResourceData::Text("This is the content of the static text resource.".into()),
        ),
        STATIC_BINARY => ("image/png", ResourceData::Blob(PNG.into())),
        _ => {
            let id = uri
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"))
                .filter(|id| !id.is_empty() && !id.contains('/'))
                .ok_or_else(|| play(wire::ResourceNotFound.fault()))?;
            let text =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            ("application/json", ResourceData::Text(text.to_string()))
        }
    };
    Ok(ResourceContent {
        uri,
        mime_type: Some(mime_type),
        data,
    })
}

fn classify(fault: &Fault<AllDialects>) -> ResourceFailure {
    let row = fault.row();
    if row.has_key_of(wire::ResourceNotFound.row()) {
        return ResourceFailure::NotFound;
    }
    match row.has_key_of(wire::InvalidParams.row()) {
        true => ResourceFailure::UnknownCursor,
        false => ResourceFailure::Failed,
    }
}
