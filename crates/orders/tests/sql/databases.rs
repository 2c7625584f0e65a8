//! Databases that are new, of another program, or none.

use crate::ground::Ground;
use crate::stage::Stage;
use candor_fault::Timestamp;
use candor_orders::model::Currency;
use candor_orders::sql::{
    DatabaseUrl, MigrationOutcome, SqlAdapter, SqlConfig, StoreError, currency, migrate,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

fn usd() -> Currency {
    Currency::read("USD").unwrap()
}

async fn opened(place: &DatabaseUrl) -> Result<SqlAdapter, StoreError> {
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    SqlAdapter::open(place, SqlConfig::default(), clock, Arc::new(|| 0)).await
}

async fn refused(place: &DatabaseUrl) -> StoreError {
    opened(place).await.unwrap_err()
}

pub(crate) async fn migrate_twice(stage: &Stage) {
    let place = stage.ground.place();
    assert_eq!(
        migrate(&place, Currency::read("EUR").unwrap())
            .await
            .unwrap(),
        MigrationOutcome::Current
    );
    assert_eq!(currency(&place).await.unwrap(), usd());
    let settings = stage
        .rows("SELECT name, value FROM settings ORDER BY name")
        .await;
    assert_eq!(settings, ["currency USD", "format 1"]);
}

/// Eight processes start at once on one database that is empty.
pub(crate) async fn migrate_at_once(stage: &Stage) {
    for _ in 0..3 {
        let empty = match &stage.ground {
            Ground::Sqlite(_) => Ground::sqlite(),
            Ground::Postgres(server, _) => {
                let place = DatabaseUrl::postgres(&server.database()).unwrap();
                at_once(&place).await;
                continue;
            }
        };
        at_once(&empty.place()).await;
    }
}

async fn at_once(place: &DatabaseUrl) {
    assert!(matches!(refused(place).await, StoreError::Empty));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let place = place.clone();
        tasks.spawn(async move {
            let migrated = migrate(&place, usd()).await;
            (migrated, opened(&place).await.map(|_| ()))
        });
    }
    let mut made = 0;
    for (migrated, opened) in tasks.join_all().await {
        made += usize::from(migrated.unwrap() == MigrationOutcome::Created);
        opened.unwrap();
    }
    assert_eq!(made, 1);
}

pub(crate) async fn newer(stage: &Stage) {
    stage
        .execute("UPDATE settings SET value = '2' WHERE name = 'format'")
        .await;
    let place = stage.ground.place();
    for newer in [
        refused(&place).await,
        migrate(&place, usd()).await.unwrap_err(),
    ] {
        assert!(matches!(newer, StoreError::Newer(2)), "{newer:?}");
        let said = "the tables have format 2, and this program knows 1: it was made by a newer one";
        assert_eq!(newer.to_string(), said);
    }
    for (statement, reason) in [
        (
            "UPDATE settings SET value = 'x' WHERE name = 'format'",
            "the tables are not ours: they have no format",
        ),
        ("UPDATE settings SET value = '1' WHERE name = 'format'", ""),
        (
            "UPDATE settings SET value = 'usd' WHERE name = 'currency'",
            "the tables are not ours: they have no currency",
        ),
        (
            "DELETE FROM settings",
            "the tables are not ours: they have no format",
        ),
    ] {
        stage.execute(statement).await;
        match opened(&stage.ground.place()).await {
            Ok(_) => assert_eq!(reason, ""),
            Err(unusable) => assert_eq!(unusable.to_string(), reason),
        }
    }
}

pub(crate) async fn foreign_tables(stage: &Stage) {
    stage.execute("DROP TABLE settings").await;
    stage.execute("CREATE TABLE settings (theme TEXT)").await;
    let place = stage.ground.place();
    for foreign in [
        refused(&place).await,
        migrate(&place, usd()).await.unwrap_err(),
    ] {
        assert!(matches!(foreign, StoreError::Foreign(_)), "{foreign:?}");
    }
    // Tables that are in the way stay as they are.
    stage.execute("DROP TABLE settings").await;
    let foreign = migrate(&stage.ground.place(), usd()).await.unwrap_err();
    let said = match stage.ground.is_postgres() {
        true => "already exists",
        false => "the file is a database of something else",
    };
    assert!(foreign.to_string().contains(said), "{foreign}");
    assert!(matches!(
        refused(&stage.ground.place()).await,
        StoreError::Empty
    ));
    assert_eq!(stage.number("SELECT COUNT(*) FROM variants").await, 5);
}

/// A file of another program gets no tables of ours beside its own.
#[tokio::test]
async fn a_database_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("photos.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    sqlx::any::install_default_drivers();
    let mut theirs = <sqlx::AnyConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    let made = sqlx::query("CREATE TABLE photos (name TEXT)");
    made.execute(&mut theirs).await.unwrap();
    let place = DatabaseUrl::file(&file).unwrap();
    let foreign = migrate(&place, usd()).await.unwrap_err();
    assert!(matches!(foreign, StoreError::Foreign(_)), "{foreign:?}");
    let tables = sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_master");
    let tables: i64 = tables.fetch_one(&mut theirs).await.unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn what_is_no_database_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.db");
    std::fs::write(
        &file,
        "This is no database, and long enough to be taken for one.\n".repeat(99),
    )
    .unwrap();
    let before = std::fs::read(&file).unwrap();
    let at = |path: &std::path::Path| DatabaseUrl::file(path).unwrap();
    for (place, words) in [
        (at(&file), "file is not a database"),
        (at(folder.path()), "unable to open database file"),
        (
            at(&folder.path().join("none/orders.db")),
            "unable to open database file",
        ),
    ] {
        for unusable in [
            refused(&place).await,
            migrate(&place, usd()).await.unwrap_err(),
        ] {
            assert!(
                matches!(unusable, StoreError::Unreachable(_)),
                "{unusable:?}"
            );
            let said = unusable.to_string();
            assert!(
                said.starts_with("the database cannot be used: ") && said.contains(words),
                "{said}"
            );
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn names_of_files_may_be_anything() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b?c#d%20&mode=ro", "ü \"q\"", "memory:", "%3F"] {
        let file = folder.path().join(name);
        let place = DatabaseUrl::file(&file).unwrap();
        assert_eq!(
            migrate(&place, usd()).await.unwrap(),
            MigrationOutcome::Created,
            "{name}"
        );
        assert!(file.exists(), "{name}");
        opened(&place).await.unwrap().close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_said_without_its_password() {
    let Some(ground) = Ground::postgres() else {
        return;
    };
    let Ground::Postgres(server, url) = &ground else {
        return;
    };
    let wrong = url.replace(candor_testkit::postgres::PASSWORD, "wrong-canary");
    let absent = format!("{url}_absent");
    for (url, words) in [
        (&wrong, "password authentication failed"),
        (&absent, "does not exist"),
    ] {
        let said = refused(&DatabaseUrl::postgres(url).unwrap())
            .await
            .to_string();
        assert!(said.contains(words), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
    server.stop();
    let began = std::time::Instant::now();
    let said = refused(&DatabaseUrl::postgres(url).unwrap())
        .await
        .to_string();
    assert!(
        said.starts_with("the database cannot be used: ") && !said.contains("canary"),
        "{said}"
    );
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(DatabaseUrl::postgres("mysql://x").is_none());
}
