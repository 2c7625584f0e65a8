//! Where a stage stands: a file in a folder of its own, or a database of a server of its own.

use candor_orders::sql::DatabaseUrl;
use candor_testkit::postgres::{Postgres, required};
use std::net::SocketAddr;
use tempfile::TempDir;

/// An empty database; gone with this value.
pub(crate) enum Ground {
    Sqlite(TempDir),
    Postgres(Box<Postgres>, String),
}

impl Ground {
    pub(crate) fn sqlite() -> Ground {
        Ground::Sqlite(tempfile::tempdir().unwrap())
    }

    /// Nothing where PostgreSQL is missing, which is said, and a failure in CI.
    pub(crate) fn postgres() -> Option<Ground> {
        let server = required()?;
        let url = server.database();
        Some(Ground::Postgres(Box::new(server), url))
    }

    /// As `postgres`, by way of a proxy.
    pub(crate) fn proxied(server: Postgres, proxy: SocketAddr) -> Ground {
        let direct = server.database();
        let name = direct.rsplit('/').next().unwrap();
        let url = server.url_at(proxy, name);
        Ground::Postgres(Box::new(server), url)
    }

    pub(crate) fn place(&self) -> DatabaseUrl {
        match self {
            Ground::Sqlite(folder) => DatabaseUrl::file(&folder.path().join("orders.db")).unwrap(),
            Ground::Postgres(_, url) => DatabaseUrl::postgres(url).unwrap(),
        }
    }

    /// For connections that are not the adapter's.
    pub(crate) fn url(&self) -> String {
        match self {
            Ground::Sqlite(folder) => {
                let file = folder.path().join("orders.db");
                format!("sqlite://{}?mode=rwc", file.display())
            }
            Ground::Postgres(_, url) => url.clone(),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Ground::Postgres(..))
    }

    pub(crate) fn server(&self) -> &Postgres {
        match self {
            Ground::Postgres(server, _) => server,
            Ground::Sqlite(_) => panic!("a file has no server"),
        }
    }
}
