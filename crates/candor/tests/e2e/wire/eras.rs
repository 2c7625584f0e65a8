//! Both eras of the protocol on one server.

use crate::requests::{META, STATELESS, call, parse, request, stateless_call, stateless_headers};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{http, stdio};
use candor_testkit::Http;

const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const INCOMPLETE: &str = "Invalid params: params._meta must have io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities";

/// `_meta` with this revision and the client's capabilities.
fn meta(revision: &str) -> String {
    META.replace(STATELESS, revision)
}

fn unsupported(id: &str, requested: &str) -> String {
    let supported = r#"["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"]"#;
    let head = r#""error":{"code":-32022,"message":"Unsupported protocol version""#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},{head},"data":{{"supported":{supported},"requested":"{requested}"}}}}}}"#
    )
}

fn server_info() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(r#"{{"name":"candor-playground","version":"{version}"}}"#)
}

/// The era that serves a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Handshake,
    Stateless,
}

/// The era in which a list was answered.
fn served(answer: &str) -> Served {
    let answer = parse(answer);
    let result = &answer["result"];
    assert!(result["tools"].is_array(), "{answer}");
    match result.get("resultType") {
        None => Served::Handshake,
        Some(kind) => {
            assert_eq!(kind, "complete");
            Served::Stateless
        }
    }
}

#[test]
fn header_and_meta_decide_the_era() {
    let server = http(&[]);
    let list = |params: &str| request("1", "tools/list", params);
    let with = |revision: &str| list(&format!(r#"{{"_meta":{}}}"#, meta(revision)));
    let send = |revision: Option<&str>, body: &str| {
        let mut headers = vec![("Mcp-Method", "tools/list")];
        headers.extend(revision.map(|revision| ("MCP-Protocol-Version", revision)));
        let response = server.post(body, &headers);
        (response.status, response.text())
    };
    let none = list("{}");

    for revision in HANDSHAKE.into_iter().map(Some).chain([None]) {
        let (status, answer) = send(revision, &none);
        assert_eq!(
            (status, served(&answer)),
            (200, Served::Handshake),
            "{revision:?}"
        );
    }
    for revision in HANDSHAKE {
        for header in [None, Some(revision)] {
            let (status, answer) = send(header, &with(revision));
            assert_eq!(
                (status, served(&answer)),
                (200, Served::Handshake),
                "{revision}"
            );
        }
    }
    let (status, answer) = send(Some(STATELESS), &with(STATELESS));
    assert_eq!((status, served(&answer)), (200, Served::Stateless));

    let incomplete = (400, error("1", -32602, INCOMPLETE));
    let version_only = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let capabilities_only = r#"{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#;
    let odd_capabilities = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]}}"#;
    let odd_version = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":2026,"io.modelcontextprotocol/clientCapabilities":{}}}"#;
    for params in [
        "{}",
        r#"{"_meta":{}}"#,
        r#"{"_meta":[]}"#,
        r#"{"_meta":null}"#,
        "[]",
        "null",
        version_only,
        capabilities_only,
        odd_capabilities,
        odd_version,
    ] {
        assert_eq!(send(Some(STATELESS), &list(params)), incomplete, "{params}");
    }
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(send(Some(STATELESS), bare), incomplete);

    let missing = (
        400,
        error(
            "1",
            -32020,
            "Header mismatch: MCP-Protocol-Version is missing",
        ),
    );
    assert_eq!(send(None, &with(STATELESS)), missing);
    let other = (
        400,
        error(
            "1",
            -32020,
            "Header mismatch: MCP-Protocol-Version is not the body's",
        ),
    );
    for header in ["2025-06-18", "v999", ""] {
        assert_eq!(send(Some(header), &with(STATELESS)), other, "{header}");
    }
    assert_eq!(send(Some(STATELESS), &with("v999")), other);
    assert_eq!(send(Some(STATELESS), &with("2025-06-18")), other);

    for (header, body, requested) in [
        (Some("v999"), &none, "v999"),
        (Some("v999"), &with("v999"), "v999"),
        (None, &with("v999"), "v999"),
        (Some(""), &none, ""),
        (
            Some("2025-06-18, 2025-06-18"),
            &none,
            "2025-06-18, 2025-06-18",
        ),
        (Some("\u{e9}"), &none, "\u{e9}"),
    ] {
        assert_eq!(
            send(header, body),
            (400, unsupported("1", requested)),
            "{header:?}"
        );
    }
}

/// A duplicate header does not count as absent.
#[test]
fn duplicate_revision_header_is_refused() {
    let server = http(&[]);
    let twice = [
        ("MCP-Protocol-Version", "2025-06-18"),
        ("MCP-Protocol-Version", "2025-06-18"),
    ];
    let response = server.post(request("1", "ping", "{}"), &twice);
    let expected = unsupported("1", "2025-06-18, 2025-06-18");
    assert_eq!((response.status, response.text()), (400, expected));
}

#[test]
fn meta_alone_decides_the_era_on_stdio() {
    let mut server = stdio(&[]);
    let mut send = |params: &str| server.ask(request("1", "tools/list", params));
    let with = |revision: &str| format!(r#"{{"_meta":{}}}"#, meta(revision));
    assert_eq!(served(&send("{}")), Served::Handshake);
    assert_eq!(served(&send(&with(STATELESS))), Served::Stateless);
    assert_eq!(served(&send("{}")), Served::Handshake);
    for revision in HANDSHAKE {
        assert_eq!(served(&send(&with(revision))), Served::Handshake);
    }
    assert_eq!(send(&with("v999")), unsupported("1", "v999"));
    let version_only = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    assert_eq!(send(version_only), error("1", -32602, INCOMPLETE));
}

#[test]
fn each_revision_of_the_handshake_is_answered_with_itself() {
    let mut line = stdio(&[]);
    let post = http(&[]);
    let revisions = HANDSHAKE.map(|revision| (revision, revision));
    let unknown =
        ["2023-01-01", "2026-07-28", "2099-12-31", "", "x"].map(|odd| (odd, "2025-11-25"));
    for (offered, chosen) in revisions.into_iter().chain(unknown) {
        let params = format!(
            r#"{{"protocolVersion":"{offered}","capabilities":{{"sampling":{{}}}},"clientInfo":{{"name":"e2e","version":"1"}}}}"#
        );
        let sent = request("0", "initialize", &params);
        let expected = result(
            "0",
            &format!(
                r#"{{"protocolVersion":"{chosen}","capabilities":{{"tools":{{}}}},"serverInfo":{}}}"#,
                server_info()
            ),
        );
        assert_eq!(line.ask(sent.clone()), expected);
        let response = post.post(&sent, &[]);
        assert_eq!((response.status, response.text()), (200, expected));
        assert_eq!(response.header("mcp-session-id"), None);
    }
    line.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let echoed = line.ask(call("1", "echo", r#"{"text":"hi"}"#));
    assert_eq!(
        echoed,
        result(
            "1",
            r#"{"content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"}}"#
        )
    );
}

#[test]
fn stateless_era_has_its_own_results() {
    let mut line = stdio(&[]);
    let post = http(&[]);
    let params = format!(r#"{{"_meta":{META}}}"#);
    let handshake_list = line.ask(request("1", "tools/list", "{}"));
    let tools = handshake_list
        .strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":"#)
        .and_then(|rest| rest.strip_suffix("}}"))
        .unwrap();
    let keep = r#""ttlMs":60000,"cacheScope":"public""#;
    let discovered = format!(
        r#"{{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{{"tools":{{}}}},{keep},"_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
        server_info()
    );
    let listed = format!(r#"{{"resultType":"complete","tools":{tools},{keep}}}"#);
    let echoed = r#"{"resultType":"complete","content":[{"type":"text","text":"{\"text\":\"hi\"}"}],"structuredContent":{"text":"hi"}}"#;
    for (method, name, sent, expected) in [
        (
            "server/discover",
            None,
            request("1", "server/discover", &params),
            discovered.as_str(),
        ),
        (
            "tools/list",
            None,
            request("1", "tools/list", &params),
            &listed,
        ),
        (
            "tools/call",
            Some("echo"),
            stateless_call("1", "echo", r#"{"text":"hi"}"#),
            echoed,
        ),
    ] {
        let expected = result("1", expected);
        assert_eq!(line.ask(sent.clone()), expected);
        let response = post.post(&sent, &stateless_headers(method, name));
        assert_eq!(
            (response.status, response.text()),
            (200, expected),
            "{method}"
        );
        assert_eq!(response.header("mcp-session-id"), None);
    }
    // The same bytes over and over, and in both transports.
    assert_eq!(
        post.post(request("1", "tools/list", "{}"), &[]).text(),
        handshake_list
    );
    let names: Vec<_> = parse(tools)
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        names.is_sorted() && names.contains(&"fail".to_owned()),
        "{names:?}"
    );
}

#[test]
fn headers_mirror_the_body_in_the_stateless_era() {
    let server = http(&["--conformance"]);
    let params = format!(r#"{{"_meta":{META}}}"#);
    let list = request("1", "tools/list", &params);
    let text = stateless_call("1", "test_simple_text", "{}");
    let new = ("MCP-Protocol-Version", STATELESS);
    let call = ("Mcp-Method", "tools/call");
    let mismatch = |reason: &str| {
        (
            400,
            error("1", -32020, &format!("Header mismatch: {reason}")),
        )
    };
    let send = |body: &str, headers: &[(&str, &str)]| {
        let response = server.post(body, headers);
        (response.status, response.text())
    };
    let fine = |(status, answer): (u16, String)| {
        assert_eq!(
            (status, parse(&answer)["result"]["resultType"].as_str()),
            (200, Some("complete"))
        );
    };
    let no_method = mismatch("Mcp-Method is missing");
    let odd_method = mismatch("Mcp-Method is not the body's");
    let no_name = mismatch("Mcp-Name is missing");
    let odd_name = mismatch("Mcp-Name is not the body's");

    fine(send(&list, &[new, ("Mcp-Method", "tools/list")]));
    fine(send(
        &list,
        &[
            ("mcp-protocol-version", STATELESS),
            ("mcp-method", "tools/list"),
        ],
    ));
    fine(send(
        &list,
        &[
            ("MCP-PROTOCOL-VERSION", "  2026-07-28 "),
            ("MCP-METHOD", " tools/list\t"),
        ],
    ));
    fine(send(
        &list,
        &[new, ("Mcp-Method", "tools/list"), ("Mcp-Name", "anything")],
    ));
    assert_eq!(send(&list, &[new]), no_method);
    assert_eq!(
        send(&list, &[new, ("Mcp-Method", "prompts/list")]),
        odd_method
    );
    assert_eq!(
        send(&list, &[new, ("Mcp-Method", "TOOLS/LIST")]),
        odd_method
    );
    assert_eq!(send(&list, &[new, ("Mcp-Method", "")]), odd_method);

    fine(send(&text, &[new, call, ("Mcp-Name", "test_simple_text")]));
    fine(send(
        &text,
        &[new, call, ("Mcp-Name", "   test_simple_text  ")],
    ));
    assert_eq!(send(&text, &[new, call]), no_name);
    assert_eq!(send(&text, &[new, call, ("Mcp-Name", "wrong")]), odd_name);
    assert_eq!(
        send(&text, &[new, call, ("Mcp-Name", "TEST_SIMPLE_TEXT")]),
        odd_name
    );
    assert_eq!(
        send(&text, &[new, ("Mcp-Name", "test_simple_text")]),
        no_method
    );

    // A name that is not a valid header value, or that contains the marks, is written in Base64.
    let plain = ("Mcp-Name", "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?=");
    fine(send(&text, &[new, call, plain]));
    for broken in [
        "=?base64?dGVzdF9zaW1wbGVfdGV4dA?=",
        "=?base64?dGVzdF9zaW1wbGVfdGV4d!==?=",
    ] {
        assert_eq!(send(&text, &[new, call, ("Mcp-Name", broken)]), odd_name);
    }
    let accented = stateless_call("1", "\u{e9}", "{}");
    let unknown_name = error("1", -32602, "Unknown tool: \u{e9}");
    for encoded in ["=?base64?w6k=?=", "\u{e9}"] {
        let expected = (200, unknown_name.clone());
        assert_eq!(
            send(&accented, &[new, call, ("Mcp-Name", encoded)]),
            expected
        );
    }

    // The body decides about values that headers cannot contain.
    let nameless = request("1", "tools/call", &params);
    let missing = error("1", -32602, "Invalid params: params.name is missing");
    assert_eq!(send(&nameless, &[new, call]), (200, missing));
    let unknown = stateless_call("1", "nope", "{}");
    let unknown_tool = error("1", -32602, "Unknown tool: nope");
    assert_eq!(
        send(&unknown, &[new, call, ("Mcp-Name", "nope")]),
        (200, unknown_tool)
    );
    // In the handshake era the headers are ignored.
    let old = crate::requests::call("1", "test_simple_text", "{}");
    assert_eq!(send(&old, &[("Mcp-Method", "x"), ("Mcp-Name", "y")]).0, 200);
}

#[test]
fn methods_of_the_handshake_do_not_exist_in_the_stateless_era() {
    let mut line = stdio(&[]);
    let post = http(&[]);
    let params = format!(r#"{{"protocolVersion":"2025-11-25","_meta":{META}}}"#);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/list",
        "prompts/list",
        "subscriptions/listen",
        "completion/complete",
        "unknown/method",
    ] {
        let sent = request("500", method, &params);
        let expected = error("500", -32601, &format!("Method not found: {method}"));
        assert_eq!(line.ask(sent.clone()), expected);
        let response = post.post(&sent, &stateless_headers(method, None));
        assert_eq!(
            (response.status, response.text()),
            (404, expected),
            "{method}"
        );
        let unmirrored = post.post(&sent, &[("MCP-Protocol-Version", STATELESS)]);
        assert_eq!(unmirrored.status, 400, "{method}");
    }
    let discover = request("1", "server/discover", "{}");
    let unknown = error("1", -32601, "Method not found: server/discover");
    assert_eq!(line.ask(discover.clone()), unknown);
    let response = post.post(discover, &[]);
    assert_eq!((response.status, response.text()), (200, unknown));
}

#[test]
fn notifications_are_accepted_in_both_eras() {
    let server = http(&[]);
    let sent = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    for headers in [
        vec![],
        vec![("MCP-Protocol-Version", "2025-11-25")],
        stateless_headers("notifications/cancelled", None),
    ] {
        let response = server.post(sent, &headers);
        assert_eq!((response.status, response.text().as_str()), (202, ""));
    }
}

/// The client's capabilities reach a tool, with its name or without.
#[test]
fn capabilities_are_read_on_both_transports() {
    let mut line = stdio(&["--conformance"]);
    let post = http(&["--conformance"]);
    let tool = "test_missing_capability";
    let mut send = |capabilities: &str, info: &str| {
        let revision = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let meta = format!(
            r#"{{{revision},"io.modelcontextprotocol/clientCapabilities":{capabilities}{info}}}"#
        );
        let params = format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{meta}}}"#);
        let sent = request("401", "tools/call", &params);
        let response = post.post(&sent, &stateless_headers("tools/call", Some(tool)));
        let answer = line.ask(sent);
        assert_eq!(response.text(), answer, "both transports say the same");
        (response.status, answer)
    };
    let info = r#","io.modelcontextprotocol/clientInfo":{"name":"e2e","version":"1"}"#;
    for info in ["", info] {
        let refused = r#"{"jsonrpc":"2.0","id":401,"error":{"code":-32021,"message":"Missing client capability","data":{"requiredCapabilities":{"sampling":{}}}}}"#;
        assert_eq!(send("{}", info), (400, refused.to_owned()));
        let expected = r#"{"resultType":"complete","content":[{"type":"text","text":"The client can sample."}]}"#;
        assert_eq!(
            send(r#"{"sampling":{}}"#, info),
            (200, result("401", expected))
        );
    }
}

/// Every method that is not POST is refused in every era; there are no sessions to read or to delete.
#[test]
fn only_post_is_served() {
    let server: Http = http(&[]);
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        for revision in [None, Some("2025-11-25"), Some(STATELESS)] {
            let headers: Vec<_> = revision
                .map(|revisions| ("MCP-Protocol-Version", revisions))
                .into_iter()
                .collect();
            let response = server.raw(server.request(method, b"", &headers));
            let expected = error("null", -32600, "Invalid Request: only POST is served here");
            assert_eq!(
                (response.status, response.text()),
                (405, expected),
                "{method}"
            );
            assert_eq!(response.header("allow"), Some("POST"));
            assert_eq!(response.header("content-type"), Some("application/json"));
        }
    }
}
