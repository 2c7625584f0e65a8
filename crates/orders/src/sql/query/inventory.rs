//! Pages of stock, with what is reserved and free of each SKU over all locations.

use super::place::{Span, write};
use super::walk::{Arguments, Each, Walk, Wanted, Written, limit};
use super::{Paged, each};
use crate::failure::Failure;
use crate::model::{Currency, Inventory};
use crate::query::Query;
use crate::sql::order::moment;
use crate::sql::session::{number, text};
use sqlx::any::AnyRow;

const WALK: Walk<'_, 2> = Walk {
    columns: "stock.sku AS sku, stock.location_id AS location_id, stock.on_hand AS here, variants.reserved AS reserved, variants.on_hand - variants.reserved AS free, stock.created_at AS created_at, stock.updated_at AS updated_at",
    from: "stock JOIN variants ON variants.sku = stock.sku",
    at: "stock.created_at",
    rest: ["stock.sku", "stock.location_id"],
    order: "created_at, sku, location_id",
    repeats: false,
};

impl Paged for Inventory {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        let filters = &query.filters;
        let span = Span::of(query)?;
        let mut arguments = Arguments::default();
        let mut wanted = Wanted::default();
        wanted.only(&mut arguments, "stock.sku", filters.skus.as_ref());
        if let Some(locations) = &filters.location_ids {
            if wanted.conditions.is_empty() {
                wanted.each = Some(Each::of("stock.location_id", locations));
            } else {
                wanted.only(&mut arguments, "stock.location_id", Some(locations));
            }
        }
        wanted.within(&mut arguments, "stock.updated_at", filters);
        let text = WALK.text(&mut arguments, &span, &wanted, limit(page_size));
        Ok(arguments.of(text))
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Inventory>, Failure> {
        each(rows, |row| {
            Ok(Inventory {
                sku: text(row, 0)?,
                location_id: text(row, 1)?,
                on_hand: number(row, 2)?,
                reserved_total: number(row, 3)?,
                available_total: number(row, 4)?,
                created_at: moment(row, 5)?,
                updated_at: moment(row, 6)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.sku, &self.location_id])
    }
}
