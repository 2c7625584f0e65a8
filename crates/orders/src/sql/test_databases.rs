//! Databases for unit tests: each test runs on all of them.

use super::store::{DatabaseUrl, Store};
use super::{migrate, seed};
use crate::model::Currency;
use candor_testkit::postgres::{Postgres, required};
use std::time::Duration;
use tempfile::TempDir;

/// Empty stores: one in a file and, if it is installed, one in PostgreSQL. They are deleted with
/// this value.
pub(super) struct Databases {
    pub(super) databases: Vec<DatabaseUrl>,
    folder: TempDir,
    server: Option<Postgres>,
}

impl Databases {
    pub(super) async fn empty() -> Databases {
        let mut databases = Databases {
            databases: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
            server: required(),
        };
        databases.databases = databases.more("USD").await;
        databases
    }

    /// Fills them with samples.
    pub(super) async fn filled(orders: u64) -> Databases {
        let databases = Databases::empty().await;
        for database in &databases.databases {
            let plan = seed::SeedOptions { orders };
            seed::seed(database, plan, &mut |_, _| ()).await.unwrap();
        }
        databases
    }

    /// Creates further empty stores.
    pub(super) async fn more(&self, currency: &str) -> Vec<DatabaseUrl> {
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let file = self.folder.path().join(format!("{number}.db"));
        let mut databases = vec![DatabaseUrl::file(&file).unwrap()];
        let server = self.server.iter();
        databases.extend(server.map(|server| DatabaseUrl::postgres(&server.database()).unwrap()));
        for database in &databases {
            let currency = Currency::read(currency).unwrap();
            migrate(database, currency).await.unwrap();
        }
        databases
    }
}

pub(super) async fn open(database: &DatabaseUrl) -> Store {
    Store::open(database, 4, Duration::from_secs(30))
        .await
        .unwrap()
}
