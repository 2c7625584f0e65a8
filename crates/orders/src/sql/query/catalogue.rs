//! Pages of products and of their variants. A catalogue is small: what changed in it is found by
//! walking it.

use super::place::{Span, write};
use super::walk::{Arguments, Each, Walk, Wanted, Written, limit};
use super::{Paged, each};
use crate::failure::Failure;
use crate::model::{Currency, Product, ProductVariant};
use crate::query::Query;
use crate::sql::order::{moment, money};
use crate::sql::session::{maybe, text};
use sqlx::any::AnyRow;

const PRODUCTS: Walk<'_, 1> = Walk {
    columns: "id, name, description, created_at, updated_at",
    from: "products",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

const VARIANTS: Walk<'_, 1> = Walk {
    columns: "id, product_id, sku, name, price, created_at, updated_at",
    from: "variants",
    ..PRODUCTS
};

impl Paged for Product {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        let filters = &query.filters;
        let span = Span::of(query)?;
        let mut arguments = Arguments::default();
        let mut wanted = Wanted::default();
        wanted.only(&mut arguments, "id", filters.ids.as_ref());
        if let Some(skus) = &filters.skus {
            let skus = arguments.list(skus);
            wanted.conditions.push(format!(
                "id IN (SELECT product_id FROM variants WHERE sku IN ({skus}))"
            ));
        }
        wanted.within(&mut arguments, "updated_at", filters);
        let text = PRODUCTS.text(&mut arguments, &span, &wanted, limit(page_size));
        Ok(arguments.of(text))
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Product>, Failure> {
        each(rows, |row| {
            Ok(Product {
                id: text(row, 0)?,
                name: text(row, 1)?,
                description: maybe(row, 2)?,
                created_at: moment(row, 3)?,
                updated_at: moment(row, 4)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}

impl Paged for ProductVariant {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        let filters = &query.filters;
        let span = Span::of(query)?;
        let mut arguments = Arguments::default();
        let mut wanted = Wanted::default();
        wanted.only(&mut arguments, "id", filters.ids.as_ref());
        wanted.only(&mut arguments, "sku", filters.skus.as_ref());
        if let Some(products) = &filters.product_ids {
            if wanted.conditions.is_empty() {
                wanted.each = Some(Each::of("product_id", products));
            } else {
                wanted.only(&mut arguments, "product_id", Some(products));
            }
        }
        wanted.within(&mut arguments, "updated_at", filters);
        let text = VARIANTS.text(&mut arguments, &span, &wanted, limit(page_size));
        Ok(arguments.of(text))
    }

    fn read(rows: &[AnyRow], currency: Currency) -> Result<Vec<ProductVariant>, Failure> {
        each(rows, |row| {
            Ok(ProductVariant {
                id: text(row, 0)?,
                product_id: text(row, 1)?,
                sku: text(row, 2)?,
                name: text(row, 3)?,
                currency: currency.code().to_owned(),
                price: money(row, 4)?.text(currency),
                created_at: moment(row, 5)?,
                updated_at: moment(row, 6)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}
