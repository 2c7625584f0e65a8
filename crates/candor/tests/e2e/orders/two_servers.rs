//! Two servers on one PostgreSQL give the same answers.

use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::requests::{OrderCalls, address, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::Http;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn start_two_servers(fixture: &OrdersFixture) -> [Http; 2] {
    [fixture.http(&UNLIMITED), fixture.http(&UNLIMITED)]
}

/// The same key brings the same bytes from either server, success or failure.
#[test]
fn key_has_the_same_result_on_every_server() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let servers = start_two_servers(&fixture);
    let mut first = order("a", "TEA", 2);
    first["order"]["shippingAddress"] = address();
    let id = (&servers[0]).create_order(&first);
    let about = |key: &str| json!({ "orderId": id, "idempotencyKey": key });
    let mut back = about("r");
    back["lineItems"] = json!([{ "sku": "TEA", "quantity": 1 }]);
    back["outcome"] = json!("refund");
    let mut update = about("u");
    update["updates"] = json!({ "status": "confirmed" });
    let calls: [(&str, Value); 7] = [
        ("create-sales-order", first),
        ("create-sales-order", order("b", "NONE", 1)),
        ("update-order", update),
        ("fulfill-order", about("f")),
        ("cancel-order", about("c")),
        ("create-return", back),
        ("create-sales-order", order("c", "CUP", 6)),
    ];
    for (number, (tool, arguments)) in calls.iter().enumerate() {
        let message = call(1, tool, arguments);
        let [here, other] = [number % 2, 1 - number % 2].map(|at| &servers[at]);
        let (mut here, mut other) = (here, other);
        let outcome = here.send_message(&message);
        assert_eq!(other.send_message(&message), outcome, "{tool}");
        assert_eq!(here.send_message(&message), outcome, "{tool}");
    }
    let done = "SELECT COUNT(*) FROM records WHERE outcome = 'done'";
    assert_eq!(fixture.database().lines(done), "4");
    let stock = "SELECT on_hand, reserved FROM variants WHERE sku = 'TEA'";
    // Two units were shipped; returned units are not in stock before they are inspected.
    assert_eq!(fixture.database().lines(stock), "999998 0");
}

/// A list that begins on one server continues on the other.
#[test]
fn cursor_works_on_every_server() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let servers = start_two_servers(&fixture);
    for number in 0..25 {
        let mut server = &servers[number % 2];
        server.create_order(&order(&format!("k{number}"), "TEA", 1));
    }
    let mut listed = Vec::new();
    let mut cursor = Value::Null;
    for number in 0.. {
        let mut arguments = json!({ "pageSize": 4, "skus": ["TEA"] });
        if cursor.is_string() {
            arguments["cursor"] = cursor;
        }
        let message = call(1, "get-orders", &arguments);
        let (mut here, mut other) = (&servers[number % 2], &servers[1 - number % 2]);
        let page = here.send_message(&message);
        assert_eq!(other.send_message(&message), page);
        let page = &parse(&page)["result"]["structuredContent"];
        let orders = page["orders"].as_array().unwrap();
        listed.extend(
            orders
                .iter()
                .map(|order| order["id"].as_str().unwrap().to_owned()),
        );
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let each: BTreeSet<_> = listed.iter().collect();
    assert_eq!((listed.len(), each.len()), (25, 25));
    let sorted = fixture
        .database()
        .rows("SELECT id FROM orders ORDER BY created_at, id");
    assert_eq!(sorted.concat(), listed);
}

/// The same key on both servers at once: one order, and both have its bytes.
#[test]
fn concurrent_calls_with_one_key_create_one_order() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let servers = start_two_servers(&fixture);
    let addresses = servers.each_ref().map(Http::address);
    for round in 0..20 {
        let message = call(
            1,
            "create-sales-order",
            order(&format!("k{round}"), "TEA", 1),
        );
        let body = |number: usize| servers[number].request("POST", message.as_bytes(), &[]);
        let bodies = [body(0), body(1)];
        let answers: Vec<_> = std::thread::scope(|scope| {
            let sends: Vec<_> = addresses
                .iter()
                .zip(&bodies)
                .map(|(address, body)| scope.spawn(move || response_body(*address, body)))
                .collect();
            sends.into_iter().map(|send| send.join().unwrap()).collect()
        });
        assert_eq!(answers[0], answers[1]);
        assert!(
            answers[0].contains(r#""status":"pending""#),
            "{}",
            answers[0]
        );
    }
    assert_eq!(
        fixture.database().lines("SELECT COUNT(*) FROM orders"),
        "20"
    );
    assert_eq!(
        fixture
            .database()
            .lines("SELECT reserved FROM variants WHERE sku = 'TEA'"),
        "20"
    );
}

/// The body of the response to one request.
fn response_body(address: std::net::SocketAddr, request: &[u8]) -> String {
    use std::io::{BufRead, BufReader, Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}
