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

/// The failures that a client met.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Connections that could not be had, or broke.
    pub(super) broken: usize,
    pub(super) timed_out: usize,
    pub(super) unavailable: usize,
    limited: usize,
}

/// The ids of orders by their external ids.
pub(super) type Made = BTreeMap<String, String>;

pub(super) struct Client {
    numbers: Vec<usize>,
    addresses: Addresses,
    done: Sender<()>,
    http: reqwest::Client,
    chance: fastrand::Rng,
    met: Met,
}

impl Client {
    pub(super) fn new(
        seed: u64,
        number: usize,
        numbers: Vec<usize>,
        addresses: Addresses,
        done: Sender<()>,
    ) -> Client {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
        Client {
            numbers,
            addresses,
            done,
            http: http.build().unwrap(),
            chance: fastrand::Rng::with_seed(seed + number as u64),
            met: Met::default(),
        }
    }

    async fn work(mut self) -> (Made, Met) {
        let mut made = Made::new();
        for number in std::mem::take(&mut self.numbers) {
            let order = self.order(number).await;
            let text = |member: &str| order[member].as_str().unwrap().to_owned();
            assert_eq!(text("externalId"), external_id(number));
            made.insert(text("externalId"), text("id"));
            // The receiver is gone if the test has failed.
            let _ = self.done.send(());
        }
        (made, self.met)
    }

    /// The order of this number, made by as many calls as it takes.
    async fn order(&mut self, number: usize) -> Value {
        let message = message(number);
        for attempt in 0..ATTEMPTS {
            let address = {
                let all = self.addresses.borrow_and_update();
                all[(number + attempt) % all.len()]
            };
            let Ok(answer) = self.send(address, &message).await else {
                self.met.broken += 1;
                // Somebody may say where the server is now; else the same again.
                let moved = self.addresses.changed();
                let _ = timeout(Duration::from_millis(PAUSE_MS), moved).await;
                continue;
            };
            let result = &answer["result"];
            if result["isError"] != true {
                return result["structuredContent"]["order"].clone();
            }
            self.wait(&result["error"]).await;
        }
        panic!("order {number} is not made: {:?}", self.met);
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

    /// Waits as long as the failure says, and a little by chance; only what is retryable may come.
    async fn wait(&mut self, error: &Value) {
        match error["code"].as_u64() {
            Some(3001) => self.met.limited += 1,
            Some(3002) => self.met.timed_out += 1,
            Some(4002) => self.met.unavailable += 1,
            _ => panic!("not one of the failures that come and go: {error}"),
        }
        assert_eq!(error["retryable"], true, "{error}");
        let said = error["details"]["context"]["retryAfterMs"].as_u64();
        let most = said.unwrap_or(PAUSE_MS);
        let more = self.chance.u64(0..=most / 2);
        sleep(Duration::from_millis(said.unwrap_or_default() + more)).await;
    }
}

fn external_id(number: usize) -> String {
    format!("web-{number}")
}

/// Returns the units of the order with this number.
pub(super) fn units(number: usize) -> usize {
    1 + number % 3
}

/// The call for the order of this number, the same for every attempt.
fn message(number: usize) -> String {
    let arguments = json!({
        "order": {
            "externalId": external_id(number),
            "lineItems": [{ "sku": "TEA", "quantity": units(number) }],
            "customer": { "email": format!("buyer-{}@example.com", number % 7) },
            "shippingAddress": address(),
        },
        "idempotencyKey": format!("wish-{number}"),
    });
    crate::requests::call(1, "create-sales-order", &arguments)
}

/// Lets all clients work at once; what they made and met.
pub(super) fn all(clients: Vec<Client>) -> (Made, Met) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|one| tokio::spawn(one.work()))
            .collect();
        let (mut made, mut met) = (Made::new(), Met::default());
        for task in tasks {
            let (own, of) = task.await.unwrap();
            made.extend(own);
            met.broken += of.broken;
            met.timed_out += of.timed_out;
            met.unavailable += of.unavailable;
            met.limited += of.limited;
        }
        (made, met)
    })
}
