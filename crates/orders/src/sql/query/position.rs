//! Positions in the order of pages: a time, and one or two texts that distinguish entities of the
//! same time.

use crate::failure::{Failure, OrderRule, RuleViolation};
use crate::model::{EntityQuery, SortOrder, UtcTime};

/// The position of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PagePosition<const N: usize> {
    pub(super) at: i64,
    pub(super) rest: [String; N],
}

/// Formats a position: the time, the lengths of all texts but the last, the texts. For example
/// `7.ord_1`, or `7.5.SKU-1loc_1` with two texts.
pub(super) fn write<const N: usize>(at: i64, rest: [&str; N]) -> String {
    let mut position = format!("{at}.");
    let lengths = rest.iter().take(N.saturating_sub(1));
    lengths.for_each(|text| position.push_str(&format!("{}.", text.len())));
    rest.iter().for_each(|text| position.push_str(text));
    position
}

/// Parses what [`write`] writes, and nothing else.
fn read<const N: usize>(position: &str) -> Option<PagePosition<N>> {
    let (at, mut left) = position.split_once('.')?;
    let at = at.parse().ok()?;
    let mut lengths = [0; N];
    for length in lengths.iter_mut().take(N.saturating_sub(1)) {
        let (number, behind) = left.split_once('.')?;
        *length = number.parse().ok()?;
        left = behind;
    }
    if let Some(last) = lengths.last_mut() {
        *last = usize::MAX;
    }
    let mut rest = [const { String::new() }; N];
    for (text, length) in rest.iter_mut().zip(lengths) {
        let (one, behind) = left.split_at_checked(length.min(left.len()))?;
        *text = one.to_owned();
        left = behind;
    }
    let texts = rest.each_ref().map(String::as_str);
    let ours = write(at, texts) == position;
    let plain = !texts
        .iter()
        .any(|text| text.is_empty() || text.chars().any(char::is_control));
    (ours && plain).then_some(PagePosition { at, rest })
}

/// Returns the earlier of two bounds.
fn earlier(one: Option<UtcTime>, other: Option<UtcTime>) -> Option<UtcTime> {
    one.into_iter().chain(other).min()
}

/// The range of positions that a page may start with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageRange<const N: usize> {
    pub(super) after: PagePosition<N>,
    /// The latest time by which pages are sorted, in microseconds.
    pub(super) until: i64,
}

impl<const N: usize> PageRange<N> {
    /// Returns the range of a query: after its cursor, between the times of its filters.
    pub(super) fn of(query: &EntityQuery) -> Result<PageRange<N>, Failure> {
        let filters = &query.filters;
        let (min, max) = match query.sort() {
            // Nothing changes before it is created.
            SortOrder::CreatedAt => (
                filters.created_at_min,
                earlier(filters.created_at_max, filters.updated_at_max),
            ),
            SortOrder::UpdatedAt => (filters.updated_at_min, filters.updated_at_max),
        };
        let first = min.map_or(i64::MIN, |moment| moment.micros());
        let until = max.map_or(i64::MAX, |moment| moment.micros());
        let from = match query.after.as_deref() {
            None => None,
            Some(position) => {
                let position = read(position);
                Some(position.ok_or_else(|| RuleViolation::new("cursor", OrderRule::Cursor))?)
            }
        };
        // No id is empty, so all entities of that time come after the empty one.
        let start = PagePosition {
            at: first,
            rest: [const { String::new() }; N],
        };
        let after = from.filter(|from| from.at >= first).unwrap_or(start);
        Ok(PageRange { after, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn position_parses_as_it_was_written() {
        assert_eq!(write(7, ["ord_1"]), "7.ord_1");
        assert_eq!(write(-7, ["SKU.1", "loc_1"]), "-7.5.SKU.1loc_1");
        let foreign = [
            "",
            ".",
            "7",
            "7.",
            ".x",
            "+7.x",
            "07.x",
            "x.7",
            "7.a\u{0}",
            "99999999999999999999.x",
        ];
        for position in foreign {
            assert_eq!(read::<1>(position), None, "{position:?}");
        }
        for position in [
            "7.x",
            "7.1.x",
            "7.9.xy",
            "7.01.xy",
            "7.1.éx",
            "7.0.x",
            "7.18446744073709551616.xy",
        ] {
            assert_eq!(read::<2>(position), None, "{position:?}");
        }
    }

    proptest! {
        #[test]
        fn positions_parse_as_they_were_written(at in any::<i64>(), one in "[^\\pC]{1,9}", two in "[^\\pC]{1,9}") {
            let position = write(at, [&one]);
            prop_assert_eq!(read::<1>(&position), Some(PagePosition { at, rest: [one.clone()] }));
            let position = write(at, [&one, &two]);
            prop_assert_eq!(read::<2>(&position), Some(PagePosition { at, rest: [one, two] }));
        }

        #[test]
        fn parsing_never_panics(text in "[0-9.aé\\-]{0,12}") {
            let _ = (read::<1>(&text), read::<2>(&text));
        }
    }
}
