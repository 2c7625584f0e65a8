//! Resources: documents that clients list and read beside the tools of a server.
//!
//! Listing and reading take the path of a call of a reading tool. Only their answers differ: a result
//! without the form of a tool's, or a JSON-RPC error.

use crate::{CallContext, Era, Server, Tool, reply};
use candor_fault::codes::wire as codes;
use candor_fault::dialects::Wire;
use candor_fault::{Answer, CallFacts, ClientText, Dialect, Fault, Form, Timestamp, ToolOutput};
use candor_json::JsonRef;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// The time that a client of the stateless era may keep a resource or a list of them. Short, because a
/// document may change at any time.
const TTL_MS: u64 = 5_000;

/// The most characters of a URI that an error repeats.
const MAX_URI_CHARS: usize = 2_048;

/// A method that is answered by [`Resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceMethod {
    List,
    Read,
}

impl ResourceMethod {
    /// Returns the method's name, which is also its label in metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            ResourceMethod::List => "resources/list",
            ResourceMethod::Read => "resources/read",
        }
    }
}

/// One resource as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<&'static str>,
    /// The number of its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// One page of the list of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcePage {
    pub resources: Vec<Resource>,
    /// The cursor of the next page; `None` on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A form of URI from which clients make the URI of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    pub uri_template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<&'static str>,
}

/// The content of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContent {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<&'static str>,
    #[serde(flatten)]
    pub data: ResourceData,
}

/// The data of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceData {
    Text(String),
    /// Bytes in Base64.
    Blob(String),
}

/// The meaning of a server's failure to a client that lists or reads resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceFailure {
    /// The URI names nothing.
    NotFound,
    /// The cursor was never issued.
    UnknownCursor,
    /// The resource cannot be read whole.
    TooLarge { bytes: u64, hint: &'static str },
    /// The server could not answer; the answer contains the code of the failure.
    Failed,
}

#[derive(Deserialize)]
struct ListArguments {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct ReadArguments {
    uri: String,
}

#[derive(Serialize)]
struct ReadResult {
    contents: [ResourceContent; 1],
}

/// The resources of server `S`.
pub struct Resources<S: Server> {
    list: Tool<S>,
    read: Tool<S>,
    templates: Vec<ResourceTemplate>,
    classify: fn(&Fault<S::Dialect>) -> ResourceFailure,
}

impl<S: Server> Resources<S> {
    /// Resources that `list` lists by cursor and `read` reads by URI. `classify` says what a failure of
    /// either means to the client.
    pub fn new<L, R>(
        list: impl Fn(Arc<S>, Option<String>, CallContext<S::Notes>) -> L + Send + Sync + 'static,
        read: impl Fn(Arc<S>, String, CallContext<S::Notes>) -> R + Send + Sync + 'static,
        classify: fn(&Fault<S::Dialect>) -> ResourceFailure,
    ) -> Self
    where
        L: Future<Output = Result<ResourcePage, Fault<S::Dialect>>> + Send + 'static,
        R: Future<Output = Result<ResourceContent, Fault<S::Dialect>>> + Send + 'static,
    {
        let list_schema = json!({
            "type": "object", "properties": { "cursor": { "type": "string" } }
        });
        let read_schema = json!({
            "type": "object", "properties": { "uri": { "type": "string" } }, "required": ["uri"]
        });
        let list = move |server, arguments: ListArguments, cx| {
            let page = list(server, arguments.cursor, cx);
            async move { reply(&page.await?) }
        };
        let read = move |server, arguments: ReadArguments, cx| {
            let content = read(server, arguments.uri, cx);
            async move {
                let contents = [content.await?];
                reply::<S::Dialect>(&ReadResult { contents })
            }
        };
        Resources {
            list: Tool::read_only(ResourceMethod::List.name(), "", list_schema, list),
            read: Tool::read_only(ResourceMethod::Read.name(), "", read_schema, read),
            templates: Vec::new(),
            classify,
        }
    }

    /// Adds a template to the list of templates.
    pub fn with_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// The array of `resources/templates/list`.
    pub fn templates(&self) -> &[ResourceTemplate] {
        &self.templates
    }

    /// Returns the tool that answers a method. It has no place in the list of tools.
    pub(crate) fn tool(&self, method: ResourceMethod) -> &Tool<S> {
        match method {
            ResourceMethod::List => &self.list,
            ResourceMethod::Read => &self.read,
        }
    }

    pub(crate) fn encode_failure(
        &self,
        fault: &Fault<S::Dialect>,
        era: Era,
        arguments: JsonRef<'_>,
        at: Timestamp,
    ) -> Answer {
        let uri = arguments.get_or_null("uri").as_str();
        let uri = uri.map(|uri| ClientText::from("").quoting_at_most(&uri, MAX_URI_CHARS));
        let uri = uri.as_ref().map(ClientText::as_str);
        let fault = wire_fault(
            &(self.classify)(fault),
            fault.row().code.to_string(),
            era,
            uri,
        );
        let facts = CallFacts {
            tool: None,
            form: Form::Protocol,
            receipt: None,
        };
        Wire::encode_failure(&fault, &facts, at)
    }
}

/// Encodes the result of a method; `result` is a JSON object.
pub(crate) fn encode_success(output: &ToolOutput, era: Era) -> Answer {
    let (ToolOutput::Json(json) | ToolOutput::Whole(json)) = output else {
        return Answer::Result("{}".into());
    };
    let members = json.get().strip_suffix('}');
    match (era, members) {
        (Era::Stateless, Some(members)) => {
            Answer::Result(format!(r#"{members},"ttlMs":{TTL_MS},"cacheScope":"private"}}"#).into())
        }
        _ => Answer::Result(json.get().into()),
    }
}

#[derive(Serialize)]
struct FailureData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

fn wire_fault(failure: &ResourceFailure, code: String, era: Era, uri: Option<&str>) -> Fault<Wire> {
    let mut data = FailureData {
        uri,
        bytes: None,
        code: None,
        hint: None,
    };
    let fault = match failure {
        ResourceFailure::NotFound => match era {
            Era::Handshake => codes::ResourceNotFound.fault(),
            Era::Stateless => codes::InvalidParams
                .fault()
                .with_message("Invalid params: no resource has this URI"),
        },
        ResourceFailure::UnknownCursor => return unknown_cursor(),
        ResourceFailure::TooLarge { bytes, hint } => {
            data.bytes = Some(*bytes);
            data.hint = Some(hint);
            codes::InvalidParams
                .fault()
                .with_message("Invalid params: the resource is too large to be read whole")
        }
        ResourceFailure::Failed => {
            data.code = Some(code);
            // The request was taken; it is the resource that fails.
            codes::InternalError
                .fault(candor_fault::Retry::AfterDelay, candor_fault::Effect::None)
                .with_message("Internal error: the resources could not be read")
                .with_facts(|facts| facts.status = Some(200))
        }
    };
    fault.with_facts(|facts| facts.data = Some(candor_fault::to_json(&data)))
}

/// Refuses a cursor that no list has issued.
pub fn unknown_cursor() -> Fault<Wire> {
    Wire::invalid_params("params.cursor is not one of this server's")
}

impl<S: Server> fmt::Debug for Resources<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Resources")
            .field("templates", &self.templates)
            .finish_non_exhaustive()
    }
}
