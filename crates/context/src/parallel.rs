//! Runs numbered work on all cores.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most workers, on any number of cores.
const MOST: usize = 16;

/// The number of items that a worker takes at a time.
const STEP: usize = 16;

/// Returns the number of workers.
pub(crate) fn cores() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MOST)
}

/// Calls `work` for every number below `count`. Each worker has its own value, made by `make`, and gets
/// its numbers in ascending order. Returns the values.
pub(crate) fn over<V: Send>(
    count: usize,
    make: impl Fn() -> V + Sync,
    work: impl Fn(&mut V, usize) + Sync,
) -> Vec<V> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut value = make();
        loop {
            let from = next.fetch_add(STEP, Ordering::Relaxed);
            if from >= count {
                return value;
            }
            for number in from..count.min(from + STEP) {
                work(&mut value, number);
            }
        }
    };
    let workers = cores().min(count.div_ceil(4 * STEP)).max(1);
    spread(workers, run)
}

/// Calls `run` once per core, in parallel.
pub(crate) fn each<V: Send>(run: impl Fn() -> V + Sync) -> Vec<V> {
    spread(cores(), run)
}

/// The most calls that wait for the disk at the same time.
const MOST_WAITING: usize = 8;

/// Calls `work` for every number below `count`, on more threads than there are cores, because the calls wait
/// for the disk. Returns the results in no order.
pub(crate) fn waiting<V: Send>(count: usize, work: impl Fn(usize) -> V + Sync) -> Vec<V> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut values = Vec::new();
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                number if number < count => values.push(work(number)),
                _ => return values,
            }
        }
    };
    let values = spread(count.min(MOST_WAITING), run);
    values.into_iter().flatten().collect()
}

fn spread<V: Send>(workers: usize, run: impl Fn() -> V + Sync) -> Vec<V> {
    let run = &run;
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        // If no more threads can be started, this one does the rest.
        let others: Vec<_> = (1..workers).filter_map(spawn).collect();
        let mut values = vec![run()];
        for other in others {
            match other.join() {
                Ok(value) => values.push(value),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        values
    })
}

/// Locks a mutex, even after a panic: values behind these locks are replaced as a whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs two functions in parallel.
pub(crate) fn both<A, B: Send>(
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        match other.join() {
            Ok(other) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_waited_for_once() {
        for count in [0, 1, 7, 100] {
            let mut all = waiting(count, |number| number);
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_number_is_visited_once_in_ascending_order() {
        for count in [0, 1, 17, 1000] {
            let visited = over(count, Vec::new, |visited: &mut Vec<usize>, number| {
                visited.push(number)
            });
            assert!(visited.iter().all(|visited| visited.is_sorted()));
            let mut all: Vec<_> = visited.concat();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
