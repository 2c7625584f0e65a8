//! What was measured, and the three ways to tell it.

pub(crate) mod json;
pub(crate) mod page;
pub(crate) mod terminal;

use crate::bars::{self, Bar};
use crate::machine::Machine;
use crate::process::Memory;
use crate::rounds::{Plan, Series};
use crate::statistics::Spread;
use serde::Serialize;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) round_ms: u64,
    pub(crate) start_ms: Option<Spread>,
    pub(crate) memory: Vec<(&'static str, Memory)>,
    pub(crate) bars: Vec<Bar>,
    pub(crate) series: Vec<Series>,
}

impl Report {
    /// Nothing measured yet.
    pub(crate) fn new(machine: Machine, plan: Plan) -> Self {
        Report {
            machine,
            rounds: plan.rounds,
            round_ms: plan.round.as_millis() as u64,
            start_ms: None,
            memory: Vec::new(),
            bars: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Compares what was measured with the bars.
    pub(crate) fn judge(&mut self) {
        self.bars = bars::ratios(&self.series);
        self.bars.extend(self.start_ms.map(bars::startup));
        let memory = self.memory.iter();
        self.bars
            .extend(memory.map(|(transport, memory)| bars::memory(transport, *memory)));
    }

    /// The rows of the table of figures.
    fn figures(&self) -> Vec<[String; 7]> {
        self.series.iter().filter_map(figures).collect()
    }

    /// The rows of the table that compares two builds.
    fn gains(&self) -> Vec<[String; 3]> {
        let gains = bars::gains(&self.series).into_iter();
        let row = |(what, gain): (String, Spread)| {
            let spread = format!("{:.2}–{:.2}", gain.low, gain.high);
            [what, format!("{:.2}×", gain.median), spread]
        };
        gains.map(row).collect()
    }

    /// The rows of the table of bars.
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

fn verdict(bar: &Bar) -> [String; 5] {
    let (unit, spread) = (bar.unit, bar.measured);
    let figure = |value: f64| match unit {
        "×" => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    };
    let gap = if unit == "×" { "" } else { " " };
    [
        bar.what.clone(),
        format!("{}{gap}{unit}", bar.limit),
        format!("{}{gap}{unit}", figure(spread.median)),
        format!("{}–{}", figure(spread.low), figure(spread.high)),
        if bar.met { "yes" } else { "NO" }.to_owned(),
    ]
}

/// A number with thin groups of three digits.
fn thousands(number: f64) -> String {
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
    fn numbers_are_grouped() {
        assert_eq!(thousands(7.4), "7");
        assert_eq!(thousands(999.6), "1,000");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }
}
