//! The resources of the server that the property `core` checks: two pages, and a failure of each kind.

use crate::core::Mirror;
use candor_fault::codes::candor as codes;
use candor_fault::dialects::Candor;
use candor_fault::{Effect, Fault};
use candor_street::{
    Resource, ResourceContent, ResourceData, ResourceFailure, ResourcePage, ResourceTemplate,
    Resources,
};

/// The resource that the first page lists.
pub(crate) const TEXT: &str = "mirror://text";

/// The beginning of all URIs that can be read; the content is the rest.
const SCHEME: &str = "mirror://";

/// The cursor of the second page.
const SECOND_PAGE: &str = "2";

pub(crate) fn resources() -> Resources<Mirror> {
    let list = |_, cursor: Option<String>, _| async move { page(cursor.as_deref()) };
    let read = |_, uri: String, _| async move { content(uri) };
    Resources::new(list, read, classify).with_template(ResourceTemplate {
        uri_template: "mirror://{+text}",
        name: "mirror",
        description: "Answers with a part of its URI.",
        mime_type: Some("text/plain"),
    })
}

fn page(cursor: Option<&str>) -> Result<ResourcePage, Fault<Candor<codes::Code>>> {
    match cursor {
        None => Ok(ResourcePage {
            resources: vec![Resource {
                uri: TEXT.to_owned(),
                name: "text".to_owned(),
                ..Resource::default()
            }],
            next_cursor: Some(SECOND_PAGE.to_owned()),
        }),
        Some(SECOND_PAGE) => Ok(ResourcePage::default()),
        Some(_) => Err(codes::InvalidArguments.fault()),
    }
}

fn content(uri: String) -> Result<ResourceContent, Fault<Candor<codes::Code>>> {
    let data = match uri.strip_prefix(SCHEME) {
        None => return Err(codes::Limited.fault()),
        Some("") => return Err(codes::Internal.fault(Effect::None)),
        Some("large") => return Err(codes::Unrecorded.fault(Effect::None)),
        Some(text) => ResourceData::Text(text.to_owned()),
    };
    Ok(ResourceContent {
        uri,
        mime_type: Some("text/plain"),
        data,
    })
}

/// Each kind of failure has a code of its own.
fn classify(fault: &Fault<Candor<codes::Code>>) -> ResourceFailure {
    let has_code_of = |row| fault.row().has_key_of(row);
    if has_code_of(codes::InvalidArguments.row()) {
        ResourceFailure::UnknownCursor
    } else if has_code_of(codes::Limited.row()) {
        ResourceFailure::NotFound
    } else if has_code_of(codes::Unrecorded.row()) {
        ResourceFailure::TooLarge {
            bytes: 1 << 30,
            hint: "Read a part of it.",
        }
    } else {
        ResourceFailure::Failed
    }
}
