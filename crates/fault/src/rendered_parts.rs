//! The parts of error objects that are the same in every answer: rendered once on each thread, in both
//! forms, and then copied.

use crate::quoted_json::QuotedJson;
use crate::{CodeRow, Effect, Retry, Violation};
use std::cell::RefCell;
use std::sync::Arc;

/// The most parts of each kind that a thread keeps. Further ones are rendered every time.
const MAX_PARTS: usize = 256;

/// Identifies the texts of failures that add nothing to their row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FaultKey {
    row: usize,
    retry: Retry,
    effect: Effect,
}

impl FaultKey {
    pub(crate) fn new(row: &'static CodeRow, retry: Retry, effect: Effect) -> Self {
        FaultKey {
            row: std::ptr::from_ref(row).addr(),
            retry,
            effect,
        }
    }
}

/// Identifies the texts of a rule. Because the key shares them, their addresses are not used again.
#[derive(Debug, Clone)]
pub(crate) struct RuleKey {
    keyword: &'static str,
    message: Arc<str>,
    expected: Arc<str>,
}

impl RuleKey {
    /// Returns true if this is the rule of a violation. Texts are compared by their addresses.
    fn is_rule_of(&self, violation: &Violation) -> bool {
        Arc::ptr_eq(&self.message, &violation.message)
            && Arc::ptr_eq(&self.expected, &violation.expected)
            && self.keyword == violation.keyword
    }
}

/// Rendered JSON in both forms.
struct RenderedPart<K> {
    key: K,
    plain: Box<str>,
    quoted: Box<str>,
}

type PartList<K> = RefCell<Vec<RenderedPart<K>>>;

thread_local! {
    static FAULTS: PartList<FaultKey> = const { RefCell::new(Vec::new()) };
    static RULES: PartList<RuleKey> = const { RefCell::new(Vec::new()) };
}

/// Appends a part of a failure. `render` renders it if this thread has not rendered it yet.
pub(crate) fn push_fault_part(
    key: FaultKey,
    out: &mut QuotedJson<'_>,
    render: impl FnOnce(&mut QuotedJson<'_>),
) {
    FAULTS.with_borrow_mut(|parts| push_part(parts, |known| *known == key, || key, out, render));
}

/// Appends a part that contains only texts of a violation's rule. `render` renders it if this thread has
/// not rendered it yet.
pub(crate) fn push_rule_part(
    violation: &Violation,
    out: &mut QuotedJson<'_>,
    render: impl FnOnce(&mut QuotedJson<'_>),
) {
    // The texts of a rule that a schema states are shared with the schema. Others are made for one
    // violation, and never used again.
    if Arc::strong_count(&violation.message) < 2 {
        return render(out);
    }
    let key = || RuleKey {
        keyword: violation.keyword,
        message: Arc::clone(&violation.message),
        expected: Arc::clone(&violation.expected),
    };
    RULES.with_borrow_mut(|parts| {
        push_part(parts, |known| known.is_rule_of(violation), key, out, render);
    });
}

fn push_part<K>(
    parts: &mut Vec<RenderedPart<K>>,
    is_key: impl Fn(&K) -> bool,
    key: impl FnOnce() -> K,
    out: &mut QuotedJson<'_>,
    render: impl FnOnce(&mut QuotedJson<'_>),
) {
    if let Some(part) = parts.iter().find(|part| is_key(&part.key)) {
        return out.both(&part.plain, &part.quoted);
    }
    if parts.len() >= MAX_PARTS {
        return render(out);
    }
    let mut quoted = String::new();
    let mut json = QuotedJson::new(0, &mut quoted);
    render(&mut json);
    let plain = json.plain;
    out.both(&plain, &quoted);
    parts.push(RenderedPart {
        key: key(),
        plain: plain.into(),
        quoted: quoted.into(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoted_json::piece;
    use crate::{ArgumentPath, excerpt};
    use serde_json::json;
    use std::cell::Cell;

    fn violation(message: &Arc<str>) -> Violation {
        Violation {
            path: ArgumentPath::default(),
            keyword: "minimum",
            message: Arc::clone(message),
            params: json!({}).into(),
            value: excerpt(&json!(0)),
            expected: "at least 1".into(),
            hint: None,
        }
    }

    /// Returns the number of times that a part is rendered for these violations.
    fn count_renderings(violations: &[Violation]) -> usize {
        let count = Cell::new(0);
        for violation in violations {
            let mut quoted = String::new();
            let mut json = QuotedJson::new(0, &mut quoted);
            push_rule_part(violation, &mut json, |json| {
                count.set(count.get() + 1);
                json.piece(&piece![q]);
                json.text(&violation.message);
            });
            assert_eq!(json.plain, format!("\"{}", violation.message));
            assert_eq!(quoted, format!("\\\"{}", violation.message));
        }
        count.get()
    }

    #[test]
    fn rule_of_a_schema_is_rendered_once() {
        let message: Arc<str> = "must be >= 1".into();
        let shared = violation(&message);
        assert_eq!(count_renderings(&[shared.clone(), shared]), 1);
    }

    #[test]
    fn text_of_one_violation_is_not_kept() {
        let own = || violation(&"made for one".into());
        assert_eq!(count_renderings(&[own(), own(), own()]), 3);
        assert!(RULES.with_borrow(Vec::is_empty));
    }

    #[test]
    fn number_of_kept_parts_is_bounded() {
        let messages: Vec<Arc<str>> = (0..=MAX_PARTS).map(|n| n.to_string().into()).collect();
        let all: Vec<_> = messages.iter().map(violation).collect();
        assert_eq!(count_renderings(&all), MAX_PARTS + 1);
        assert_eq!(RULES.with_borrow(Vec::len), MAX_PARTS);
        assert_eq!(count_renderings(&all), 1);
    }
}
