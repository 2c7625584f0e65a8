//! Parses messages. No I/O, no clock, no state.

use crate::revision::{
    META_CAPABILITIES, META_CLIENT, META_VERSION, MessageSource, OFFERED_REVISION,
    handshake_revision,
};
use candor_fault::codes::wire as codes;
use candor_fault::dialects::Wire;
use candor_fault::{ClientText, Fault};
use candor_json::{IndexedText, JsonKind, JsonRef, ScanError, ScanOutcome, scan};
use candor_street::{CallTarget, Era, ResourceMethod, unknown_cursor};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The id of an answer to a message without a readable id.
const NO_ID: &str = "null";

/// A parsed message.
#[derive(Debug)]
pub enum Inbound<'a> {
    /// The message needs no action and no answer.
    Nothing,
    /// The message is refused.
    Refused {
        /// The caller's own bytes, or `null`.
        id: &'a str,
        /// The era, as far as it is known.
        era: Era,
        fault: Fault<Wire>,
    },
    /// The call with this id is no longer wanted.
    Cancel {
        /// The caller's own bytes.
        id: &'a str,
    },
    /// The message is a request.
    Request {
        /// The caller's own bytes.
        id: &'a str,
        era: Era,
        request: ClientRequest<'a>,
    },
}

/// A request of a client.
#[derive(Debug)]
pub enum ClientRequest<'a> {
    /// `initialize`, with the revision to answer.
    Initialize {
        /// The client's own revision if it is supported, else ours.
        revision: &'static str,
        /// The client's name.
        client_name: Option<Cow<'a, str>>,
        /// The client's version.
        client_version: Option<Cow<'a, str>>,
    },
    /// `ping`.
    Ping,
    /// `server/discover`.
    Discover,
    /// `tools/list`.
    List,
    /// `resources/templates/list`.
    ListTemplates,
    /// `tools/call`, `resources/list` or `resources/read`.
    Call(ToolCall<'a>),
}

/// The methods that a server offers beside those of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferedMethods {
    pub resources: bool,
}

/// One call of a tool, or of a method about resources.
#[derive(Debug)]
pub struct ToolCall<'a> {
    pub target: CallTarget,
    /// The name of the tool or of the method.
    pub name: Cow<'a, str>,
    /// The arguments with their index; `None` if they are absent or null.
    pub arguments: Option<IndexedText>,
    /// The text of the token for progress.
    pub progress: Option<&'a str>,
    /// The client's name, if the request contains it.
    pub client_name: Option<Cow<'a, str>>,
    /// The client's version, if the request contains it.
    pub client_version: Option<Cow<'a, str>>,
    /// The text of the client's capabilities, if the request contains them.
    pub capabilities: Option<&'a str>,
}

/// Reads one message to a server that offers these methods.
pub fn read<'a>(
    bytes: &'a [u8],
    source: &MessageSource<'_>,
    offered: OfferedMethods,
) -> Inbound<'a> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return refusal(NO_ID, codes::ParseError.fault());
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_white_space = |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    if text.bytes().all(is_white_space) && matches!(source, MessageSource::Stdio) {
        return Inbound::Nothing;
    }
    let (outcome, index) = scan(text);
    match (outcome, index.root(text)) {
        (ScanOutcome::Fine, Some(root)) => read_message(text, root, source, offered),
        (ScanOutcome::Flawed(ScanError::TooManyValues), _) => {
            refusal(NO_ID, too_large("too many JSON values"))
        }
        (ScanOutcome::Malformed, _) | (_, None) => refusal(NO_ID, codes::ParseError.fault()),
        (ScanOutcome::Flawed(error), Some(root)) => refusal(
            single_id(text, root),
            Wire::invalid_request(describe_error(error)),
        ),
    }
}

/// Returns the text of a value, which lives longer than the index.
fn text_of<'a>(text: &'a str, value: JsonRef<'_>) -> &'a str {
    &text[value.range()]
}

/// The refusal of a message over a limit of size.
pub(crate) fn too_large(what: &'static str) -> Fault<Wire> {
    Wire::invalid_request(what).with_facts(|facts| facts.status = Some(413))
}

fn describe_error(error: ScanError) -> &'static str {
    match error {
        ScanError::TooDeep => "nested deeper than 128 levels",
        ScanError::TooManyValues => "too many JSON values",
        ScanError::LoneSurrogate => "a lone surrogate in a string",
        ScanError::RepeatedName => "a member name twice in one object",
        ScanError::NumberRange => "a number too large for a double",
    }
}

fn refusal(id: &str, fault: Fault<Wire>) -> Inbound<'_> {
    Inbound::Refused {
        id,
        era: Era::Handshake,
        fault,
    }
}

/// Returns the id of a refused message, or `null` if it has no readable id or several.
fn single_id<'a>(text: &'a str, root: JsonRef<'_>) -> &'a str {
    let mut ids = root.members().filter(|(name, _)| name == "id");
    // A lone surrogate may be in the id itself.
    let is_readable = |id: JsonRef<'_>| id.is_number() || scan(id.text()).0 == ScanOutcome::Fine;
    match (ids.next(), ids.next()) {
        (Some((_, id)), None) if is_id(id) && is_readable(id) => text_of(text, id),
        _ => NO_ID,
    }
}

/// Returns true if a value is a string, or an integer without fraction and exponent.
fn is_id(value: JsonRef<'_>) -> bool {
    let is_digit_or_sign = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    match value.kind() {
        JsonKind::String => true,
        JsonKind::Number => value.text().bytes().all(is_digit_or_sign),
        _ => false,
    }
}

/// Returns the same text for every spelling of an id: escapes resolved, zero without its sign.
pub(crate) fn id_key(id: &str) -> Cow<'_, str> {
    match id {
        "-0" => Cow::Borrowed("0"),
        escaped if escaped.contains('\\') => match parse_string(escaped) {
            Some(value) => Cow::Owned(candor_fault::to_json(value.as_ref())),
            None => Cow::Borrowed(escaped),
        },
        plain => Cow::Borrowed(plain),
    }
}

/// Returns the value of a string; `None` if the text is not a string.
pub(crate) fn parse_string(text: &str) -> Option<Cow<'_, str>> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

#[derive(Default)]
struct Message<'a, 'i> {
    jsonrpc: Option<&'a str>,
    id: Option<JsonRef<'i>>,
    method: Option<&'a str>,
    params: Option<JsonRef<'i>>,
}

fn read_message<'a>(
    text: &'a str,
    root: JsonRef<'_>,
    source: &MessageSource<'_>,
    offered: OfferedMethods,
) -> Inbound<'a> {
    match root.kind() {
        JsonKind::Object => {}
        JsonKind::Array => {
            return refusal(NO_ID, Wire::invalid_request("batches are not supported"));
        }
        _ => return refusal(NO_ID, Wire::invalid_request("a request is an object")),
    }
    let mut message = Message::default();
    for (name, member) in root.members() {
        let value = text_of(text, member);
        match name.as_ref() {
            "jsonrpc" => message.jsonrpc = Some(value),
            "id" => message.id = Some(member),
            "method" => message.method = Some(value),
            "params" => message.params = Some(member),
            _ => {}
        }
    }
    let id = match message.id {
        Some(id) if !is_id(id) => {
            return refusal(
                NO_ID,
                Wire::invalid_request("id must be a string or an integer"),
            );
        }
        id => id.map(|id| text_of(text, id)),
    };
    if message.jsonrpc.and_then(parse_string).as_deref() != Some("2.0") {
        return refusal(
            id.unwrap_or(NO_ID),
            Wire::invalid_request("jsonrpc must be \"2.0\""),
        );
    }
    let Some(method) = message.method.and_then(parse_string) else {
        return refusal(
            id.unwrap_or(NO_ID),
            Wire::invalid_request("method must be a string"),
        );
    };
    match id {
        Some(id) => read_request(text, id, &method, message.params, source, offered),
        None => read_notification(text, &method, message.params),
    }
}

fn read_notification<'a>(text: &'a str, method: &str, params: Option<JsonRef<'_>>) -> Inbound<'a> {
    if method != "notifications/cancelled" {
        return Inbound::Nothing;
    }
    match params.and_then(|params| params.get("requestId")) {
        Some(id) if is_id(id) => Inbound::Cancel {
            id: text_of(text, id),
        },
        _ => Inbound::Nothing,
    }
}

/// The members of `params` that matter.
#[derive(Default)]
struct Params<'a, 'i> {
    name: Option<&'a str>,
    uri: Option<&'a str>,
    arguments: Option<JsonRef<'i>>,
    revision: Option<&'a str>,
    client: Option<JsonRef<'i>>,
    cursor: Option<&'a str>,
    meta: Meta<'a, 'i>,
}

/// The members of `_meta` that matter.
#[derive(Default)]
struct Meta<'a, 'i> {
    version: Option<Cow<'a, str>>,
    capabilities: Option<&'a str>,
    client: Option<JsonRef<'i>>,
    progress: Option<&'a str>,
}

impl<'a, 'i> Params<'a, 'i> {
    fn read(text: &'a str, object: JsonRef<'i>) -> Result<Self, Fault<Wire>> {
        if !object.is_object() {
            return Err(Wire::invalid_params("params must be an object"));
        }
        let mut params = Params::default();
        for (name, member) in object.members() {
            let value = text_of(text, member);
            match name.as_ref() {
                "name" => params.name = Some(value),
                "uri" => params.uri = Some(value),
                "arguments" if !member.is_null() => params.arguments = Some(member),
                "protocolVersion" => params.revision = Some(value),
                "clientInfo" => params.client = Some(member),
                "cursor" if value != "null" => params.cursor = Some(value),
                "_meta" if member.is_object() => params.meta = Meta::read(text, member)?,
                "_meta" => return Err(Wire::invalid_params("params._meta must be an object")),
                _ => {}
            }
        }
        Ok(params)
    }
}

impl<'a, 'i> Meta<'a, 'i> {
    fn read(text: &'a str, object: JsonRef<'i>) -> Result<Self, Fault<Wire>> {
        let mut meta = Meta::default();
        for (name, member) in object.members() {
            let value = text_of(text, member);
            match name.as_ref() {
                META_VERSION => {
                    let version = parse_string(value);
                    meta.version = Some(version.ok_or_else(|| {
                        Wire::invalid_params("the protocolVersion in params._meta must be a string")
                    })?);
                }
                META_CAPABILITIES if value.starts_with('{') => meta.capabilities = Some(value),
                META_CLIENT => meta.client = Some(member),
                "progressToken" if is_id(member) => meta.progress = Some(value),
                _ => {}
            }
        }
        Ok(meta)
    }
}

/// Name and version of `clientInfo`.
fn parse_client_info<'a>(
    text: &'a str,
    info: Option<JsonRef<'_>>,
) -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>) {
    let mut parsed = (None, None);
    for (name, member) in info.unwrap_or(JsonRef::EMPTY_OBJECT).members() {
        let value = text_of(text, member);
        match name.as_ref() {
            "name" => parsed.0 = parse_string(value),
            "version" => parsed.1 = parse_string(value),
            _ => {}
        }
    }
    parsed
}

fn read_request<'a>(
    text: &'a str,
    id: &'a str,
    method: &str,
    params: Option<JsonRef<'_>>,
    source: &MessageSource<'_>,
    offered: OfferedMethods,
) -> Inbound<'a> {
    let mut era = Era::Handshake;
    match parse_request(text, method, params, source, offered, &mut era) {
        Ok(request) => Inbound::Request { id, era, request },
        Err(fault) => Inbound::Refused { id, era, fault },
    }
}

fn parse_request<'a>(
    text: &'a str,
    method: &str,
    params: Option<JsonRef<'_>>,
    source: &MessageSource<'_>,
    offered: OfferedMethods,
    era: &mut Era,
) -> Result<ClientRequest<'a>, Fault<Wire>> {
    let read = params.map(|params| Params::read(text, params));
    // Errors in the parameters matter only if the method exists.
    let none = Meta::default();
    let meta = match &read {
        Some(Ok(params)) => &params.meta,
        _ => &none,
    };
    *era = source.era(meta.version.as_deref(), meta.capabilities.is_some())?;
    // The member that `Mcp-Name` repeats.
    let named = match (&read, method) {
        (Some(Ok(params)), "tools/call") => params.name,
        (Some(Ok(params)), "resources/read") if offered.resources => params.uri,
        _ => None,
    };
    let named = named.and_then(parse_string);
    if *era == Era::Stateless {
        source.check_mirrored_headers(method, named.as_deref())?;
    }
    match (method, *era) {
        ("initialize", Era::Handshake) => parse_initialize(text, read.transpose()?),
        ("ping", Era::Handshake) => read.transpose().map(|_| ClientRequest::Ping),
        ("server/discover", Era::Stateless) => read.transpose().map(|_| ClientRequest::Discover),
        ("tools/list", _) => parse_list(read.transpose()?),
        ("tools/call", _) => parse_call(text, read.transpose()?, named),
        ("resources/list", _) if offered.resources => parse_resource_list(text, read.transpose()?),
        ("resources/templates/list", _) if offered.resources => {
            no_cursor(read.transpose()?.as_ref())?;
            Ok(ClientRequest::ListTemplates)
        }
        ("resources/read", _) if offered.resources => {
            parse_resource_read(text, read.transpose()?, named.is_some())
        }
        _ => Err(source.unknown_method(method, *era)),
    }
}

fn parse_initialize<'a>(
    text: &'a str,
    params: Option<Params<'a, '_>>,
) -> Result<ClientRequest<'a>, Fault<Wire>> {
    let params = params.ok_or_else(|| Wire::invalid_params("params is missing"))?;
    let revision = params
        .revision
        .and_then(parse_string)
        .ok_or_else(|| Wire::invalid_params("params.protocolVersion must be a string"))?;
    let (client_name, client_version) = parse_client_info(text, params.client);
    Ok(ClientRequest::Initialize {
        revision: handshake_revision(&revision).unwrap_or(OFFERED_REVISION),
        client_name,
        client_version,
    })
}

fn parse_list<'a>(params: Option<Params<'a, '_>>) -> Result<ClientRequest<'a>, Fault<Wire>> {
    no_cursor(params.as_ref())?;
    Ok(ClientRequest::List)
}

/// Refuses a cursor, for lists of one page.
fn no_cursor(params: Option<&Params<'_, '_>>) -> Result<(), Fault<Wire>> {
    match params.and_then(|params| params.cursor) {
        None => Ok(()),
        Some(_) => Err(unknown_cursor()),
    }
}

fn parse_resource_list<'a>(
    text: &'a str,
    params: Option<Params<'a, '_>>,
) -> Result<ClientRequest<'a>, Fault<Wire>> {
    let params = params.unwrap_or_default();
    let arguments = match params.cursor {
        None => None,
        Some(cursor) if cursor.starts_with('"') => Some(format!(r#"{{"cursor":{cursor}}}"#)),
        Some(_) => return Err(unknown_cursor()),
    };
    Ok(resource_call(
        text,
        ResourceMethod::List,
        arguments,
        &params.meta,
    ))
}

fn parse_resource_read<'a>(
    text: &'a str,
    params: Option<Params<'a, '_>>,
    has_uri: bool,
) -> Result<ClientRequest<'a>, Fault<Wire>> {
    let params = params.ok_or_else(|| Wire::invalid_params("params is missing"))?;
    let arguments = match params.uri {
        Some(uri) if has_uri => format!(r#"{{"uri":{uri}}}"#),
        Some(_) => return Err(Wire::invalid_params("params.uri must be a string")),
        None => return Err(Wire::invalid_params("params.uri is missing")),
    };
    Ok(resource_call(
        text,
        ResourceMethod::Read,
        Some(arguments),
        &params.meta,
    ))
}

fn resource_call<'a>(
    text: &'a str,
    method: ResourceMethod,
    arguments: Option<String>,
    meta: &Meta<'a, '_>,
) -> ClientRequest<'a> {
    let (client_name, client_version) = parse_client_info(text, meta.client);
    ClientRequest::Call(ToolCall {
        target: CallTarget::Resources(method),
        name: Cow::Borrowed(method.name()),
        arguments: arguments.map(IndexedText::from),
        progress: meta.progress,
        client_name,
        client_version,
        capabilities: meta.capabilities,
    })
}

fn parse_call<'a>(
    text: &'a str,
    params: Option<Params<'a, '_>>,
    name: Option<Cow<'a, str>>,
) -> Result<ClientRequest<'a>, Fault<Wire>> {
    let params = params.ok_or_else(|| Wire::invalid_params("params is missing"))?;
    let name = match (params.name, name) {
        (_, Some(name)) => name,
        (None, None) => return Err(Wire::invalid_params("params.name is missing")),
        (Some(_), None) => return Err(Wire::invalid_params("params.name must be a string")),
    };
    let (client_name, client_version) = parse_client_info(text, params.meta.client);
    Ok(ClientRequest::Call(ToolCall {
        target: CallTarget::Tool,
        name,
        arguments: params.arguments.map(|arguments| arguments.to_indexed()),
        progress: params.meta.progress,
        client_name,
        client_version,
        capabilities: params.meta.capabilities,
    }))
}

/// Refuses an id that is in flight.
pub(crate) fn id_in_flight() -> Fault<Wire> {
    let message = ClientText::from("Invalid Request: ").then("this id is in flight already");
    codes::InvalidRequest.fault().with_message(message)
}

/// A scanned text as a raw value of its own.
pub(crate) fn raw_value(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).ok()
}
