//! Pages of products and of their variants. A catalogue is small, so changes are found by scanning
//! it.

use super::index_scan::{IndexScan, PageQuery};
use super::position::write;
use super::{PagedEntity, each, sorted_at};
use crate::failure::Failure;
use crate::model::{Currency, EntityQuery, Product, ProductVariant, SortOrder};
use crate::sql::connection::{get_optional_text, get_text};
use crate::sql::order::{get_money, get_time};
use sqlx::any::AnyRow;

const PRODUCTS: IndexScan<'_, 1> = IndexScan {
    columns: "id, name, description, created_at, updated_at",
    from: "products",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

const VARIANTS: IndexScan<'_, 1> = IndexScan {
    columns: "id, product_id, sku, name, price, created_at, updated_at",
    from: "variants",
    ..PRODUCTS
};

impl PagedEntity for Product {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        PRODUCTS.page(
            query,
            page_size,
            "updated_at",
            |filter, arguments, filters| {
                filter.only(arguments, "id", filters.ids.as_ref());
                if let Some(skus) = &filters.skus {
                    let skus = arguments.list(skus);
                    filter.conditions.push(format!(
                        "id IN (SELECT product_id FROM variants WHERE sku IN ({skus}))"
                    ));
                }
            },
        )
    }

    fn read(rows: &[AnyRow], _: Currency, _: SortOrder) -> Result<Vec<Product>, Failure> {
        each(rows, |row| {
            Ok(Product {
                id: get_text(row, 0)?,
                name: get_text(row, 1)?,
                description: get_optional_text(row, 2)?,
                created_at: get_time(row, 3)?,
                updated_at: get_time(row, 4)?,
            })
        })
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.id],
        )
    }
}

impl PagedEntity for ProductVariant {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        VARIANTS.page(
            query,
            page_size,
            "updated_at",
            |filter, arguments, filters| {
                filter.only(arguments, "id", filters.ids.as_ref());
                filter.only(arguments, "sku", filters.skus.as_ref());
                filter.leading(arguments, "product_id", filters.product_ids.as_ref());
            },
        )
    }

    fn read(
        rows: &[AnyRow],
        currency: Currency,
        _: SortOrder,
    ) -> Result<Vec<ProductVariant>, Failure> {
        each(rows, |row| {
            Ok(ProductVariant {
                id: get_text(row, 0)?,
                product_id: get_text(row, 1)?,
                sku: get_text(row, 2)?,
                name: get_text(row, 3)?,
                currency: currency.code().to_owned(),
                price: get_money(row, 4)?.text(currency),
                created_at: get_time(row, 5)?,
                updated_at: get_time(row, 6)?,
            })
        })
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.id],
        )
    }
}
