//! The content of a store, read and written with SQL, to compare it with the answers of servers.

use candor_orders::sql::{DatabaseUrl, invariants};
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Row as _};
use std::future::Future;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

/// A small catalogue: two SKUs, two locations, one customer.
const CATALOGUE: &str = "
INSERT INTO locations (id, name, created_at, updated_at) VALUES ('loc_1', 'North', 1, 1), ('loc_2', 'South', 2, 2);
INSERT INTO products (id, name, created_at, updated_at) VALUES ('prd_1', 'Tea', 1, 1);
INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at) VALUES
    ('TEA', 'var_1', 'prd_1', 'Green tea', 1250, 1000000, 0, 1, 1),
    ('CUP', 'var_2', 'prd_1', 'Cup', 300, 5, 0, 2, 2);
INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES
    ('TEA', 'loc_1', 1000000, 1, 1), ('CUP', 'loc_1', 3, 2, 2), ('CUP', 'loc_2', 2, 3, 3);
INSERT INTO customers (id, email, email_key, first_name, last_name, created_at, updated_at) VALUES
    ('cus_1', 'Ada@example.com', 'ada@example.com', 'Ada', NULL, 1, 1);
INSERT INTO lookups (key, created_at, id, value) VALUES ('cn:ada', 1, 'cus_1', '')";

#[derive(Clone)]
pub(crate) struct Database {
    url: String,
}

impl Database {
    pub(crate) fn at(database: &str) -> Database {
        let url = match database.contains("://") {
            true => database.to_owned(),
            false => format!("sqlite://{database}"),
        };
        Database { url }
    }

    pub(crate) fn fill(&self) {
        for statement in CATALOGUE.split(';') {
            self.run(statement);
        }
    }

    /// Opens a connection beside those of the servers.
    pub(crate) async fn connect(&self) -> AnyConnection {
        sqlx::any::install_default_drivers();
        AnyConnection::connect(&self.url).await.unwrap()
    }

    /// Does `work` while another connection holds a lock on the stock of tea.
    pub(crate) fn while_tea_is_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        self.while_locked(
            "SELECT sku FROM variants WHERE sku = 'TEA' FOR UPDATE",
            work,
        )
    }

    /// Does `work` while another connection has claimed a key.
    pub(crate) fn while_a_key_is_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        let claim =
            "INSERT INTO keys (client, tool, key, fingerprint, at) VALUES ('c', 't', 'k', 'f', 1)";
        self.while_locked(claim, work)
    }

    /// Does `work` in the middle of a transaction that locks what `statement` names. A file is
    /// locked as a whole.
    fn while_locked<T>(&self, statement: &str, work: impl FnOnce() -> T) -> T {
        let hold = match self.url.starts_with("sqlite:") {
            true => String::from("BEGIN IMMEDIATE"),
            false => format!("BEGIN; {statement}"),
        };
        let (holds, held) = channel();
        let (lets_go, over) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| {
                wait_for(async move {
                    let mut connection = self.connect().await;
                    let hold = sqlx::raw_sql(AssertSqlSafe(hold));
                    hold.execute(&mut connection).await.unwrap();
                    holds.send(()).unwrap();
                    // The channel also closes if the work has failed.
                    let _ = over.recv();
                    sqlx::raw_sql("ROLLBACK")
                        .execute(&mut connection)
                        .await
                        .unwrap();
                });
            });
            held.recv().unwrap();
            let done = work();
            drop(lets_go);
            done
        })
    }

    pub(crate) fn run(&self, statement: &str) {
        self.rows(statement);
    }

    /// Returns the rows of a query, their columns as text.
    pub(crate) fn rows(&self, query: &str) -> Vec<Vec<String>> {
        wait_for(async {
            let mut connection = self.connect().await;
            let query = sqlx::query(AssertSqlSafe(query.to_owned()));
            let rows = query.fetch_all(&mut connection).await.unwrap();
            connection.close().await.unwrap();
            rows.iter().map(texts).collect()
        })
    }

    /// Returns the invariants that the store breaks.
    pub(crate) fn broken_invariants(&self) -> Vec<String> {
        let address = match self.url.strip_prefix("sqlite://") {
            Some(path) => DatabaseUrl::file(Path::new(path)),
            None => DatabaseUrl::postgres(&self.url),
        };
        wait_for(async { invariants(&address.unwrap()).await.unwrap() })
    }

    /// Returns the rows of a query, each on one line.
    pub(crate) fn lines(&self, query: &str) -> String {
        let rows = self.rows(query);
        let lines: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
        lines.join("\n")
    }
}

fn texts(row: &sqlx::any::AnyRow) -> Vec<String> {
    let text = |index: usize| {
        let number: Result<i64, _> = row.try_get(index);
        match number {
            Ok(number) => number.to_string(),
            Err(_) => row.get(index),
        }
    };
    (0..row.columns().len()).map(text).collect()
}

/// Waits for a future on a new thread, so that asynchronous tests can call it too.
pub(crate) fn wait_for<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(future)
    };
    thread::scope(|scope| scope.spawn(run).join()).unwrap()
}
