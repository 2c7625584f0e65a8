//! A disk that is full under a SQLite file: a small file system of a server's own, where this machine
//! can make one.

use crate::orders::fixture::{OrdersFixture, SERVED, UNLIMITED};
use crate::orders::masking::mask;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call};
use candor_testkit::{Exit, Stdio};
use insta::assert_snapshot;
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio as Streams};

/// How many bytes the file system has.
const SIZE: usize = 8 * 1024 * 1024;

fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    probe
        .args(["--user", "--map-root-user", "--mount"])
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(Streams::null());
    probe.status().is_ok_and(|status| status.success())
}

/// The server of a place, its folder in a small file system that holds what the folder holds.
fn within_small(fixture: &OrdersFixture) -> Stdio {
    let script = "
        cp -a \"$0\" \"$0.kept\" && mount -t tmpfs -o size=$1 none \"$0\" &&
        cp -a \"$0.kept/.\" \"$0\" && rm -r \"$0.kept\" && shift && exec \"$@\"";
    let flags = ["serve", "--breaker-failures", "0", "--attempts", "1"];
    let flags: Vec<_> = flags.iter().chain(&UNLIMITED).copied().collect();
    let command = fixture.command(&flags);
    let mut small = Command::new("unshare");
    small
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(fixture.root())
        .arg(SIZE.to_string())
        .arg(command.get_program())
        .args(command.get_args())
        .env_remove("CANDOR_LOG");
    let mut server = Stdio::start(small);
    server.reaching(SERVED);
    server
}

#[test]
fn a_full_disk_is_told_and_nothing_is_half_done() {
    if !can_mount() {
        eprintln!("SKIPPED: this machine lets nobody mount a file system of their own");
        return;
    }
    let fixture = OrdersFixture::sqlite();
    let mut server = within_small(&fixture);
    let first = server.create_order(&order("k0", "TEA", 1));
    // Somebody else takes all the room that there is.
    let pid = server.process().pid();
    let filler = format!("/proc/{pid}/root{}/filler", fixture.root().display());
    assert!(fs::write(&filler, vec![0; SIZE]).is_err(), "it is full");
    let wish = |number: usize| {
        let mut arguments = order(&format!("k{number}"), "TEA", 1);
        arguments["order"]["notes"] = json!("x".repeat(4000));
        arguments
    };
    let mut made = 1;
    let failed = loop {
        let answer = server.send_message(&call(1, "create-sales-order", &wish(made)));
        if answer.contains("isError") {
            break answer;
        }
        made += 1;
        assert!(made < 5_000, "the disk is not full");
    };
    check_failure(&failed);
    assert_snapshot!(mask(&failed), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4002,\"message\":\"Backend is unavailable\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"unknown\",\"retryAfterMs\":1000}}}}"}],"structuredContent":{"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000}}}},"isError":true,"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000}}}}}"#);
    // Once more: it stays so, and reading goes on.
    let again = server.call_err("create-sales-order", &wish(made));
    assert_eq!(again["code"], 4002, "{again}");
    let found = server.call_ok("get-orders", &json!({ "ids": [first] }));
    assert_eq!(found["orders"][0]["status"], "pending");
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["reservedTotal"], made);
    fs::remove_file(&filler).unwrap();
    // The same key makes it now, and once.
    let id = server.create_order(&wish(made));
    assert_eq!(server.create_order(&wish(made)), id);
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["reservedTotal"], made + 1);
    assert_eq!(server.end().1, Exit::Code(0));
}
