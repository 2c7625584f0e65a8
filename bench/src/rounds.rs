//! Rounds: every case on every server in turn, repeatedly, so that disturbances of the machine are
//! spread over all of them.

use crate::load::{Load, Round, RoundTally};
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
    /// Returns the spread of one figure over all rounds.
    pub(crate) fn spread(&self, figure: impl Fn(&Round) -> f64) -> Option<Spread> {
        Spread::of(self.rounds.iter().map(figure))
    }

    /// Returns how many times faster the other one was, round by round.
    pub(crate) fn times_behind(&self, other: &Series) -> Vec<f64> {
        let pairs = self.rounds.iter().zip(&other.rounds);
        let times = pairs.map(|(own, other)| other.per_second / own.per_second);
        times.collect()
    }

    /// Returns the spread of [`Series::times_behind`].
    pub(crate) fn behind(&self, other: &Series) -> Option<Spread> {
        Spread::of(self.times_behind(other))
    }
}

/// The number and the length of rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundPlan {
    pub(crate) rounds: u32,
    pub(crate) round: Duration,
}

impl RoundPlan {
    /// Returns the number of turns in a round.
    pub(crate) fn turns(self) -> u32 {
        turns(self.round)
    }

    /// Returns the length of one turn.
    pub(crate) fn slice(self) -> Duration {
        self.round / self.turns()
    }
}

fn turns(round: Duration) -> u32 {
    round.div_duration_f64(SLICE).ceil().max(1.0) as u32
}

/// The length of one turn. A round has many, so that a disturbance of a second affects all series.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// Measures every case on every contender, round by round.
pub(crate) fn alternate(
    transport: &'static str,
    cases: &[Case],
    contenders: &mut [Contender],
    plan: RoundPlan,
    mut progress: impl FnMut(&str),
) -> io::Result<Vec<Series>> {
    let mut all = Vec::new();
    for case in cases {
        all.extend(contenders.iter().map(|contender| Series {
            transport,
            case: *case,
            server: contender.name,
            rounds: Vec::new(),
        }));
    }
    progress(&format!("{transport}: warming up"));
    one_round(&all, contenders, SLICE)?;
    for round in 1..=plan.rounds {
        progress(&format!("{transport}: round {round} of {}", plan.rounds));
        let rounds = one_round(&all, contenders, plan.round)?;
        for (series, round) in all.iter_mut().zip(rounds) {
            series.rounds.push(round);
        }
    }
    Ok(all)
}

/// Runs one round of every series, in short turns.
fn one_round(
    all: &[Series],
    contenders: &mut [Contender],
    round: Duration,
) -> io::Result<Vec<Round>> {
    let mut tallies: Vec<RoundTally> = all.iter().map(|_| RoundTally::default()).collect();
    let turns = turns(round);
    for turn in 0..turns {
        for place in order(all.len(), contenders.len(), turn) {
            let load = &mut contenders[place % contenders.len()].load;
            load.slice(all[place].case, round / turns, &mut tallies[place])?;
        }
    }
    Ok(tallies.into_iter().map(RoundTally::round).collect())
}

/// Returns the order of one turn: case by case, with the contenders reversed every second time.
fn order(series: usize, contenders: usize, turn: u32) -> impl Iterator<Item = usize> {
    (0..series).map(move |place| {
        let (case, contender) = (place / contenders, place % contenders);
        let contender = match turn % 2 {
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
    fn contenders_alternate() {
        assert_eq!(order(4, 2, 0).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(order(4, 2, 1).collect::<Vec<_>>(), [1, 0, 3, 2]);
    }

    #[test]
    fn ratios_are_computed_per_round() {
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
