//! Databases that are empty, belong to another program, or are not databases.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
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

async fn open(url: &DatabaseUrl) -> Result<SqlAdapter, StoreError> {
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    SqlAdapter::open(url, SqlConfig::default(), clock, Arc::new(|| 0)).await
}

async fn open_error(url: &DatabaseUrl) -> StoreError {
    open(url).await.unwrap_err()
}

pub(crate) async fn migrate_twice(fixture: &StoreFixture) {
    let url = fixture.database.database_url();
    assert_eq!(
        migrate(&url, Currency::read("EUR").unwrap()).await.unwrap(),
        MigrationOutcome::Current
    );
    assert_eq!(currency(&url).await.unwrap(), usd());
    let settings = fixture
        .rows("SELECT name, value FROM settings ORDER BY name")
        .await;
    assert_eq!(settings, ["currency USD", "format 2"]);
}

/// Eight processes start at once on an empty database.
pub(crate) async fn migrate_at_once(fixture: &StoreFixture) {
    for _ in 0..3 {
        let empty = match &fixture.database {
            TestDatabase::Sqlite(_) => TestDatabase::sqlite(),
            TestDatabase::Postgres(server, _) => {
                let url = DatabaseUrl::postgres(&server.database()).unwrap();
                at_once(&url).await;
                continue;
            }
        };
        at_once(&empty.database_url()).await;
    }
}

async fn at_once(url: &DatabaseUrl) {
    assert!(matches!(open_error(url).await, StoreError::Empty));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let url = url.clone();
        tasks.spawn(async move {
            let migrated = migrate(&url, usd()).await;
            (migrated, open(&url).await.map(|_| ()))
        });
    }
    let mut made = 0;
    for (migrated, open) in tasks.join_all().await {
        made += usize::from(migrated.unwrap() == MigrationOutcome::Created);
        open.unwrap();
    }
    assert_eq!(made, 1);
}

pub(crate) async fn newer(fixture: &StoreFixture) {
    fixture
        .execute("UPDATE settings SET value = '3' WHERE name = 'format'")
        .await;
    let url = fixture.database.database_url();
    for newer in [
        open_error(&url).await,
        migrate(&url, usd()).await.unwrap_err(),
    ] {
        assert!(matches!(newer, StoreError::Newer(3)), "{newer:?}");
        let response =
            "the tables have format 3, and this program knows 2: it was made by a newer one";
        assert_eq!(newer.to_string(), response);
    }
    for (statement, reason) in [
        (
            "UPDATE settings SET value = 'x' WHERE name = 'format'",
            "the tables are not ours: they have no format",
        ),
        (
            "UPDATE settings SET value = '1' WHERE name = 'format'",
            "the tables have format 1, and this program works with 2",
        ),
        ("UPDATE settings SET value = '2' WHERE name = 'format'", ""),
        (
            "UPDATE settings SET value = 'usd' WHERE name = 'currency'",
            "the tables are not ours: they have no currency",
        ),
        (
            "DELETE FROM settings",
            "the tables are not ours: they have no format",
        ),
    ] {
        fixture.execute(statement).await;
        match open(&fixture.database.database_url()).await {
            Ok(_) => assert_eq!(reason, ""),
            Err(unusable) => assert_eq!(unusable.to_string(), reason),
        }
    }
}

pub(crate) async fn foreign_tables(fixture: &StoreFixture) {
    fixture.execute("DROP TABLE settings").await;
    fixture.execute("CREATE TABLE settings (theme TEXT)").await;
    let url = fixture.database.database_url();
    for foreign in [
        open_error(&url).await,
        migrate(&url, usd()).await.unwrap_err(),
    ] {
        assert!(matches!(foreign, StoreError::Foreign(_)), "{foreign:?}");
    }
    // Existing tables stay as they are.
    fixture.execute("DROP TABLE settings").await;
    let foreign = migrate(&fixture.database.database_url(), usd())
        .await
        .unwrap_err();
    let response = match fixture.database.is_postgres() {
        true => "already exists",
        false => "the file is a database of something else",
    };
    assert!(foreign.to_string().contains(response), "{foreign}");
    assert!(matches!(
        open_error(&fixture.database.database_url()).await,
        StoreError::Empty
    ));
    assert_eq!(fixture.number("SELECT COUNT(*) FROM variants").await, 5);
}

/// A file of another program does not get tables of ours.
#[tokio::test]
async fn database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("photos.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    sqlx::any::install_default_drivers();
    let mut theirs = <sqlx::AnyConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    let made = sqlx::query("CREATE TABLE photos (name TEXT)");
    made.execute(&mut theirs).await.unwrap();
    let url = DatabaseUrl::file(&file).unwrap();
    let foreign = migrate(&url, usd()).await.unwrap_err();
    assert!(matches!(foreign, StoreError::Foreign(_)), "{foreign:?}");
    let tables = sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_master");
    let tables: i64 = tables.fetch_one(&mut theirs).await.unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn unusable_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.db");
    std::fs::write(
        &file,
        "This is no database, and long enough to be taken for one.\n".repeat(99),
    )
    .unwrap();
    let before = std::fs::read(&file).unwrap();
    let at = |path: &std::path::Path| DatabaseUrl::file(path).unwrap();
    for (url, words) in [
        (at(&file), "file is not a database"),
        (at(folder.path()), "unable to open database file"),
        (
            at(&folder.path().join("none/orders.db")),
            "unable to open database file",
        ),
    ] {
        for unusable in [
            open_error(&url).await,
            migrate(&url, usd()).await.unwrap_err(),
        ] {
            assert!(
                matches!(unusable, StoreError::Unreachable(_)),
                "{unusable:?}"
            );
            let response = unusable.to_string();
            assert!(
                response.starts_with("the database cannot be used: ") && response.contains(words),
                "{response}"
            );
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn file_names_may_have_any_characters() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b?c#d%20&mode=ro", "ü \"q\"", "memory:", "%3F"] {
        let file = folder.path().join(name);
        let url = DatabaseUrl::file(&file).unwrap();
        assert_eq!(
            migrate(&url, usd()).await.unwrap(),
            MigrationOutcome::Created,
            "{name}"
        );
        assert!(file.exists(), "{name}");
        open(&url).await.unwrap().close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_server_is_reported_without_its_password() {
    let Some(database) = TestDatabase::postgres() else {
        return;
    };
    let TestDatabase::Postgres(server, url) = &database else {
        return;
    };
    let wrong = url.replace(candor_testkit::postgres::PASSWORD, "wrong-canary");
    let absent = format!("{url}_absent");
    for (url, words) in [
        (&wrong, "password authentication failed"),
        (&absent, "does not exist"),
    ] {
        let response = open_error(&DatabaseUrl::postgres(url).unwrap())
            .await
            .to_string();
        assert!(response.contains(words), "{response}");
        assert!(!response.contains("canary"), "{response}");
    }
    server.stop();
    let start = std::time::Instant::now();
    let response = open_error(&DatabaseUrl::postgres(url).unwrap())
        .await
        .to_string();
    assert!(
        response.starts_with("the database cannot be used: ") && !response.contains("canary"),
        "{response}"
    );
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(DatabaseUrl::postgres("mysql://x").is_none());
}
