//! The owner's commands: every mistake has a message and a hint.

use crate::fixture::{LIMIT, candor, help, run_err, run_ok};
use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::all_equal;
use candor_testkit::postgres::{self, MAINTENANCE};
use candor_testkit::{Exit, Process};
use insta::assert_snapshot;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::Command;

/// Runs `candor orders …`, which must fail. Returns the command and its message without the directory's name.
fn error_of(fixture: &OrdersFixture, arguments: &[&str]) -> String {
    let mut command = candor(&["orders"]);
    command.args(arguments).current_dir(fixture.path(""));
    let output = run_err(command);
    format!(
        "$ candor orders {}\n{}",
        fixture.normalize(&arguments.join(" ")),
        fixture.normalize(&output)
    )
}

/// The pages themselves are in `docs/cli.md`, which is compared with the program elsewhere.
#[test]
fn help_goes_to_stdout() {
    for words in [
        vec!["orders"],
        vec!["orders", "serve"],
        vec!["orders", "migrate"],
    ] {
        let long: Vec<_> = words.iter().copied().chain(["--help"]).collect();
        let usage = format!("Usage: candor {}", words.join(" "));
        assert!(help(&long).contains(&usage), "{usage}");
    }
    let bare = run_err(candor(&["orders"]));
    assert!(
        bare.contains("Usage: candor orders [OPTIONS] <COMMAND>"),
        "{bare}"
    );
}

#[test]
fn typos_are_explained() {
    let fixture = OrdersFixture::empty();
    let messages = [
        error_of(&fixture, &["serv"]),
        error_of(&fixture, &["serve", "--databse", "x.db"]),
        error_of(
            &fixture,
            &["serve", "--database", "x.db", "--database-from", "y"],
        ),
        error_of(&fixture, &["serve", "--deadline-ms", "0"]),
        error_of(&fixture, &["serve", "--attempts", "11"]),
        error_of(&fixture, &["serve", "--connections", "0"]),
        error_of(&fixture, &["serve", "--failures", "both"]),
        error_of(&fixture, &["serve", "--write-bearer-file", "token"]),
        error_of(&fixture, &["serve", "--http", "--bind", "0.0.0.0"]),
        error_of(&fixture, &["migrate", "--currency", "usd"]),
        error_of(&fixture, &["migrate", "--currency", "XYZ"]),
    ];
    assert_snapshot!(messages.join("\n"));
    assert!(
        fs::read_dir(fixture.path("")).unwrap().next().is_none(),
        "nothing was made"
    );
}

#[test]
fn unusable_database_is_explained() {
    let fixture = OrdersFixture::empty();
    fs::create_dir(fixture.path("folder")).unwrap();
    fixture.write("text", &"this is no database\n".repeat(100));
    let messages = [
        error_of(&fixture, &["serve", "--database", "folder"]),
        error_of(&fixture, &["migrate", "--database", "folder"]),
        error_of(&fixture, &["serve", "--database", "none/orders.db"]),
        error_of(&fixture, &["serve", "--database", ""]),
        error_of(&fixture, &["serve", "--database", "text"]),
        error_of(&fixture, &["migrate", "--database", "text"]),
        error_of(&fixture, &["serve", "--database-from", "none"]),
        error_of(&fixture, &["serve", "--database", "mysql://h/d"]),
    ];
    assert_snapshot!(messages.join("\n"));
}

#[test]
fn invalid_script_is_explained() {
    let fixture = OrdersFixture::empty();
    fixture.write(
        "wrong.json",
        r#"{"rules":[{"percent":101,"fault":{"kind":"hang"}}]}"#,
    );
    fixture.write("text.json", "rules: none");
    let serve = |script| {
        error_of(
            &fixture,
            &["serve", "--database", "x.db", "--faulty", script],
        )
    };
    let messages = ["none.json", "wrong.json", "text.json"].map(serve);
    assert_snapshot!(messages.join("\n"));
}

#[test]
fn invalid_catalogue_is_explained() {
    let fixture = OrdersFixture::empty();
    let large = fs::File::create(fixture.path("large.json")).unwrap();
    large.set_len(candor_orders::sql::MAX_IMPORT + 1).unwrap();
    let mug = |on_hand: i64| {
        format!(
            r#"{{"locations":[{{"id":"b","name":"B"}}],"products":[{{"id":"m","name":"M","variants":[{{"sku":"M","price":"1.00","stock":[{{"locationId":"b","onHand":{on_hand}}}]}}]}}]}}"#
        )
    };
    let most = candor_orders::sql::MAX_STOCK;
    fs::write(fixture.path("many.json"), mug(most + 1)).unwrap();
    fs::write(fixture.path("fine.json"), mug(most)).unwrap();
    let import = |file| error_of(&fixture, &["import", file, "--database", "x.db"]);
    let messages = [
        import("large.json"),
        import("many.json"),
        import("none.json"),
    ];
    assert_snapshot!(messages.join("\n"));
    let mut command = candor(&["orders", "import", "fine.json", "--database", "x.db"]);
    command.current_dir(fixture.path(""));
    run_ok(command);
}

#[test]
fn tables_are_created_once() {
    let file = OrdersFixture::empty();
    let server = postgres::required().map(OrdersFixture::on);
    for fixture in [Some(file), server].into_iter().flatten() {
        assert_eq!(
            fixture.run_ok(&["migrate", "--currency", "EUR"]),
            "tables created\n"
        );
        for again in [vec!["migrate"], vec!["migrate", "--currency", "EUR"]] {
            let output = fixture.run_ok(&again);
            assert_eq!(output, "the tables exist already; nothing was changed\n");
        }
        assert_eq!(
            run_err(fixture.command(&["migrate", "--currency", "JPY"])),
            "error: the prices of the database are in EUR, not in JPY\nhint: omit --currency, or name another database with --database\n"
        );
        let currency = "SELECT value FROM settings WHERE name = 'currency'";
        assert_eq!(fixture.database().lines(currency), "EUR");
    }
}

/// Of several concurrent runs, one creates the tables.
#[test]
fn tables_are_created_once_by_concurrent_runs() {
    let file = OrdersFixture::empty();
    let server = postgres::required().map(OrdersFixture::on);
    for fixture in [Some(file), server].into_iter().flatten() {
        let commands: Vec<_> = (0..6).map(|_| fixture.command(&["migrate"])).collect();
        let output: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = commands
                .into_iter()
                .map(|command| scope.spawn(move || Process::run(command, LIMIT)))
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let creations = output
            .iter()
            .filter(|ended| ended.stdout == b"tables created\n");
        assert_eq!(creations.count(), 1, "{output:?}");
        assert!(
            output.iter().all(|ended| ended.exit == Exit::Code(0)),
            "{output:?}"
        );
    }
}

#[test]
fn missing_and_foreign_tables_are_explained() {
    let Some(server) = postgres::required() else {
        return;
    };
    let fixture = OrdersFixture::on(server);
    let refused = |fixture: &OrdersFixture| run_err(fixture.command(&["serve"]));
    assert_snapshot!(refused(&fixture), @r"
    error: the database has no tables for orders yet
    hint: to create its tables, run this with the same options for the database:
      candor orders migrate
    ");
    fixture.run_ok(&["migrate"]);
    fixture
        .database()
        .run("UPDATE settings SET value = '3' WHERE name = 'format'");
    assert_snapshot!(refused(&fixture), @r"
    error: the tables have format 3, and this program knows 2: it was made by a newer one
    hint: use a newer candor, or name another database with --database
    ");
    fixture.database().run("DELETE FROM settings");
    assert_snapshot!(refused(&fixture), @r"
    error: the tables are not ours: they have no format
    hint: name another database with --database
    ");
    let file = OrdersFixture::empty();
    file.make_foreign_database("CREATE TABLE settings (name TEXT, value TEXT)");
    assert_snapshot!(refused(&file), @r"
    error: the tables are not ours: they have no format
    hint: name another database with --database
    ");
}

/// Returns `candor orders WORD` with the address of a database in its environment.
fn on_database(word: &str, url: &str) -> Command {
    let mut command = candor(&["orders", word]);
    command.env("CANDOR_ORDERS_DATABASE", url);
    command
}

#[test]
fn password_on_the_command_line_is_refused() {
    let urls = [
        "postgres://u:p@127.0.0.1:1/d",
        "postgres://u@127.0.0.1:1/d?password=p",
    ];
    let refused = ["serve", "migrate", "seed"].map(|word| {
        all_equal(urls.map(|url| run_err(candor(&["orders", word, "--database", url]))))
    });
    assert_snapshot!(all_equal(refused), @r"
    error: --database contains a password, which every user of this machine can see
    hint: write the address into a file that only you can read, and name it:
      candor orders serve --database-from FILE
    or set CANDOR_ORDERS_DATABASE to the address
    ");
}

#[test]
fn unreachable_database_is_explained() {
    // The local end of an open connection: nothing can listen on this port.
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(far.local_addr().unwrap()).unwrap();
    let url = format!("postgres://u:p@{}/d", near.local_addr().unwrap());
    let refused = ["serve", "migrate"].map(|word| run_err(on_database(word, &url)));
    assert_snapshot!(all_equal(refused), @r"
    error: the database cannot be used: error communicating with database: Connection refused (os error 111)
    hint: check --database, and whether the database is running
    ");
    let Some(server) = postgres::required() else {
        return;
    };
    let url = server.url("none");
    let output = run_err(on_database("serve", &url));
    assert_snapshot!(output, @r#"
    error: the database cannot be used: database "none" does not exist
    hint: check --database, and whether the database is running
    "#);
    let url = server.url(MAINTENANCE);
    server.stop();
    let output = run_err(on_database("serve", &url));
    assert_snapshot!(output, @r"
    error: the database cannot be used: error communicating with database: No such file or directory (os error 2)
    hint: check --database, and whether the database is running
    ");
}
