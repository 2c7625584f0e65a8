//! Reads committed lists that give a reason for every entry: sections of `entry  reason` lines.
//!
//! Two or more spaces separate entry and reason, so an entry may contain single spaces.

use crate::problem::Problem;

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LedgerEntry {
    pub(crate) section: String,
    pub(crate) subject: String,
    pub(crate) line: usize,
}

/// Reads a list; `name` is the file, for messages.
pub(crate) fn read(name: &str, text: &str) -> Result<Vec<LedgerEntry>, Problem> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    let mut section = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let refuse = |why: &str| Problem::new(format!("{name}:{number}: {why}"));
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = Some(header.to_owned());
            continue;
        }
        let Some(section) = section.clone() else {
            return Err(refuse("an entry before the first [section]"));
        };
        let Some((subject, _reason)) = line.split_once("  ") else {
            return Err(refuse("no reason")
                .hint("write `entry  reason`, with two or more spaces between them"));
        };
        let entry = LedgerEntry {
            section,
            subject: subject.to_owned(),
            line: number,
        };
        if entries.iter().any(|other| same(other, &entry)) {
            return Err(refuse("is listed twice"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn same(one: &LedgerEntry, other: &LedgerEntry) -> bool {
    one.section == other.section && one.subject == other.subject
}

/// Returns the entries of one section.
pub(crate) fn section<'a>(entries: &'a [LedgerEntry], name: &str) -> Vec<&'a LedgerEntry> {
    entries
        .iter()
        .filter(|entry| entry.section == name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_comments_and_entries_with_blanks() {
        let text = "# why\n\n[licences]\nMIT   everybody's\nApache-2.0 WITH LLVM-exception  rustix\n[b]\nMIT  again\n";
        let entries = read("list", text).unwrap();
        let subjects: Vec<_> = section(&entries, "licences")
            .iter()
            .map(|entry| (entry.subject.as_str(), entry.line))
            .collect();
        assert_eq!(
            subjects,
            [("MIT", 4), ("Apache-2.0 WITH LLVM-exception", 5)]
        );
        assert_eq!(section(&entries, "b").len(), 1);
    }

    #[test]
    fn entry_needs_section_and_reason_and_is_unique() {
        let message = |text| read("list", text).unwrap_err().message().to_owned();
        assert_eq!(
            message("MIT  x"),
            "list:1: an entry before the first [section]"
        );
        assert_eq!(message("[a]\nMIT"), "list:2: no reason");
        assert_eq!(message("[a]\nMIT x"), "list:2: no reason");
        assert_eq!(message("[a]\nMIT  x\nMIT  y"), "list:3: is listed twice");
    }
}
