//! Stores of format 1, made by the first release, are brought to format 2.

use crate::fixture::database::TestDatabase;
use crate::fixture::store::{StoreFixture, StoreOptions};
use candor_orders::model::Currency;
use candor_orders::sql::{
    MigrationOutcome, SqlAdapter, SqlConfig, StoreError, invariants, migrate, migration_statements,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::{AnyPool, AssertSqlSafe};
use std::sync::Arc;
use std::time::Duration;

const FILE: &[u8] = include_bytes!("../fixtures/format1.db");
const DUMP: &str = include_str!("../fixtures/format1.postgres.sql");
const FILE_CALLS: &str = include_str!("../fixtures/format1.sqlite.jsonl");
const DUMP_CALLS: &str = include_str!("../fixtures/format1.postgres.jsonl");

/// A call to the first release, with the text of its answer.
#[derive(Deserialize)]
struct FirstCall {
    tool: String,
    arguments: Value,
    text: String,
}

fn euro() -> Currency {
    Currency::read("EUR").unwrap()
}

/// Fills an empty database with the store of the first release, and returns the calls to it.
async fn restore(database: &TestDatabase) -> Vec<FirstCall> {
    sqlx::any::install_default_drivers();
    let calls = match database {
        TestDatabase::Sqlite(folder) => {
            std::fs::write(folder.path().join("orders.db"), FILE).unwrap();
            FILE_CALLS
        }
        TestDatabase::Postgres(..) => {
            let pool = AnyPool::connect(&database.raw_url()).await.unwrap();
            for statement in DUMP.split(";\n").filter(|one| !one.trim().is_empty()) {
                let done = sqlx::query(AssertSqlSafe(statement.to_owned()))
                    .execute(&pool)
                    .await;
                done.unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
            pool.close().await;
            DUMP_CALLS
        }
    };
    calls
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn databases() -> Vec<TestDatabase> {
    let mut databases = vec![TestDatabase::sqlite()];
    databases.extend(TestDatabase::postgres());
    databases
}

async fn open_error(database: &TestDatabase) -> StoreError {
    let clock = Arc::new(candor_call_fixtures::specification_instant);
    let random = Arc::new(|| 1);
    let url = database.database_url();
    SqlAdapter::open(&url, SqlConfig::default(), clock, random)
        .await
        .err()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn migrated_store_replays_its_keys_and_finds_its_orders() {
    for database in databases() {
        let calls = restore(&database).await;
        let url = database.database_url();
        let older = open_error(&database).await;
        assert_eq!(
            older.to_string(),
            "the tables have format 1, and this program works with 2"
        );
        let statements = migration_statements(&url).await.unwrap();
        assert!(
            statements
                .iter()
                .any(|one| one.contains("ALTER TABLE orders")),
            "{statements:?}"
        );
        assert_eq!(
            migrate(&url, euro()).await.unwrap(),
            MigrationOutcome::Upgraded
        );
        assert_eq!(
            migrate(&url, euro()).await.unwrap(),
            MigrationOutcome::Current
        );
        assert_eq!(migration_statements(&url).await.unwrap(), [""; 0]);
        assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
        let options = StoreOptions {
            keep_keys: Duration::from_secs(100 * 366 * 24 * 60 * 60),
            ..StoreOptions::default()
        };
        let fixture = StoreFixture::of_existing(database, options).await;
        for call in &calls {
            let again = fixture
                .server
                .call(&call.tool, call.arguments.clone())
                .await;
            // A failure also says now what became of its key.
            let again = again.text.replace("\"key\":\"bound\",", "");
            assert_eq!(again, call.text);
        }
        let find = async |query: Value| {
            let found = fixture
                .server
                .call_text(None, "get-orders", query.to_string())
                .await;
            let orders = found.at("/orders").as_array().unwrap().clone();
            orders
                .iter()
                .map(|order| order["orderNumber"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(find(json!({})).await, ["1001", "1002", "1003"]);
        for query in [
            json!({ "names": ["a-1"] }),
            json!({ "phones": ["030 5550101"] }),
            json!({ "customerNames": ["keller, ada"] }),
            json!({ "trackingNumbers": ["1Z999"] }),
        ] {
            assert_eq!(find(query).await, ["1001"]);
        }
        assert_eq!(find(json!({ "customerNames": ["Martin"] })).await, ["1002"]);
        let returns = fixture
            .server
            .call_text(None, "get-returns", String::from("{}"))
            .await;
        assert_eq!(returns.at("/returns/0/refundAmount"), "8.00");
        assert_eq!(returns.at("/returns/0/status"), "completed");
        assert_eq!(returns.at("/returns/1/refundAmount"), "0.00");
        let order = json!({ "order": { "lineItems": [{ "sku": "TEA", "quantity": 1 }] } });
        let next = fixture.server.call("create-sales-order", order).await;
        assert_eq!(next.at("/order/orderNumber"), "1004", "{}", next.whole);
        assert_eq!(invariants(&url).await.unwrap(), [""; 0]);
        let clients = fixture
            .rows("SELECT DISTINCT client FROM keys ORDER BY client")
            .await;
        assert_eq!(clients[0], "default");
        let recorded = fixture.rows("SELECT version FROM migrations").await;
        assert_eq!(recorded, ["2"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn migrated_tables_equal_new_ones() {
    for database in databases() {
        restore(&database).await;
        migrate(&database.database_url(), euro()).await.unwrap();
        let fresh = match &database {
            TestDatabase::Sqlite(_) => TestDatabase::sqlite(),
            TestDatabase::Postgres(..) => TestDatabase::postgres().unwrap(),
        };
        migrate(&fresh.database_url(), euro()).await.unwrap();
        let mut shapes = Vec::new();
        for database in [&database, &fresh] {
            shapes.push(shape(database).await);
        }
        assert_eq!(shapes[0], shapes[1]);
    }
}

/// Returns the columns and indexes of all tables.
async fn shape(database: &TestDatabase) -> Vec<String> {
    use sqlx::Row as _;
    let pool = AnyPool::connect(&database.raw_url()).await.unwrap();
    let query = match database.is_postgres() {
        true => "SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable FROM information_schema.columns WHERE table_schema = 'public'
                 UNION ALL SELECT indexdef FROM pg_catalog.pg_indexes WHERE schemaname = 'public'
                 UNION ALL SELECT sequence_name || '' FROM information_schema.sequences",
        false => "SELECT m.name || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'
                  UNION ALL SELECT m.sql FROM sqlite_master AS m WHERE m.type = 'index' AND m.sql IS NOT NULL",
    };
    let rows = sqlx::query(query).fetch_all(&pool).await.unwrap();
    let mut shape: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    shape.sort();
    pool.close().await;
    shape
}

#[tokio::test(flavor = "multi_thread")]
async fn file_is_copied_before_it_is_migrated() {
    let database = TestDatabase::sqlite();
    restore(&database).await;
    let TestDatabase::Sqlite(folder) = &database else {
        panic!("not a file");
    };
    // A copy that an interrupted run left behind is replaced.
    std::fs::write(folder.path().join("orders.db.format1-draft"), "half").unwrap();
    migrate(&database.database_url(), euro()).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(names.contains(&"orders.db.format1".into()), "{names:?}");
    assert!(
        !names.contains(&"orders.db.format1-draft".into()),
        "{names:?}"
    );
    let copy = TestDatabase::sqlite();
    let TestDatabase::Sqlite(other) = &copy else {
        panic!("not a file");
    };
    std::fs::copy(
        folder.path().join("orders.db.format1"),
        other.path().join("orders.db"),
    )
    .unwrap();
    assert!(matches!(open_error(&copy).await, StoreError::Older(1)));
    assert_eq!(
        migrate(&copy.database_url(), euro()).await.unwrap(),
        MigrationOutcome::Upgraded
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_migration_leaves_format_1() {
    for database in databases() {
        restore(&database).await;
        let pool = AnyPool::connect(&database.raw_url()).await.unwrap();
        // A row that the last step cannot read.
        sqlx::query("UPDATE returns SET details = 'x'")
            .execute(&pool)
            .await
            .unwrap();
        let failed = migrate(&database.database_url(), euro()).await.unwrap_err();
        assert!(matches!(failed, StoreError::Foreign(_)), "{failed}");
        assert!(matches!(open_error(&database).await, StoreError::Older(1)));
        let columns = sqlx::query("SELECT number FROM orders")
            .fetch_all(&pool)
            .await;
        assert!(columns.is_err());
        pool.close().await;
    }
}
