//! Turns: several sides are called in short turns, so that disturbances of the machine are spread over all
//! of them.

use super::WorkspaceBench;
use crate::statistics::median;
use std::io;
use std::time::Instant;

/// One side of a comparison. Makes one call and returns how long it took, in milliseconds.
pub(super) type CallSide<'a> = &'a mut dyn FnMut() -> io::Result<f64>;

impl WorkspaceBench<'_> {
    /// Calls the sides in turns of `calls` calls until each has had the time of a round, in every round.
    /// Returns the medians of the rounds, in milliseconds.
    pub(super) fn alternate<const N: usize>(
        &mut self,
        what: &str,
        calls: usize,
        mut sides: [CallSide<'_>; N],
    ) -> io::Result<[Vec<f64>; N]> {
        self.say(&format!("{what}: warming up"));
        one_turn(&mut sides, calls, 0)?;
        let mut medians = [const { Vec::new() }; N];
        for round in 1..=self.rounds {
            self.say(&format!("{what}: round {round} of {}", self.rounds));
            let mut times: [Vec<f64>; N] = [const { Vec::new() }; N];
            let started = Instant::now();
            let mut turn = 0;
            while started.elapsed() < self.round * N as u32 {
                let of_turn = one_turn(&mut sides, calls, turn)?;
                for (times, of_turn) in times.iter_mut().zip(of_turn) {
                    times.extend(of_turn);
                }
                turn += 1;
            }
            for (medians, times) in medians.iter_mut().zip(times) {
                medians.push(median(times));
            }
        }
        Ok(medians)
    }
}

/// Calls each side `calls` times. Another side goes first in every turn.
fn one_turn<const N: usize>(
    sides: &mut [CallSide<'_>; N],
    calls: usize,
    turn: usize,
) -> io::Result<[Vec<f64>; N]> {
    let mut times = [const { Vec::new() }; N];
    for step in 0..N {
        let which = (turn + step) % N;
        for _ in 0..calls {
            times[which].push(sides[which]()?);
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn another_side_goes_first_in_every_turn() {
        let order = RefCell::new(String::new());
        let mut one = || {
            order.borrow_mut().push('a');
            Ok(1.0)
        };
        let mut other = || {
            order.borrow_mut().push('b');
            Ok(2.0)
        };
        for turn in 0..2 {
            let times = one_turn(&mut [&mut one, &mut other], 2, turn).unwrap();
            assert_eq!(times, [vec![1.0; 2], vec![2.0; 2]]);
        }
        assert_eq!(*order.borrow(), "aabbbbaa");
    }
}
