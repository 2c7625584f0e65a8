//! Lines that a merge left behind. `=======` alone is a heading in many texts, so it counts only
//! between the other two.

use super::report::{PolicyRule, RawFinding};

/// Finds the conflict markers of a text, in their order.
pub(super) fn find(text: &str) -> Vec<RawFinding> {
    let mut found = Vec::new();
    // Since the last `<<<<<<<`: lines that are markers only if it is closed.
    let mut between: Option<Vec<RawFinding>> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let raw = RawFinding {
            rule: PolicyRule::ConflictMarker,
            range,
        };
        match line.trim_end_matches(['\r', '\n']) {
            line if is(line, "<<<<<<<") => {
                found.push(raw);
                between = Some(Vec::new());
            }
            line if is(line, ">>>>>>>") => {
                found.append(&mut between.take().unwrap_or_default());
                found.push(raw);
            }
            line if line == "=======" || is(line, "|||||||") => {
                if let Some(between) = &mut between {
                    between.push(raw);
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns true if a line is a marker, alone or with a label.
fn is(line: &str, marker: &str) -> bool {
    let label = line.strip_prefix(marker);
    label.is_some_and(|label| label.is_empty() || label.starts_with(' '))
}
