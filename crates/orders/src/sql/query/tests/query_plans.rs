//! Query plans of pages of orders: one index, in the order of pages, whatever else is in the store.

use crate::adapter::OrderOperation;
use crate::model::{EntityQuery, Filters, SortOrder};
use crate::model::{Order, OrderStatus, UtcTime};
use crate::sql::connection::get_text;
use crate::sql::dialect::SqlDialect;
use crate::sql::query::PagedEntity as _;
use crate::sql::store::Store;
use crate::sql::test_databases::{Databases, open};

/// Enough orders for PostgreSQL to prefer an index to a full scan.
const ORDERS: u64 = 10_000;

/// The creation time of the middle order.
const MIDDLE: i64 = 1_704_067_200_000_000 + 86_400_000_000 + 5_000 * 30_000_000;

/// Returns the plan of a page, one step per line.
async fn plan(store: &Store, filters: &Filters, after: Option<String>) -> String {
    let query = EntityQuery {
        operation: OrderOperation::GetOrders,
        filters: filters.clone(),
        page_size: 20,
        after,
    };
    let mut build_query = Order::build_query(&query, 20).unwrap();
    let (explain, column) = match store.dialect {
        SqlDialect::Sqlite => ("EXPLAIN QUERY PLAN", 3),
        SqlDialect::Postgres => ("EXPLAIN", 0),
    };
    build_query.text = format!("{explain} {}", build_query.text);
    let rows = store
        .read(|| build_query.clone().statement(store.dialect))
        .await
        .unwrap();
    let steps: Vec<_> = rows
        .iter()
        .map(|row| get_text(row, column).unwrap())
        .collect();
    steps.join("\n")
}

/// Returns the indexes in a plan, in their order.
fn indexes(plan: &str) -> Vec<&str> {
    let all = [
        "orders_by_time",
        "orders_by_status",
        "orders_by_customer",
        "orders_by_change",
        "orders_by_period",
        "order_lines_by_sku",
    ];
    let words = plan.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    words.filter(|word| all.contains(word)).collect()
}

/// Returns true if a plan scans a whole table of orders.
fn reads_all(plan: &str) -> bool {
    let tables = [
        "SCAN orders",
        "SCAN order_lines",
        "SCAN lookups",
        "Seq Scan on order",
        "Seq Scan on lookups",
    ];
    tables.iter().any(|all| plan.contains(all))
}

fn texts(all: &[&str]) -> Option<Vec<String>> {
    Some(all.iter().map(|text| String::from(*text)).collect())
}

#[tokio::test]
async fn page_uses_one_index() {
    let middle = Some(UtcTime::of_micros(MIDDLE));
    let none = Filters::default();
    let pages = [
        ("orders_by_time", 1, none.clone()),
        (
            "orders_by_time",
            1,
            Filters {
                created_at_min: middle,
                ..none.clone()
            },
        ),
        (
            "orders_by_time",
            1,
            Filters {
                created_at_max: middle,
                ..none.clone()
            },
        ),
        (
            "orders_by_status",
            1,
            Filters {
                statuses: Some(vec![OrderStatus::Pending]),
                ..none.clone()
            },
        ),
        (
            "orders_by_status",
            1,
            Filters {
                statuses: Some(vec![OrderStatus::Shipped]),
                created_at_min: middle,
                ..none.clone()
            },
        ),
        (
            "orders_by_status",
            2,
            Filters {
                statuses: Some(vec![OrderStatus::Pending, OrderStatus::Shipped]),
                ..none.clone()
            },
        ),
        (
            "orders_by_customer",
            1,
            Filters {
                emails: texts(&["ada.keller@example.com"]),
                ..none.clone()
            },
        ),
        (
            "orders_by_customer",
            1,
            Filters {
                emails: texts(&["ada.keller@example.com"]),
                statuses: Some(vec![OrderStatus::Pending]),
                ..none.clone()
            },
        ),
        (
            "orders_by_customer",
            1,
            Filters {
                emails: texts(&["ada.keller@example.com"]),
                skus: texts(&["TEE-BLK-M"]),
                ..none.clone()
            },
        ),
        (
            "orders_by_customer",
            2,
            Filters {
                emails: texts(&["ada.keller@example.com", "emi.tanaka@example.com"]),
                ..none.clone()
            },
        ),
        (
            "order_lines_by_sku",
            1,
            Filters {
                skus: texts(&["TEE-BLK-M"]),
                ..none.clone()
            },
        ),
        (
            "order_lines_by_sku",
            2,
            Filters {
                skus: texts(&["TEE-BLK-M", "BOT-750-STD"]),
                ..none.clone()
            },
        ),
        (
            "none",
            0,
            Filters {
                ids: texts(&["ord_0000001"]),
                ..none.clone()
            },
        ),
        (
            "none",
            0,
            Filters {
                external_ids: texts(&["sample-0000001", "x"]),
                ..none
            },
        ),
    ];
    let databases = Databases::filled(ORDERS).await;
    for database in &databases.databases {
        let store = open(database).await;
        for (index, branches, filters) in &pages {
            for after in [None, Some(format!("{MIDDLE}.ord_0005000"))] {
                let plan = plan(&store, filters, after).await;
                assert!(!reads_all(&plan), "{filters:?}\n{plan}");
                assert_eq!(
                    indexes(&plan),
                    vec![*index; *branches],
                    "{filters:?}\n{plan}"
                );
                let sorts = plan.contains("TEMP B-TREE") || plan.contains("Sort  (");
                // With other filters PostgreSQL may read all orders of a customer and sort them.
                let filtered = [
                    filters.emails.is_some(),
                    filters.statuses.is_some(),
                    filters.skus.is_some(),
                ];
                let one_filter = filtered.iter().filter(|is| **is).count() <= 1;
                let in_order = one_filter && *branches == 1;
                assert!(!(in_order && sorts), "{filters:?}\n{plan}");
            }
        }
    }
}

/// A page by update time looks at the index by period for the days, and again for the rows of days
/// with few of them. The index by time has the first and the last day, and the rows of a day with
/// many.
#[tokio::test]
async fn page_by_update_time_walks_over_periods() {
    let (min, max) = (UtcTime::of_micros(MIDDLE), UtcTime::of_micros(MIDDLE + 1));
    let ranges = [(Some(min), None), (None, Some(max)), (Some(min), Some(max))];
    let databases = Databases::filled(ORDERS).await;
    for database in &databases.databases {
        let mut store = open(database).await;
        if store.dialect == SqlDialect::Postgres {
            // The samples have a few days only, so that reading everything may be quicker.
            let avoid = sqlx::query("ALTER ROLE CURRENT_USER SET enable_seqscan = off");
            avoid.execute(store.write_pool()).await.unwrap();
            store = open(database).await;
        }
        for (updated_at_min, updated_at_max) in ranges {
            let filters = Filters {
                updated_at_min,
                updated_at_max,
                ..Filters::default()
            };
            for after in [None, Some(format!("{MIDDLE}.ord_0005000"))] {
                let plan = plan(&store, &filters, after).await;
                assert!(!reads_all(&plan), "{filters:?}\n{plan}");
                let indexes = indexes(&plan);
                let used = |name| indexes.iter().filter(|index| **index == name).count();
                let all = ["orders_by_time", "orders_by_period"].map(used);
                assert!(all[0] == 3 && all[1] == 2, "{filters:?}\n{plan}");
                assert_eq!(indexes.len(), all[0] + all[1], "{filters:?}\n{plan}");
                // The rows of a day are counted up to the size of a page, and never sorted for it.
                let counting = plan.split("some_rows").nth(1).unwrap_or_default();
                assert!(!counting.contains("TEMP B-TREE"), "{filters:?}\n{plan}");
            }
        }
    }
}

/// Returns true if a plan finds rows by a key in `lookups`.
fn looks_up(plan: &str) -> bool {
    let by_key = ["sqlite_autoindex_lookups_1 (key=?", "lookups_pkey"];
    by_key.iter().any(|one| plan.contains(one))
}

/// Orders are looked up by keys; nothing else is read.
#[tokio::test]
async fn lookup_uses_its_key() {
    let none = Filters::default();
    let lookups = [
        Filters {
            phones: texts(&["+1 555 0100 200"]),
            ..none.clone()
        },
        Filters {
            names: texts(&["#1001"]),
            ..none.clone()
        },
        Filters {
            customer_names: texts(&["Ada Keller"]),
            ..none.clone()
        },
        Filters {
            tracking_numbers: texts(&["1Z999", "1Z998"]),
            ..none.clone()
        },
        Filters {
            order_numbers: texts(&["1001", "1002"]),
            ..none
        },
    ];
    let databases = Databases::filled(ORDERS).await;
    for database in &databases.databases {
        let store = open(database).await;
        for filters in &lookups {
            for after in [None, Some(format!("{MIDDLE}.ord_0005000"))] {
                let plan = plan(&store, filters, after).await;
                assert!(!reads_all(&plan), "{filters:?}\n{plan}");
                let by_number = plan.contains("orders_by_number");
                let is_found = match filters.order_numbers {
                    Some(_) => by_number && !plan.contains("lookups"),
                    None => looks_up(&plan) && !by_number,
                };
                assert!(is_found, "{filters:?}\n{plan}");
                assert_eq!(indexes(&plan), [""; 0], "{filters:?}\n{plan}");
            }
        }
    }
}

/// A page in the order of the last change follows its index, with or without bounds.
#[tokio::test]
async fn page_sorted_by_update_time_uses_its_index() {
    let middle = Some(UtcTime::of_micros(MIDDLE));
    let sorted = Filters {
        sort: Some(SortOrder::UpdatedAt),
        ..Filters::default()
    };
    let pages = [
        sorted.clone(),
        Filters {
            updated_at_min: middle,
            ..sorted.clone()
        },
        Filters {
            updated_at_max: middle,
            ..sorted
        },
    ];
    let databases = Databases::filled(ORDERS).await;
    for database in &databases.databases {
        let store = open(database).await;
        for filters in &pages {
            for after in [None, Some(format!("{MIDDLE}.ord_0005000"))] {
                let plan = plan(&store, filters, after).await;
                assert!(!reads_all(&plan), "{filters:?}\n{plan}");
                assert_eq!(indexes(&plan), ["orders_by_change"], "{filters:?}\n{plan}");
                let sorts = plan.contains("TEMP B-TREE") || plan.contains("Sort  (");
                assert!(!sorts, "{filters:?}\n{plan}");
            }
        }
    }
}
