//! Peers that send whole requests and shut their sending side down get every answer.

use crate::orders::fixture::OrdersFixture;
use crate::orders::requests::{OrderCalls, order};
use crate::requests::{call, parse, stateless_call, stateless_headers};
use crate::wire::answers::result;
use crate::wire::fixture::{MANY_CONNECTIONS, http};
use candor_testkit::{Http, is_long};
use serde_json::json;
use std::collections::BTreeSet;

/// The connections that are open at the same time in a drill.
const BATCH: usize = 250;

/// Sends each request on a connection of its own, shuts the sending side down, and returns the answers.
fn send_half_closed(server: &Http, requests: &[Vec<u8>]) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for batch in requests.chunks(BATCH) {
        let mut connections = Vec::new();
        for request in batch {
            let mut connection = server.connect();
            connection.send(request);
            connection.finish_sending();
            connections.push(connection);
        }
        for mut connection in connections {
            let response = connection.response();
            answers.push((response.status, response.text()));
            assert!(connection.is_closed());
        }
    }
    answers
}

/// Calls of both eras, some of which have to wait.
#[test]
fn every_half_closed_call_is_answered() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    let count = if is_long() { 10_000 } else { 1_000 };
    let server = http(&[]);
    let requests: Vec<_> = (0..count)
        .map(|id| match id % 4 {
            0 => {
                let body = call(id, "hang", r#"{"ms":20}"#);
                server.request("POST", body.as_bytes(), &[])
            }
            1 => {
                let body = call(id, "echo", r#"{"text":"x"}"#);
                server.request("POST", body.as_bytes(), &[("Connection", "close")])
            }
            2 => {
                let body = stateless_call(id, "hang", r#"{"ms":20}"#);
                let headers = stateless_headers("tools/call", Some("hang"));
                server.request("POST", body.as_bytes(), &headers)
            }
            _ => {
                let body = stateless_call(id, "echo", r#"{"text":"x"}"#);
                let headers = stateless_headers("tools/call", Some("echo"));
                server.request("POST", body.as_bytes(), &headers)
            }
        })
        .collect();
    let answers = send_half_closed(&server, &requests);
    for (id, (status, answer)) in answers.iter().enumerate() {
        let answer = parse(answer);
        assert_eq!((*status, &answer["id"]), (200, &json!(id)));
        assert!(answer["result"]["isError"].is_null(), "{answer}");
    }
    println!("{count} half-closed calls, {} answers", answers.len());
    assert_eq!(answers.len(), count);
}

/// No order is made without its answer.
#[test]
fn every_half_closed_order_is_made_once_and_answered() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    let count = if is_long() { 1_000 } else { 100 };
    let fixture = OrdersFixture::sqlite();
    let unlimited = ["--calls-per-minute", "0", "--tool-calls-per-minute", "0"];
    let server = fixture.http(&unlimited);
    let requests: Vec<_> = (0..count)
        .map(|id| {
            let arguments = order(&format!("key-{id}"), "TEA", 1);
            match id % 2 {
                0 => {
                    let body = call(id, "create-sales-order", arguments);
                    server.request("POST", body.as_bytes(), &[])
                }
                _ => {
                    let body = stateless_call(id, "create-sales-order", arguments);
                    let headers = stateless_headers("tools/call", Some("create-sales-order"));
                    server.request("POST", body.as_bytes(), &headers)
                }
            }
        })
        .collect();
    let answers = send_half_closed(&server, &requests);
    let ids: BTreeSet<_> = answers
        .iter()
        .map(|(_, answer)| {
            let order = &parse(answer)["result"]["structuredContent"]["order"];
            order["id"].as_str().map(str::to_owned).expect(answer)
        })
        .collect();
    let mut made = BTreeSet::new();
    let mut cursor = json!(null);
    loop {
        let arguments = match cursor.as_str() {
            None => json!({}),
            Some(cursor) => json!({ "cursor": cursor }),
        };
        let page = (&server).call_ok("get-orders", &arguments);
        for order in page["orders"].as_array().unwrap() {
            made.insert(order["id"].as_str().unwrap().to_owned());
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    println!(
        "{count} half-closed orders, {} answers, {} orders",
        answers.len(),
        made.len()
    );
    assert_eq!((answers.len(), ids.len()), (count, count));
    assert_eq!(made, ids);
}

#[test]
fn pipelined_requests_of_a_half_closed_peer_are_answered_in_order() {
    let server = http(&[]);
    let mut connection = server.connect();
    let slow = call(1, "hang", r#"{"ms":100}"#);
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let mut both = server.request("POST", slow.as_bytes(), &[]);
    both.extend(server.request("POST", ping.as_bytes(), &[]));
    connection.send(both);
    connection.finish_sending();
    assert_eq!(parse(&connection.response().text())["id"], 1);
    assert_eq!(connection.response().text(), result("2", "{}"));
    assert!(connection.is_closed());
}
