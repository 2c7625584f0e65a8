//! Text for the terminal: aligned columns, and colours if stdout is a terminal.

use std::io::IsTerminal;

/// Pads the columns of rows to equal width, without trailing spaces.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let blanks = width.saturating_sub(cell.chars().count()) + 2;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', blanks));
        }
        text.push_str("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

pub(crate) fn dim(text: &str) -> String {
    painted("2", text)
}

pub(crate) fn bold(text: &str) -> String {
    painted("1", text)
}

pub(crate) fn green(text: &str) -> String {
    painted("32", text)
}

pub(crate) fn alarm(text: &str) -> String {
    painted("1;31", text)
}

fn painted(style: &str, text: &str) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted && std::io::stdout().is_terminal() {
        format!("\x1b[{style}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows: Vec<Vec<String>> =
            vec![row(&["fmt", "ok", ""]), row(&["doctests", "FAILED", "2"])];
        assert_eq!(aligned(&rows), "  fmt       ok\n  doctests  FAILED  2\n");
    }
}
