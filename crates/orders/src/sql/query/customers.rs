//! Pages of customers.

use super::place::{Span, write};
use super::walk::{Arguments, Walk, Wanted, Written, between, limit};
use super::{Paged, each};
use crate::failure::Failure;
use crate::model::{Currency, Customer};
use crate::query::Query;
use crate::sql::order::moment;
use crate::sql::session::{maybe, text};
use sqlx::any::AnyRow;

const WALK: Walk<'_, 1> = Walk {
    columns: "id, email, first_name, last_name, created_at, updated_at",
    from: "customers",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

impl Paged for Customer {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        let filters = &query.filters;
        let span = Span::of(query)?;
        let mut arguments = Arguments::default();
        let mut wanted = Wanted::default();
        if let Some(ids) = &filters.ids {
            let condition = format!("id IN ({})", arguments.list(ids));
            wanted.conditions.push(condition);
        }
        if let Some(emails) = &filters.emails {
            let condition = format!("email_key IN ({})", arguments.list(emails));
            wanted.conditions.push(condition);
        }
        wanted.changed = wanted.conditions.is_empty() && filters.updated_at_min.is_some();
        let changed = (filters.updated_at_min, filters.updated_at_max);
        wanted.conditions.extend(between(
            &mut arguments,
            ("updated_at", wanted.changed),
            changed,
        ));
        let text = WALK.text(&mut arguments, &span, &wanted, limit(page_size));
        Ok(arguments.of(text))
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Customer>, Failure> {
        each(rows, |row| {
            Ok(Customer {
                id: text(row, 0)?,
                email: maybe(row, 1)?,
                first_name: maybe(row, 2)?,
                last_name: maybe(row, 3)?,
                created_at: moment(row, 4)?,
                updated_at: moment(row, 5)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}
