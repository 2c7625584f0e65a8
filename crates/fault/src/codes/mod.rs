//! The registries: every code that can leave this program, one file a dialect.

pub mod candor;
pub mod context;
pub mod github;
pub mod orders;
pub mod wire;
pub mod workspace;

use crate::CodeRow;

/// Every registry of ours with its section's name, in the order of the documentation.
pub fn all() -> [(&'static str, &'static [CodeRow]); 6] {
    [
        ("context", context::ROWS),
        ("github", github::ROWS),
        ("workspace", workspace::ROWS),
        ("orders", orders::ROWS),
        ("wire", wire::ROWS),
        ("candor", candor::ROWS),
    ]
}

/// The rows of a code: one where the dialect is given (`orders/3001`), else all that have it.
pub fn find(key: &str) -> Vec<&'static CodeRow> {
    let (section, code) = match key.split_once('/') {
        Some((section, code)) => (Some(section), code),
        None => (None, key),
    };
    let sections = all()
        .into_iter()
        .filter(|(own, _)| section.is_none_or(|section| section.eq_ignore_ascii_case(own)));
    let wanted = |row: &&CodeRow| row.name.eq_ignore_ascii_case(code) || row.code.reads(code);
    sections.flat_map(|(_, rows)| rows).filter(wanted).collect()
}
