//! The owner's commands for a store that is in use: verification, backups, records, personal data.

use crate::fixture::{LIMIT, candor, run_err, run_ok};
use crate::orders::database::Database;
use crate::orders::fixture::{OrdersFixture, UNLIMITED};
use crate::orders::masking::mask;
use crate::orders::requests::{OrderCalls, address, order};
use candor_testkit::{Exit, Process, ProcessOutput, on_small_disk, postgres};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// A store of format 1.
const FORMAT1: &[u8] = include_bytes!("../../../../orders/tests/orders/fixtures/format1.db");

/// Runs a command, and returns its exit code with everything that it prints.
fn run(fixture: &OrdersFixture, arguments: &[&str]) -> (Exit, String, String) {
    let ProcessOutput {
        exit,
        stdout,
        stderr,
    } = Process::run(fixture.command(arguments), LIMIT);
    (exit, String::from_utf8(stdout).unwrap(), stderr)
}

#[test]
fn damage_is_printed_and_exits_with_1() {
    for fixture in OrdersFixture::for_each_database() {
        let mut server = fixture.stdio(&[]);
        for number in 0..25 {
            server.create_order(&order(&format!("k{number}"), "TEA", 1));
        }
        assert_eq!(
            fixture.run_ok(&["verify"]),
            "25 orders checked; all 34 invariants hold\n"
        );
        assert_eq!(
            fixture.run_ok(&["verify", "--json"]),
            "{\"orders\":25,\"invariants\":34,\"broken\":[]}\n"
        );
        let database = fixture.database();
        database.run("UPDATE orders SET total = total + 1");
        database.run("UPDATE variants SET reserved = 4 WHERE sku = 'CUP'");
        let (exit, stdout, stderr) = run(&fixture, &["verify"]);
        assert_eq!(exit, Exit::Code(1));
        assert_snapshot!("damage", format!("{}{stderr}", mask(&stdout)));
        let (exit, stdout, _) = run(&fixture, &["verify", "--json"]);
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let broken = report["broken"].as_array().unwrap();
        let count = |index: usize| {
            let ids = broken[index]["ids"].as_array().unwrap().len();
            (
                broken[index]["invariant"].clone(),
                broken[index]["count"].clone(),
                ids,
            )
        };
        assert_eq!((exit, broken.len()), (Exit::Code(1), 2));
        assert_eq!(count(0), (json!("stock-reserved"), json!(1), 1));
        assert_eq!(count(1), (json!("order-sums"), json!(25), 20));
        assert_eq!(server.end().1, Exit::Code(0));
    }
}

/// Does `work` while two servers create orders.
fn while_servers_create(fixture: &OrdersFixture, work: impl FnOnce()) {
    let servers = ["a", "b"].map(|client| {
        let mut server = fixture.stdio(&UNLIMITED);
        // It has started: the fixture writes the address anew for the next process.
        server.create_order(&order(client, "TEA", 1));
        server
    });
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for (client, mut server) in servers.into_iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut number = 0;
                while !is_over.load(Ordering::Relaxed) {
                    server.create_order(&order(&format!("{client}-{number}"), "TEA", 1));
                    number += 1;
                }
            });
        }
        work();
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn busy_store_is_verified() {
    for fixture in OrdersFixture::for_each_database() {
        while_servers_create(&fixture, || {
            for count in [10, 20, 30] {
                wait_for_orders(&fixture, count);
                let verified = fixture.run_ok(&["verify"]);
                assert!(verified.ends_with("all 34 invariants hold\n"), "{verified}");
            }
        });
    }
}

/// Copies a store again and again while clients change it. Every copy is consistent, and has every
/// order that was answered before it was started.
#[test]
fn backup_of_a_busy_store_is_consistent() {
    let fixture = OrdersFixture::sqlite();
    while_servers_create(&fixture, || {
        let mut copied = 0;
        for number in 0..4 {
            // Each copy is made in the middle of changes, and has new ones.
            wait_for_orders(&fixture, copied + 5);
            copied = copy_and_verify(&fixture, number);
        }
    });
    let names = fs::read_dir(fixture.root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let drafts: Vec<_> = names.filter(|name| name.ends_with(".tmp")).collect();
    assert_eq!(drafts, [""; 0]);
}

/// Waits until servers have created this many orders.
fn wait_for_orders(fixture: &OrdersFixture, count: usize) {
    let started = Instant::now();
    while fixture.database().rows("SELECT id FROM orders").len() < count {
        assert!(
            started.elapsed() < LIMIT,
            "there are fewer than {count} orders"
        );
    }
}

/// Copies the store, checks the copy, and returns the number of its orders.
fn copy_and_verify(fixture: &OrdersFixture, number: usize) -> usize {
    let before = fixture.database().rows("SELECT id FROM orders");
    let copy = format!("copy{number}.db");
    assert_eq!(
        fixture.run_ok(&["backup", &copy]),
        format!("copied to {copy}\n")
    );
    let path = fixture.path(&copy);
    let copied = Database::at(path.to_str().unwrap());
    let orders = copied.rows("SELECT id FROM orders");
    assert!(before.iter().all(|order| orders.contains(order)));
    let mut verify = candor(&["orders", "verify", "--database"]);
    verify.arg(&path);
    let verified = run_ok(verify);
    assert!(verified.ends_with("all 34 invariants hold\n"), "{verified}");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    orders.len()
}

#[test]
fn backup_never_overwrites_and_needs_room() {
    let fixture = OrdersFixture::sqlite();
    fixture.write("taken", "mine");
    let refused = |arguments: &[&str]| {
        let output = run_err(fixture.command(arguments));
        format!(
            "$ candor orders {}\n{}",
            arguments.join(" "),
            fixture.normalize(&output)
        )
    };
    let mut messages = vec![
        refused(&["backup", "taken"]),
        refused(&["backup", "none/copy.db"]),
        refused(&["backup", "/"]),
    ];
    if let Some(server) = postgres::required() {
        let server = OrdersFixture::on(server);
        server.run_ok(&["migrate"]);
        messages.push(run_err(server.command(&["backup", "copy.db"])));
        assert!(!server.path("copy.db").exists());
    }
    fixture.run_ok(&["seed", "--orders", "1000"]);
    let size = fs::metadata(fixture.path("orders.db")).unwrap().len() as usize;
    let backup = fixture.command(&["backup", "copy.db"]);
    if let Some(full) = on_small_disk(&backup, fixture.root(), size + size / 2) {
        messages.push(fixture.normalize(&run_err(full)));
    }
    assert_snapshot!("backup_refusals", messages.join("\n"));
    assert_eq!(fs::read_to_string(fixture.path("taken")).unwrap(), "mine");
}

#[test]
fn records_show_who_did_what() {
    for fixture in OrdersFixture::for_each_database() {
        let mut server = fixture.stdio(&[]);
        let id = server.create_order(&order("k1", "TEA", 2));
        let delivered =
            json!({ "orderId": id, "updates": { "status": "delivered" }, "idempotencyKey": "k2" });
        server.call_err("update-order", &delivered);
        server.call_ok(
            "cancel-order",
            &json!({ "orderId": id, "idempotencyKey": "k3" }),
        );
        let text = fixture.run_ok(&["records", "--order", &id]);
        let lines = fixture.run_ok(&["records", "--order", &id, "--json"]);
        let unknown = run_err(fixture.command(&["records", "--order", "1001"]));
        fixture.run_ok(&["seed", "--orders", "1"]);
        let (exit, stdout, note) = run(&fixture, &["records", "--order", "ord_0000001"]);
        assert_eq!((exit, stdout.as_str()), (Exit::Code(0), ""));
        assert_snapshot!(
            "records",
            mask(&format!("{text}\n{lines}\n{unknown}\n{note}"))
        );
    }
}

/// Returns an order of a customer.
fn order_of_customer(key: &str) -> Value {
    let mut arguments = order(key, "TEA", 1);
    arguments["order"]["customer"] =
        json!({ "email": "Mia@example.com", "firstName": "Mia", "lastName": "Quixanter" });
    arguments["order"]["shippingAddress"] = address();
    arguments
}

fn contains(file: &Path, text: &str) -> bool {
    let bytes = fs::read(file).unwrap();
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

#[test]
fn customer_is_exported_and_erased_beside_a_server() {
    for fixture in OrdersFixture::for_each_database() {
        let mut server = fixture.stdio(&[]);
        let wish = order_of_customer("k1");
        let id = server.create_order(&wish);
        let email = ["--email", "mia@EXAMPLE.com"];
        let exported = fixture.run_ok(&["export-customer", email[0], email[1]]);
        let exported: Value = serde_json::from_str(&exported).unwrap();
        assert_eq!(exported["customer"]["lastName"], "Quixanter");
        assert_eq!(exported["orders"][0]["order"]["id"], id.as_str());
        let unasked = run_err(fixture.command(&["erase-customer", email[0], email[1]]));
        let erased = fixture.run_ok(&["erase-customer", email[0], email[1], "--yes"]);
        let replayed = server.call_err("create-sales-order", &wish);
        assert_eq!(replayed["details"]["originalError"], "CUSTOMER_ERASED");
        let shown = server
            .call_ok("get-orders", &json!({ "ids": [id] }))
            .to_string();
        assert!(
            !shown.contains("Quixanter") && !shown.contains("Main St"),
            "{shown}"
        );
        let again = run_err(fixture.command(&["erase-customer", email[0], email[1], "--yes"]));
        let gone = run_err(fixture.command(&["export-customer", email[0], email[1]]));
        let texts = [unasked, erased, again, gone, replayed.to_string()];
        assert_snapshot!("erasure", texts.join("\n"));
        let verified = fixture.run_ok(&["verify"]);
        assert_eq!(verified, "1 orders checked; all 34 invariants hold\n");
        if fixture.path("orders.db").exists() {
            for file in ["orders.db", "orders.db-wal"] {
                assert!(!contains(&fixture.path(file), "Quixanter"), "{file}");
            }
        }
        assert_eq!(server.end().1, Exit::Code(0));
    }
}

/// Runs `erase-customer` at a terminal, types an answer, and returns what the screen shows.
fn erase_at_terminal(fixture: &OrdersFixture, answer: &str) -> String {
    let erase = fixture.command(&["erase-customer", "--email", "ada@example.com"]);
    let words = erase.get_args().map(|word| word.to_str().unwrap());
    let words: Vec<_> = [crate::fixture::CANDOR].into_iter().chain(words).collect();
    let command = words.join(" ");
    let arguments = ["--quiet", "--return", "--command", &command, "/dev/null"];
    let mut script = Process::command("script", &arguments);
    script.env("NO_COLOR", "1").current_dir(fixture.root());
    let (mut process, mut keyboard, mut screen) = Process::start(script);
    keyboard.write_all(answer.as_bytes()).unwrap();
    let mut output = String::new();
    screen.read_to_string(&mut output).unwrap();
    assert_eq!(
        process.exit_within(LIMIT).unwrap(),
        Exit::Code(0),
        "{output}"
    );
    output.replace('\r', "")
}

#[test]
fn erasure_asks_at_a_terminal() {
    let fixture = OrdersFixture::sqlite();
    let question =
        "Erase the personal data of customer cus_1 in 0 orders? This cannot be undone. [y/N] ";
    let refused = erase_at_terminal(&fixture, "n\n");
    assert!(
        refused.contains(question) && refused.ends_with("nothing was erased\n"),
        "{refused}"
    );
    let name = "SELECT COUNT(*) FROM customers WHERE first_name = 'Ada'";
    assert_eq!(fixture.database().lines(name), "1");
    let done = erase_at_terminal(&fixture, "y\n");
    assert!(done.contains("erased: customers 1, orders 0"), "{done}");
    assert_eq!(fixture.database().lines(name), "0");
}

/// A lock that is not released in time is named, and nothing is erased.
#[test]
fn erasure_of_a_locked_store_changes_nothing() {
    for fixture in OrdersFixture::for_each_database() {
        let database = fixture.database();
        let erase =
            || run_err(fixture.command(&["erase-customer", "--email", "ada@example.com", "--yes"]));
        let refused = database.while_a_key_is_locked(erase);
        let start = "error: the database is in use by somebody else: ";
        let hint = "hint: run the command again when the other one has ended\n";
        assert!(
            refused.starts_with(start) && refused.ends_with(hint),
            "{refused}"
        );
        let name = "SELECT COUNT(*) FROM customers WHERE first_name = 'Ada'";
        assert_eq!(database.lines(name), "1");
    }
}

/// An erasure that was killed before the file was rewritten is reported, and finished by the next.
#[test]
fn interrupted_erasure_is_reported_and_finished() {
    let fixture = OrdersFixture::sqlite();
    fixture.write("orders.db.format1", "a copy");
    let insert = "INSERT INTO settings (name, value) VALUES ('erasure', 'pending')";
    fixture.database().run(insert);
    let (exit, stdout, _) = run(&fixture, &["verify"]);
    assert_eq!(exit, Exit::Code(1));
    let erase = ["erase-customer", "--email", "mia@example.com", "--yes"];
    let (exit, finished, note) = run(&fixture, &erase);
    assert_eq!(exit, Exit::Code(0));
    let text = format!("{stdout}{}{finished}", fixture.normalize(&note));
    assert_snapshot!("interrupted_erasure", text);
    fixture.run_ok(&["verify"]);
}

/// Each command that needs a store has one sentence and one hint for what is not one.
#[test]
fn commands_refuse_what_is_not_a_store() {
    let fixture = OrdersFixture::empty();
    fixture.write("text", &"this is no database\n".repeat(100));
    fixture.write("empty.db", "");
    fs::write(fixture.path("format1.db"), FORMAT1).unwrap();
    let run_sql = |file: &str, statement: &str| {
        let file = fixture.path(file);
        Database::at(file.to_str().unwrap()).run(statement);
    };
    fixture.write("photos.db", "");
    run_sql("photos.db", "CREATE TABLE photos (name TEXT)");
    let mut migrate = candor(&["orders", "migrate", "--database", "newer.db"]);
    migrate.current_dir(fixture.root());
    run_ok(migrate);
    run_sql(
        "newer.db",
        "UPDATE settings SET value = '3' WHERE name = 'format'",
    );
    let before = fs::read(fixture.path("photos.db")).unwrap();
    let commands: [&[&str]; 5] = [
        &["verify"],
        &["backup", "copy.db"],
        &["records", "--order", "ord_1"],
        &["export-customer", "--email", "mia@example.com"],
        &["erase-customer", "--email", "mia@example.com", "--yes"],
    ];
    let mut messages = String::new();
    for file in [
        "missing.db",
        "text",
        "empty.db",
        "photos.db",
        "newer.db",
        "format1.db",
    ] {
        let refused = commands.map(|arguments| {
            let mut command = candor(&["orders"]);
            command.args(arguments).args(["--database", file]);
            command.current_dir(fixture.root());
            run_err(command)
        });
        let refused = crate::orders::masking::all_equal(refused);
        messages += &format!("# {file}\n{refused}");
    }
    assert_snapshot!("not_a_store", messages);
    assert!(!fixture.path("missing.db").exists() && !fixture.path("copy.db").exists());
    assert_eq!(fs::read(fixture.path("photos.db")).unwrap(), before);
    assert_eq!(fs::read(fixture.path("format1.db")).unwrap(), FORMAT1);
}
