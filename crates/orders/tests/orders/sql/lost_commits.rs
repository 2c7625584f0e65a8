//! Commits without an answer: a committed change is found again, a lost one is made once.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use crate::requests::ToolResponse;
use crate::sql::deadlines::wait_for_idle_database;
use crate::sql::invariants;
use candor_testkit::postgres::required_tcp;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The server's answer to a successful commit.
const COMMITTED: &[u8] = b"COMMIT\0";

/// More answers than the attempts of a call need.
const MANY: usize = 1_000;

/// Starts a proxy that drops this many answers to commits, and the connection with each. Between
/// the first and the last of them it drops every answer.
async fn proxy(to: SocketAddr, lose: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let lose = Arc::clone(&lose);
            tokio::spawn(async move {
                if let Ok(server) = TcpStream::connect(to).await {
                    carry(client, server, &lose).await;
                }
            });
        }
    });
    address
}

async fn carry(mut client: TcpStream, mut server: TcpStream, lose: &AtomicUsize) {
    let (mut arguments, mut response) = ([0; 16_384], [0; 16_384]);
    loop {
        tokio::select! {
            read = client.read(&mut arguments) => match read {
                Ok(length @ 1..) if server.write_all(&arguments[..length]).await.is_ok() => {}
                _ => return,
            },
            read = server.read(&mut response) => {
                let Ok(length @ 1..) = read else { return };
                let heard = &response[..length];
                let committed = heard.windows(COMMITTED.len()).any(|window| window == COMMITTED);
                let less = |left: usize| left.checked_sub(1);
                let has_begun = (2..MANY).contains(&lose.load(Ordering::SeqCst));
                if has_begun || committed && lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                    return;
                }
                if client.write_all(heard).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn create(fixture: &StoreFixture) -> ToolResponse {
    let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 3 }] });
    fixture
        .server
        .call(
            "create-sales-order",
            json!({ "order": order, "idempotencyKey": "k" }),
        )
        .await
}

const COUNTS: &str = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records), (SELECT reserved FROM variants WHERE sku = 'MUG')";

/// Drops answers to the commits of one call. Returns the answers to the call and to the next one.
async fn lose_commit_answers(answers: usize) -> Option<(ToolResponse, ToolResponse)> {
    let server = required_tcp()?;
    let lose = Arc::new(AtomicUsize::new(0));
    let way = proxy(server.address().unwrap(), Arc::clone(&lose)).await;
    let database = TestDatabase::proxied(server, way);
    let fixture = StoreFixture::with_options(
        database,
        StoreOptions {
            deadline: Duration::from_secs(60),
            ..StoreOptions::default()
        },
    )
    .await;
    lose.store(answers, Ordering::SeqCst);
    let first = create(&fixture).await;
    lose.store(0, Ordering::SeqCst);
    let second = create(&fixture).await;
    assert_eq!(fixture.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::assert_hold(&fixture).await;
    Some((first, second))
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_without_answer_is_found_by_the_next_attempt() {
    let Some((first, second)) = lose_commit_answers(1).await else {
        return;
    };
    assert_eq!(first.status(), "pending", "{}", first.whole);
    assert_eq!(first.whole, second.whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_without_answer_is_found_by_the_same_key() {
    let Some((first, second)) = lose_commit_answers(MANY).await else {
        return;
    };
    assert_eq!(first.failure(), (4002, ""), "{}", first.whole);
    assert_eq!(first.context("effect"), "unknown");
    assert_eq!(second.status(), "pending", "{}", second.whole);
}

/// Lets every commit of a new order run this first.
async fn committing(fixture: &StoreFixture, what: &str) {
    let function = format!(
        "CREATE FUNCTION first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM {what}; RETURN NULL; END $$"
    );
    fixture.execute(&function).await;
    fixture.execute("CREATE CONSTRAINT TRIGGER first AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION first()").await;
}

/// A commit that was sent but not made.
#[tokio::test(flavor = "multi_thread")]
async fn broken_commit_is_made_by_the_same_key() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let fixture = StoreFixture::on(database).await;
    committing(
        &fixture,
        "pg_terminate_backend(pg_backend_pid()), pg_sleep(60)",
    )
    .await;
    let response = create(&fixture).await;
    assert_eq!(response.failure(), (4002, ""), "{}", response.whole);
    assert_eq!(response.context("effect"), "unknown");
    assert_eq!(fixture.rows(COUNTS).await, ["0 0 0 0"]);
    fixture.execute("DROP TRIGGER first ON orders").await;
    let response = create(&fixture).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(fixture.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::assert_hold(&fixture).await;
}

/// A commit cannot be recalled: it completes after the answer, and is found.
#[tokio::test(flavor = "multi_thread")]
async fn commit_after_the_deadline_is_found_by_the_same_key() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let options = StoreOptions {
        deadline: Duration::from_secs(2),
        ..StoreOptions::default()
    };
    let fixture = StoreFixture::with_options(database, options).await;
    committing(&fixture, "pg_sleep(3)").await;
    let response = create(&fixture).await;
    assert_eq!(response.failure(), (3002, ""), "{}", response.whole);
    assert_eq!(response.context("effect"), "unknown");
    wait_for_idle_database(&fixture, 0).await;
    assert_eq!(fixture.rows(COUNTS).await, ["1 1 1 3"]);
    let response = create(&fixture).await;
    assert_eq!(response.status(), "pending", "{}", response.whole);
    assert_eq!(fixture.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::assert_hold(&fixture).await;
}
