//! `--key-store`: a server that is killed between the record of a change and its answer, and a second
//! server on the same file.

use crate::fixture::{CANDOR, LIMIT, candor, run_err};
use crate::orders::fixture::{OrdersFixture, SERVED};
use crate::orders::order_system::FakeOrderSystem;
use crate::orders::requests::{OrderCalls, order};
use crate::requests::call;
use candor_testkit::Http;
use insta::assert_snapshot;
use serde_json::json;
use std::sync::mpsc::channel;
use std::thread;

const OFFERED: &[&str] = &["create-sales-order"];

fn arguments<'a>(url: &'a str, file: &'a str) -> Vec<&'a str> {
    vec![
        "orders",
        "serve",
        "--http",
        "--port",
        "0",
        "--adapter",
        "http",
        "--backend",
        url,
        "--key-store",
        file,
    ]
}

fn serve(system: &FakeOrderSystem, file: &str) -> Http {
    let server = Http::spawn(CANDOR, &arguments(&system.url(), file));
    server.reaching(SERVED);
    server
}

fn text(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn change_of_a_killed_server_is_not_sent_again() {
    let fixture = OrdersFixture::empty();
    let file = text(&fixture.path("keys.db"));
    let (sender, reached) = channel();
    let system = FakeOrderSystem::start_with(OFFERED, false, move |_| {
        sender.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    let mut server = serve(&system, &file);
    let body = call(1, "create-sales-order", order("k", "TEA", 1));
    let request = server.request("POST", body.as_bytes(), &[]);
    let mut connection = server.connect();
    connection.send(request);
    // The order system has the change, so its key is on the disk.
    reached.recv_timeout(LIMIT).unwrap();
    drop(connection);
    server.signal("KILL");
    server.process().exit_within(LIMIT).unwrap();

    let system = FakeOrderSystem::start_with(OFFERED, false, |_| (500, "", String::from("{}")));
    let server = serve(&system, &file);
    for _ in 0..2 {
        let failed = (&server).call_err("create-sales-order", &order("k", "TEA", 1));
        let details = &failed["details"];
        assert_eq!(details["originalError"], "OUTCOME_UNKNOWN");
        assert_eq!(details["context"]["effect"], "unknown");
        assert_eq!(details["context"]["key"], "bound");
    }
    assert_eq!(system.received().len(), 0);
}

#[test]
fn known_outcome_survives_a_kill() {
    let fixture = OrdersFixture::empty();
    let file = text(&fixture.path("keys.db"));
    let refused = json!({ "error": { "code": "CREDIT_HOLD" } }).to_string();
    let system = FakeOrderSystem::start_with(OFFERED, false, move |_| (409, "", refused.clone()));
    let mut server = serve(&system, &file);
    let first = (&server).call_err("create-sales-order", &order("k", "TEA", 1));
    server.signal("KILL");
    server.process().exit_within(LIMIT).unwrap();
    let server = serve(&system, &file);
    let again = (&server).call_err("create-sales-order", &order("k", "TEA", 1));
    assert_eq!(again.to_string(), first.to_string());
    assert_eq!(system.received().len(), 1);
}

#[test]
fn second_server_and_other_files_are_refused() {
    let fixture = OrdersFixture::empty();
    let file = text(&fixture.path("keys.db"));
    let system = FakeOrderSystem::start_with(OFFERED, false, |_| (500, "", String::from("{}")));
    let refusal = |file: &str| {
        let url = system.url();
        let mut command = candor(&arguments(&url, file));
        command.current_dir(fixture.root());
        fixture.normalize(&run_err(command))
    };
    let _server = serve(&system, &file);
    let output = [
        refusal(&file),
        refusal(&fixture.write("notes.txt", &"not a database ".repeat(100))),
        refusal(&text(&fixture.path("missing/keys.db"))),
    ];
    assert_snapshot!(output.join("\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
