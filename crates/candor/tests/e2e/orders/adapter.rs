//! The tools in front of another order system: missing operations, its failures, and its secrets.

use crate::fixture::{CANDOR, LIMIT, candor, run_err};
use crate::orders::fixture::{OrdersFixture, SERVED};
use crate::orders::order_system::{FakeOrderSystem, ReceivedRequest, SystemResponse};
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::{Exit, Http};
use insta::assert_snapshot;
use serde_json::{Value, json};

const TOKEN: &str = "CANARY_BACKEND_41C";

const OFFERED: &[&str] = &[
    "create-sales-order",
    "update-order",
    "get-orders",
    "get-products",
];

fn serve(fixture: &OrdersFixture, system: &FakeOrderSystem, flags: &[&str]) -> Http {
    let token = fixture.write("token", TOKEN);
    let url = system.url();
    let fixed = [
        "orders",
        "serve",
        "--http",
        "--port",
        "0",
        "--adapter",
        "http",
        "--backend",
        &url,
        "--backend-bearer-file",
        &token,
        "--attempts",
        "1",
        "--breaker-failures",
        "0",
    ];
    let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
    let server = Http::spawn(CANDOR, &arguments);
    server.reaching(SERVED);
    server
}

fn error_response(status: u16, headers: &'static str, code: &str) -> SystemResponse {
    let error = json!({ "error": { "code": code, "message": "words of the order system" } });
    (status, headers, error.to_string())
}

/// An operation that the order system does not offer is 5001, with or without a call to it: its
/// capabilities and its answer 501 mean the same. The tool stays listed.
#[test]
fn missing_operation_is_5001() {
    let fixture = OrdersFixture::empty();
    let system = FakeOrderSystem::start(OFFERED, |_| error_response(501, "", "LATER"));
    let server = serve(&fixture, &system, &[]);
    let mut client = &server;
    let lacking = client.call_err_in_both_eras(
        "cancel-order",
        &json!({ "orderId": "1", "idempotencyKey": "k" }),
    );
    assert_eq!(system.received().len(), 0, "it is not asked");
    let unsupported = client.call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1));
    assert_eq!(unsupported, lacking);
    assert_snapshot!(lacking, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":5001,\"message\":\"Not implemented by this adapter\",\"retryable\":false,\"details\":{\"suggestion\":\"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":null,\"key\":\"free\"}}}}"}],"structuredContent":{"error":{"code":5001,"message":"Not implemented by this adapter","retryable":false,"details":{"suggestion":"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"}}}},"isError":true,"error":{"code":5001,"message":"Not implemented by this adapter","retryable":false,"details":{"suggestion":"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"}}}}}"#);
    let request = system.received();
    assert_eq!(request.len(), 2, "once for each era");
    let header = |name| request[0].header(name);
    assert_eq!(header("idempotency-key"), Some("k"));
    assert_eq!(header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(request[0].path, "/v1/create-sales-order");
    assert_eq!(
        parse(&request[0].body),
        json!({ "order": { "lineItems": [{ "sku": "TEA", "quantity": 1 }] } })
    );
    let tools = parse(&client.send_message(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 12);
}

/// Formats a failure as one line.
fn line(error: &Value) -> String {
    let details = &error["details"];
    let context = &details["context"];
    format!(
        "{} {} {} {} {}: {}",
        error["code"],
        error["retryable"],
        details.get("originalError").unwrap_or(&Value::Null),
        context["effect"],
        context["retryAfterMs"],
        error["message"].as_str().unwrap()
    )
}

/// Returns the status and code that a call requests with its SKU.
fn by_sku(request: &ReceivedRequest) -> SystemResponse {
    let body = parse(&request.body);
    let sku = body["order"]["lineItems"][0]["sku"].as_str().unwrap();
    let (status, code) = sku.split_once(' ').unwrap();
    let headers = match status {
        "429" | "503" => "Retry-After: 2\r\n",
        _ => "",
    };
    error_response(status.parse().unwrap(), headers, code)
}

#[test]
fn each_status_maps_to_its_code() {
    let fixture = OrdersFixture::empty();
    let system = FakeOrderSystem::start(OFFERED, by_sku);
    let server = serve(&fixture, &system, &[]);
    let client = [
        "400 CREDIT_HOLD",
        "409 EXTERNAL_ID_CONFLICT",
        "422 SKU_NOT_FOUND",
        "404 WAREHOUSE_CLOSED",
        "404 no identifier",
        "401 X",
        "403 X",
        "408 X",
        "504 X",
        "429 X",
        "501 X",
        "500 X",
        "503 X",
        "302 X",
        "400 CANARY_BACKEND_41C",
    ];
    let lines = client.map(|sku| {
        let failed = (&server).call_err("create-sales-order", &order(sku, sku, 1));
        format!("{sku} -> {}", line(&failed))
    });
    assert_snapshot!(lines.join("\n"), @r#"
    400 CREDIT_HOLD -> 4001 false "CREDIT_HOLD" "none" null: Adapter error: the order system refused the call
    409 EXTERNAL_ID_CONFLICT -> 4001 false "EXTERNAL_ID_CONFLICT" "none" null: Adapter error: another order has this externalId
    422 SKU_NOT_FOUND -> 4001 false "SKU_NOT_FOUND" "none" null: Adapter error: there is no such SKU here
    404 WAREHOUSE_CLOSED -> 4001 false "WAREHOUSE_CLOSED" "none" null: Adapter error: the order system refused the call
    404 no identifier -> 4001 false "NOT_FOUND" "none" null: Adapter error: something that the call names does not exist
    401 X -> 4001 false "ADAPTER_UNAUTHORIZED" "none" null: Adapter error: the order system refuses this server's credentials
    403 X -> 4001 false "ADAPTER_UNAUTHORIZED" "none" null: Adapter error: the order system refuses this server's credentials
    408 X -> 3002 true null "unknown" null: Operation timed out
    504 X -> 3002 true null "unknown" null: Operation timed out
    429 X -> 3001 true null "none" 2000: Rate limit exceeded
    501 X -> 5001 false null "none" null: Not implemented by this adapter
    500 X -> 4002 true null "unknown" 1000: Backend is unavailable
    503 X -> 4002 true null "unknown" 2000: Backend is unavailable
    302 X -> 4001 false "INVALID_ADAPTER_RESPONSE" "unknown" null: Adapter error: the order system answered something that cannot be used
    400 CANARY_BACKEND_41C -> 4001 false "BACKEND_REFUSED" "none" null: Adapter error: the order system refused the call
    "#);
}

/// Only identifiers of the order system reach a client, never its texts. Its token is in no output, even
/// if the order system echoes it.
#[test]
fn texts_and_tokens_of_the_system_reach_no_client() {
    let fixture = OrdersFixture::empty();
    let system = FakeOrderSystem::start(OFFERED, |request| {
        let header = request.header("authorization").unwrap_or_default();
        let unsupported = json!({ "error": { "code": TOKEN, "message": header, "context": { "field": header } } });
        match request.path.as_str() {
            "/v1/get-orders" => (200, "", format!("<html>{header}</html>")),
            "/v1/get-products" => (500, "", unsupported.to_string()),
            _ => (409, "", unsupported.to_string()),
        }
    });
    let mut server = serve(&fixture, &system, &["--log", "trace"]);
    let mut output = String::new();
    for (tool, arguments) in [
        ("create-sales-order", order("k", "TEA", 1)),
        ("get-orders", json!({})),
        ("get-products", json!({})),
        (
            "update-order",
            json!({ "orderId": "1", "updates": { "name": "x" }, "idempotencyKey": "k" }),
        ),
    ] {
        let answer = (&server).send_message(&call(1, tool, &arguments));
        check_failure(&answer);
        assert!(
            !answer.contains("html") && !answer.contains("Bearer"),
            "{answer}"
        );
        output += &answer;
    }
    output += &server.get("/metrics", &[]).text();
    let cmdline = format!("/proc/{}/cmdline", server.process().pid());
    output += &String::from_utf8_lossy(&std::fs::read(cmdline).unwrap());
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    output += &server.process().whole_stderr(LIMIT);
    let line = output.lines().find(|line| line.contains(TOKEN));
    assert_eq!(line, None);
    assert!(output.contains("[hidden]"), "{output}");
}

#[test]
fn incomplete_adapter_options_refuse_to_start() {
    let fixture = OrdersFixture::empty();
    let unsupported = |arguments: &[&str]| {
        let mut command = candor(&["orders", "serve"]);
        command.args(arguments).current_dir(fixture.root());
        format!(
            "$ candor orders serve {}\n{}",
            arguments.join(" "),
            run_err(command)
        )
    };
    let output = [
        unsupported(&["--adapter", "htp"]),
        unsupported(&["--adapter", "faulty"]),
        unsupported(&["--adapter", "http"]),
        unsupported(&["--backend", "http://127.0.0.1:1"]),
        unsupported(&["--adapter", "http", "--backend", "ftp://127.0.0.1"]),
        unsupported(&["--adapter", "http", "--backend", "http://198.51.100.7"]),
        unsupported(&[
            "--adapter",
            "http",
            "--backend",
            "http://user:canary@127.0.0.1",
        ]),
        unsupported(&[
            "--adapter",
            "http",
            "--backend",
            "http://127.0.0.1",
            "--backend-bearer-file",
            "none",
        ]),
    ];
    assert_snapshot!(output.join("\n"));
    assert!(
        !output
            .concat()
            .replace("user:canary@", "")
            .contains("canary")
    );
}
