//! A server at its desk in front of a database of its own, with a clock and ids that count.

use crate::catalogue;
use crate::ground::Ground;
use crate::said::Said;
use candor_fault::Timestamp;
use candor_orders::model::Currency;
use candor_orders::sql::{SqlAdapter, SqlConfig, migrate};
use candor_orders::{Config, GuardConfig, OrdersServer, Witness};
use candor_street::{
    Call, CancellationToken, ClientInfo, Dispatcher, Era, MetricsHub, Peer, Progress,
};
use serde_json::Value;
use sqlx::{AnyPool, AssertSqlSafe};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// 2025-10-12, noon.
const BEGINNING: i64 = 1_760_270_400_000_000;

/// A clock that goes on by a second whenever it is asked.
#[derive(Default)]
pub(crate) struct Steps(AtomicI64);

impl Steps {
    pub(crate) fn go_on(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).unwrap();
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    fn now(&self) -> Timestamp {
        let passed = self.0.fetch_add(1_000_000, Ordering::SeqCst);
        Timestamp::from_microsecond(BEGINNING + passed).unwrap()
    }
}

struct Nobody;

impl Witness for Nobody {
    fn retried(&self, _tool: &'static str, _code: i32) {}
    fn left_alone(&self, _tool: &'static str) {}
}

/// What a test decides about a server.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) deadline: Duration,
    pub(crate) keep_keys: Duration,
    pub(crate) connections: u32,
    /// The first chance that its ids take.
    pub(crate) first_id: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            // Longer than anything takes on a busy machine.
            deadline: Duration::from_secs(60),
            keep_keys: Duration::from_secs(24 * 60 * 60),
            connections: 8,
            first_id: 1,
        }
    }
}

/// A server with its tools.
#[derive(Clone)]
pub(crate) struct House {
    desk: Arc<Dispatcher<OrdersServer>>,
    keys: Arc<AtomicU64>,
}

/// A database with a catalogue, and a server in front of it.
pub(crate) struct Stage {
    pub(crate) house: House,
    pub(crate) clock: Arc<Steps>,
    /// For plain SQL.
    pub(crate) pool: AnyPool,
    script: Mutex<String>,
    // Last: what stands on it goes first.
    pub(crate) ground: Ground,
}

impl Stage {
    pub(crate) async fn on(ground: Ground) -> Stage {
        Stage::planned(ground, Plan::default()).await
    }

    pub(crate) async fn planned(ground: Ground, plan: Plan) -> Stage {
        sqlx::any::install_default_drivers();
        migrate(&ground.place(), Currency::read("USD").unwrap())
            .await
            .unwrap();
        let pool = AnyPool::connect(&ground.url()).await.unwrap();
        catalogue::insert(&pool).await;
        let clock = Arc::new(Steps::default());
        let house = house(&ground, &clock, plan).await;
        Stage {
            house,
            clock,
            pool,
            script: Mutex::default(),
            ground,
        }
    }

    /// Another server on the same database.
    pub(crate) async fn another(&self, plan: Plan) -> House {
        house(&self.ground, &self.clock, plan).await
    }

    /// Calls a tool and writes down what was said.
    pub(crate) async fn tell(&self, tool: &str, arguments: Value) -> Said {
        let shown = arguments.to_string();
        let said = self.house.ask(tool, arguments).await;
        let mut script = self.script.lock().unwrap();
        writeln!(script, "> {tool} {shown}\n{}\n", said.text).unwrap();
        said
    }

    /// Writes down rows of the tables.
    pub(crate) async fn show(&self, statement: &str) {
        let rows = self.rows(statement).await;
        let mut script = self.script.lock().unwrap();
        writeln!(script, "? {statement}").unwrap();
        for row in rows {
            writeln!(script, "{row}").unwrap();
        }
        script.push('\n');
    }

    /// The stock of some SKUs, written down.
    pub(crate) async fn show_stock(&self, skus: &str) {
        self.show(&format!(
            "SELECT sku, on_hand, reserved FROM variants WHERE sku LIKE '{skus}' ORDER BY sku"
        ))
        .await;
        self.show(&format!("SELECT sku, location_id, on_hand FROM stock WHERE sku LIKE '{skus}' ORDER BY sku, location_id")).await;
    }

    /// All that was written down.
    pub(crate) fn script(&self) -> String {
        std::mem::take(&mut self.script.lock().unwrap())
    }

    /// The rows of a query as text: columns apart by blanks.
    pub(crate) async fn rows(&self, statement: &str) -> Vec<String> {
        use sqlx::{Column as _, Row as _, ValueRef as _};
        let query = sqlx::query(AssertSqlSafe(statement.to_owned()));
        let rows = query.fetch_all(&self.pool).await;
        let rows = rows.unwrap_or_else(|error| panic!("{statement}: {error}"));
        let cell = |row: &sqlx::any::AnyRow, place: usize| -> String {
            if row.try_get_raw(place).unwrap().is_null() {
                return String::from("-");
            }
            let number = row
                .try_get::<i64, _>(place)
                .map(|number| number.to_string());
            number.unwrap_or_else(|_| row.get::<String, _>(place))
        };
        let line = |row: &sqlx::any::AnyRow| {
            let cells: Vec<_> = row
                .columns()
                .iter()
                .map(|column| cell(row, column.ordinal()))
                .collect();
            cells.join(" ")
        };
        rows.iter().map(line).collect()
    }

    /// One number.
    pub(crate) async fn number(&self, statement: &str) -> i64 {
        self.rows(statement).await[0].parse().unwrap()
    }

    pub(crate) async fn execute(&self, statement: &str) {
        let query = sqlx::query(AssertSqlSafe(statement.to_owned()));
        query.execute(&self.pool).await.unwrap();
    }
}

async fn house(ground: &Ground, clock: &Arc<Steps>, plan: Plan) -> House {
    let config = SqlConfig {
        keep_keys: plan.keep_keys,
        connections: plan.connections,
        deadline: plan.deadline,
    };
    let ids = AtomicU64::new(plan.first_id);
    let random = Arc::new(move || ids.fetch_add(1, Ordering::SeqCst));
    let steps = Arc::clone(clock);
    let clock = Arc::new(move || steps.now());
    let adapter = SqlAdapter::open(&ground.place(), config, clock, random).await;
    let config = Config {
        calls_a_minute: None,
        tool_calls_a_minute: None,
        guard: GuardConfig {
            deadline: plan.deadline,
            breaker_failures: None,
            ..GuardConfig::default()
        },
        ..Config::default()
    };
    let server = OrdersServer::new(
        Arc::new(adapter.unwrap()),
        config,
        Arc::new(|| 0),
        Arc::new(Nobody),
    );
    let fixed = || Timestamp::from_microsecond(BEGINNING).unwrap();
    let desk = Dispatcher::new(server, Arc::new(fixed), &MetricsHub::default()).unwrap();
    let keys = Arc::default();
    House { desk, keys }
}

/// A call by somebody who may write.
fn call(client: Option<&str>, tool: &str, arguments: String) -> Call {
    Call {
        name: tool.to_owned(),
        arguments: Some(arguments),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            credential: client.map(str::to_owned),
            address: None,
            may_write: true,
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
    }
}

impl House {
    /// Calls a tool, with a key of its own unless there is one.
    pub(crate) async fn ask(&self, tool: &str, mut arguments: Value) -> Said {
        if arguments["idempotencyKey"].is_null() {
            let key = self.keys.fetch_add(1, Ordering::SeqCst);
            arguments["idempotencyKey"] = format!("own-{key}").into();
        }
        self.ask_text(None, tool, arguments.to_string()).await
    }

    /// As `ask`, as this client and with exactly these arguments.
    pub(crate) async fn ask_text(
        &self,
        client: Option<&str>,
        tool: &str,
        arguments: String,
    ) -> Said {
        let call = call(client, tool, arguments);
        self.hand(call, CancellationToken::new()).await
    }

    /// As `ask`, until it is cancelled.
    pub(crate) async fn ask_until(
        &self,
        tool: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Said {
        self.hand(call(None, tool, arguments.to_string()), cancel)
            .await
    }

    async fn hand(&self, call: Call, cancel: CancellationToken) -> Said {
        let answer = match self.desk.begin(call, cancel) {
            Ok(answer) => answer,
            Err(waiting) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                waiting.deliver(|answer| async move { drop(sender.send(answer)) });
                receiver.await.unwrap()
            }
        };
        Said::of(&answer)
    }
}
