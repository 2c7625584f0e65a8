//! Pages on every database, compared with a simple filter in memory.

mod expected;
mod query_plans;
mod random_store;

use super::page;
use crate::adapter::{OrderOperation, Response};
use crate::failure::{Failure, OrderRule, RuleViolation};
use crate::model::{EntityQuery, Filters};
use crate::model::{OrderStatus, PaymentStatus, ReturnOutcome, ReturnStatus, SortOrder, UtcTime};
use crate::sql::store::Store;
use crate::sql::test_databases::{Databases, open};
use expected::{EMAILS, PERSONS, PHONES, SKUS};
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use tokio::runtime::Handle;

async fn read_page(store: &Store, query: &EntityQuery) -> (Vec<Value>, Option<String>) {
    match page(store, query).await.unwrap() {
        Response::Page { items, next, .. } => (serde_json::from_str(items.get()).unwrap(), next),
        Response::One { .. } => panic!("not a page"),
    }
}

/// Reads all pages of a query.
async fn read_pages(store: &Store, mut query: EntityQuery) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    loop {
        let (items, next) = read_page(store, &query).await;
        pages.push(items);
        query.after = next;
        if query.after.is_none() {
            return pages;
        }
    }
}

/// In microseconds.
const HALF_DAY: i64 = 43_200_000_000;

fn some<T: std::fmt::Debug>(list: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.25, list)
}

fn texts(all: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    subsequence(all, 0..=all.len()).prop_map(|some| some.into_iter().map(str::to_owned).collect())
}

fn time() -> impl Strategy<Value = Option<UtcTime>> {
    some((-4_i64..6).prop_map(|count| UtcTime::of_micros(count * HALF_DAY)))
}

fn filters(operation: OrderOperation) -> impl Strategy<Value = Filters> {
    let ids = || {
        some(
            prop::collection::btree_set(random_store::ids(), 0..40)
                .prop_map(|ids| ids.into_iter().collect::<Vec<_>>()),
        )
    };
    let external = prop::collection::vec((0..60).prop_map(|number| format!("ext {number}")), 0..9);
    let lists = (
        ids(),
        some(external),
        some(subsequence(&OrderStatus::ALL[..], 0..=6)),
        some(texts(&SKUS)),
        some(texts(&EMAILS)),
        ids(),
        ids(),
        ids(),
    );
    let times = (time(), time(), time(), time());
    let numbers = prop::collection::vec((998..1070_i64).prop_map(|one| one.to_string()), 0..20);
    let order_names = prop::collection::vec(
        (0..9_usize).prop_map(|one| format!("{}a{one}", ["", "#"][one % 2])),
        0..4,
    );
    let tracking = prop::collection::vec((0..9).prop_map(|one| format!("T{one}")), 0..4);
    let found = (
        some(numbers),
        some(order_names),
        some(tracking),
        some(texts(&PERSONS)),
        some(texts(&PHONES)),
        some(subsequence(PaymentStatus::ALL, 0..=3)),
        some(subsequence(ReturnStatus::ALL, 0..=4)),
        some(subsequence(ReturnOutcome::ALL, 0..=3)),
        prop::option::of(prop::sample::select(SortOrder::ALL)),
        ids(),
    );
    (lists, times, found).prop_map(move |(lists, times, found)| {
        let is = |operations: &[OrderOperation]| operations.contains(&operation);
        use OrderOperation::*;
        Filters {
            ids: lists.0.filter(|_| !is(&[GetInventory])),
            external_ids: lists.1.filter(|_| is(&[GetOrders])),
            statuses: lists.2.filter(|_| is(&[GetOrders])),
            skus: lists
                .3
                .filter(|_| is(&[GetOrders, GetProducts, GetVariants, GetInventory])),
            emails: lists.4.filter(|_| is(&[GetOrders, GetCustomers])),
            order_ids: lists.5.filter(|_| is(&[GetFulfillments, GetReturns])),
            product_ids: lists.6.filter(|_| is(&[GetVariants])),
            location_ids: lists.7.filter(|_| is(&[GetInventory])),
            created_at_min: times.0,
            created_at_max: times.1,
            updated_at_min: times.2,
            updated_at_max: times.3,
            order_numbers: found.0.filter(|_| is(&[GetOrders])),
            names: match operation {
                GetOrders => found.1,
                GetCustomers => found.3.clone(),
                _ => None,
            },
            tracking_numbers: match operation {
                GetOrders => found.2,
                GetFulfillments => found.9.clone(),
                _ => None,
            },
            customer_ids: found.9.filter(|_| is(&[GetOrders])),
            customer_names: found.3.filter(|_| is(&[GetOrders])),
            phones: found.4.filter(|_| is(&[GetOrders, GetCustomers])),
            payment_statuses: found.5.filter(|_| is(&[GetOrders])),
            return_statuses: found.6.filter(|_| is(&[GetReturns])),
            outcomes: found.7.filter(|_| is(&[GetReturns])),
            sort: found
                .8
                .filter(|_| is(&[GetOrders, GetCustomers, GetFulfillments, GetReturns])),
        }
    })
}

fn query() -> impl Strategy<Value = EntityQuery> {
    let operations: Vec<_> = OrderOperation::ALL
        .into_iter()
        .filter(|operation| !operation.changes())
        .collect();
    let operation = prop_oneof![
        2 => Just(OrderOperation::GetOrders),
        3 => prop::sample::select(operations),
    ];
    operation.prop_flat_map(|operation| {
        let times_only = prop::bool::weighted(0.3);
        let parts = (filters(operation), 1_i64..=100, any::<bool>(), times_only);
        parts.prop_map(move |(filters, size, small, times_only)| EntityQuery {
            operation,
            filters: match times_only {
                true => only_times(&filters),
                false => filters,
            },
            page_size: if small { size % 9 + 1 } else { size },
            after: None,
        })
    })
}

/// Returns the bounds of times without any other filter, so that pages walk over periods.
fn only_times(filters: &Filters) -> Filters {
    Filters {
        created_at_min: filters.created_at_min,
        created_at_max: filters.created_at_max,
        updated_at_min: filters.updated_at_min,
        updated_at_max: filters.updated_at_max,
        ..Filters::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_equal_a_simple_filter() {
    let databases = Databases::empty().await;
    for start in 1..=4 {
        for database in databases.more("EUR").await {
            let store = open(&database).await;
            let expected_store = random_store::fill(&store, start).await;
            let handle = Handle::current();
            let config = Config {
                cases: 150,
                failure_persistence: None,
                ..Config::default()
            };
            let checked = TestRunner::new(config).run(&query(), |query| {
                let reading = read_pages(&store, query.clone());
                let pages = tokio::task::block_in_place(|| handle.block_on(reading));
                let matching = expected_store.matching(&query);
                let size = usize::try_from(query.page_size).unwrap();
                let plain: Vec<_> = match matching.as_slice() {
                    [] => vec![Vec::new()],
                    matching => matching.chunks(size).map(<[Value]>::to_vec).collect(),
                };
                prop_assert_eq!(pages, plain);
                Ok(())
            });
            checked.unwrap();
            store.close().await;
        }
    }
}

#[tokio::test]
async fn all_pages_contain_every_order_once() {
    let databases = Databases::filled(250).await;
    for database in &databases.databases {
        let store = open(database).await;
        let all = EntityQuery {
            operation: OrderOperation::GetOrders,
            filters: Filters::default(),
            page_size: 20,
            after: None,
        };
        let pages = read_pages(&store, all.clone()).await;
        let sizes: Vec<_> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [[20; 12].as_slice(), &[10]].concat());
        let mut ids: Vec<_> = pages
            .concat()
            .iter()
            .map(|order| order["id"].to_string())
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 250);
        // The most values that a filter may have.
        let many: Vec<_> = (1..=100).map(|number| format!("SKU-{number}")).collect();
        let skus = Filters {
            skus: Some(many.clone()),
            ..Filters::default()
        };
        let emails = Filters {
            emails: Some(many),
            ..Filters::default()
        };
        for filters in [skus, emails] {
            let query = EntityQuery {
                filters,
                ..all.clone()
            };
            assert_eq!(read_page(&store, &query).await, (Vec::new(), None));
        }
    }
}

#[tokio::test]
async fn foreign_position_is_refused() {
    let databases = Databases::empty().await;
    for database in &databases.databases {
        let store = open(database).await;
        for operation in OrderOperation::ALL.into_iter().filter(|one| !one.changes()) {
            for after in ["", "x", "7", "7.", "x.ord_1", "7.\u{0}", "7.a\nb"] {
                let query = EntityQuery {
                    operation,
                    filters: Filters::default(),
                    page_size: 20,
                    after: Some(after.to_owned()),
                };
                let refused = page(&store, &query).await.unwrap_err();
                assert_eq!(
                    refused,
                    Failure::from(RuleViolation::new("cursor", OrderRule::Cursor)),
                    "{after:?}"
                );
            }
        }
    }
}
