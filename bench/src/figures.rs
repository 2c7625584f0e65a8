//! The figures about one subject, with and without bars.

use crate::bars::{Bar, Sense};
use crate::statistics::Spread;
use serde::Serialize;

/// A figure without a bar.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) measured: Spread,
}

/// All figures about one subject.
#[derive(Debug, Serialize)]
pub(crate) struct SubjectFigures {
    subject: &'static str,
    /// The name of the given corpus.
    pub(crate) corpus: Option<String>,
    /// Judged together with the bars of other subjects.
    #[serde(skip)]
    pub(crate) bars: Vec<Bar>,
    pub(crate) figures: Vec<Figure>,
}

impl SubjectFigures {
    /// Returns no figures about a subject.
    pub(crate) fn about(subject: &'static str) -> Self {
        SubjectFigures {
            subject,
            corpus: None,
            bars: Vec::new(),
            figures: Vec::new(),
        }
    }

    pub(crate) fn at_most(
        &mut self,
        what: &str,
        limit: f64,
        unit: &'static str,
        found: RoundFigures<'_>,
    ) {
        self.bar(what, Sense::AtMost, limit, unit, found);
    }

    pub(crate) fn at_least(
        &mut self,
        what: &str,
        limit: f64,
        unit: &'static str,
        found: RoundFigures<'_>,
    ) {
        self.bar(what, Sense::AtLeast, limit, unit, found);
    }

    fn bar(
        &mut self,
        what: &str,
        sense: Sense,
        limit: f64,
        unit: &'static str,
        found: RoundFigures<'_>,
    ) {
        let bar = Bar::open(format!("{}, {what}", self.subject), sense, limit, unit);
        self.bars.push(match found {
            Ok(figures) => match Spread::of(figures.iter().copied()) {
                Some(measured) => bar.judged(measured),
                None => bar.without("no rounds"),
            },
            Err(reason) => bar.without(reason),
        });
    }

    /// Adds a figure of all rounds.
    pub(crate) fn note(&mut self, what: impl Into<String>, unit: &'static str, all: &[f64]) {
        let measured = Spread::of(all.iter().copied());
        self.figures.extend(measured.map(|measured| Figure {
            what: what.into(),
            unit,
            measured,
        }));
    }
}

/// The figure of each round, or the reason why there is none.
pub(crate) type RoundFigures<'a> = Result<&'a [f64], &'a str>;

/// Divides two figures, round by round.
pub(crate) fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    let pairs = above.iter().zip(below);
    pairs.map(|(above, below)| above / below).collect()
}

pub(crate) fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}
