//! Collects violations with their locations: the first with their texts, the rest counted.

use crate::subschema::RuleText;
use candor_fault::{
    ArgumentPath, MAX_NAME_CHARS, MAX_VIOLATIONS, PathStep, ValueExcerpt, Violation, ViolationKind,
    Violations, excerpt_of, excerpt_of_compact,
};
use candor_json::JsonRef;

/// The location of a value; a path is made of it only if something is wrong.
#[derive(Clone, Copy)]
pub(crate) enum ValueLocation<'a> {
    /// The whole value.
    Root,
    /// A member of the object at another location.
    Member(&'a ValueLocation<'a>, &'a str),
    /// An item of the array at another location.
    Item(&'a ValueLocation<'a>, usize),
}

impl ValueLocation<'_> {
    fn path(&self) -> ArgumentPath {
        let mut steps = Vec::new();
        let mut location = self;
        loop {
            location = match location {
                ValueLocation::Root => break,
                ValueLocation::Member(parent, name) => {
                    steps.push(PathStep::Member(cut(name, MAX_NAME_CHARS)));
                    parent
                }
                ValueLocation::Item(parent, index) => {
                    steps.push(PathStep::Item(*index));
                    parent
                }
            };
        }
        steps.reverse();
        ArgumentPath(steps)
    }
}

/// Cuts a text to so many characters; the last is `…` if it was longer.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    if text.char_indices().nth(chars).is_none() {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(chars.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

/// The violations found so far.
#[derive(Default)]
pub(crate) struct ViolationCollector {
    violations: Violations,
    /// One object often breaks several rules in a row, and may be large.
    last_excerpt: Option<(usize, ValueExcerpt)>,
}

impl ViolationCollector {
    /// Adds a violation. `say` is called for its text and hint only if they will be shown.
    pub(crate) fn add(
        &mut self,
        keyword: &'static str,
        location: &ValueLocation<'_>,
        value: JsonRef<'_>,
        say: impl FnOnce() -> (RuleText, Option<String>),
    ) {
        if self.only_counts(keyword, location) {
            return self.violations.count_omitted();
        }
        let (rule_text, hint) = say();
        let violation = Violation {
            path: location.path(),
            keyword,
            message: rule_text.message,
            params: rule_text.params,
            value: self.excerpt(value),
            expected: rule_text.expected,
            hint,
        };
        self.violations.push(violation);
    }

    pub(crate) fn total(&self) -> u64 {
        self.violations.shown().len() as u64 + self.violations.omitted()
    }

    pub(crate) fn into_violations(self) -> Violations {
        self.violations
    }

    fn only_counts(&self, keyword: &'static str, location: &ValueLocation<'_>) -> bool {
        if self.violations.shown().len() < MAX_VIOLATIONS {
            return false;
        }
        let is_root = matches!(location, ValueLocation::Root);
        self.violations
            .is_only_counted(ViolationKind::of(keyword, is_root))
    }

    fn excerpt(&mut self, value: JsonRef<'_>) -> ValueExcerpt {
        if let Some((last, text)) = &self.last_excerpt
            && *last == value.id()
        {
            return text.clone();
        }
        let text = match value.is_compact() {
            true => excerpt_of_compact(value.text(), value.kind().name()),
            false => excerpt_of(&value, value.kind().name()),
        };
        self.last_excerpt = Some((value.id(), text.clone()));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_in_paths() {
        let long = "ä".repeat(MAX_NAME_CHARS + 1);
        let list = ValueLocation::Member(&ValueLocation::Root, "list");
        let item = ValueLocation::Item(&list, 3);
        let location = ValueLocation::Member(&item, &long);
        let shortened = format!("{}…", "ä".repeat(MAX_NAME_CHARS - 1));
        assert_eq!(location.path().pointer(), format!("/list/3/{shortened}"));
        assert_eq!(ValueLocation::Root.path().pointer(), "root");
    }

    #[test]
    fn text_is_cut_beyond_its_bound() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("", 0), "");
    }
}
