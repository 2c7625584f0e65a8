//! 3001: more calls than one client may make, of one tool or of all.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::mask_waits;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::Http;
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Sends `count` calls. Returns the answers that fail.
fn burst(server: &mut dyn OrderCalls, tool: &str, arguments: &Value, calls: usize) -> Vec<String> {
    let answers = (0..calls).map(|_| server.send_message(&call(1, tool, arguments)));
    let failing = |answer: &String| parse(answer)["result"]["isError"] == true;
    answers.filter(failing).collect()
}

#[test]
fn burst_beyond_the_limit_of_a_tool_is_3001() {
    let fixture = OrdersFixture::sqlite();
    let mut server = fixture.stdio(&["--tool-calls-per-minute", "5"]);
    let refused = burst(&mut server, "get-orders", &json!({}), 8);
    assert_eq!(refused.len(), 3, "{refused:?}");
    for answer in &refused {
        let error = check_failure(answer);
        let wait = error["details"]["context"]["retryAfterMs"]
            .as_u64()
            .unwrap();
        assert!((1..=60_000).contains(&wait), "{error}");
    }
    assert_snapshot!(mask_waits(&refused[0]), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":3001,\"message\":\"Rate limit exceeded\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call.\",\"context\":{\"class\":\"limit\",\"effect\":\"none\",\"retryAfterMs\":MS}}}}"}],"structuredContent":{"error":{"code":3001,"message":"Rate limit exceeded","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call.","context":{"class":"limit","effect":"none","retryAfterMs":MS}}}},"isError":true,"error":{"code":3001,"message":"Rate limit exceeded","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call.","context":{"class":"limit","effect":"none","retryAfterMs":MS}}}}}"#);
    // Other tools have their own limit, and the failure is the same in the newer era.
    server.call_ok("get-products", &json!({}));
    let newer = server.send_stateless("get-orders", &json!({}));
    assert_eq!(check_failure(&newer)["code"], 3001);
}

#[test]
fn burst_over_all_tools_is_3001_and_changes_nothing() {
    let fixture = OrdersFixture::sqlite();
    let server = fixture.http(&["--calls-per-minute", "4"]);
    let mut refused = 0;
    for number in 0..7 {
        let key = format!("k{number}");
        let answer =
            parse(&(&server).send_message(&call(1, "create-sales-order", order(&key, "TEA", 1))));
        if answer["result"]["isError"] == true {
            assert_eq!(answer["result"]["error"]["code"], 3001, "{answer}");
            refused += 1;
        }
    }
    assert_eq!(refused, 3);
    let created = (7 - refused).to_string();
    assert_eq!(
        fixture.database().lines("SELECT COUNT(*) FROM orders"),
        created
    );
}

/// Each bearer token has its own limit.
#[test]
fn limits_apply_per_client() {
    let fixture = OrdersFixture::sqlite();
    let (read, write) = (fixture.write("read", "one"), fixture.write("write", "two"));
    let server = fixture.http(&[
        "--tool-calls-per-minute",
        "2",
        "--bearer-file",
        &read,
        "--write-bearer-file",
        &write,
    ]);
    let as_whom = |server: &Http, token: &str| {
        let header = format!("Bearer {token}");
        let response = server.post(
            call(1, "get-orders", json!({})),
            &[("Authorization", &header)],
        );
        parse(&response.text())["result"]["isError"] == true
    };
    let mut answers: Vec<_> = (0..4).map(|_| as_whom(&server, "one")).collect();
    answers.push(as_whom(&server, "two"));
    assert_eq!(answers, [false, false, true, true, false]);
}
