//! Resources and instructions, listed and read through a transport.

use crate::run_stdio;
use candor_fault::codes::candor::{self as codes, Code};
use candor_fault::dialects::Candor;
use candor_fault::{Cause, Effect, Fault, Receipt, Retry};
use candor_street::{
    CallContext, CallRecord, Resource, ResourceContent, ResourceData, ResourceFailure,
    ResourcePage, ResourceTemplate, Resources, Server, Tool, Tools,
};
use std::sync::{Arc, Mutex};

type Dialect = Candor<Code>;

const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A server with one readable resource, and with one URI for each kind of failure.
struct Library {
    tools: Tools<Self>,
    resources: Option<Arc<Resources<Self>>>,
    recorded: Arc<Mutex<Vec<String>>>,
}

impl Library {
    fn new(recorded: &Arc<Mutex<Vec<String>>>) -> Self {
        let list = |_, cursor: Option<String>, _| async move { page(cursor.as_deref()) };
        let read = |_, uri: String, _| async move { content(uri) };
        let resources = Resources::new(list, read, classify).with_template(ResourceTemplate {
            uri_template: "book://{+name}",
            name: "book",
            description: "A book.",
            mime_type: None,
        });
        Library {
            tools: Tools::new("library", "1"),
            resources: Some(Arc::new(resources)),
            recorded: Arc::clone(recorded),
        }
    }
}

fn page(cursor: Option<&str>) -> Result<ResourcePage, Fault<Dialect>> {
    match cursor {
        None => Ok(ResourcePage {
            resources: vec![Resource {
                uri: "book://a".into(),
                name: "a".into(),
                title: Some("A \"quoted\" title".into()),
                mime_type: Some("text/plain"),
                size: Some(5),
                ..Resource::default()
            }],
            next_cursor: Some("rest".into()),
        }),
        Some("rest") => Ok(ResourcePage::default()),
        Some(_) => Err(codes::InvalidArguments.fault()),
    }
}

fn content(uri: String) -> Result<ResourceContent, Fault<Dialect>> {
    let data = match uri.as_str() {
        "book://a" => ResourceData::Text("words".into()),
        "book://b" => ResourceData::Blob("AAE=".into()),
        "book://broken" => return Err(codes::Limited.fault()),
        "book://large" => return Err(codes::Unrecorded.fault(Effect::None)),
        "book://panic" => panic!("on demand"),
        _ => return Err(codes::Cancelled.fault(Retry::AfterChange, Effect::None)),
    };
    Ok(ResourceContent {
        uri,
        mime_type: None,
        data,
    })
}

fn classify(fault: &Fault<Dialect>) -> ResourceFailure {
    match fault.code() {
        Some(Code::Cancelled) => ResourceFailure::NotFound,
        Some(Code::InvalidArguments) => ResourceFailure::UnknownCursor,
        Some(Code::Unrecorded) => ResourceFailure::TooLarge {
            bytes: 7,
            hint: "read it in parts",
        },
        _ => ResourceFailure::Failed,
    }
}

impl Server for Library {
    type Dialect = Dialect;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn resources(&self) -> Option<&Arc<Resources<Self>>> {
        self.resources.as_ref()
    }

    fn instructions(&self) -> Option<String> {
        Some("Read \"a\" first.".into())
    }

    fn gate(&self, cx: &CallContext, tool: &Tool<Self>) -> Result<(), Fault<Dialect>> {
        let secret = cx.call.arguments.as_deref() == Some(r#"{"uri":"book://secret"}"#);
        match secret && tool.name() == "resources/read" {
            true => Err(codes::Limited.fault()),
            false => Ok(()),
        }
    }

    async fn record(&self, entry: &CallRecord<'_, Dialect>) -> Result<Option<Receipt>, Cause> {
        let line = format!(
            "{:?} {:?}",
            entry.tool,
            entry.call.map(|call| &call.arguments)
        );
        self.recorded.lock().unwrap().push(line);
        Ok(None)
    }
}

fn ask(method: &str, params: &str) -> String {
    let recorded = Arc::default();
    ask_recorded(method, params, &recorded)
}

fn ask_recorded(method: &str, params: &str, recorded: &Arc<Mutex<Vec<String>>>) -> String {
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let lines = run_stdio(Library::new(recorded), &format!("{line}\n"), || {});
    let [answer] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let answer = answer.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#);
    answer.unwrap().strip_suffix('}').unwrap().to_owned()
}

fn stateless(params: &str) -> String {
    let members = params.strip_suffix('}').unwrap();
    let comma = if members == "{" { "" } else { "," };
    format!(r#"{members}{comma}"_meta":{META}}}"#)
}

#[test]
fn handshakes_announce_resources_and_carry_instructions() {
    assert_eq!(
        ask("initialize", r#"{"protocolVersion":"2025-11-25"}"#),
        r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"library","version":"1"},"instructions":"Read \"a\" first."}"#
    );
    assert_eq!(
        ask("server/discover", &stateless("{}")),
        r#""result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"tools":{},"resources":{}},"instructions":"Read \"a\" first.","ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"library","version":"1"}}}"#
    );
}

#[test]
fn lists_have_pages_and_templates_have_none() {
    let first = r#"{"resources":[{"uri":"book://a","name":"a","title":"A \"quoted\" title","mimeType":"text/plain","size":5}],"nextCursor":"rest"}"#;
    assert_eq!(ask("resources/list", "{}"), format!(r#""result":{first}"#));
    assert_eq!(
        ask("resources/list", r#"{"cursor":"rest"}"#),
        r#""result":{"resources":[]}"#
    );
    assert_eq!(
        ask("resources/list", &stateless(r#"{"cursor":"rest"}"#)),
        r#""result":{"resultType":"complete","resources":[],"ttlMs":5000,"cacheScope":"private"}"#
    );
    let templates = r#"[{"uriTemplate":"book://{+name}","name":"book","description":"A book."}]"#;
    assert_eq!(
        ask("resources/templates/list", "{}"),
        format!(r#""result":{{"resourceTemplates":{templates}}}"#)
    );
    assert_eq!(
        ask("resources/templates/list", &stateless("{}")),
        format!(
            r#""result":{{"resultType":"complete","resourceTemplates":{templates},"ttlMs":60000,"cacheScope":"public"}}"#
        )
    );
}

#[test]
fn cursors_that_were_never_issued_are_refused() {
    let refusal = r#""error":{"code":-32602,"message":"Invalid params: params.cursor is not one of this server's"}"#;
    for (method, cursor) in [
        ("resources/list", r#""no""#),
        ("resources/list", "7"),
        ("resources/list", "[]"),
        ("resources/templates/list", r#""rest""#),
    ] {
        let params = format!(r#"{{"cursor":{cursor}}}"#);
        assert_eq!(ask(method, &params), refusal, "{method} {cursor}");
    }
}

#[test]
fn text_and_bytes_are_read() {
    assert_eq!(
        ask("resources/read", r#"{"uri":"book://a"}"#),
        r#""result":{"contents":[{"uri":"book://a","text":"words"}]}"#
    );
    assert_eq!(
        ask("resources/read", &stateless(r#"{"uri":"book://b"}"#)),
        r#""result":{"resultType":"complete","contents":[{"uri":"book://b","blob":"AAE="}],"ttlMs":5000,"cacheScope":"private"}"#
    );
}

#[test]
fn failures_are_protocol_errors_with_the_uri() {
    for (uri, error) in [
        (
            "x",
            r#"{"code":-32002,"message":"Resource not found","data":{"uri":"x"}}"#,
        ),
        (
            "",
            r#"{"code":-32002,"message":"Resource not found","data":{"uri":""}}"#,
        ),
        (
            "book://large",
            r#"{"code":-32602,"message":"Invalid params: the resource is too large to be read whole","data":{"uri":"book://large","bytes":7,"hint":"read it in parts"}}"#,
        ),
        (
            "book://broken",
            r#"{"code":-32603,"message":"Internal error: the resources could not be read","data":{"uri":"book://broken","code":"limited"}}"#,
        ),
        (
            "book://secret",
            r#"{"code":-32603,"message":"Internal error: the resources could not be read","data":{"uri":"book://secret","code":"limited"}}"#,
        ),
        (
            "book://panic",
            r#"{"code":-32603,"message":"Internal error: the resources could not be read","data":{"uri":"book://panic","code":"internal"}}"#,
        ),
    ] {
        let params = format!(r#"{{"uri":"{uri}"}}"#);
        assert_eq!(
            ask("resources/read", &params),
            format!(r#""error":{error}"#)
        );
    }
    assert_eq!(
        ask("resources/read", &stateless(r#"{"uri":"x"}"#)),
        r#""error":{"code":-32602,"message":"Invalid params: no resource has this URI","data":{"uri":"x"}}"#
    );
}

#[test]
fn uris_of_the_wrong_form_are_refused() {
    for (params, reason) in [
        ("{}", "params.uri is missing"),
        (r#"{"uri":7}"#, "params.uri must be a string"),
        (r#"{"uri":null}"#, "params.uri must be a string"),
        ("[]", "params must be an object"),
    ] {
        let error = format!(r#""error":{{"code":-32602,"message":"Invalid params: {reason}"}}"#);
        assert_eq!(ask("resources/read", params), error, "{params}");
    }
}

#[test]
fn reads_are_recorded_like_calls() {
    let recorded = Arc::default();
    ask_recorded("resources/read", r#"{"uri":"x","_meta":{}}"#, &recorded);
    assert_eq!(
        recorded.lock().unwrap().as_slice(),
        [r#"Some("resources/read") Some(Some("{\"uri\":\"x\"}"))"#]
    );
}

#[test]
fn a_server_without_resources_does_not_have_the_methods() {
    let recorded = Arc::default();
    for method in [
        "resources/list",
        "resources/read",
        "resources/templates/list",
    ] {
        let server = Library {
            resources: None,
            ..Library::new(&recorded)
        };
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"uri":7}}}}"#);
        let lines = run_stdio(server, &format!("{line}\n"), || {});
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"Method not found: {method}"}}}}"#
        );
        assert_eq!(lines, [expected]);
    }
}

#[test]
fn methods_are_not_tools() {
    let answer = ask(
        "tools/call",
        r#"{"name":"resources/read","arguments":{"uri":"book://a"}}"#,
    );
    assert!(answer.contains("Unknown tool: resources/read"), "{answer}");
}
