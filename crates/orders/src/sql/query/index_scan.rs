//! The queries of pages: scans of an index in the order of pages, starting at a position.
//!
//! A leading filter becomes one branch for each of its values, each with its own order and limit,
//! so that no branch reads more of its index than a page. The first rows of all branches are the
//! page. All other filters are conditions within the branches. There are few different texts,
//! because databases cache prepared statements.

use super::position::{PagePosition, PageRange};
use crate::failure::Failure;
use crate::model::{EntityQuery, Filters, MAX_PAGE_SIZE, SortOrder, UtcTime};
use crate::sql::connection::{AnyQuery, dynamic_sql};
use crate::sql::dialect::SqlDialect;
use crate::sql::lookups::{LookupKind, searched_digits};
use std::borrow::Cow;

/// The length of a period of creation in microseconds, a day. The indexes by period contain it.
const PERIOD: i64 = 86_400_000_000;

/// A limit that limits nothing. A query with a limit is not merged into the one around it, which would
/// count the rows of a day again for each use of their number.
const ANY_NUMBER: i64 = i64::MAX;

/// Stand for the parts of the query for the rows of each period in the table `days`, see
/// [`SqlDialect::for_each_day`].
const FOR_EACH_DAY: [&str; 3] = ["/* for each day */", "/* of the day */", "/* end */"];

/// Limits are part of the text, because a plan depends on them. Only these are used.
const LIMITS: [i64; 6] = [2, 6, 11, 21, 51, MAX_PAGE_SIZE + 1];

#[derive(Debug, Clone)]
enum SqlArgument {
    Text(Option<String>),
    Number(i64),
}

/// The arguments of a query, collected while its text is written.
#[derive(Debug, Default)]
pub(super) struct SqlArguments(Vec<SqlArgument>);

impl SqlArguments {
    fn add(&mut self, argument: SqlArgument) -> String {
        self.0.push(argument);
        format!("${}", self.0.len())
    }

    fn text(&mut self, text: &str) -> String {
        self.add(SqlArgument::Text(Some(text.to_owned())))
    }

    fn number(&mut self, number: i64) -> String {
        self.add(SqlArgument::Number(number))
    }

    /// Returns `$1, $2, $2, $2` for a list of texts. The last one is repeated up to a power of two.
    pub(super) fn list<T: AsRef<str>>(&mut self, texts: &[T]) -> String {
        let numbers: Vec<_> = texts.iter().map(|text| self.text(text.as_ref())).collect();
        let Some(last) = numbers.last().cloned() else {
            return String::from("NULL");
        };
        let more = texts.len().next_power_of_two() - texts.len();
        let more = (0..more).map(|_| last.clone());
        numbers
            .into_iter()
            .chain(more)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Combines the arguments with their text.
    pub(super) fn of(self, text: String) -> PageQuery {
        PageQuery {
            text,
            arguments: self.0,
        }
    }
}

/// The text and arguments of a page's query.
#[derive(Debug, Clone)]
pub(super) struct PageQuery {
    pub(super) text: String,
    arguments: Vec<SqlArgument>,
}

impl PageQuery {
    /// Returns the query, ready to run on a database with this dialect.
    pub(super) fn statement(self, dialect: SqlDialect) -> AnyQuery {
        let arguments = self.arguments.into_iter();
        let parts = FOR_EACH_DAY.into_iter().zip(dialect.for_each_day());
        let text = parts.fold(self.text, |text, (mark, part)| text.replace(mark, part));
        arguments.fold(dynamic_sql(text), |statement, argument| match argument {
            SqlArgument::Text(text) => statement.bind(text),
            SqlArgument::Number(number) => statement.bind(number),
        })
    }
}

/// The filter that selects the index to scan.
#[derive(Debug)]
pub(super) struct LeadingFilter {
    /// The first column of the index; the order of pages follows it.
    pub(super) column: &'static str,
    /// The right side of the comparison in a branch, with `?` for the value.
    equals: Cow<'static, str>,
    values: Vec<String>,
}

impl LeadingFilter {
    pub(super) fn of<T: AsRef<str>>(column: &'static str, values: &[T]) -> LeadingFilter {
        let values = values.iter().map(|value| value.as_ref().to_owned());
        LeadingFilter {
            column,
            equals: Cow::Borrowed("?"),
            values: values.collect(),
        }
    }

    /// Compares the column with the result of a query instead of the value.
    pub(super) fn found_by(mut self, query: impl Into<Cow<'static, str>>) -> LeadingFilter {
        self.equals = query.into();
        self
    }
}

/// The scan of an index.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexScan<'a, const N: usize> {
    /// The columns of a row. Those of the order of pages have the names in `order`.
    pub(super) columns: &'a str,
    pub(super) from: &'a str,
    /// The time column, first in the order of pages.
    pub(super) at: &'a str,
    /// The columns that follow the time in the order of pages.
    pub(super) rest: [&'a str; N],
    /// The order of pages, by the names of the columns in a row.
    pub(super) order: &'a str,
    /// True if the same row may appear more than once.
    pub(super) repeats: bool,
}

impl<'a, const N: usize> IndexScan<'a, N> {
    /// Returns the scan of pages that are sorted by this time: a column, and its name in a row.
    pub(super) const fn sorted_by(self, at: &'a str, order: &'a str) -> IndexScan<'a, N> {
        IndexScan { at, order, ..self }
    }
}

/// The conditions on the rows of a page.
#[derive(Debug, Default)]
pub(super) struct RowFilter {
    pub(super) each: Option<LeadingFilter>,
    pub(super) conditions: Vec<String>,
    /// Walks over the periods of creation, and reads those with rows that were updated in time.
    pub(super) changed: bool,
    /// The range of the time by which pages are not sorted.
    pub(super) time: Option<TimeRange>,
}

/// A range of times in a column; its ends are arguments.
#[derive(Debug)]
pub(super) struct TimeRange {
    column: String,
    min: String,
    max: String,
}

impl TimeRange {
    /// Returns the condition on the column itself, for which its index may be used.
    fn indexed(&self) -> String {
        self.condition("")
    }

    /// Returns the condition on a sum, so that no planner chooses the index of the column.
    fn unindexed(&self) -> String {
        self.condition(" + 0")
    }

    fn condition(&self, sum: &str) -> String {
        let TimeRange { column, min, max } = self;
        format!(" AND {column}{sum} >= {min} AND {column}{sum} <= {max}")
    }
}

impl RowFilter {
    /// Adds a condition on the values of a column, if there are any.
    pub(super) fn only(
        &mut self,
        arguments: &mut SqlArguments,
        column: &str,
        values: Option<&Vec<String>>,
    ) {
        if let Some(values) = values {
            let condition = format!("{column} IN ({})", arguments.list(values));
            self.conditions.push(condition);
        }
    }

    /// As [`RowFilter::only`]. The column leads the scan if there is no condition yet.
    pub(super) fn leading(
        &mut self,
        arguments: &mut SqlArguments,
        column: &'static str,
        values: Option<&Vec<String>>,
    ) {
        match values {
            Some(values) if self.conditions.is_empty() => {
                self.each = Some(LeadingFilter::of(column, values));
            }
            values => self.only(arguments, column, values),
        }
    }

    /// Walks by update time if there is no other filter and pages are sorted by creation.
    pub(super) fn by_update_time(&mut self, filters: &Filters) {
        let alone = self.each.is_none() && self.conditions.is_empty();
        let by_creation = filters.sort != Some(SortOrder::UpdatedAt);
        self.changed = alone && by_creation && has_update_range(filters);
    }

    /// Adds a condition on the keys of an entity in `lookups`, if there are any.
    pub(super) fn looked_up(
        &mut self,
        arguments: &mut SqlArguments,
        id: &str,
        keys: Option<Vec<String>>,
    ) {
        if let Some(keys) = keys {
            let keys = arguments.list(&keys);
            self.conditions.push(format!(
                "{id} IN (SELECT lookups.id FROM lookups WHERE lookups.key IN ({keys}))"
            ));
        }
    }

    /// Adds a condition on phone numbers in `lookups`, given by their digits.
    pub(super) fn phoned(
        &mut self,
        arguments: &mut SqlArguments,
        (id, kind): (&str, LookupKind),
        phones: Option<&Vec<String>>,
    ) {
        if let Some(phones) = phones {
            let matches = phone_matches(arguments, kind, "lookups", phones);
            self.conditions.push(format!(
                "{id} IN (SELECT lookups.id FROM lookups WHERE {matches})"
            ));
        }
    }

    /// Sets the range of the time by which pages are not sorted: `created_at` or `updated_at`.
    pub(super) fn within(
        &mut self,
        arguments: &mut SqlArguments,
        (created_at, updated_at): (&str, &str),
        query: &EntityQuery,
    ) {
        let filters = &query.filters;
        let (column, (min, max)) = match query.sort() {
            SortOrder::CreatedAt => (updated_at, (filters.updated_at_min, filters.updated_at_max)),
            SortOrder::UpdatedAt => (created_at, (filters.created_at_min, filters.created_at_max)),
        };
        if min.is_some() || max.is_some() {
            self.time = Some(TimeRange {
                column: column.to_owned(),
                min: arguments.number(min.map_or(i64::MIN, UtcTime::micros)),
                max: arguments.number(max.map_or(i64::MAX, UtcTime::micros)),
            });
        }
    }
}

/// The comparison of a key and its value with the digits `?` of a phone number: the shorter number
/// is the end of the longer one.
pub(super) const PHONE_MATCH: &str = "'{prefix}' || substr(?, length(?) - 6) AND ({table}.value LIKE '%' || ? OR ? LIKE '%' || {table}.value)";

/// Returns the condition that a row of `lookups` matches one of these phone numbers.
pub(super) fn phone_matches(
    arguments: &mut SqlArguments,
    kind: LookupKind,
    table: &str,
    phones: &[String],
) -> String {
    let pattern = PHONE_MATCH.replace("{prefix}", kind.prefix());
    let pattern = pattern.replace("{table}", table);
    let digits = searched_digits(phones);
    let each = digits.iter().map(|digits| {
        let argument = arguments.text(digits);
        format!("({table}.key = {})", pattern.replace('?', &argument))
    });
    let each: Vec<_> = each.collect();
    match each.is_empty() {
        true => String::from("1 = 0"),
        false => format!("({})", each.join(" OR ")),
    }
}

/// Returns true if there is a bound on the update time.
pub(super) const fn has_update_range(filters: &Filters) -> bool {
    filters.updated_at_min.is_some() || filters.updated_at_max.is_some()
}

/// Returns the number of rows to fetch to fill a page and to know if there is another one.
pub(super) fn limit(page_size: i64) -> i64 {
    let enough = |limit: &i64| *limit > page_size;
    LIMITS.into_iter().find(enough).unwrap_or(MAX_PAGE_SIZE + 1)
}

impl<const N: usize> IndexScan<'_, N> {
    /// Returns the query of a page. `restrict` adds the filters of the entity; those on its update time,
    /// which is in the column `updated_at`, come after them.
    pub(super) fn page(
        &self,
        query: &EntityQuery,
        page_size: i64,
        updated_at: &str,
        restrict: impl FnOnce(&mut RowFilter, &mut SqlArguments, &Filters),
    ) -> Result<PageQuery, Failure> {
        let span = PageRange::of(query)?;
        let mut arguments = SqlArguments::default();
        let mut filter = RowFilter::default();
        restrict(&mut filter, &mut arguments, &query.filters);
        filter.within(&mut arguments, (self.at, updated_at), query);
        let scan = match query.sort() {
            SortOrder::CreatedAt => *self,
            SortOrder::UpdatedAt => self.sorted_by(updated_at, "updated_at, id"),
        };
        let text = scan.text(&mut arguments, &span, &filter, limit(page_size));
        Ok(arguments.of(text))
    }

    /// Returns the text of the query for the rows of a page.
    pub(super) fn text(
        &self,
        arguments: &mut SqlArguments,
        span: &PageRange<N>,
        filter: &RowFilter,
        limit: i64,
    ) -> String {
        // A sum prevents the use of the index by time.
        let at = match filter.changed {
            true => format!("{} + 0", self.at),
            false => self.at.to_owned(),
        };
        let order = format!("{at}, {}", self.rest.join(", "));
        let PagePosition { at: first, rest } = &span.after;
        let mut from = vec![arguments.number(*first)];
        from.extend(rest.iter().map(|text| arguments.text(text)));
        let from = from.join(", ");
        let until = arguments.number(span.until);
        let others = filter.conditions.iter().map(|one| format!(" AND {one}"));
        let others: String = others.collect();
        let time = filter.time.as_ref();
        let unindexed = time.map(TimeRange::unindexed).unwrap_or_default();
        let conditions = format!("{others}{unindexed}");
        let distinct = if self.repeats { "DISTINCT " } else { "" };
        let (columns, tables) = (self.columns, self.from);
        let branch = |within: &str, order: &str| {
            format!(
                "SELECT {distinct}{columns} FROM {tables} WHERE {within}{conditions} ORDER BY {order} LIMIT {limit}"
            )
        };
        let within = format!("({order}) > ({from}) AND {at} <= {until}");
        if filter.changed {
            let indexed = time.map(TimeRange::indexed).unwrap_or_default();
            let by_period = format!("{within}{others}{indexed}");
            let by_time = format!("{within}{conditions}");
            let ends = (arguments.number(*first), until);
            return self.walk_periods(&ends, (&by_period, &by_time), limit);
        }
        let Some(each) = &filter.each else {
            return branch(&within, &order);
        };
        let mut branches = Vec::new();
        for index in 0..each.values.len().next_power_of_two() {
            // No row equals NULL: such a branch only keeps the number of texts small.
            let value = arguments.add(SqlArgument::Text(each.values.get(index).cloned()));
            let value = each.equals.replace('?', &value);
            let column = each.column;
            branches.push(match self.repeats {
                true => branch(&format!("{column} = {value} AND {within}"), &order),
                // With an equation a planner could scan another index completely, hoping for
                // matching rows. Only one index serves a range and an order that start with the
                // column.
                false => branch(
                    &format!(
                        "({column}, {order}) > ({value}, {from}) AND ({column}, {at}) <= ({value}, {until})"
                    ),
                    &format!("{column}, {order}"),
                ),
            });
        }
        if let [only] = branches.as_slice() {
            return only.clone();
        }
        let branches: Vec<_> = branches
            .iter()
            .enumerate()
            .map(|(number, branch)| format!("SELECT * FROM ({branch}) AS branch{number}"))
            .collect();
        let union = if self.repeats {
            " UNION "
        } else {
            " UNION ALL "
        };
        format!(
            "{} ORDER BY {} LIMIT {limit}",
            branches.join(union),
            self.order
        )
    }

    /// Returns the text of the query for rows that were updated in a range of times, in the order of
    /// creation. The walk goes from day to day of creation. Days without such rows take one look at
    /// the index by period each, and the walk ends when the days that it found have enough rows.
    ///
    /// Days with few such rows are read by period and update time, so that no other row is read. Only
    /// the last day can have enough of them for a page; it is read in the order of pages, because
    /// reading all of them would take longer the more orders a store has.
    fn walk_periods(
        &self,
        (first, until): &(String, String),
        (by_period, by_time): (&str, &str),
        limit: i64,
    ) -> String {
        let (columns, tables, at) = (self.columns, self.from, self.at);
        let (rest, order) = (self.rest.join(", "), self.order);
        let [each, of_the_day, end] = FOR_EACH_DAY;
        // More rows than all days with few of them have together.
        let most = 2 * limit;
        // A division rounds to zero, so that day 0 has times before and after 1970.
        format!(
            "WITH RECURSIVE walk(period, latest) AS (
                 SELECT (SELECT {at} FROM {tables} WHERE {at} >= {first} ORDER BY {at} LIMIT 1) / {PERIOD},
                     (SELECT {at} FROM {tables} WHERE {at} <= {until} ORDER BY {at} DESC LIMIT 1) / {PERIOD}
                 UNION ALL SELECT period + 1, latest FROM walk WHERE period < latest),
             counted(period, matches) AS (
                 SELECT period, (SELECT COUNT(*) FROM (SELECT 1 FROM {tables}
                     WHERE {at} / {PERIOD} = walk.period AND {by_period}
                     ORDER BY updated_at LIMIT {limit}) AS some_rows)
                 FROM walk LIMIT {ANY_NUMBER}),
             found(period, matches) AS MATERIALIZED (
                 SELECT period, matches FROM counted WHERE matches > 0 LIMIT {limit}),
             summed(period, matches, earlier) AS (
                 SELECT period, matches, SUM(matches) OVER
                     (ORDER BY period ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM found),
             needed(period, matches) AS MATERIALIZED (
                 SELECT period, matches FROM summed WHERE COALESCE(earlier, 0) < {limit}),
             days(period) AS (SELECT period FROM needed WHERE matches < {limit}),
             full_day(starts, ends) AS (
                 SELECT CASE WHEN period > 0 THEN period * {PERIOD} ELSE (period - 1) * {PERIOD} + 1 END,
                     CASE WHEN period < 0 THEN period * {PERIOD} + 1 ELSE (period + 1) * {PERIOD} END
                 FROM needed WHERE matches >= {limit})
             SELECT * FROM ({each} SELECT {columns} FROM {tables}
                 WHERE {at} / {PERIOD} {of_the_day} AND {by_period}
                 ORDER BY updated_at LIMIT {most} {end}) AS rows_of_days
             UNION ALL SELECT * FROM (SELECT {columns} FROM {tables}
                 WHERE {at} >= (SELECT CASE WHEN starts > {first} THEN starts ELSE {first} END FROM full_day)
                     AND {at} < (SELECT ends FROM full_day) AND {by_time}
                 ORDER BY {at}, {rest} LIMIT {limit}) AS rows_of_full_day
             ORDER BY {order} LIMIT {limit}"
        )
    }
}
