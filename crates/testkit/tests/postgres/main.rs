//! PostgreSQL servers of tests: connections, pausing, restarting, and that nothing is left behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use candor_testkit::postgres::{PASSWORD, Postgres, required, required_tcp};
use candor_testkit::{Process, skip};
use sqlx::postgres::PgConnection;
use sqlx::{AnyConnection, Connection, Row};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any answer takes: how long a paused server is listened to.
const SILENCE: Duration = Duration::from_millis(200);

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

async fn select_one(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    let row = sqlx::query("SELECT 1").fetch_one(connection).await?;
    row.try_get(0)
}

fn is_gone(process: u32) -> bool {
    !Path::new(&format!("/proc/{process}")).exists()
}

#[tokio::test]
async fn databases_are_empty_and_separate() {
    let Some(server) = required() else { return };
    let (first, second) = (server.database(), server.database());
    assert_ne!(first, second);
    assert_eq!(server.address(), None);
    let mut first = connect(&first).await;
    let table = sqlx::query("CREATE TABLE orders (id BIGINT)");
    table.execute(&mut first).await.unwrap();
    let mut second = connect(&second).await;
    let absent = sqlx::query("SELECT id FROM orders")
        .fetch_all(&mut second)
        .await;
    let code = absent.unwrap_err().into_database_error().unwrap();
    assert_eq!(code.code().as_deref(), Some("42P01"));
    server.stop();
    assert!(select_one(&mut second).await.is_err());
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn database_names_with_special_characters_work() {
    let Some(server) = required() else { return };
    server.create_database("a \"b\"/ü?");
    let mut connection = connect(&server.url("a \"b\"/ü?")).await;
    let row = sqlx::query("SELECT current_database()::text").fetch_one(&mut connection);
    assert_eq!(row.await.unwrap().get::<String, _>(0), "a \"b\"/ü?");
}

#[tokio::test]
async fn any_driver_accepts_the_urls() {
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
async fn wrong_password_is_refused() {
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
async fn paused_server_answers_after_resume() {
    let Some(server) = required() else { return };
    let mut connection = connect(&server.url("postgres")).await;
    assert_eq!(select_one(&mut connection).await.unwrap(), 1);
    server.pause();
    let mut answer = Box::pin(select_one(&mut connection));
    assert!(tokio::time::timeout(SILENCE, &mut answer).await.is_err());
    server.resume();
    assert_eq!(answer.await.unwrap(), 1);
}

#[tokio::test]
async fn restarted_server_keeps_its_address_and_data() {
    let Some(server) = required_tcp() else {
        return;
    };
    let url = server.database();
    let address = server.address().unwrap();
    assert!(address.ip().is_loopback() && url.contains(&address.to_string()));
    let mut connection = connect(&url).await;
    let table = sqlx::query("CREATE TABLE kept AS SELECT 7 AS number");
    table.execute(&mut connection).await.unwrap();
    server.kill();
    assert!(select_one(&mut connection).await.is_err());
    assert!(PgConnection::connect(&url).await.is_err());
    server.restart().unwrap();
    let mut connection = connect(&url).await;
    let row = sqlx::query("SELECT number FROM kept").fetch_one(&mut connection);
    assert_eq!(row.await.unwrap().get::<i32, _>(0), 7);
}

fn drop_leaves_nothing(prepare: impl FnOnce(&Postgres)) {
    let Some(server) = required() else { return };
    let processes = server.processes();
    assert!(processes.len() > 1 && !processes.iter().any(|process| is_gone(*process)));
    prepare(&server);
    let folder = server.folder().to_owned();
    drop(server);
    assert!(processes.into_iter().all(is_gone));
    assert!(!folder.exists());
}

#[test]
fn dropped_server_leaves_nothing() {
    drop_leaves_nothing(|_| {});
}

#[test]
fn dropped_paused_server_leaves_nothing() {
    drop_leaves_nothing(Postgres::pause);
}

/// The time that the end of a server may take, or anything else that a test waits for.
const LIMIT: Duration = Duration::from_secs(20);

/// Kills a process that holds a server in this state. Returns folder and processes of the server.
fn kill_holder(state: &str) -> Option<(String, Vec<u32>)> {
    drop(required()?);
    let command = Process::command(env!("CARGO_BIN_EXE_hold-postgres"), &[state]);
    let (mut holder, _stdin, _stdout) = Process::start(command);
    let line = holder.stderr_line("server ", LIMIT).unwrap();
    let mut words = line.split_whitespace().skip(1);
    let folder = words.next().unwrap().to_owned();
    let processes: Vec<u32> = words.map(|word| word.parse().unwrap()).collect();
    assert!(processes.len() > 1 && !processes.iter().any(|process| has_ended(*process)));
    holder.signal("KILL");
    holder.exit_within(LIMIT).unwrap();
    Some((folder, processes))
}

fn await_end(processes: &[u32]) {
    let until = Instant::now() + LIMIT;
    while !processes.iter().all(|process| has_ended(*process)) {
        assert!(Instant::now() < until, "{processes:?} are still there");
        thread::yield_now();
    }
}

#[test]
fn server_dies_with_the_process_of_its_test() {
    if Command::new("setpriv").arg("--version").output().is_err() {
        return skip("setpriv was not found");
    }
    let Some((folder, processes)) = kill_holder("running") else {
        return;
    };
    await_end(&processes);
    // The killed process could not remove its folder: the next start does.
    assert!(required().is_some() && !Path::new(&folder).exists());
}

#[test]
fn paused_server_is_killed_by_the_next_start() {
    let Some((folder, processes)) = kill_holder("paused") else {
        return;
    };
    assert!(required().is_some() && !Path::new(&folder).exists());
    await_end(&processes);
}

/// Returns true if a process is gone, or is a zombie that its new parent has not reaped yet.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[tokio::test]
async fn kept_data_is_durable_and_found_again() {
    if required().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    // The server's account has to look into it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = folder.path().join("kept");
    let server = Postgres::start_kept(&place).unwrap();
    server.create_database("left");
    let processes = server.processes();
    drop(server);
    assert!(processes.into_iter().all(is_gone));
    let server = Postgres::start_kept(&place).unwrap();
    let mut left = connect(&server.url("left")).await;
    let row = sqlx::query("SHOW fsync").fetch_one(&mut left).await;
    assert_eq!(row.unwrap().get::<String, _>(0), "on");
}
