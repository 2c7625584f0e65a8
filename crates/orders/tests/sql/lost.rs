//! Commits whose answer never comes: what was done is found again, what was not is made once.

use crate::deadlines::nobody_is_at_work;
use crate::ground::Ground;
use crate::invariants;
use crate::said::Said;
use crate::stage::{Plan, Stage};
use candor_testkit::postgres::required_tcp;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a server says of a transaction that lasts.
const COMMITTED: &[u8] = b"COMMIT\0";

/// A way to a server that swallows so many answers to commits, and breaks with each.
async fn proxy(to: SocketAddr, swallow: Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let swallow = Arc::clone(&swallow);
            tokio::spawn(async move {
                if let Ok(server) = TcpStream::connect(to).await {
                    carry(client, server, &swallow).await;
                }
            });
        }
    });
    address
}

async fn carry(mut client: TcpStream, mut server: TcpStream, swallow: &AtomicUsize) {
    let (mut asked, mut said) = ([0; 16_384], [0; 16_384]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(length @ 1..) if server.write_all(&asked[..length]).await.is_ok() => {}
                _ => return,
            },
            read = server.read(&mut said) => {
                let Ok(length @ 1..) = read else { return };
                let heard = &said[..length];
                let committed = heard.windows(COMMITTED.len()).any(|window| window == COMMITTED);
                let less = |left: usize| left.checked_sub(1);
                if committed && swallow.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                    return;
                }
                if client.write_all(heard).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn create(stage: &Stage) -> Said {
    let order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 3 }] });
    stage
        .house
        .ask(
            "create-sales-order",
            json!({ "order": order, "idempotencyKey": "k" }),
        )
        .await
}

const COUNTS: &str = "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM keys), (SELECT COUNT(*) FROM records), (SELECT reserved FROM variants WHERE sku = 'MUG')";

/// Swallows so many answers to the commits of one call; gives the call's answer, and the next one's.
async fn swallowed(answers: usize) -> Option<(Said, Said)> {
    let server = required_tcp()?;
    let swallow = Arc::new(AtomicUsize::new(0));
    let way = proxy(server.address().unwrap(), Arc::clone(&swallow)).await;
    let ground = Ground::proxied(server, way);
    let stage = Stage::planned(
        ground,
        Plan {
            deadline: Duration::from_secs(60),
            ..Plan::default()
        },
    )
    .await;
    swallow.store(answers, Ordering::SeqCst);
    let first = create(&stage).await;
    swallow.store(0, Ordering::SeqCst);
    let second = create(&stage).await;
    assert_eq!(stage.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::hold(&stage).await;
    Some((first, second))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_made_is_found_by_the_next_attempt() {
    let Some((first, second)) = swallowed(1).await else {
        return;
    };
    assert_eq!(first.status(), "pending", "{}", first.whole);
    assert_eq!(first.whole, second.whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_made_is_found_by_the_same_key() {
    let Some((first, second)) = swallowed(1_000).await else {
        return;
    };
    assert_eq!(first.failure(), (4002, ""), "{}", first.whole);
    assert_eq!(first.context("effect"), "unknown");
    assert_eq!(second.status(), "pending", "{}", second.whole);
}

/// A database whose commits of new orders do this before they last.
async fn committing(stage: &Stage, what: &str) {
    let function = format!(
        "CREATE FUNCTION first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM {what}; RETURN NULL; END $$"
    );
    stage.execute(&function).await;
    stage.execute("CREATE CONSTRAINT TRIGGER first AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION first()").await;
}

/// A commit was sent, so it may have been made; it was not.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_broke_is_made_by_the_same_key() {
    let Some(ground) = Ground::postgres() else {
        return;
    };
    let stage = Stage::on(ground).await;
    committing(
        &stage,
        "pg_terminate_backend(pg_backend_pid()), pg_sleep(60)",
    )
    .await;
    let said = create(&stage).await;
    assert_eq!(said.failure(), (4002, ""), "{}", said.whole);
    assert_eq!(said.context("effect"), "unknown");
    assert_eq!(stage.rows(COUNTS).await, ["0 0 0 0"]);
    stage.execute("DROP TRIGGER first ON orders").await;
    let said = create(&stage).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    assert_eq!(stage.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::hold(&stage).await;
}

/// A commit that was sent cannot be called back: it is made after the answer, and found.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_outlives_its_call_is_found_by_the_same_key() {
    let Some(ground) = Ground::postgres() else {
        return;
    };
    let plan = Plan {
        deadline: Duration::from_secs(2),
        ..Plan::default()
    };
    let stage = Stage::planned(ground, plan).await;
    committing(&stage, "pg_sleep(3)").await;
    let said = create(&stage).await;
    assert_eq!(said.failure(), (3002, ""), "{}", said.whole);
    assert_eq!(said.context("effect"), "unknown");
    nobody_is_at_work(&stage, 0).await;
    assert_eq!(stage.rows(COUNTS).await, ["1 1 1 3"]);
    let said = create(&stage).await;
    assert_eq!(said.status(), "pending", "{}", said.whole);
    assert_eq!(stage.rows(COUNTS).await, ["1 1 1 3"]);
    invariants::hold(&stage).await;
}
