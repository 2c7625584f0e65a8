//! Arguments that clients repeat in headers, over a real socket.

use crate::requests::{META, call, parse, request, stateless_call, stateless_headers};
use crate::wire::answers::error;
use crate::wire::fixture::{http, stdio};
use candor_testkit::Http;
use serde_json::{Value, json};

const TOOL: &str = "test_header_arguments";

/// Sends a call of the stateless era with more headers. Returns status and body.
fn send(server: &Http, arguments: &Value, more: &[(&str, &str)]) -> (u16, String) {
    let mut headers = stateless_headers("tools/call", Some(TOOL));
    headers.extend(more);
    let response = server.post(stateless_call(1, TOOL, arguments), &headers);
    (response.status, response.text())
}

fn mismatch(reason: &str) -> (u16, String) {
    let message = format!("Header mismatch: Mcp-Param-{reason}");
    (400, error("1", -32020, &message))
}

fn accepted() -> (u16, String) {
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"The headers match."}]}}"#;
    (200, String::from(result))
}

#[test]
fn headers_repeat_the_arguments() {
    let server = http(&["--conformance"]);
    let region = ("Mcp-Param-Region", "eu west");
    let west = json!({ "region": "eu west" });
    assert_eq!(send(&server, &west, &[region]), accepted());
    assert_eq!(
        send(&server, &west, &[("mcp-param-REGION", "eu west")]),
        accepted()
    );
    assert_eq!(
        send(
            &server,
            &west,
            &[("Mcp-Param-Region", "=?base64?ZXUgd2VzdA==?=")]
        ),
        accepted()
    );
    // Spaces around a value do not belong to it.
    assert_eq!(
        send(&server, &west, &[("Mcp-Param-Region", "  eu west  ")]),
        accepted()
    );
    for different in [
        "eu-west",
        "EU WEST",
        "",
        "eu west,",
        "=?base64?ZXUgd2VzdA?=",
    ] {
        let sent = send(&server, &west, &[("Mcp-Param-Region", different)]);
        assert_eq!(sent, mismatch("Region is not the body's"), "{different}");
    }
    assert_eq!(send(&server, &west, &[]), mismatch("Region is missing"));
    assert_eq!(
        send(&server, &west, &[region, region]),
        mismatch("Region occurs twice")
    );
    assert_eq!(
        send(&server, &west, &[region, ("Mcp-Param-Priority", "1")]),
        mismatch("Priority has no argument in the body")
    );
    let null = json!({ "region": "eu west", "priority": null });
    assert_eq!(
        send(&server, &null, &[region, ("Mcp-Param-Priority", "null")]),
        mismatch("Priority has no argument in the body")
    );
    assert_eq!(
        send(
            &server,
            &west,
            &[region, ("Mcp-Param-Query", "x"), ("Mcp-Param-Other", "y")]
        ),
        accepted()
    );
    let all = json!({ "region": "eu west", "priority": 42, "options": { "verbose": true } });
    let verbose = ("Mcp-Param-Verbose", "true");
    assert_eq!(
        send(
            &server,
            &all,
            &[region, ("Mcp-Param-Priority", "42.0"), verbose]
        ),
        accepted()
    );
    assert_eq!(
        send(
            &server,
            &all,
            &[region, ("Mcp-Param-Priority", "43"), verbose]
        ),
        mismatch("Priority is not the body's")
    );
}

/// The headers that every request has come first, then these, then the schema.
#[test]
fn headers_of_arguments_are_checked_after_the_name_and_before_the_schema() {
    let server = http(&["--conformance"]);
    let body = stateless_call(1, TOOL, r#"{"region":7}"#);
    let mut headers = stateless_headers("tools/call", Some("echo"));
    headers.push(("Mcp-Param-Region", "8"));
    let response = server.post(&*body, &headers);
    let name = error("1", -32020, "Header mismatch: Mcp-Name is not the body's");
    assert_eq!((response.status, response.text()), (400, name));
    let wrong_type = json!({ "region": 7 });
    assert_eq!(
        send(&server, &wrong_type, &[("Mcp-Param-Region", "8")]),
        mismatch("Region is not the body's")
    );
    let (status, answer) = send(&server, &wrong_type, &[("Mcp-Param-Region", "7")]);
    assert_eq!(status, 200);
    assert!(answer.contains("must be a string"), "{answer}");
    // Arguments that are not an object are left to the schema.
    let (status, answer) = send(&server, &json!([]), &[("Mcp-Param-Region", "7")]);
    assert_eq!(status, 200);
    assert!(answer.contains("must be an object"), "{answer}");
}

#[test]
fn mark_is_listed_everywhere_and_has_no_effect_elsewhere() {
    let server = http(&["--conformance"]);
    let mut line = stdio(&["--conformance"]);
    let arguments = r#"{"region":"a"}"#;
    let old = call(1, TOOL, arguments);
    for headers in [&[][..], &[("Mcp-Param-Region", "b")]] {
        let response = server.post(&*old, headers);
        assert_eq!(response.status, 200);
        assert!(response.text().contains("The headers match."));
    }
    assert!(line.ask(old).contains("The headers match."));
    let new = stateless_call(1, TOOL, arguments);
    assert!(line.ask(new).contains("The headers match."));

    let list = request(1, "tools/list", "{}");
    let stateless_list = request(1, "tools/list", format!(r#"{{"_meta":{META}}}"#));
    let headers = stateless_headers("tools/list", None);
    let listed = [
        server.post(&*list, &[]).text(),
        server.post(&*stateless_list, &headers).text(),
        line.ask(list),
        line.ask(stateless_list),
    ];
    for answer in listed {
        let answer = parse(&answer);
        let tools = answer["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == TOOL).unwrap();
        let properties = &tool["inputSchema"]["properties"];
        assert_eq!(properties["region"]["x-mcp-header"], "Region");
        let nested = &properties["options"]["properties"]["verbose"];
        assert_eq!(nested["x-mcp-header"], "Verbose");
    }
}
