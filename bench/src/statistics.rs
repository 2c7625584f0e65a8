//! Medians, spreads and percentiles.

use serde::Serialize;
use std::time::Duration;

/// A figure that was measured several times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// Returns the spread of these figures, or `None` if there are none.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + upper) / 2.0,
            _ => upper,
        };
        Some(Spread {
            median,
            low: *sorted.first()?,
            high: *sorted.last()?,
        })
    }
}

/// Returns the median of these figures, or 0 if there are none.
pub(crate) fn median(figures: Vec<f64>) -> f64 {
    Spread::of(figures).map_or(0.0, |spread| spread.median)
}

/// Returns a time in milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The latencies of single requests.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    /// Adds one; more than four seconds count as four seconds.
    pub(crate) fn note(&mut self, took: Duration) {
        self.0
            .push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
    }

    pub(crate) fn append(&mut self, mut more: Latencies) {
        self.0.append(&mut more.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a percentile in microseconds.
    pub(crate) fn percentile(&mut self, percent: usize) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        let place = place(self.0.len(), percent);
        let (_, nanos, _) = self.0.select_nth_unstable(place);
        f64::from(*nanos) / 1000.0
    }
}

/// Returns the figure that `percent` of a hundred do not exceed.
pub(crate) fn percentile(figures: &mut [f64], percent: usize) -> f64 {
    if figures.is_empty() {
        return 0.0;
    }
    let place = place(figures.len(), percent);
    *figures.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Returns the index of a percentile among `many` sorted figures: the nearest rank.
fn place(many: usize, percent: usize) -> usize {
    (many * percent).div_ceil(100).clamp(1, many) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_figure() {
        assert_eq!(Spread::of([]), None);
        let odd = Spread::of([3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.low, odd.median, odd.high), (1.0, 2.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert_eq!(Spread::of([7.0]).unwrap().median, 7.0);
    }

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let mut all = Latencies::default();
        assert_eq!(all.percentile(50), 0.0);
        for micros in (1..=200).rev() {
            all.note(Duration::from_micros(micros));
        }
        assert_eq!(all.percentile(50), 100.0);
        assert_eq!(all.percentile(99), 198.0);
        assert_eq!(all.percentile(100), 200.0);
        assert_eq!(all.percentile(0), 1.0);
        let mut figures: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut figures, 99), 198.0);
        assert_eq!(percentile(&mut [], 99), 0.0);
    }

    #[test]
    fn very_long_latency_is_capped() {
        let mut all = Latencies::default();
        all.note(Duration::from_secs(100));
        assert!(all.percentile(50) > 4_000_000.0);
    }
}
