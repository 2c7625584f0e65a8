//! Rounds: every case on every server in turn, again and again, so that whatever else the machine
//! does is spread over all of them.

use crate::load::{Load, Round};
use crate::requests::Case;
use crate::statistics::Spread;
use serde::Serialize;
use std::io;
use std::time::Duration;

/// A server under load.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) load: Box<dyn Load>,
}

/// All rounds of one case on one server.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Series {
    pub(crate) transport: &'static str,
    pub(crate) case: Case,
    pub(crate) server: &'static str,
    pub(crate) rounds: Vec<Round>,
}

impl Series {
    /// One figure of all rounds.
    pub(crate) fn spread(&self, figure: impl Fn(&Round) -> f64) -> Option<Spread> {
        Spread::of(self.rounds.iter().map(figure))
    }

    /// How many times faster the other one was, round by round.
    pub(crate) fn behind(&self, other: &Series) -> Option<Spread> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        Spread::of(pairs.map(|(own, other)| other.per_second / own.per_second))
    }
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    pub(crate) round: Duration,
}

/// Measures every case on every contender, round by round.
pub(crate) fn alternate(
    transport: &'static str,
    contenders: &mut [Contender],
    plan: Plan,
    mut progress: impl FnMut(&str),
) -> io::Result<Vec<Series>> {
    let mut all = Vec::new();
    for case in Case::ALL {
        for contender in &mut *contenders {
            progress(&format!("{transport}: warming up"));
            contender.load.round(case, plan.round / 10)?;
            all.push(Series {
                transport,
                case,
                server: contender.name,
                rounds: Vec::new(),
            });
        }
    }
    for round in 0..plan.rounds {
        for place in order(all.len(), contenders.len(), round) {
            let (series, contender) = (&mut all[place], place % contenders.len());
            let (done, of) = (round + 1, plan.rounds);
            let (case, server) = (series.case.name(), series.server);
            progress(&format!(
                "{transport}: round {done} of {of}, {case}, {server}"
            ));
            let load = &mut contenders[contender].load;
            series.rounds.push(load.round(series.case, plan.round)?);
        }
    }
    Ok(all)
}

/// The order of one round: case by case, and every second time the contenders the other way round.
fn order(series: usize, contenders: usize, round: u32) -> impl Iterator<Item = usize> {
    (0..series).map(move |place| {
        let (case, contender) = (place / contenders, place % contenders);
        let contender = match round % 2 {
            0 => contender,
            _ => contenders - 1 - contender,
        };
        case * contenders + contender
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_take_turns() {
        assert_eq!(order(4, 2, 0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(order(4, 2, 1).collect::<Vec<_>>(), [1, 0, 3, 2]);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let series = |server, figures: &[f64]| Series {
            transport: "stdio",
            case: Case::Success,
            server,
            rounds: figures
                .iter()
                .map(|per_second| Round {
                    per_second: *per_second,
                    p50_us: 0.0,
                    p99_us: 0.0,
                    cpu_us: 0.0,
                })
                .collect(),
        };
        let slow = series("slow", &[100.0, 50.0, 10.0]);
        let fast = series("fast", &[150.0, 100.0, 20.0]);
        let behind = slow.behind(&fast).unwrap();
        assert_eq!((behind.low, behind.median, behind.high), (1.5, 2.0, 2.0));
        assert_eq!(slow.spread(|round| round.per_second).unwrap().median, 50.0);
    }
}
