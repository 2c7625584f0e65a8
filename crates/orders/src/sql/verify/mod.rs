//! Checks every invariant of a store: what must hold between two transactions. Reads one snapshot
//! of the store while servers run, and holds a bounded part of it in memory.

mod customers;
mod keys;
mod lookup_rows;
mod orders;
mod queries;
mod rules;

use super::connection::sql;
use super::dialect::SqlDialect;
use super::existing_store::ExistingStore;
use super::store::{DatabaseUrl, StoreError};
use super::tables;
use futures_util::TryStreamExt as _;
pub use rules::Invariant;
use sqlx::{AnyConnection, Row as _};
use std::collections::{BTreeMap, BTreeSet};

/// The most ids that are named for one invariant.
pub const MAX_NAMED: usize = 20;

/// The orders that are read at once.
const AT_ONCE: i64 = 256;

/// The result of a check of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of orders that were checked.
    pub orders: u64,
    /// The invariants that do not hold, in a fixed order.
    pub broken: Vec<BrokenInvariant>,
}

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenInvariant {
    pub invariant: Invariant,
    /// The number of entities that violate it.
    pub count: u64,
    /// The ids of the first of them, at most [`MAX_NAMED`].
    pub ids: Vec<String>,
}

/// The violations that were found so far.
#[derive(Debug, Default)]
struct Findings {
    broken: BTreeMap<Invariant, (u64, Vec<String>)>,
    orders: u64,
}

impl Findings {
    fn add(&mut self, invariant: Invariant, id: impl Into<String>) {
        let (count, ids) = self.broken.entry(invariant).or_default();
        *count += 1;
        if ids.len() < MAX_NAMED {
            ids.push(id.into());
        }
    }

    /// Adds a violation unless `holds` is true.
    fn check(&mut self, holds: bool, invariant: Invariant, id: &str) {
        if !holds {
            self.add(invariant, id);
        }
    }

    fn report(self) -> VerifyReport {
        let broken = self.broken.into_iter();
        let broken = broken.map(|(invariant, (count, ids))| BrokenInvariant {
            invariant,
            count,
            ids,
        });
        VerifyReport {
            orders: self.orders,
            broken: broken.collect(),
        }
    }
}

/// Checks every invariant of a store. Servers may use it meanwhile.
pub async fn verify(database: &DatabaseUrl) -> Result<VerifyReport, StoreError> {
    let mut findings = Findings::default();
    match verify_into(database, &mut findings).await {
        // The damage hides the rest.
        Err(StoreError::Damaged(reason)) => findings.add(Invariant::File, reason),
        verified => verified?,
    }
    Ok(findings.report())
}

async fn verify_into(database: &DatabaseUrl, findings: &mut Findings) -> Result<(), StoreError> {
    let mut store = ExistingStore::open(database).await?;
    store.begin_snapshot().await?;
    find_violations(&mut store, findings).await?;
    store.close().await
}

/// Returns one text for each violation of [`verify`].
pub async fn invariants(database: &DatabaseUrl) -> Result<Vec<String>, StoreError> {
    let report = verify(database).await?;
    let texts = report.broken.into_iter().flat_map(|broken| {
        let rule = broken.invariant.rule();
        let ids = broken.ids.into_iter();
        ids.map(move |id| format!("{id}: not true that {rule}"))
    });
    Ok(texts.collect())
}

async fn find_violations(
    store: &mut ExistingStore,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let dialect = store.dialect;
    let connection = &mut store.connection;
    if let Some(damage) = dialect.file_damage() {
        find_file_damage(connection, damage, findings).await?;
    }
    let names = load_names(connection, dialect.table_and_index_names()).await?;
    let expected = [tables::table_names(dialect), tables::index_names(dialect)].concat();
    for missing in expected.into_iter().filter(|name| !names.contains(name)) {
        findings.add(Invariant::Tables, missing);
    }
    let checked = check_rows(connection, dialect, findings).await;
    // Queries of a damaged file may fail, and those of missing tables do. The damage is reported.
    let damage = [Invariant::File, Invariant::Tables];
    let is_damaged = damage.iter().any(|one| findings.broken.contains_key(one));
    match checked {
        Err(_) if is_damaged => Ok(()),
        checked => checked,
    }
}

/// Checks the content of all tables.
async fn check_rows(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let further = dialect.repeated_order_numbers();
    let further = further.map(|query| (Invariant::OrderNumbers, query));
    for (invariant, query) in queries::QUERIES.into_iter().chain(further) {
        find_by_query(connection, (invariant, query), findings).await?;
    }
    orders::check(connection, findings).await?;
    customers::check(connection, findings).await?;
    lookup_rows::check(connection, findings).await?;
    keys::check(connection, findings).await
}

async fn find_file_damage(
    connection: &mut AnyConnection,
    query: &'static str,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut rows = sql(query).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let text: String = row.try_get(0)?;
        findings.check(text == "ok", Invariant::File, &text);
    }
    Ok(())
}

async fn load_names(
    connection: &mut AnyConnection,
    query: &'static str,
) -> Result<BTreeSet<String>, StoreError> {
    let rows = sql(query).fetch_all(connection).await?;
    let names = rows.iter().map(|row| Ok(row.try_get(0)?));
    names.collect()
}

/// Runs a query that returns the ids of the rows for which an invariant does not hold.
async fn find_by_query(
    connection: &mut AnyConnection,
    (invariant, query): (Invariant, &'static str),
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut rows = sql(query).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        findings.add(invariant, row.try_get::<String, _>(0)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
