//! Patches against plain oracles: diffs made by others, and a placement by trying every line.

use super::{PatchError, PatchMismatch, apply_patch};
use proptest::prelude::*;

/// Generates texts with few different lines, so that they repeat; sometimes without a line break at
/// the end.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[abc]{0,2}",
        Just(String::from("-- x")),
        Just(String::from("++ y"))
    ];
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, ended)| {
        let text = lines.join("\n");
        match ended && !text.is_empty() {
            true => text + "\n",
            false => text,
        }
    })
}

/// Returns the diff that another library makes.
fn diff(old: &str, new: &str) -> String {
    let made = diffy::create_patch(old, new).to_string();
    made.replacen("--- original", "--- a/f", 1)
        .replacen("+++ modified", "+++ b/f", 1)
}

/// Replaces the counts in every header.
fn miscounted(patch: &str, old: usize, new: usize) -> String {
    let mut out = String::new();
    for line in patch.split_inclusive('\n') {
        let start = line
            .strip_prefix("@@ -")
            .and_then(|rest| rest.split([',', ' ']).next());
        match start {
            Some(start) => out.push_str(&format!("@@ -{start},{old} +{start},{new} @@\n")),
            None => out.push_str(line),
        }
    }
    out
}

/// The lines of one hunk: the text of each side, with line breaks.
struct Plain {
    start: usize,
    old: Vec<String>,
    new: Vec<String>,
}

fn hunks(old: &str, new: &str) -> Vec<Plain> {
    let patch = diffy::create_patch(old, new);
    let plain = |hunk: &diffy::Hunk<'_, str>| {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in hunk.lines() {
            match line {
                diffy::Line::Context(text) => {
                    old.push(String::from(*text));
                    new.push(String::from(*text));
                }
                diffy::Line::Delete(text) => old.push(String::from(*text)),
                diffy::Line::Insert(text) => new.push(String::from(*text)),
            }
        }
        Plain {
            start: hunk.old_range().start(),
            old,
            new,
        }
    };
    patch.hunks().iter().map(plain).collect()
}

/// Returns the lines at which a hunk fits: the stated one, or all others by trying every line.
fn places(lines: &[String], hunk: &Plain) -> Vec<usize> {
    let fits = |at: &usize| {
        let there = lines.get(*at..*at + hunk.old.len());
        there.is_some_and(|there| there.iter().eq(hunk.old.iter()))
    };
    let stated = hunk.start.saturating_sub(1);
    match fits(&stated) {
        true => vec![stated],
        false => (0..=lines.len()).filter(fits).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_diff_made_by_others_gives_the_new_text(old in text(), new in text()) {
        prop_assume!(old != new);
        prop_assert_eq!(apply_patch(Some(&old), &diff(&old, &new), "f").unwrap(), new);
    }

    #[test]
    fn counts_do_not_matter(old in "([abc]{1,2}\n){0,14}", new in "([abc]{1,2}\n){0,14}", one in 0usize..9, other in 0usize..9) {
        prop_assume!(old != new);
        let patch = miscounted(&diff(&old, &new), one, other);
        prop_assert_eq!(apply_patch(Some(&old), &patch, "f").unwrap(), new);
    }

    #[test]
    fn line_ends_as_a_whole_do_not_matter(old in "([abc]{1,2}\n){1,14}", new in "([abc]{1,2}\n){0,14}", file: bool, sent: bool) {
        prop_assume!(old != new);
        let crlf = |text: &str, on: bool| if on { text.replace('\n', "\r\n") } else { String::from(text) };
        let patch = crlf(&diff(&old, &new), sent);
        let made = apply_patch(Some(&crlf(&old, file)), &patch, "f").unwrap();
        prop_assert_eq!(made, crlf(&new, file));
    }

    #[test]
    fn one_hunk_on_another_text_goes_where_every_line_was_tried(old in "([ab]\n){0,6}", new in "([ab]\n){0,6}", other in "([ab]\n){0,9}") {
        let hunks = hunks(&old, &new);
        prop_assume!(hunks.len() == 1);
        let hunk = &hunks[0];
        let lines: Vec<String> = other.split_inclusive('\n').map(String::from).collect();
        let made = apply_patch(Some(&other), &diff(&old, &new), "f");
        let places = places(&lines, hunk);
        match (hunk.old.is_empty(), places.as_slice()) {
            (true, _) if other.is_empty() => prop_assert_eq!(made.unwrap(), hunk.new.concat()),
            (true, _) => prop_assert_eq!(reason(made), PatchMismatch::NoContext),
            (false, []) => prop_assert_eq!(reason(made), PatchMismatch::NotFound),
            (false, &[place]) => {
                let (before, rest) = lines.split_at(place);
                let wanted = [before, &hunk.new, &rest[hunk.old.len()..]].concat().concat();
                prop_assert_eq!(made.unwrap(), wanted);
            }
            (false, _) => prop_assert_eq!(reason(made), PatchMismatch::NotUnique),
        }
    }

    #[test]
    fn no_text_is_too_strange(old in text(), patch in "(--- a/f\n\\+\\+\\+ b/f\n)?([-+ @\\\\`][-+@abc,1 ]{0,5}\n|@@ -1 \\+1 @@\n){0,9}") {
        let _ = apply_patch(Some(&old), &patch, "f");
        let _ = apply_patch(None, &patch, "f");
    }
}

fn reason(made: Result<String, PatchError>) -> PatchMismatch {
    match made {
        Err(PatchError::DoesNotApply { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}
