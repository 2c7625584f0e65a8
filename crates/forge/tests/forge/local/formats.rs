//! Forges of other formats: migrated, refused, and interrupted in the middle of a migration.
//!
//! `fixtures/format1.db` was written by a program of format 1: the sample, whose first pull request was
//! merged and whose second was closed, three checks, and rules for two patterns.

use crate::fixture::local::{
    ALL, LocalFixture, clock, hello, identity, reading_context, writing_context,
};
use candor_forge::local::init;
use candor_forge::{
    CheckState, Forge as _, LocalForge, NewPullRequest, PullFilter, PullState, Revision,
};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use tempfile::TempDir;

const FORMAT_1: &[u8] = include_bytes!("fixtures/format1.db");

/// The program that opens a forge.
const PROGRAM: &str = env!("CARGO_BIN_EXE_forge-test-program");

/// Creates a forge of format 1. The sample's commits are the same everywhere.
async fn forge_of_format_1() -> TempDir {
    let dir = TempDir::new().unwrap();
    assert!(init(dir.path()).await.unwrap());
    // The database of `init` is closed, so no journal is left beside it.
    assert!(!dir.path().join("forge.db-wal").exists());
    fs::write(dir.path().join("forge.db"), FORMAT_1).unwrap();
    dir
}

async fn open(dir: &Path) -> LocalForge {
    let opened = LocalForge::open(dir, clock(), identity()).await;
    opened.unwrap()
}

async fn query(dir: &Path, sql: &'static str) -> Vec<String> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join("forge.db"));
    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
    let rows = sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap();
    pool.close().await;
    rows
}

/// Asserts that everything of the fixture is there.
async fn assert_complete(forge: &LocalForge) {
    let (context, repo) = (reading_context(), hello());
    let pulls = forge.pull_requests(&context, &repo, PullFilter::All, ALL);
    let pulls = pulls.await.unwrap().pulls;
    let states: Vec<_> = pulls
        .iter()
        .map(|pull| (pull.number, pull.state, pull.merged, pull.draft))
        .collect();
    assert_eq!(
        states,
        [
            (3, PullState::Open, false, true),
            (2, PullState::Closed, false, false),
            (1, PullState::Closed, true, false),
        ]
    );
    assert_eq!(pulls[2].body.as_deref(), Some("Says hello to somebody."));
    for (sha, name, state) in [
        ("4d6303b4a2679d249c", "ci/test", CheckState::Passed),
        ("e8795e7cf1fa2fe4bb", "ci/build", CheckState::Failed),
        ("486c21e38571393fe3", "ci/lint", CheckState::Pending),
    ] {
        let checks = forge.checks(&context, &hello(), sha).await.unwrap().checks;
        assert_eq!((checks[0].name.as_str(), checks[0].state), (name, state));
    }
    let rules = forge.protections(&hello()).await.unwrap();
    let rules: Vec<_> = rules
        .iter()
        .map(|one| (one.branch.as_str(), one.rules.require_pull_request))
        .collect();
    assert_eq!(rules, [("main", false), ("release/*", true)]);
}

#[tokio::test]
async fn format_1_is_migrated_with_its_rows() {
    let dir = forge_of_format_1().await;
    assert_complete(&open(dir.path()).await).await;
    let format = "SELECT value FROM meta WHERE key = 'format'";
    assert_eq!(query(dir.path(), format).await, ["2"]);
    // The numbers go on, and a migrated forge is opened as it is.
    let forge = open(dir.path()).await;
    let new = NewPullRequest {
        title: "t".to_owned(),
        head_owner: None,
        head: "conflict".to_owned(),
        base: "main".to_owned(),
        body: None,
        draft: false,
    };
    let (context, repo) = (writing_context(), hello());
    let made = forge.create_pull_request(&context, &repo, &new).await;
    assert_eq!(made.unwrap().number, 4);
    let (at, state) = (Revision::Default, CheckState::Passed);
    let set = forge.set_status(&repo, &at, "ci/lint", state, None).await;
    set.unwrap();
    let checks =
        "SELECT id || ' ' || name || ' ' || state || ' ' || attempt FROM checks ORDER BY id";
    assert_eq!(
        query(dir.path(), checks).await,
        [
            "1 ci/test success 1",
            "2 ci/build failure 1",
            "3 ci/lint success 1"
        ]
    );
}

#[tokio::test]
async fn migrated_and_new_forges_have_the_same_tables() {
    let (old, new) = (forge_of_format_1().await, LocalFixture::new().await);
    drop(open(old.path()).await);
    let tables = "SELECT name || ' ' || coalesce(sql, '') FROM sqlite_master ORDER BY name";
    let migrated = query(old.path(), tables).await;
    assert!(migrated.len() > 20, "{migrated:?}");
    assert_eq!(migrated, query(new.dir.path(), tables).await);
}

/// `init` is what a server calls before it opens a forge.
#[tokio::test]
async fn format_1_is_migrated_by_init() {
    let dir = forge_of_format_1().await;
    assert!(!init(dir.path()).await.unwrap());
    assert_complete(&open(dir.path()).await).await;
}

/// A statement of a program of format 1 that runs while another program migrates the forge.
#[tokio::test]
async fn running_program_of_format_1_writes_nothing_more() {
    let dir = forge_of_format_1().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.path().join("forge.db"));
    let running = sqlx::SqlitePool::connect_with(options).await.unwrap();
    let statement = "UPDATE pulls SET title = 'x' WHERE number = 3";
    sqlx::query(statement).execute(&running).await.unwrap();
    drop(open(dir.path()).await);
    let refused = sqlx::query(statement).execute(&running).await.unwrap_err();
    assert!(refused.to_string().contains("no such table"), "{refused}");
    running.close().await;
}

#[test]
fn processes_that_migrate_at_once_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = runtime.block_on(forge_of_format_1());
    let open_forge = || {
        let mut program = Command::new(PROGRAM);
        program.arg("open").arg(dir.path());
        program.stdout(Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..6).map(|_| open_forge()).collect();
    for process in processes {
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(ended.stdout, b"opened\n");
    }
    runtime.block_on(async { assert_complete(&open(dir.path()).await).await });
}

/// The rounds of killed migrations.
const ROUNDS: usize = 20;

/// Kills a process between the moment at which it opens the database and the end of its migration.
#[test]
fn killed_migration_leaves_a_whole_forge() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let template = runtime.block_on(forge_of_format_1());
    let rounds = TempDir::new().unwrap();
    for round in 0..ROUNDS {
        // A copy each: to make a forge anew syncs every object.
        let dir = rounds.path().join(format!("{round}"));
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(template.path()).arg(&dir);
        assert!(copy.status().unwrap().success());
        let mut process = Command::new(PROGRAM)
            .arg("open")
            .arg(&dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The journal exists when the database is open. Then another number of turns each round.
        let journal = dir.join("forge.db-wal");
        while !journal.exists() && process.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        for _ in 0..round * 400 {
            thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
        runtime.block_on(async {
            let format = "SELECT value FROM meta WHERE key = 'format'";
            let format = query(&dir, format).await;
            assert!(format == ["1"] || format == ["2"], "{format:?}");
            assert_complete(&open(&dir).await).await;
        });
    }
}
