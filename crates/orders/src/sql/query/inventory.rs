//! Pages of stock, with the reserved and available units of each SKU at all locations.

use super::index_scan::{IndexScan, PageQuery};
use super::position::write;
use super::{PagedEntity, each, sorted_at};
use crate::failure::Failure;
use crate::model::{Currency, EntityQuery, Inventory, SortOrder};
use crate::sql::connection::{get_number, get_text};
use crate::sql::order::get_time;
use sqlx::any::AnyRow;

const WALK: IndexScan<'_, 2> = IndexScan {
    columns: "stock.sku AS sku, stock.location_id AS location_id, stock.on_hand AS here, variants.reserved AS reserved, variants.on_hand - variants.reserved AS free, stock.created_at AS created_at, stock.updated_at AS updated_at",
    from: "stock JOIN variants ON variants.sku = stock.sku",
    at: "stock.created_at",
    rest: ["stock.sku", "stock.location_id"],
    order: "created_at, sku, location_id",
    repeats: false,
};

impl PagedEntity for Inventory {
    fn build_query(query: &EntityQuery, page_size: i64) -> Result<PageQuery, Failure> {
        WALK.page(
            query,
            page_size,
            "stock.updated_at",
            |filter, arguments, filters| {
                filter.only(arguments, "stock.sku", filters.skus.as_ref());
                filter.leading(
                    arguments,
                    "stock.location_id",
                    filters.location_ids.as_ref(),
                );
            },
        )
    }

    fn read(rows: &[AnyRow], _: Currency, _: SortOrder) -> Result<Vec<Inventory>, Failure> {
        each(rows, |row| {
            Ok(Inventory {
                sku: get_text(row, 0)?,
                location_id: get_text(row, 1)?,
                on_hand: get_number(row, 2)?,
                reserved_total: get_number(row, 3)?,
                available_total: get_number(row, 4)?,
                created_at: get_time(row, 5)?,
                updated_at: get_time(row, 6)?,
            })
        })
    }

    fn position(&self, sort: SortOrder) -> String {
        write(
            sorted_at(sort, self.created_at, self.updated_at),
            [&self.sku, &self.location_id],
        )
    }
}
