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
    pub(super) places: Vec<DatabaseUrl>,
    folder: TempDir,
    server: Option<Postgres>,
}

impl Databases {
    pub(super) async fn empty() -> Databases {
        let mut databases = Databases {
            places: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
            server: required(),
        };
        databases.places = databases.more("USD").await;
        databases
    }

    /// Fills them with samples.
    pub(super) async fn filled(orders: u64) -> Databases {
        let databases = Databases::empty().await;
        for place in &databases.places {
            let plan = seed::SeedOptions { orders };
            seed::seed(place, plan, &mut |_, _| ()).await.unwrap();
        }
        databases
    }

    /// Creates further empty stores.
    pub(super) async fn more(&self, currency: &str) -> Vec<DatabaseUrl> {
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let file = self.folder.path().join(format!("{number}.db"));
        let mut places = vec![DatabaseUrl::file(&file).unwrap()];
        let server = self.server.iter();
        places.extend(server.map(|server| DatabaseUrl::postgres(&server.database()).unwrap()));
        for place in &places {
            let currency = Currency::read(currency).unwrap();
            migrate(place, currency).await.unwrap();
        }
        places
    }
}

pub(super) async fn open(place: &DatabaseUrl) -> Store {
    Store::open(place, 4, Duration::from_secs(30))
        .await
        .unwrap()
}
