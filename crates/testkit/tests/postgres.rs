//! A real server: what it lets in, how it stands still, and that nothing of it is left.

// A test is a program: it fails by panicking, and owns its environment and its output.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

use candor_testkit::Process;
use candor_testkit::postgres::{PASSWORD, Postgres, required, required_tcp};
use sqlx::postgres::PgConnection;
use sqlx::{AnyConnection, Connection, Row};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any answer takes, and what every test of a server that stands still waits once.
const SILENCE: Duration = Duration::from_millis(200);

async fn connected(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

async fn one(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    let row = sqlx::query("SELECT 1").fetch_one(connection).await?;
    row.try_get(0)
}

fn gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

#[tokio::test]
async fn databases_are_new_and_apart() {
    let Some(server) = required() else { return };
    let (first, second) = (server.database(), server.database());
    assert_ne!(first, second);
    assert_eq!(server.address(), None);
    let mut first = connected(&first).await;
    let table = sqlx::query("CREATE TABLE orders (id BIGINT)");
    table.execute(&mut first).await.unwrap();
    let mut second = connected(&second).await;
    let absent = sqlx::query("SELECT id FROM orders")
        .fetch_all(&mut second)
        .await;
    let code = absent.unwrap_err().into_database_error().unwrap();
    assert_eq!(code.code().as_deref(), Some("42P01"));
    server.stop();
    assert!(one(&mut second).await.is_err());
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn a_name_may_be_anything_that_postgresql_takes() {
    let Some(server) = required() else { return };
    server.create_database("a \"b\"/ü?");
    let mut connection = connected(&server.url("a \"b\"/ü?")).await;
    let row = sqlx::query("SELECT current_database()::text").fetch_one(&mut connection);
    assert_eq!(row.await.unwrap().get::<String, _>(0), "a \"b\"/ü?");
}

#[tokio::test]
async fn the_driver_for_any_database_takes_the_urls() {
    sqlx::any::install_default_drivers();
    for server in [required(), required_tcp()].into_iter().flatten() {
        let mut connection = AnyConnection::connect(&server.database()).await.unwrap();
        let row = sqlx::query("SELECT $1")
            .bind("ü")
            .fetch_one(&mut connection);
        assert_eq!(row.await.unwrap().get::<String, _>(0), "ü");
    }
}

#[tokio::test]
async fn another_password_is_refused() {
    let Some(server) = required() else { return };
    let url = server.url("postgres");
    assert!(url.contains(PASSWORD));
    for url in [
        url.replace(PASSWORD, "other"),
        url.replace(&format!(":{PASSWORD}"), ""),
    ] {
        let refused = PgConnection::connect(&url).await.unwrap_err();
        let code = refused.into_database_error().unwrap();
        assert_eq!(code.code().as_deref(), Some("28P01"));
    }
    assert!(!server.log().contains(PASSWORD));
}

#[tokio::test]
async fn a_paused_server_is_silent_and_goes_on() {
    let Some(server) = required() else { return };
    let mut connection = connected(&server.url("postgres")).await;
    assert_eq!(one(&mut connection).await.unwrap(), 1);
    server.pause();
    let mut answer = Box::pin(one(&mut connection));
    assert!(tokio::time::timeout(SILENCE, &mut answer).await.is_err());
    server.resume();
    assert_eq!(answer.await.unwrap(), 1);
}

#[tokio::test]
async fn a_server_on_a_port_comes_back_at_its_address() {
    let Some(server) = required_tcp() else {
        return;
    };
    let url = server.database();
    let address = server.address().unwrap();
    assert!(address.ip().is_loopback() && url.contains(&address.to_string()));
    let mut connection = connected(&url).await;
    let table = sqlx::query("CREATE TABLE kept AS SELECT 7 AS number");
    table.execute(&mut connection).await.unwrap();
    server.kill();
    assert!(one(&mut connection).await.is_err());
    assert!(PgConnection::connect(&url).await.is_err());
    server.restart().unwrap();
    let mut connection = connected(&url).await;
    let row = sqlx::query("SELECT number FROM kept").fetch_one(&mut connection);
    assert_eq!(row.await.unwrap().get::<i32, _>(0), 7);
}

fn dropped(prepare: impl FnOnce(&Postgres)) {
    let Some(server) = required() else { return };
    let processes = server.processes();
    assert!(processes.len() > 1 && !processes.iter().any(|process| gone(*process)));
    prepare(&server);
    let folder = server.folder().to_owned();
    drop(server);
    assert!(processes.into_iter().all(gone));
    assert!(!folder.exists());
}

#[test]
fn dropping_leaves_nothing() {
    dropped(|_| {});
}

#[test]
fn dropping_a_paused_server_leaves_nothing() {
    dropped(Postgres::pause);
}

/// Set for the process that starts a server and is killed.
const VICTIM: &str = "CANDOR_TEST_VICTIM";

/// How long the end of a server may take, or anything else that a test waits for.
const LIMIT: Duration = Duration::from_secs(20);

/// A process of its own that starts a server, and is killed with that server as it is.
fn killed(test: &str, state: &str) -> Option<(String, Vec<u32>)> {
    drop(required()?);
    let program = std::env::current_exe().unwrap();
    let mut command = Process::command(program, &["--exact", test, "--nocapture"]);
    command.env(VICTIM, state);
    let (mut victim, _stdin, _stdout) = Process::start(command);
    let line = victim.stderr_line("server ", LIMIT).unwrap();
    let mut words = line.split_whitespace().skip(1);
    let folder = words.next().unwrap().to_owned();
    let processes: Vec<u32> = words.map(|word| word.parse().unwrap()).collect();
    assert!(processes.len() > 1 && !processes.iter().any(|process| ended(*process)));
    victim.signal("KILL");
    victim.exit_within(LIMIT).unwrap();
    Some((folder, processes))
}

/// Starts a server on a thread that ends before the server does, and waits.
fn be_killed(state: &str) {
    let server = thread::spawn(|| required().unwrap()).join().unwrap();
    if state == "paused" {
        server.pause();
    }
    let words: Vec<String> = server.processes().iter().map(u32::to_string).collect();
    eprintln!("server {} {}", server.folder().display(), words.join(" "));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn await_end(processes: &[u32]) {
    let until = Instant::now() + LIMIT;
    while !processes.iter().all(|process| ended(*process)) {
        assert!(Instant::now() < until, "{processes:?} are still there");
        thread::yield_now();
    }
}

#[test]
fn a_server_dies_with_the_process_of_its_test() {
    if let Ok(state) = std::env::var(VICTIM) {
        return be_killed(&state);
    }
    if Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("NOT RUN: setpriv was not found");
        return;
    }
    let name = "a_server_dies_with_the_process_of_its_test";
    let Some((folder, processes)) = killed(name, "running") else {
        return;
    };
    await_end(&processes);
    // Nobody was left to remove its folder: the next start does.
    assert!(required().is_some() && !Path::new(&folder).exists());
}

#[test]
fn a_server_that_stood_still_is_killed_by_the_next_start() {
    if let Ok(state) = std::env::var(VICTIM) {
        return be_killed(&state);
    }
    let name = "a_server_that_stood_still_is_killed_by_the_next_start";
    let Some((folder, processes)) = killed(name, "paused") else {
        return;
    };
    assert!(required().is_some() && !Path::new(&folder).exists());
    await_end(&processes);
}

/// Whether a process is gone, or will be as soon as whoever adopted it has looked.
fn ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[tokio::test]
async fn what_is_kept_is_there_for_the_next_server_and_safe() {
    if required().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // The server's account has to look into it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = folder.path().join("kept");
    let server = Postgres::kept(&place).unwrap();
    server.create_database("left");
    let processes = server.processes();
    drop(server);
    assert!(processes.into_iter().all(gone));
    let server = Postgres::kept(&place).unwrap();
    let mut left = connected(&server.url("left")).await;
    let row = sqlx::query("SHOW fsync").fetch_one(&mut left).await;
    assert_eq!(row.unwrap().get::<String, _>(0), "on");
}
