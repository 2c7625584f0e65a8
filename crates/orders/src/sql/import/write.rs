//! Writes a catalogue to the tables. Rows that are already the same are left alone.

use super::file::{Catalogue, CatalogueLocation, CatalogueProduct, CatalogueVariant};
use super::{ImportCounts, ImportError, ImportReport};
use crate::sql::connection::{dynamic_sql, sql};
use crate::sql::dialect::SqlDialect;
use sqlx::{AnyConnection, Row as _};

/// The transaction of an import.
pub(super) struct ImportWriter<'a> {
    pub(super) connection: &'a mut AnyConnection,
    pub(super) dialect: SqlDialect,
    pub(super) at: i64,
}

/// The change of a row.
#[derive(Clone, Copy)]
enum RowChange {
    Created,
    Updated,
    Unchanged,
}

impl ImportCounts {
    fn count(&mut self, change: RowChange) {
        match change {
            RowChange::Created => self.made += 1,
            RowChange::Updated => self.changed += 1,
            RowChange::Unchanged => self.same += 1,
        }
    }
}

impl ImportWriter<'_> {
    /// Writes everything. Variants are locked in the order of SKUs, each before its stock, as in
    /// all changes.
    pub(super) async fn all(&mut self, catalogue: &Catalogue) -> Result<ImportReport, ImportError> {
        let mut imported = ImportReport::default();
        for location in &catalogue.locations {
            imported.locations.count(self.location(location).await?);
        }
        for product in &catalogue.products {
            imported.products.count(self.product(product).await?);
        }
        for (sku, variant) in &catalogue.variants {
            imported.variants.count(self.variant(sku, variant).await?);
            for (index, (location, units)) in variant.stock.iter().enumerate() {
                if !self.location_exists(location).await? {
                    let field = format!("{}.stock.{index}.locationId", variant.field);
                    return Err(ImportError::Location(field));
                }
                imported
                    .stock
                    .count(self.stock_row(sku, location, *units).await?);
            }
            self.update_sum(sku, variant).await?;
        }
        Ok(imported)
    }

    async fn location(&mut self, location: &CatalogueLocation) -> Result<RowChange, ImportError> {
        let existing = sql("SELECT name FROM locations WHERE id = $1").bind(location.id.clone());
        let existing = existing.fetch_optional(&mut *self.connection).await?;
        let (change, statement) = match existing {
            None => (
                RowChange::Created,
                "INSERT INTO locations (id, name, created_at, updated_at) VALUES ($1, $2, $3, $3)",
            ),
            Some(row) if row.try_get::<String, _>(0)? == location.name => {
                return Ok(RowChange::Unchanged);
            }
            Some(_) => (
                RowChange::Updated,
                "UPDATE locations SET name = $2, updated_at = $3 WHERE id = $1",
            ),
        };
        let done = sql(statement)
            .bind(location.id.clone())
            .bind(location.name.clone());
        done.bind(self.at).execute(&mut *self.connection).await?;
        Ok(change)
    }

    async fn product(&mut self, product: &CatalogueProduct) -> Result<RowChange, ImportError> {
        let existing = sql("SELECT name, description FROM products WHERE id = $1");
        let existing = existing.bind(product.id.clone());
        let existing = existing.fetch_optional(&mut *self.connection).await?;
        let current: Option<(String, Option<String>)> = match existing {
            None => None,
            Some(row) => Some((row.try_get(0)?, row.try_get(1)?)),
        };
        let (change, statement) = match current {
            None => (
                RowChange::Created,
                "INSERT INTO products (id, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)",
            ),
            Some((name, description))
                if name == product.name && description == product.description =>
            {
                return Ok(RowChange::Unchanged);
            }
            Some(_) => (
                RowChange::Updated,
                "UPDATE products SET name = $2, description = $3, updated_at = $4 WHERE id = $1",
            ),
        };
        let done = sql(statement)
            .bind(product.id.clone())
            .bind(product.name.clone());
        let done = done.bind(product.description.clone()).bind(self.at);
        done.execute(&mut *self.connection).await?;
        Ok(change)
    }

    async fn variant(
        &mut self,
        sku: &str,
        variant: &CatalogueVariant,
    ) -> Result<RowChange, ImportError> {
        let existing = dynamic_sql(format!(
            "SELECT product_id, name, price FROM variants WHERE sku = $1{}",
            self.dialect.lock_suffix()
        ));
        let existing = existing.bind(sku.to_owned());
        let existing = existing.fetch_optional(&mut *self.connection).await?;
        let price = variant.price.minor();
        let current: Option<(String, String, i64)> = match existing {
            None => None,
            Some(row) => Some((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)),
        };
        let (change, statement) = match current {
            // The id of an imported variant is its SKU.
            None => (
                RowChange::Created,
                "INSERT INTO variants (sku, id, product_id, name, price, on_hand, reserved, created_at, updated_at)
                 VALUES ($1, $1, $2, $3, $4, 0, 0, $5, $5) ON CONFLICT DO NOTHING",
            ),
            Some(current) if current == (variant.product_id.clone(), variant.name.clone(), price) => {
                return Ok(RowChange::Unchanged);
            }
            Some(_) => (
                RowChange::Updated,
                "UPDATE variants SET product_id = $2, name = $3, price = $4, updated_at = $5 WHERE sku = $1",
            ),
        };
        let done = sql(statement)
            .bind(sku.to_owned())
            .bind(variant.product_id.clone());
        let done = done.bind(variant.name.clone()).bind(price).bind(self.at);
        let done = done.execute(&mut *self.connection).await?;
        match done.rows_affected() {
            0 => Err(ImportError::Taken(format!("{}.sku", variant.field))),
            _ => Ok(change),
        }
    }

    async fn location_exists(&mut self, location: &str) -> Result<bool, ImportError> {
        let existing = sql("SELECT id FROM locations WHERE id = $1").bind(location.to_owned());
        let existing = existing.fetch_optional(&mut *self.connection).await?;
        Ok(existing.is_some())
    }

    async fn stock_row(
        &mut self,
        sku: &str,
        location: &str,
        units: i64,
    ) -> Result<RowChange, ImportError> {
        let existing = sql("SELECT on_hand FROM stock WHERE sku = $1 AND location_id = $2");
        let existing = existing.bind(sku.to_owned()).bind(location.to_owned());
        let existing = existing.fetch_optional(&mut *self.connection).await?;
        let (change, statement) = match existing {
            None => (
                RowChange::Created,
                "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)",
            ),
            Some(row) if row.try_get::<i64, _>(0)? == units => return Ok(RowChange::Unchanged),
            Some(_) => (
                RowChange::Updated,
                "UPDATE stock SET on_hand = $3, updated_at = $4 WHERE sku = $1 AND location_id = $2",
            ),
        };
        let done = sql(statement)
            .bind(sku.to_owned())
            .bind(location.to_owned());
        let done = done.bind(units).bind(self.at);
        done.execute(&mut *self.connection).await?;
        Ok(change)
    }

    /// Sets the variant's stock to the sum over all locations, which must cover the reservations.
    async fn update_sum(
        &mut self,
        sku: &str,
        variant: &CatalogueVariant,
    ) -> Result<(), ImportError> {
        let existing = sql("SELECT reserved, on_hand,
                CAST((SELECT COALESCE(SUM(on_hand), 0) FROM stock WHERE sku = $1) AS BIGINT)
             FROM variants WHERE sku = $1");
        let row = existing
            .bind(sku.to_owned())
            .fetch_one(&mut *self.connection)
            .await?;
        let (reserved, before, now): (i64, i64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        if now < reserved {
            let field = format!("{}.stock", variant.field);
            return Err(ImportError::Reserved { field, reserved });
        }
        if now != before {
            let done = sql("UPDATE variants SET on_hand = $2 WHERE sku = $1");
            let done = done.bind(sku.to_owned()).bind(now);
            done.execute(&mut *self.connection).await?;
        }
        Ok(())
    }
}
