//! The measured figures, and three ways to show them.

pub(crate) mod json;
pub(crate) mod page;
mod page_update;
pub(crate) mod terminal;

use crate::bars::{self, Bar, Sense};
use crate::figures::{Figure, SubjectFigures};
use crate::machine::Machine;
use crate::process::MemoryUse;
use crate::rounds::{RoundPlan, Series};
use crate::statistics::Spread;
use serde::Serialize;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) round_ms: u64,
    pub(crate) start_ms: Option<Spread>,
    pub(crate) memory: Vec<(&'static str, MemoryUse)>,
    /// The memory of a server that has answered with a large tree.
    pub(crate) tree: Option<MemoryUse>,
    pub(crate) bars: Vec<Bar>,
    pub(crate) series: Vec<Series>,
    /// The local forge beside git.
    pub(crate) local_forge: SubjectFigures,
    /// Servers with many connections.
    pub(crate) connections: SubjectFigures,
    pub(crate) context: SubjectFigures,
    /// The log, and the edits that it records.
    pub(crate) record: SubjectFigures,
    /// The workspace server as a process.
    pub(crate) workspace: SubjectFigures,
    pub(crate) orders: SubjectFigures,
}

impl BenchReport {
    pub(crate) fn new(machine: Machine, plan: RoundPlan) -> Self {
        BenchReport {
            machine,
            rounds: plan.rounds,
            round_ms: plan.round.as_millis() as u64,
            start_ms: None,
            memory: Vec::new(),
            tree: None,
            bars: Vec::new(),
            series: Vec::new(),
            local_forge: SubjectFigures::about("local forge"),
            connections: SubjectFigures::about("http"),
            context: SubjectFigures::about("context"),
            record: SubjectFigures::about("log"),
            workspace: SubjectFigures::about("workspace"),
            orders: SubjectFigures::about("orders"),
        }
    }

    /// Compares the figures with the bars.
    pub(crate) fn judge(&mut self) {
        self.bars = bars::ratios(&self.series);
        self.bars.extend(bars::processor_time(&self.series));
        self.bars.extend(self.start_ms.map(bars::startup));
        let memory = self.memory.iter();
        self.bars
            .extend(memory.map(|(transport, memory)| bars::memory(transport, *memory)));
        self.bars.extend(self.tree.map(bars::tree_memory));
        self.bars.extend(self.local_forge.bars.iter().cloned());
        self.bars.extend(self.connections.bars.iter().cloned());
        self.bars.extend(self.context.bars.iter().cloned());
        self.bars.extend(self.record.bars.iter().cloned());
        self.bars.extend(self.workspace.bars.iter().cloned());
        self.bars.extend(self.orders.bars.iter().cloned());
    }

    /// Returns the rows of the table of figures.
    fn figures(&self) -> Vec<[String; 7]> {
        self.series.iter().filter_map(figures).collect()
    }

    /// Returns the rows of the table about the local forge.
    fn of_local_forge(&self) -> Vec<[String; 3]> {
        self.local_forge.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table about servers with many connections.
    fn of_connections(&self) -> Vec<[String; 3]> {
        self.connections.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table about context caches.
    fn of_context(&self) -> Vec<[String; 3]> {
        self.context.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table about the log and the edits that it records.
    fn of_record(&self) -> Vec<[String; 3]> {
        self.record.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table about the workspace server.
    fn of_workspace(&self) -> Vec<[String; 3]> {
        self.workspace.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table about the order tools.
    fn of_orders(&self) -> Vec<[String; 3]> {
        self.orders.figures.iter().map(plain_figure).collect()
    }

    /// Returns the rows of the table that compares two builds.
    fn gains(&self) -> Vec<[String; 3]> {
        let gains = bars::gains(&self.series).into_iter();
        let row = |(what, gain): (String, Spread)| {
            let spread = format!("{:.2}–{:.2}", gain.low, gain.high);
            [what, format!("{:.2}×", gain.median), spread]
        };
        gains.map(row).collect()
    }

    /// Returns the rows of the table of bars.
    fn verdicts(&self) -> Vec<[String; 5]> {
        self.bars.iter().map(verdict).collect()
    }
}

const FIGURES: [&str; 7] = [
    "transport",
    "call",
    "server",
    "requests/s (spread)",
    "p50 µs",
    "p99 µs",
    "CPU µs/request",
];

const VERDICTS: [&str; 5] = ["bar", "limit", "median", "spread", "met"];

const OF_LOCAL_FORGE: [&str; 3] = ["local forge", "median", "spread"];

const OF_CONNECTIONS: [&str; 3] = ["connections", "median", "spread"];

const OF_CONTEXT: [&str; 3] = ["context", "median", "spread"];

const OF_RECORD: [&str; 3] = ["log and workspace", "median", "spread"];

const OF_WORKSPACE: [&str; 3] = ["workspace server", "median", "spread"];

const OF_ORDERS: [&str; 3] = ["orders", "median", "spread"];

const GAINS: [&str; 3] = ["call", "faster than the build beside", "spread"];

fn figures(series: &Series) -> Option<[String; 7]> {
    let speed = series.spread(|round| round.per_second)?;
    let median = |figure: fn(&crate::load::Round) -> f64| Some(series.spread(figure)?.median);
    Some([
        series.transport.to_owned(),
        series.case.name().to_owned(),
        series.server.to_owned(),
        format!(
            "{} ({}–{})",
            thousands(speed.median),
            thousands(speed.low),
            thousands(speed.high)
        ),
        format!("{:.0}", median(|round| round.p50_us)?),
        format!("{:.0}", median(|round| round.p99_us)?),
        format!("{:.2}", median(|round| round.cpu_us)?),
    ])
}

fn plain_figure(figure: &Figure) -> [String; 3] {
    let (measured, unit) = (figure.measured, figure.unit);
    let digits = digits(measured.median);
    let shown = |value: f64| format!("{value:.digits$}");
    [
        figure.what.clone(),
        format!("{} {unit}", shown(measured.median)),
        format!("{}–{}", shown(measured.low), shown(measured.high)),
    ]
}

fn verdict(bar: &Bar) -> [String; 5] {
    let (unit, digits) = (bar.unit, digits(bar.limit));
    let figure = |value: f64| format!("{value:.digits$}");
    let gap = if unit == "×" { "" } else { " " };
    let sense = match bar.sense {
        Sense::AtMost => "",
        Sense::AtLeast => "at least ",
    };
    let (median, spread) = match (bar.measured, &bar.not_measured) {
        (Some(measured), _) => (
            format!("{}{gap}{unit}", figure(measured.median)),
            format!("{}–{}", figure(measured.low), figure(measured.high)),
        ),
        (None, Some(reason)) => (format!("not measured ({reason})"), String::new()),
        (None, None) => (String::from("not measured"), String::new()),
    };
    let met = match bar.met {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "–",
    };
    [
        bar.what.clone(),
        format!("{sense}{}{gap}{unit}", bar.limit),
        median,
        spread,
        met.to_owned(),
    ]
}

/// Returns how many decimals a figure of this size has.
fn digits(size: f64) -> usize {
    match size {
        size if size < 10.0 => 2,
        size if size <= 100.0 => 1,
        _ => 0,
    }
}

/// Formats a number with thin groups of three digits.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(thousands(7.4), "7");
        assert_eq!(thousands(999.6), "1,000");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }

    #[test]
    fn bar_without_figure_shows_the_reason() {
        let bar = Bar::open("speed".into(), Sense::AtLeast, 500.0, "×");
        let row = verdict(&bar.clone().without("no --corpus"));
        assert_eq!(
            row,
            [
                "speed",
                "at least 500×",
                "not measured (no --corpus)",
                "",
                "–"
            ]
        );
        let measured = Spread::of([499.6, 800.0, 900.25]).unwrap();
        let row = verdict(&bar.judged(measured));
        assert_eq!(row[2..], ["800×", "500–900", "yes"]);
    }
}
