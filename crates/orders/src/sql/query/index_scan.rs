//! The statements of pages: an index that is walked in the order of pages, from a place on.
//!
//! A filter that decides where to look is one branch for each of its values, each with its own order
//! and limit, so that each reads no more of its index than a page has; the first of all branches are
//! the page. All other filters are conditions within the branches. The texts of statements are few:
//! databases keep them prepared.

use super::position::{PagePosition, PageRange};
use crate::model::UtcTime;
use crate::model::{Filters, PAGE_MAX};
use crate::sql::connection::{AnyQuery, dynamic_sql};

/// Limits are part of the text, since a plan depends on them: these are all there are.
const LIMITS: [i64; 6] = [2, 6, 11, 21, 51, PAGE_MAX + 1];

/// An argument of a statement.
#[derive(Debug, Clone)]
enum SqlArgument {
    Text(Option<String>),
    Number(i64),
}

/// The arguments of a statement, as its text is written.
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

    /// `$1, $2, $2, $2`: one of these texts. The last one is repeated up to a power of two.
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

    /// With the text that they are the arguments of.
    pub(super) fn of(self, text: String) -> PageQuery {
        PageQuery {
            text,
            arguments: self.0,
        }
    }
}

/// A statement as it is written.
#[derive(Debug, Clone)]
pub(super) struct PageQuery {
    pub(super) text: String,
    arguments: Vec<SqlArgument>,
}

impl PageQuery {
    /// The statement, ready to be run.
    pub(super) fn statement(self) -> AnyQuery {
        let arguments = self.arguments.into_iter();
        arguments.fold(
            dynamic_sql(self.text),
            |statement, argument| match argument {
                SqlArgument::Text(text) => statement.bind(text),
                SqlArgument::Number(number) => statement.bind(number),
            },
        )
    }
}

/// A filter that decides where to look.
#[derive(Debug)]
pub(super) struct LeadingFilter {
    /// The column that an index begins with, before the order of pages.
    pub(super) column: &'static str,
    /// What it equals in one branch, `?` for the value.
    equals: &'static str,
    values: Vec<String>,
}

impl LeadingFilter {
    pub(super) fn of<T: AsRef<str>>(column: &'static str, values: &[T]) -> LeadingFilter {
        let values = values.iter().map(|value| value.as_ref().to_owned());
        LeadingFilter {
            column,
            equals: "?",
            values: values.collect(),
        }
    }

    /// Where the column has not the value itself, but what a query finds by it.
    pub(super) const fn found_by(mut self, query: &'static str) -> LeadingFilter {
        self.equals = query;
        self
    }
}

/// What is walked.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexScan<'a, const N: usize> {
    /// The columns of a row; those of the order of pages are called as in `order`.
    pub(super) columns: &'a str,
    /// Where they come from.
    pub(super) from: &'a str,
    /// The time that the order of pages begins with.
    pub(super) at: &'a str,
    /// What follows the time in the order of pages.
    pub(super) rest: [&'a str; N],
    /// The order of pages, by the names that the columns have in a row.
    pub(super) order: &'a str,
    /// Whether the same row may come more than once.
    pub(super) repeats: bool,
}

/// Which of the entities behind the place are wanted.
#[derive(Debug, Default)]
pub(super) struct RowFilter {
    pub(super) each: Option<LeadingFilter>,
    pub(super) conditions: Vec<String>,
    /// The first to walk is what changed, in whatever order: what is found is sorted.
    pub(super) changed: bool,
}

impl RowFilter {
    /// Only those with one of these values in a column, where any are asked for.
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

    /// Only those changed within the range that is asked for.
    pub(super) fn within(&mut self, arguments: &mut SqlArguments, column: &str, filters: &Filters) {
        let range = (filters.updated_at_min, filters.updated_at_max);
        let condition = between(arguments, (column, self.changed), range);
        self.conditions.extend(condition);
    }
}

/// How many rows are fetched to fill a page of this size and know whether there is another.
pub(super) fn limit(page_size: i64) -> i64 {
    let enough = |limit: &i64| *limit > page_size;
    LIMITS.into_iter().find(enough).unwrap_or(PAGE_MAX + 1)
}

/// The condition of a range of times; nothing where the range has no ends. It is walked by, or it is
/// a condition beside what is walked by: then it is a sum, which is in no index.
pub(super) fn between(
    arguments: &mut SqlArguments,
    (column, walked): (&str, bool),
    (min, max): (Option<UtcTime>, Option<UtcTime>),
) -> Option<String> {
    if min.is_none() && max.is_none() {
        return None;
    }
    let min = arguments.number(min.map_or(i64::MIN, UtcTime::micros));
    let max = arguments.number(max.map_or(i64::MAX, UtcTime::micros));
    let beside = if walked { "" } else { " + 0" };
    Some(format!(
        "{column}{beside} >= {min} AND {column}{beside} <= {max}"
    ))
}

impl<const N: usize> IndexScan<'_, N> {
    /// The query for the rows of a page.
    pub(super) fn text(
        &self,
        arguments: &mut SqlArguments,
        span: &PageRange<N>,
        wanted: &RowFilter,
        limit: i64,
    ) -> String {
        // A sum is in no index: the one by time is left alone then.
        let at = match wanted.changed {
            true => format!("{} + 0", self.at),
            false => self.at.to_owned(),
        };
        let order = format!("{at}, {}", self.rest.join(", "));
        let PagePosition { at: first, rest } = &span.after;
        let mut from = vec![arguments.number(*first)];
        from.extend(rest.iter().map(|text| arguments.text(text)));
        let from = from.join(", ");
        let until = arguments.number(span.until);
        let conditions = wanted.conditions.iter().map(|one| format!(" AND {one}"));
        let conditions: String = conditions.collect();
        let distinct = if self.repeats { "DISTINCT " } else { "" };
        let (columns, tables) = (self.columns, self.from);
        let branch = |within: &str, order: &str| {
            format!(
                "SELECT {distinct}{columns} FROM {tables} WHERE {within}{conditions} ORDER BY {order} LIMIT {limit}"
            )
        };
        let within = format!("({order}) > ({from}) AND {at} <= {until}");
        let Some(each) = &wanted.each else {
            return branch(&within, &order);
        };
        let mut branches = Vec::new();
        for place in 0..each.values.len().next_power_of_two() {
            // No row equals nothing: such a branch is there for the text alone.
            let value = arguments.add(SqlArgument::Text(each.values.get(place).cloned()));
            let value = each.equals.replace('?', &value);
            let column = each.column;
            branches.push(match self.repeats {
                true => branch(&format!("{column} = {value} AND {within}"), &order),
                // An equation would let a planner walk all of another index, in hope of rows that
                // fit; a range and an order that begin with the column are of one index only.
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
}
