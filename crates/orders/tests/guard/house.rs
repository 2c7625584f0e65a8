//! A server at its desk, with an order system that does as it is told behind it.

use crate::scripted::{Scripted, Step, Steps};
use candor_fault::{Answer, Timestamp};
use candor_orders::{Adapter, Config, OrdersServer};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, FailureForm, MetricsHub, Peer, Progress,
};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// The instant of the specification's examples.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(1_760_284_161_049).unwrap()
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// What a test decides before the server is made.
pub(crate) struct Plan {
    pub(crate) config: Config,
    pub(crate) keeps_keys: bool,
    pub(crate) random: u64,
    pub(crate) script: Vec<Steps>,
    pub(crate) otherwise: Steps,
}

impl Default for Plan {
    /// No limits, keys kept, no jitter, and an order system that always succeeds.
    fn default() -> Plan {
        let mut config = Config {
            failures: FailureForm::Result,
            calls_a_minute: None,
            tool_calls_a_minute: None,
            ..Config::default()
        };
        config.guard.breaker_failures = None;
        Plan {
            config,
            keeps_keys: true,
            random: 0,
            script: Vec::new(),
            otherwise: Vec::new(),
        }
    }
}

impl Plan {
    /// The calls follow these steps, one after another.
    pub(crate) fn script(mut self, script: impl IntoIterator<Item = Steps>) -> Plan {
        self.script = script.into_iter().collect();
        self
    }

    /// All calls, or those behind the script, follow these steps.
    pub(crate) fn always(mut self, steps: Steps) -> Plan {
        self.otherwise = steps;
        self
    }

    /// The order system keeps no keys.
    pub(crate) fn keyless(mut self) -> Plan {
        self.keeps_keys = false;
        self
    }

    /// The breaker opens after so many failures in a row.
    pub(crate) fn breaking_after(mut self, failures: u32) -> Plan {
        self.config.guard.breaker_failures = NonZeroU32::new(failures);
        self
    }

    /// Nothing is tried again.
    pub(crate) fn once(mut self) -> Plan {
        self.config.guard.retry.attempts = NonZeroU32::MIN;
        self
    }

    /// The server, where nothing may reach the order system.
    pub(crate) fn unreachable() -> House {
        Plan::default().always(vec![Step::Panic]).house()
    }

    pub(crate) fn house(self) -> House {
        self.house_with(|adapter| adapter)
    }

    /// As [`Plan::house`], with something around the order system.
    pub(crate) fn house_with(
        self,
        around: impl FnOnce(Arc<dyn Adapter>) -> Arc<dyn Adapter>,
    ) -> House {
        let adapter = Arc::new(Scripted::new(self.keeps_keys, self.script, self.otherwise));
        let (hub, random) = (MetricsHub::default(), self.random);
        let server = OrdersServer::new(
            around(Arc::clone(&adapter) as Arc<dyn Adapter>),
            self.config,
            Arc::new(move || random),
            Arc::new(hub.clone()),
        );
        let desk = Dispatcher::new(server, Arc::new(now), &hub).unwrap();
        House { desk, adapter, hub }
    }
}

pub(crate) struct House {
    pub(crate) desk: Arc<Dispatcher<OrdersServer>>,
    pub(crate) adapter: Arc<Scripted>,
    pub(crate) hub: MetricsHub,
}

impl House {
    /// Asks as the one client of stdio.
    pub(crate) async fn ask(&self, tool: &str, arguments: Value) -> Said {
        self.begin(call(None, tool, arguments), CancellationToken::new())
            .await
    }

    /// Asks as a client that shows this credential.
    pub(crate) async fn ask_as(&self, client: &str, tool: &str, arguments: Value) -> Said {
        self.begin(
            call(Some(client), tool, arguments),
            CancellationToken::new(),
        )
        .await
    }

    pub(crate) async fn begin(&self, call: Call, cancel: CancellationToken) -> Said {
        Said(match self.desk.begin(call, cancel) {
            Ok(answer) => answer,
            Err(waiting) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                waiting.deliver(|answer| async move { drop(sender.send(answer)) });
                receiver.await.unwrap()
            }
        })
    }

    pub(crate) async fn create(&self) -> Said {
        self.ask("create-sales-order", order()).await
    }

    pub(crate) async fn find(&self) -> Said {
        self.ask("get-orders", json!({})).await
    }
}

/// The smallest new order.
pub(crate) fn order() -> Value {
    json!({ "order": { "lineItems": [{ "sku": "A", "quantity": 1 }] }, "idempotencyKey": "k" })
}

pub(crate) fn call(client: Option<&str>, tool: &str, arguments: Value) -> Call {
    Call {
        name: tool.to_owned(),
        arguments: Some(arguments.to_string()),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            credential: client.map(String::from),
            address: None,
            may_write: true,
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
    }
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Said(Answer);

impl Said {
    /// The line that the wire would show.
    pub(crate) fn line(&self) -> String {
        match &self.0 {
            Answer::Result(text) => format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#),
            Answer::Error(error) => {
                format!(r#"{{"jsonrpc":"2.0","id":1,"error":{}}}"#, error.json())
            }
        }
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The ErrorResponse of a failing result.
    pub(crate) fn error(&self) -> Value {
        let error = self.value()["result"]["error"].clone();
        assert!(error.is_object(), "{}", self.line());
        error
    }

    /// What a client acts on: code, identifier, whether to retry, effect and wait; `ok` for a success.
    pub(crate) fn told(&self) -> String {
        let value = self.value();
        let result = &value["result"];
        if result["isError"] != json!(true) {
            assert!(result.is_object(), "{}", self.line());
            return String::from("ok");
        }
        let error = &result["error"];
        let context = &error["details"]["context"];
        let mut told = error["code"].to_string();
        let mut add = |word: &str| {
            told.push(' ');
            told.push_str(word);
        };
        if let Some(own) = error["details"]["originalError"].as_str() {
            add(own);
        }
        if error["retryable"] == json!(true) {
            add("retryable");
        }
        add(context["effect"].as_str().unwrap());
        if let Some(wait) = context["retryAfterMs"].as_u64() {
            add(&format!("{wait}ms"));
        }
        told
    }
}
