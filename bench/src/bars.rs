//! The bars: the promised limits of speed and size, compared with the measured figures.

use crate::process::MemoryUse;
use crate::requests::Case;
use crate::rounds::Series;
use crate::statistics::Spread;
use serde::Serialize;

/// One promised limit and its measured figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Bar {
    pub(crate) what: String,
    pub(crate) sense: Sense,
    pub(crate) limit: f64,
    pub(crate) unit: &'static str,
    /// `None` if it could not be measured.
    pub(crate) measured: Option<Spread>,
    pub(crate) met: Option<bool>,
    /// The reason why it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_measured: Option<String>,
}

/// The side of the limit on which the figure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sense {
    AtMost,
    AtLeast,
}

impl Bar {
    fn new(what: String, limit: f64, unit: &'static str, measured: Spread) -> Self {
        Bar::open(what, Sense::AtMost, limit, unit).judged(measured)
    }

    /// Returns a bar without a figure.
    pub(crate) fn open(what: String, sense: Sense, limit: f64, unit: &'static str) -> Self {
        Bar {
            what,
            sense,
            limit,
            unit,
            measured: None,
            met: None,
            not_measured: None,
        }
    }

    /// Returns the bar with its figure; the median decides.
    pub(crate) fn judged(self, measured: Spread) -> Self {
        let met = match self.sense {
            Sense::AtMost => measured.median <= self.limit,
            Sense::AtLeast => measured.median >= self.limit,
        };
        Bar {
            measured: Some(measured),
            met: Some(met),
            ..self
        }
    }

    /// Returns the bar with the reason why it has no figure.
    pub(crate) fn without(self, reason: &str) -> Self {
        Bar {
            not_measured: Some(reason.to_owned()),
            ..self
        }
    }

    /// Returns true if the figure is on the wrong side of the limit.
    pub(crate) fn missed(&self) -> bool {
        self.met == Some(false)
    }
}

/// The names of the compared programs.
pub(crate) const CANDOR: &str = "candor";
pub(crate) const BARE: &str = "bare";
pub(crate) const BARE_PIPES: &str = "bare, pipes";
pub(crate) const BESIDE: &str = "beside";

pub(crate) const STDIO: &str = "stdio";
pub(crate) const HTTP: &str = "http";
pub(crate) const GITHUB: &str = "github tools, http";

/// A promised ratio: a case on candor, compared with another case or with the same case on another
/// server.
struct Promise {
    transport: &'static str,
    case: Case,
    beside: (&'static str, Case),
    limit: f64,
}

const PROMISES: [Promise; 11] = [
    beside_bare(STDIO, Case::Success, 1.7),
    beside_bare(STDIO, Case::NotFound, 2.5),
    beside_bare(STDIO, Case::InvalidParams, 2.5),
    beside_bare(STDIO, Case::Misfit, 1.8),
    beside_bare(HTTP, Case::Success, 1.3),
    beside_success(HTTP, Case::NotFound, 1.2),
    beside_success(HTTP, Case::InvalidParams, 1.2),
    beside_bare(HTTP, Case::Misfit, 1.3),
    beside_bare(GITHUB, Case::Invalid, 1.3),
    beside_bare(GITHUB, Case::ReadFile4K, 2.5),
    beside_bare(GITHUB, Case::GetTree, 4.0),
];

const fn beside_bare(transport: &'static str, case: Case, limit: f64) -> Promise {
    Promise {
        transport,
        case,
        beside: (BARE, case),
        limit,
    }
}

const fn beside_success(transport: &'static str, case: Case, limit: f64) -> Promise {
    Promise {
        transport,
        case,
        beside: (CANDOR, Case::Success),
        limit,
    }
}

/// Returns the bars on ratios whose series were measured.
pub(crate) fn ratios(all: &[Series]) -> Vec<Bar> {
    let find = |transport, server, case| {
        all.iter().find(|series| {
            series.transport == transport && series.server == server && series.case == case
        })
    };
    let bar = |promise: &Promise| {
        let own = find(promise.transport, CANDOR, promise.case)?;
        let (server, case) = promise.beside;
        let measured = own.behind(find(promise.transport, server, case)?)?;
        let than = match server {
            BARE => "the bare program",
            _ => "a success",
        };
        let (transport, case) = (promise.transport, promise.case.name());
        let what = format!("{transport}, {case}: times slower than {than}");
        Some(Bar::new(what, promise.limit, "×", measured))
    };
    PROMISES.iter().filter_map(bar).collect()
}

/// Returns the bar on the processor time of a read, compared with that of a call with wrong arguments.
pub(crate) fn processor_time(all: &[Series]) -> Option<Bar> {
    let find = |case| {
        let mut own = all.iter().filter(|one| one.server == CANDOR);
        own.find(|one| one.transport == GITHUB && one.case == case)
    };
    let (read, invalid) = (find(Case::ReadFile4K)?, find(Case::Invalid)?);
    let pairs = read.rounds.iter().zip(&invalid.rounds);
    let measured = Spread::of(pairs.map(|(read, invalid)| read.cpu_us / invalid.cpu_us))?;
    let what = "read_file of 4 KiB: times the processor time of a −32602".to_owned();
    Some(Bar::new(what, 2.5, "×", measured))
}

/// Returns how many times faster candor is than its other build, case by case.
pub(crate) fn gains(all: &[Series]) -> Vec<(String, Spread)> {
    let own = all.iter().filter(|series| series.server == CANDOR);
    let gain = |own: &Series| {
        let other = all.iter().find(|other| {
            other.server == BESIDE && other.transport == own.transport && other.case == own.case
        })?;
        let what = format!("{}, {}", own.transport, own.case.name());
        Some((what, other.behind(own)?))
    };
    own.filter_map(gain).collect()
}

/// Returns the bar on the start.
pub(crate) fn startup(millis: Spread) -> Bar {
    Bar::new("start to first answer".into(), 50.0, "ms", millis)
}

/// Returns the bar on memory; the peak decides.
pub(crate) fn memory(transport: &str, memory: MemoryUse) -> Bar {
    most_memory(
        format!("{transport}: memory at most, all rounds"),
        memory,
        30.0,
    )
}

/// Returns the bar on the memory of a server that answers with a large tree.
pub(crate) fn tree_memory(memory: MemoryUse) -> Bar {
    let what = String::from("get_tree of 100,000 entries: memory at most");
    most_memory(what, memory, 200.0)
}

fn most_memory(what: String, memory: MemoryUse, limit: f64) -> Bar {
    let measured = Spread {
        median: memory.peak_mb,
        low: memory.resident_mb.min(memory.peak_mb),
        high: memory.peak_mb,
    };
    Bar::new(what, limit, "MB", measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Round;

    fn series(transport: &'static str, server: &'static str, case: Case, speed: f64) -> Series {
        let round = Round {
            per_second: speed,
            p50_us: 1.0,
            p99_us: 1.0,
            cpu_us: 1.0,
        };
        Series {
            transport,
            case,
            server,
            rounds: vec![round],
        }
    }

    #[test]
    fn bar_is_the_ratio_of_its_series() {
        let all = [
            series(STDIO, BARE, Case::Success, 170.0),
            series(STDIO, CANDOR, Case::Success, 100.0),
            series(HTTP, CANDOR, Case::Success, 100.0),
            series(HTTP, CANDOR, Case::NotFound, 80.0),
        ];
        let bars = ratios(&all);
        let seen: Vec<_> = bars
            .iter()
            .map(|bar| (bar.measured.unwrap().median, bar.missed()))
            .collect();
        assert_eq!(seen, [(1.7, false), (1.25, true)]);
    }

    #[test]
    fn gain_is_the_ratio_of_two_builds() {
        let all = [
            series(HTTP, CANDOR, Case::Success, 150.0),
            series(STDIO, BESIDE, Case::Success, 10.0),
            series(HTTP, BESIDE, Case::Success, 100.0),
        ];
        let gains = gains(&all);
        assert_eq!(gains.len(), 1);
        assert_eq!(gains[0].0, "http, success");
        assert_eq!(gains[0].1.median, 1.5);
    }

    #[test]
    fn peak_memory_decides() {
        let bar = memory(
            STDIO,
            MemoryUse {
                resident_mb: 10.0,
                peak_mb: 31.0,
            },
        );
        assert!(bar.missed());
    }

    #[test]
    fn bar_without_figure_is_neither_met_nor_missed() {
        let open = Bar::open("speed".into(), Sense::AtLeast, 500.0, "×");
        let judged = |figure| open.clone().judged(Spread::of([figure]).unwrap()).met;
        assert_eq!((judged(499.0), judged(500.0)), (Some(false), Some(true)));
        let without = open.clone().without("no corpus");
        assert!(!without.missed() && without.met.is_none());
    }
}
