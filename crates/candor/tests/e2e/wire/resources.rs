//! Resources over both transports, through the playground's fixtures.

use crate::requests::{META, request, stateless_headers};
use crate::wire::fixture::{http, stdio};

const TEXT: &str = r#"{"uri":"test://static-text","mimeType":"text/plain","text":"This is the content of the static text resource."}"#;

#[test]
fn resources_are_read_in_both_eras() {
    let mut server = stdio(&["--conformance"]);
    let read = server.ask(request(
        1,
        "resources/read",
        r#"{"uri":"test://static-text"}"#,
    ));
    assert_eq!(
        read,
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":[{TEXT}]}}}}"#)
    );
    let params = format!(r#"{{"uri":"test://static-text","_meta":{META}}}"#);
    let read = server.ask(request(2, "resources/read", params));
    assert_eq!(
        read,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete","contents":[{TEXT}],"ttlMs":5000,"cacheScope":"private"}}}}"#
        )
    );
    let missing = server.ask(request(3, "resources/read", r#"{"uri":"test://no"}"#));
    assert_eq!(
        missing,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"test://no"}}}"#
    );
}

#[test]
fn pages_of_the_list_give_every_resource_once() {
    let mut server = stdio(&["--conformance"]);
    let mut uris = Vec::new();
    let mut params = String::from("{}");
    loop {
        let page = server.ask(request(1, "resources/list", &params));
        let page = crate::requests::parse(&page);
        let resources = page["result"]["resources"].as_array().unwrap();
        uris.extend(
            resources
                .iter()
                .map(|one| one["uri"].as_str().unwrap().to_owned()),
        );
        match page["result"]["nextCursor"].as_str() {
            None => break,
            Some(cursor) => params = format!(r#"{{"cursor":"{cursor}"}}"#),
        }
    }
    assert_eq!(uris, ["test://static-text", "test://static-binary"]);
}

#[test]
fn mcp_name_repeats_the_uri() {
    let server = http(&["--conformance"]);
    let params = format!(r#"{{"uri":"test://static-text","_meta":{META}}}"#);
    let body = request(1, "resources/read", params);
    let mismatch = |reason: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32020,"message":"Header mismatch: {reason}"}}}}"#
        )
    };
    for (name, status, expected) in [
        (Some("test://static-text"), 200, None),
        (Some("=?base64?dGVzdDovL3N0YXRpYy10ZXh0?="), 200, None),
        (
            Some("test://static-binary"),
            400,
            Some(mismatch("Mcp-Name is not the body's")),
        ),
        (None, 400, Some(mismatch("Mcp-Name is missing"))),
    ] {
        let response = server.post(&body, &stateless_headers("resources/read", name));
        assert_eq!(response.status, status, "{name:?}");
        match expected {
            Some(expected) => assert_eq!(response.text(), expected),
            None => assert!(response.text().contains(TEXT), "{name:?}"),
        }
    }
}

#[test]
fn reads_are_counted_by_method_and_code() {
    let server = http(&["--conformance"]);
    for uri in ["test://static-text", "test://no", "test://no"] {
        server.post(
            request(1, "resources/read", format!(r#"{{"uri":"{uri}"}}"#)),
            &[],
        );
    }
    let metrics = server.get("/metrics", &[]).text();
    for line in [
        r#"candor_calls_total{tool="resources/read",code="ok"} 1"#,
        r#"candor_calls_total{tool="resources/read",code="-32002"} 2"#,
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}
