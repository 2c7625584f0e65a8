//! Brings an existing page up to date with a run that measured only a part: rows of the run replace those
//! with the same name, new ones follow them, and all others stay.

/// The first columns of the tables that are not part of a row's name.
const FIRST_FIGURES: [&str; 4] = ["limit", "median", "requests/s (spread)", "version"];

/// Returns the new page, with the rows of the old one that the new one lacks.
pub(super) fn update(old: &str, new: &str) -> String {
    let old: Vec<Section<'_>> = sections(old);
    let merged = sections(new).into_iter().map(|section| {
        let before = old.iter().find(|before| before.heading == section.heading);
        section.text(before.map_or(&[], |before| &before.rows))
    });
    merged.collect()
}

/// A part of a page between two headings, with at most one table.
struct Section<'a> {
    heading: &'a str,
    before_table: Vec<&'a str>,
    rows: Vec<&'a str>,
    after_table: Vec<&'a str>,
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let mut all: Vec<Section<'_>> = Vec::new();
    for line in page.split_inclusive('\n') {
        if all.is_empty() || line.starts_with("## ") {
            all.push(Section {
                heading: line,
                before_table: Vec::new(),
                rows: Vec::new(),
                after_table: Vec::new(),
            });
            continue;
        }
        let Some(section) = all.last_mut() else {
            continue;
        };
        if line.starts_with('|') && section.after_table.is_empty() {
            section.rows.push(line);
        } else if section.rows.is_empty() {
            section.before_table.push(line);
        } else {
            section.after_table.push(line);
        }
    }
    all
}

impl Section<'_> {
    /// Returns the section with its own rows, and those of an older one that it lacks.
    fn text(&self, older: &[&str]) -> String {
        let (head, own) = self.rows.split_at(self.rows.len().min(2));
        let columns = head.first().map_or(1, |head| name_columns(head));
        let is_own = |row: &str| {
            own.iter()
                .find(|one| name(one, columns) == name(row, columns))
        };
        let mut rows: Vec<&str> = Vec::new();
        for row in older.iter().skip(2) {
            rows.push(is_own(row).unwrap_or(row));
        }
        for row in own {
            if !rows.contains(row) {
                rows.push(row);
            }
        }
        let parts = [&self.before_table[..], head, &rows, &self.after_table];
        format!("{}{}", self.heading, parts.concat().concat())
    }
}

/// Returns the number of columns that name a row.
fn name_columns(head: &str) -> usize {
    let cells = head.split('|').skip(1).map(str::trim);
    let names = cells.take_while(|cell| !FIRST_FIGURES.contains(cell));
    names.count().max(1)
}

fn name(row: &str, columns: usize) -> Vec<&str> {
    row.split('|')
        .skip(1)
        .take(columns)
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# Page\n\nWords.\n\n## Bars\n\n| bar | limit | median |\n|---|---|---|\n\
        | a | 2 | 1 |\n| b | 2 | 1 |\n\n## Figures\n\n| call | server | median |\n|---|---|---|\n\
        | x | bare | 1 |\n| x | candor | 2 |\n\n## Notes\n\nOld.\n";
    const NEW: &str = "# Page\n\nWords.\n\n## Bars\n\n| bar | limit | median |\n|---|---|---|\n\
        | b | 2 | 3 |\n| c | 2 | 3 |\n\n## Figures\n\n| call | server | median |\n|---|---|---|\n\
        | x | candor | 5 |\n\n## Notes\n\nNew.\n";

    #[test]
    fn rows_of_the_run_replace_those_of_their_name() {
        let merged = "# Page\n\nWords.\n\n## Bars\n\n| bar | limit | median |\n|---|---|---|\n\
            | a | 2 | 1 |\n| b | 2 | 3 |\n| c | 2 | 3 |\n\n## Figures\n\n\
            | call | server | median |\n|---|---|---|\n| x | bare | 1 |\n| x | candor | 5 |\n\n\
            ## Notes\n\nNew.\n";
        assert_eq!(update(OLD, NEW), merged);
        assert_eq!(update(merged, NEW), merged);
    }

    #[test]
    fn page_without_tables_becomes_the_new_one() {
        assert_eq!(update("", NEW), NEW);
        assert_eq!(update("# Page\n", NEW), NEW);
    }
}
