//! Any bytes get an answer that keeps the contract: one line, one JSON-RPC object, the id of the
//! request.

use crate::resources::{TEXT, resources};
use candor_fault::codes::candor as codes;
use candor_fault::dialects::Candor;
use candor_fault::{Answer, Fault, Timestamp};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, IndexedText, JsonRef, JsonTree,
    MetricsHub, Peer, Progress, Resources, Server, Tool, Tools, reply,
};
use candor_wire::{
    ClientRequest, HeaderLookup, Headers, Inbound, MessageSource, OfferedMethods,
    STATELESS_REVISION, ServerListing, check_header_arguments, read, write,
};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// A server with one tool that returns its arguments, or fails on demand, and with resources.
pub(crate) struct Mirror {
    tools: Tools<Self>,
    resources: Arc<Resources<Self>>,
}

impl Server for Mirror {
    type Dialect = Candor<codes::Code>;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn resources(&self) -> Option<&Arc<Resources<Self>>> {
        Some(&self.resources)
    }
}

static DISPATCHER: LazyLock<Arc<Dispatcher<Mirror>>> = LazyLock::new(|| {
    let schema = json!({
        "type": "object",
        "properties": { "fail": { "type": "boolean" }, "n": { "type": "integer", "minimum": 0, "x-mcp-header": "N" } }
    });
    let run = |_, JsonTree(arguments): JsonTree, _| async move {
        match arguments.get("fail") {
            Some(Value::Bool(true)) => Err::<_, Fault<Candor<codes::Code>>>(codes::Limited.fault()),
            _ => reply(&arguments),
        }
    };
    let tool = Tool::read_only("mirror", "Answers with its arguments.", schema, run);
    let mirror = Mirror {
        tools: Tools::new("mirror", "1").with(tool),
        resources: Arc::new(resources()),
    };
    Dispatcher::new(
        mirror,
        Arc::new(|| Timestamp::UNIX_EPOCH),
        &MetricsHub::default(),
    )
    .expect("the mirror's one schema is right")
});

/// Checks the core with `bytes` as a line of stdin, and as a body with several headers.
///
/// # Panics
///
/// Panics if the contract is broken.
pub fn core(bytes: &[u8]) {
    one(bytes, &MessageSource::Stdio);
    one(bytes, &MessageSource::Http(Headers::default()));
    for (method, name) in [
        ("tools/call", Some("mirror")),
        ("resources/read", Some(TEXT)),
        ("resources/list", None),
    ] {
        let stateless = Headers {
            version: Some(STATELESS_REVISION),
            method: Some(method),
            name,
        };
        one(bytes, &MessageSource::Http(stateless));
    }
}

fn one(bytes: &[u8], facts: &MessageSource<'_>) {
    let (id, era, answer) = match read(bytes, facts, OfferedMethods { resources: true }) {
        Inbound::Nothing | Inbound::Cancel { .. } => return,
        Inbound::Refused { id, era, fault } => (id, era, DISPATCHER.begin_refusal(fault).ok()),
        Inbound::Request { id, era, request } => (id, era, answer_request(id, era, request)),
    };
    let answer = answer.expect("nothing here waits");
    let mut line = Vec::new();
    let status = write(&mut line, id, era, &answer);
    let answer = valid(&line, id, era, status);
    agrees_with_oracle(bytes, &answer);
}

/// Checks that a success contains what serde_json reads in the request.
fn agrees_with_oracle(request: &[u8], answer: &Value) {
    let request = request.strip_prefix(b"\xef\xbb\xbf").unwrap_or(request);
    let JsonTree(request) = serde_json::from_slice(request).unwrap_or_default();
    let (params, result) = (&request["params"], &answer["result"]);
    if result["isError"] == true {
        return;
    }
    if let Some(mirrored) = result.get("structuredContent") {
        let none = json!({});
        let arguments = match &params["arguments"] {
            Value::Null => &none,
            given => given,
        };
        assert_eq!(mirrored, arguments, "the tool gets what was sent");
    }
    if let Some(contents) = result.get("contents") {
        assert_eq!(contents[0]["uri"], params["uri"], "the resource is read");
    }
}

fn answer_request(id: &str, era: Era, request: ClientRequest<'_>) -> Option<Answer> {
    let called = match request {
        ClientRequest::Call(called) => called,
        other => {
            let listing = ServerListing::new(&DISPATCHER);
            return Some(listing.answer(&other, &Peer::default(), era));
        }
    };
    let arguments = called.arguments.as_ref();
    header_arguments(arguments.map_or(JsonRef::EMPTY_OBJECT, IndexedText::root));
    let call = Call {
        target: called.target,
        name: called.name.into_owned(),
        arguments: called.arguments,
        era,
        id: id.to_owned(),
        peer: Peer::default(),
        client: ClientInfo::default(),
        progress: Progress::default(),
        held: Default::default(),
    };
    DISPATCHER.begin(call, CancellationToken::new()).ok()
}

/// Checks the header of `n` against the arguments of a call.
fn header_arguments(arguments: JsonRef<'_>) {
    let tool = DISPATCHER.server().tools().get("mirror");
    let marked = tool.expect("the mirror has one tool").header_arguments();
    let accepts = |header| check_header_arguments(marked, arguments, |_| header).is_ok();
    let value = arguments.to_value();
    let (is_object, number) = (value.is_object(), &value["n"]);
    let is_absent = number.is_null();
    assert_eq!(accepts(HeaderLookup::Absent), !is_object || is_absent);
    assert_eq!(accepts(HeaderLookup::Repeated), !is_object);
    for header in [&b"7"[..], b"=?base64?Nw==?="] {
        let is_seven = match number {
            // A decimal that is not exactly 7 can have the same double.
            Value::Number(number) if number.is_f64() => continue,
            Value::Number(number) => number.as_u64() == Some(7),
            Value::String(text) => text == "7",
            _ => false,
        };
        assert_eq!(
            accepts(HeaderLookup::Once(header)),
            !is_object || is_seven,
            "{arguments:?}"
        );
    }
    assert_eq!(accepts(HeaderLookup::Once(b"\xff")), !is_object);
}

/// Checks the form of an answer, and returns it.
fn valid(line: &[u8], id: &str, era: Era, status: u16) -> Value {
    assert!(!line.contains(&b'\n'), "an answer is one line");
    let JsonTree(value) = serde_json::from_slice(line).expect("an answer is JSON");
    let object = value.as_object().expect("an answer is an object");
    let names: Vec<_> = object.keys().map(String::as_str).collect();
    assert!(
        names == ["jsonrpc", "id", "result"] || names == ["jsonrpc", "id", "error"],
        "{names:?}"
    );
    let own: Value = serde_json::from_str(id).expect("an id is JSON");
    assert_eq!(object["id"], own, "an id comes back");
    match object.get("error") {
        Some(error) => {
            assert!(
                error["code"].is_i64() && error["message"].is_string(),
                "{error}"
            );
            assert!([200, 400, 404, 413].contains(&status), "{status}");
        }
        None => {
            assert_eq!(status, 200);
            let complete = object["result"].get("resultType").is_some();
            assert_eq!(complete, era == Era::Stateless);
        }
    }
    value
}
