//! `candor orders serve --config`: a file of settings, its errors, and its precedence.

use crate::fixture::{self, CANDOR, LIMIT, candor, run_err};
use crate::orders::fixture::OrdersFixture;
use crate::requests::{call, parse};
use candor_testkit::{Exit, Http, Process};
use insta::assert_snapshot;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Returns `candor orders serve --config` with a file of this text.
fn serve(fixture: &OrdersFixture, text: &str, flags: &[&str]) -> Command {
    let file = fixture.write("candor.toml", text);
    let mut command = candor(&["orders", "serve", "--config", &file]);
    command.args(flags).current_dir(fixture.root());
    command
}

/// Returns the error of a file, with a short name for its directory.
fn error(text: &str, flags: &[&str]) -> String {
    let fixture = OrdersFixture::empty();
    let shown = run_err(serve(&fixture, text, flags));
    assert!(!fixture.path("orders.db").exists(), "something was started");
    shown.replace(fixture.root().to_str().unwrap(), "DIR")
}

#[test]
fn server_starts_with_the_settings_of_a_file() {
    let fixture = OrdersFixture::empty();
    fs::create_dir(fixture.path("conf")).unwrap();
    let token = fixture.write("conf/token", "sesame");
    let text = "version = 1\n[orders]\nhttp = true\nport = 0\ndatabase = \"store.db\"\nbearer_file = \"token\"\ncalls_per_minute = 2\n";
    let file = fixture.write("conf/candor.toml", text);
    let server = Http::spawn(CANDOR, &["orders", "serve", "--config", &file]);
    let page = call(1, "get-orders", "{}");
    assert_eq!(server.post(&page, &[]).status, 401);
    let token = fs::read_to_string(token).unwrap();
    let headers = [("Authorization", &*format!("Bearer {token}"))];
    let answers = [(); 3].map(|()| parse(&server.post(&page, &headers).text()));
    let codes = answers.map(|answer| answer["result"]["error"]["code"].clone());
    assert_eq!(codes.map(|code| code.as_i64()), [None, None, Some(3001)]);
    // Beside the file, not in the working directory.
    assert!(fixture.path("conf/store.db").exists());
}

#[test]
fn flag_wins_over_environment_over_file_over_default() {
    let fixture = OrdersFixture::empty();
    let file = "version = 1\ndata_dir = \"data\"\n[orders]\n";
    let with_database = format!("{file}database = \"file.db\"\n");
    let runs: [(&str, Option<&str>, &[&str], &str); 6] = [
        (file, None, &[], "data/orders.db"),
        (&with_database, None, &[], "file.db"),
        (&with_database, Some(""), &[], "file.db"),
        (&with_database, Some("env.db"), &[], "env.db"),
        (
            &with_database,
            Some("env.db"),
            &["--database", "flag.db"],
            "flag.db",
        ),
        (file, None, &["--data-dir", "other"], "other/orders.db"),
    ];
    for (text, variable, flags, expected) in runs {
        let mut command = serve(&fixture, text, flags);
        if let Some(variable) = variable {
            command.env("CANDOR_ORDERS_DATABASE", variable);
        }
        assert!(!fixture.path(expected).exists(), "{expected}");
        fixture::run_ok(command);
        assert!(fixture.path(expected).exists(), "{expected}");
        fs::remove_file(fixture.path(expected)).unwrap();
    }
}

#[test]
fn flag_wins_over_keys_that_it_excludes() {
    let fixture = OrdersFixture::empty();
    let text = "version = 1\n[orders]\ndatabase_from = \"missing\"\n";
    fixture::run_ok(serve(&fixture, text, &["--database", "flag.db"]));
    assert!(fixture.path("flag.db").exists());
    let mut by_environment = serve(&fixture, text, &[]);
    by_environment.env("CANDOR_ORDERS_DATABASE", "env.db");
    fixture::run_ok(by_environment);
    assert!(fixture.path("env.db").exists());
    let missing = run_err(serve(&fixture, text, &[]));
    assert!(missing.contains("cannot read the address in"), "{missing}");
}

#[test]
fn flag_may_need_a_key_of_the_file_and_the_other_way_round() {
    let text = "version = 1\n[orders]\nport = 0\nclients = \"none.json\"\n";
    let missing = |shown: String| assert!(shown.contains("none.json"), "{shown}");
    missing(error(text, &["--http"]));
    let http = "version = 1\n[orders]\nport = 0\nhttp = true\n";
    missing(error(http, &["--clients", "none.json"]));
    assert_snapshot!(error(text, &[]), @"
    error: `clients` in [orders] needs `http`
      --> DIR/candor.toml:4:1
      |
    4 | clients = \"none.json\"
      | ^^^^^^^
    hint: set `http` too, start the command with --http, or remove `clients`
    ");
}

#[test]
fn every_error_of_a_file_is_shown_with_its_place() {
    let text = "verison = 1
[orders]
prot = 8788
	connections = 5000 # tab
adapter = \"mysql\"
allowed_hosts = [\"é\", 5]
clients = \"c.json\"
bearer_file = \"t\"
http = true
deadline_ms = 1_0x
data_dir = \"/srv\"
database = \"postgres://u:canary@h/db\"
databse = \"postgres://u:canary@h/db\"
[ordres]
";
    let shown = error(text, &[]);
    assert!(!shown.contains("canary"), "{shown}");
    assert_snapshot!(shown);
}

#[test]
fn at_most_20_errors_are_shown() {
    let keys = (0..25).map(|number| format!("wrong_{number} = 1\n"));
    let shown = error(&format!("version = 1\n{}", keys.collect::<String>()), &[]);
    assert_eq!(shown.matches("error: ").count(), 20);
    assert!(
        shown.ends_with("note: 5 more errors are not shown\n"),
        "{shown}"
    );
}

#[test]
fn file_of_nothing_but_errors_is_refused_like_any_other() {
    let shown = error(&"=\n".repeat(500_000), &[]);
    assert_eq!(shown.matches("error: this is not TOML").count(), 20);
    assert!(shown.len() < 10_000, "{}", shown.len());
}

#[test]
fn hostile_texts_do_not_reach_the_terminal() {
    let long = "x".repeat(500_000);
    let text = format!("version = 1\n\"\\u001b[2J\u{202e}{long}\" = \"{long}\"\n");
    let shown = error(&text, &[]);
    assert!(shown.len() < 1_000, "{}", shown.len());
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn files_that_cannot_be_settings_are_refused() {
    let fixture = OrdersFixture::empty();
    fs::create_dir(fixture.path("directory")).unwrap();
    fs::write(fixture.path("latin1"), b"version = 1\n# caf\xe9\n").unwrap();
    fs::write(fixture.path("large"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    let pipe = rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    );
    pipe.unwrap();
    let files = [
        "missing",
        "directory",
        "latin1",
        "large",
        "pipe",
        "/dev/zero",
    ];
    let shown = files.map(|file| {
        let mut command = candor(&["orders", "serve", "--config", file]);
        command.current_dir(fixture.root());
        run_err(command)
    });
    assert_snapshot!(shown.concat(), @"
    error: cannot read the configuration missing: No such file or directory (os error 2)
    hint: name a file that exists and that you can read, or omit --config
    error: the configuration directory is a directory
    hint: name a regular file
    error: the configuration is not UTF-8
      --> latin1:2:6
    hint: save the file as UTF-8
    error: the configuration large is larger than 1 MiB
    hint: name a TOML file with settings
    error: the configuration pipe is a pipe, a socket or a device
    hint: name a regular file
    error: the configuration /dev/zero is a pipe, a socket or a device
    hint: name a regular file
    ");
    assert!(!fixture.path("orders.db").exists());
}

#[test]
fn file_that_another_user_may_not_be_able_to_read_keeps_a_password() {
    let fixture = OrdersFixture::empty();
    let text = "version = 1\n[orders]\ndatabase = \"postgres://u:canary@127.0.0.1:1/db\"\n";
    let run = |mode: u32| {
        let command = serve(&fixture, text, &[]);
        let file = fixture.path("candor.toml");
        fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
        let shown = run_err(command);
        assert!(!shown.contains("canary"), "{shown}");
        shown
    };
    let refused = "`database` in [orders] contains a password, and other users may read this file";
    assert!(run(0o644).contains(refused));
    // Nobody listens there, but the address was used.
    assert!(run(0o600).contains("the database cannot be used"));
}

#[test]
fn wrong_flags_are_reported_beside_a_file() {
    let fixture = OrdersFixture::empty();
    let text = "version = 1\n[orders]\nport = 0\n";
    let shown = run_err(serve(&fixture, text, &["--prot", "5"]));
    assert!(
        shown.contains("unexpected argument '--prot' found"),
        "{shown}"
    );
    let help = Process::run(serve(&fixture, "not toml", &["--help"]), LIMIT);
    assert_eq!(help.exit, Exit::Code(0));
}

#[test]
fn no_file_can_be_named_explicitly() {
    let fixture = OrdersFixture::empty();
    let mut command = candor(&["orders", "serve", "--config", "none", "--database", "o.db"]);
    command.current_dir(fixture.root());
    fixture::run_ok(command);
    assert!(fixture.path("o.db").exists());
}
