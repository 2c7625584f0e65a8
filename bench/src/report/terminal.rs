//! The report on the terminal, and the progress until it is complete.

use super::{
    BenchReport, FIGURES, GAINS, OF_CONNECTIONS, OF_CONTEXT, OF_LOCAL_FORGE, OF_ORDERS, OF_RECORD,
    OF_WORKSPACE, VERDICTS,
};
use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, Write};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const HEAD: Style = Style::new().bold();

/// Prints the tables.
pub(crate) fn print(report: &BenchReport) {
    let machine = &report.machine;
    anstream::println!(
        "{}; {} cores, {}; {} rounds of {} ms\n",
        machine.candor,
        machine.cores,
        machine.processor,
        report.rounds,
        report.round_ms
    );
    if !report.series.is_empty() {
        table(&FIGURES, &report.figures());
    }
    let gains = report.gains();
    if !gains.is_empty() {
        table(&GAINS, &gains);
    }
    let of_local_forge = report.of_local_forge();
    if !of_local_forge.is_empty() {
        table(&OF_LOCAL_FORGE, &of_local_forge);
    }
    let of_connections = report.of_connections();
    if !of_connections.is_empty() {
        table(&OF_CONNECTIONS, &of_connections);
    }
    let of_context = report.of_context();
    if !of_context.is_empty() {
        table(&OF_CONTEXT, &of_context);
    }
    let of_record = report.of_record();
    if !of_record.is_empty() {
        table(&OF_RECORD, &of_record);
    }
    let of_workspace = report.of_workspace();
    if !of_workspace.is_empty() {
        table(&OF_WORKSPACE, &of_workspace);
    }
    let of_orders = report.of_orders();
    if !of_orders.is_empty() {
        table(&OF_ORDERS, &of_orders);
    }
    if let Some(corpus) = &report.context.corpus {
        anstream::println!("corpus: {corpus}\n");
    }
    table(&VERDICTS, &report.verdicts());
}

fn table<const N: usize>(head: &[&str; N], rows: &[[String; N]]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].as_str());
        let all = cells.chain([head[column]]);
        all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: &[&str; N]| {
        let cells = cells.iter().zip(widths);
        let padded: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    anstream::println!("{HEAD}{}{HEAD:#}", line(head));
    for row in rows {
        let text = line(&row.each_ref().map(String::as_str));
        match row[N - 1].as_str() {
            "yes" => anstream::println!("{GOOD}{text}{GOOD:#}"),
            "NO" => anstream::println!("{BAD}{text}{BAD:#}"),
            _ => anstream::println!("{text}"),
        }
    }
    anstream::println!();
}

/// One line about the current step, if stderr is a terminal.
#[derive(Debug, Default)]
pub(crate) struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn say(&mut self, what: &str) {
        if std::io::stderr().is_terminal() {
            self.shown = true;
            eprint!("\r\x1b[K{what}");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}

/// Prints the reason why nothing could be measured.
pub(crate) fn complain(message: &str) {
    anstream::eprintln!("{BAD}error:{BAD:#} {message}");
}
