//! A client that follows the contract: it repeats a call with the same key until the answer is final.

use super::servers::Addresses;
use crate::orders::requests::address;
use crate::requests::parse;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The maximum number of attempts; far more than any call should need.
const ATTEMPTS: usize = 300;

/// The time limit for an answer; a killed server breaks the connection long before.
const PATIENCE: Duration = Duration::from_secs(20);

/// The wait if a failure states none.
const PAUSE_MS: u64 = 50;

/// The failures of a client, counted by kind.
#[derive(Debug, Default)]
pub(super) struct FailureCounts {
    /// Connections that could not be opened, or broke.
    pub(super) broken: usize,
    pub(super) timed_out: usize,
    pub(super) unavailable: usize,
    limited: usize,
    /// Wishes for which there was no stock; final.
    pub(super) sold_out: usize,
}

/// The ids of orders by their external ids.
pub(super) type OrderIds = BTreeMap<String, String>;

pub(super) struct Client {
    numbers: Vec<usize>,
    /// The units of the order with a number.
    units: fn(usize) -> usize,
    addresses: Addresses,
    done: Sender<()>,
    http: reqwest::Client,
    random: fastrand::Rng,
    failures: FailureCounts,
}

impl Client {
    pub(super) fn new(
        seed: u64,
        number: usize,
        (numbers, units): (Vec<usize>, fn(usize) -> usize),
        addresses: Addresses,
        done: Sender<()>,
    ) -> Client {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
        Client {
            numbers,
            units,
            addresses,
            done,
            http: http.build().unwrap(),
            random: fastrand::Rng::with_seed(seed + number as u64),
            failures: FailureCounts::default(),
        }
    }

    async fn work(mut self) -> (OrderIds, FailureCounts) {
        let mut ids = OrderIds::new();
        for number in std::mem::take(&mut self.numbers) {
            let Some(order) = self.order(number).await else {
                self.failures.sold_out += 1;
                let _ = self.done.send(());
                continue;
            };
            let text = |member: &str| order[member].as_str().unwrap().to_owned();
            assert_eq!(text("externalId"), external_id(number));
            ids.insert(text("externalId"), text("id"));
            // The receiver is gone if the test has failed.
            let _ = self.done.send(());
        }
        (ids, self.failures)
    }

    /// Creates the order of this number with as many calls as needed. Returns `None` if there is no
    /// stock.
    async fn order(&mut self, number: usize) -> Option<Value> {
        let message = message(number, (self.units)(number));
        for attempt in 0..ATTEMPTS {
            let address = {
                let all = self.addresses.borrow_and_update();
                all[(number + attempt) % all.len()]
            };
            let Ok(answer) = self.send(address, &message).await else {
                self.failures.broken += 1;
                // The server may have a new address; otherwise the same one is tried again.
                let moved = self.addresses.changed();
                let _ = timeout(Duration::from_millis(PAUSE_MS), moved).await;
                continue;
            };
            let result = &answer["result"];
            if result["isError"] != true {
                return Some(result["structuredContent"]["order"].clone());
            }
            let reason = &result["error"]["details"]["originalError"];
            if reason == "INSUFFICIENT_INVENTORY" {
                return None;
            }
            self.wait(&result["error"]).await;
        }
        panic!("order {number} is not created: {:?}", self.failures);
    }

    async fn send(&self, address: SocketAddr, message: &str) -> Result<Value, reqwest::Error> {
        let post = self
            .http
            .post(format!("http://{address}/orders/mcp"))
            .header("Content-Type", "application/json")
            .body(message.to_owned());
        let response = post.send().await?.error_for_status()?;
        let body = response.bytes().await?;
        Ok(parse(&String::from_utf8_lossy(&body)))
    }

    /// Waits for the time that the failure states, plus a random part. Only retryable failures may occur.
    async fn wait(&mut self, error: &Value) {
        match error["code"].as_u64() {
            Some(3001) => self.failures.limited += 1,
            Some(3002) => self.failures.timed_out += 1,
            Some(4002) => self.failures.unavailable += 1,
            _ => panic!("not one of the failures that come and go: {error}"),
        }
        assert_eq!(error["retryable"], true, "{error}");
        let retry_after = error["details"]["context"]["retryAfterMs"].as_u64();
        let most = retry_after.unwrap_or(PAUSE_MS);
        let more = self.random.u64(0..=most / 2);
        sleep(Duration::from_millis(
            retry_after.unwrap_or_default() + more,
        ))
        .await;
    }
}

fn external_id(number: usize) -> String {
    format!("web-{number}")
}

/// Returns the units of the order with this number, if there is enough stock for all.
pub(super) fn units(number: usize) -> usize {
    1 + number % 3
}

/// The call for the order of this number, the same for every attempt.
pub(super) fn message(number: usize, units: usize) -> String {
    let arguments = json!({
        "order": {
            "externalId": external_id(number),
            "lineItems": [{ "sku": "TEA", "quantity": units }],
            "customer": { "email": format!("buyer-{}@example.com", number % 7) },
            "shippingAddress": address(),
        },
        "idempotencyKey": format!("wish-{number}"),
    });
    crate::requests::call(1, "create-sales-order", &arguments)
}

/// Runs all clients concurrently. Returns their orders and their failures.
pub(super) fn all(clients: Vec<Client>) -> (OrderIds, FailureCounts) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|one| tokio::spawn(one.work()))
            .collect();
        let (mut ids, mut failures) = (OrderIds::new(), FailureCounts::default());
        for task in tasks {
            let (client_ids, client_failures) = task.await.unwrap();
            ids.extend(client_ids);
            failures.broken += client_failures.broken;
            failures.timed_out += client_failures.timed_out;
            failures.unavailable += client_failures.unavailable;
            failures.limited += client_failures.limited;
            failures.sold_out += client_failures.sold_out;
        }
        (ids, failures)
    })
}
