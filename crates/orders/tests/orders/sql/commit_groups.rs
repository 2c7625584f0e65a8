//! Group commit: changes share a commit, and a failing one leaves the others as they are.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use crate::requests::ToolResponse;
use crate::sql::contention::{CREATE, buy, hold, release, send, until_open, until_waiting};
use crate::sql::invariants;
use candor_street::CancellationToken;
use serde_json::json;
use sqlx::{AnyConnection, Connection as _};
use std::path::Path;
/// Returns the number of commits in the write-ahead log of a file: frames that state the size of the
/// database.
fn commits(file: &Path) -> usize {
    let log = std::fs::read(file.with_extension("db-wal")).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let (page_size, salt) = (number(8) as usize, (number(16), number(20)));
    let frames = (32..).step_by(24 + page_size);
    let frames = frames.take_while(|frame| frame + 24 + page_size <= log.len());
    let current = frames.filter(|frame| (number(frame + 8), number(frame + 12)) == salt);
    current.filter(|frame| number(frame + 4) > 0).count()
}

async fn sqlite_commits(commit_group: u16) -> usize {
    let options = StoreOptions {
        commit_group,
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(TestDatabase::sqlite(), options).await;
    let file = match &fixture.database {
        TestDatabase::Sqlite(folder) => folder.path().join("orders.db"),
        TestDatabase::Postgres(..) => unreachable!(),
    };
    let mut holder = AnyConnection::connect(&fixture.database.raw_url())
        .await
        .unwrap();
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut holder)
        .await
        .unwrap();
    let before = commits(&file);
    let calls = send(&fixture.server, ("PIN", "k"), 33);
    until_open(&fixture.server, 33).await;
    release(&mut holder).await;
    for (_, response) in calls.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
    invariants::assert_hold(&fixture).await;
    commits(&file) - before
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_file_share_a_commit() {
    // The first ones lead a group before the others arrive.
    let grouped = sqlite_commits(64).await;
    assert!((1..=4).contains(&grouped), "{grouped}");
    assert_eq!(sqlite_commits(1).await, 33);
}

async fn postgres_commits(commit_group: u16) -> Option<i64> {
    let options = StoreOptions {
        commit_group,
        ..StoreOptions::default()
    };
    let database = TestDatabase::postgres()?;
    sqlx::any::install_default_drivers();
    let mut owner = AnyConnection::connect(&database.raw_url()).await.unwrap();
    sqlx::query("ALTER SYSTEM SET track_commit_timestamp = on")
        .execute(&mut owner)
        .await
        .unwrap();
    owner.close().await.unwrap();
    database.server().restart().unwrap();
    let fixture = StoreFixture::with_options(database, options).await;
    let mut holder = hold(&fixture, "MUG").await;
    let calls = send(&fixture.server, ("MUG", "k"), 33);
    until_waiting(&fixture, 1).await;
    until_open(&fixture.server, 33).await;
    release(&mut holder).await;
    for (_, response) in calls.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
    invariants::assert_hold(&fixture).await;
    let commits = "SELECT COUNT(DISTINCT pg_xact_commit_timestamp(xmin)) FROM orders";
    Some(fixture.number(commits).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_contended_sku_share_a_commit() {
    let Some(grouped) = postgres_commits(64).await else {
        return;
    };
    assert!((1..=4).contains(&grouped), "{grouped}");
    assert_eq!(postgres_commits(1).await, Some(33));
}

/// One change of a group is refused and one panics; the others are made.
pub(crate) async fn failing_members(fixture: &StoreFixture) {
    let options = StoreOptions {
        first_id: 1,
        // Each order draws two numbers: the panic hits one in the middle of the group.
        panic_at: 12,
        ..StoreOptions::default()
    };
    let server = fixture.another_server(options).await;
    let mut holder = match fixture.database.is_postgres() {
        true => hold(fixture, "MUG").await,
        false => {
            let url = fixture.database.raw_url();
            let mut holder = AnyConnection::connect(&url).await.unwrap();
            let lock = sqlx::query("BEGIN IMMEDIATE");
            lock.execute(&mut holder).await.unwrap();
            holder
        }
    };
    let calls = send(&server, ("MUG", "k"), 16);
    let too_many = {
        let server = server.clone();
        let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 101 }] });
        let arguments = json!({ "order": order, "idempotencyKey": "refused" });
        tokio::spawn(async move { server.call(CREATE, arguments).await })
    };
    let wrong = {
        let server = server.clone();
        let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }], "total": "1.00" });
        let arguments = json!({ "order": order, "idempotencyKey": "wrong" });
        tokio::spawn(async move { server.call(CREATE, arguments).await })
    };
    until_open(&server, 18).await;
    release(&mut holder).await;
    let refused = too_many.await.unwrap();
    assert_eq!(refused.failure(), (4001, "INSUFFICIENT_INVENTORY"));
    assert_eq!(wrong.await.unwrap().failure(), (2001, ""));
    let mut panicked = Vec::new();
    for (number, response) in calls.join_all().await {
        match response.failure() {
            (0, "") => {}
            failure => {
                assert_eq!(failure, (-32603, ""), "{}", response.whole);
                panicked.push(number);
            }
        }
    }
    assert_eq!(panicked.len(), 1);
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records), (SELECT reserved FROM variants WHERE sku = 'MUG')";
    assert_eq!(fixture.rows(counts).await, ["15 16 16 15"]);
    // The same key makes the order that panicked.
    let again = buy("MUG", &format!("k-{}", panicked[0]));
    let again = server.call(CREATE, again).await;
    assert_eq!(again.status(), "pending", "{}", again.whole);
    assert_eq!(fixture.rows(counts).await, ["16 17 17 16"]);
}

/// A call leaves while its group waits for a lock: its change alone is not made.
#[tokio::test(flavor = "multi_thread")]
async fn late_member_is_rolled_back_alone() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    let mut first = hold(&fixture, "MUG").await;
    let leader = send(&fixture.server, ("MUG", "leader"), 1);
    until_waiting(&fixture, 1).await;
    let others = send(&fixture.server, ("MUG", "k"), 8);
    let cancel = CancellationToken::new();
    let late = {
        let (server, cancel) = (fixture.server.clone(), cancel.clone());
        tokio::spawn(async move { server.call_until(CREATE, buy("MUG", "late"), cancel).await })
    };
    // Waits behind the leader, and then in front of the group.
    let second = {
        let url = fixture.database.raw_url();
        tokio::spawn(async move {
            let mut holder = AnyConnection::connect(&url).await.unwrap();
            sqlx::query("BEGIN").execute(&mut holder).await.unwrap();
            let lock = sqlx::query("SELECT sku FROM variants WHERE sku = 'MUG' FOR UPDATE");
            lock.fetch_all(&mut holder).await.unwrap();
            holder
        })
    };
    until_waiting(&fixture, 2).await;
    until_open(&fixture.server, 10).await;
    release(&mut first).await;
    let mut second = second.await.unwrap();
    for (_, response) in leader.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
    until_waiting(&fixture, 1).await;
    cancel.cancel();
    let late = late.await.unwrap();
    assert_eq!(late.failure(), (3002, ""), "{}", late.whole);
    assert_eq!(late.context("effect"), "none");
    release(&mut second).await;
    for (_, response) in others.join_all().await {
        assert_eq!(response.status(), "pending", "{}", response.whole);
    }
    let counts = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM keys WHERE key = 'late')";
    assert_eq!(fixture.rows(counts).await, ["9 9 0"]);
    invariants::assert_hold(&fixture).await;
}

/// Lets every commit that stores a record lose its connection.
async fn lose_commits(fixture: &StoreFixture) {
    fixture.execute("CREATE FUNCTION first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); RETURN NULL; END $$").await;
    fixture.execute("CREATE CONSTRAINT TRIGGER first AFTER INSERT ON records DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION first()").await;
}

fn assert_unknown(response: &ToolResponse) {
    assert_eq!(response.failure(), (4002, ""), "{}", response.whole);
    assert_eq!(response.context("effect"), "unknown");
    assert_eq!(response.context("key"), "keep");
}

/// The commit of a group is sent and lost: no member knows its outcome, a refused one neither, and
/// each key finds it.
#[tokio::test(flavor = "multi_thread")]
async fn lost_commit_leaves_every_member_unknown() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    lose_commits(&fixture).await;
    let mut holder = hold(&fixture, "MUG").await;
    let calls = send(&fixture.server, ("MUG", "k"), 8);
    until_waiting(&fixture, 1).await;
    // Waits behind the others, so that it is never a group of its own.
    let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 101 }] });
    let too_many = json!({ "order": order, "idempotencyKey": "refused" });
    let refused = {
        let (server, arguments) = (fixture.server.clone(), too_many.clone());
        tokio::spawn(async move { server.call(CREATE, arguments).await })
    };
    until_open(&fixture.server, 9).await;
    release(&mut holder).await;
    for (_, response) in calls.join_all().await {
        assert_unknown(&response);
    }
    assert_unknown(&refused.await.unwrap());
    let stored = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys)";
    assert_eq!(fixture.rows(stored).await, ["0 0"]);
    fixture.execute("DROP TRIGGER first ON records").await;
    let again: Vec<(usize, ToolResponse)> = send(&fixture.server, ("MUG", "k"), 8).join_all().await;
    assert!(again.iter().all(|(_, response)| !response.is_failure()));
    let refused = fixture.server.call(CREATE, too_many).await;
    assert_eq!(refused.failure(), (4001, "INSUFFICIENT_INVENTORY"));
    assert_eq!(refused.context("effect"), "none");
    assert_eq!(fixture.rows(stored).await, ["8 9"]);
    invariants::assert_hold(&fixture).await;
}

/// A refusal alone in its transaction: without the answer to its commit, nobody knows if its key is
/// bound.
#[tokio::test(flavor = "multi_thread")]
async fn lost_commit_of_a_refusal_is_unknown() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    lose_commits(&fixture).await;
    let cancel = json!({ "orderId": "ord_none", "idempotencyKey": "k" });
    let refused = fixture.server.call("cancel-order", cancel.clone()).await;
    assert_unknown(&refused);
    fixture.execute("DROP TRIGGER first ON records").await;
    let refused = fixture.server.call("cancel-order", cancel).await;
    assert_eq!(refused.failure(), (4001, "ORDER_NOT_FOUND"));
    assert_eq!(refused.context("effect"), "none");
    assert_eq!(refused.context("key"), "bound");
}
