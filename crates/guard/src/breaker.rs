//! A circuit breaker: after enough consecutive failures, a system is not called for a while.
//!
//! Consecutive failures are counted, not a share of a window. A system that is down fails every
//! call, and is detected after the same number of calls on a quiet day and on a busy one; a system
//! that still answers some calls is still worth calling. A share needs a window and a minimum
//! number of calls, which few callers have and which cannot be chosen in advance.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The breaker is open: the guarded system is not called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerOpen {
    /// The time until the next probe. While a probe is running, this is the pause that follows if
    /// the probe fails.
    pub after: Duration,
}

impl fmt::Display for BreakerOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the breaker is open for {:?}", self.after)
    }
}

impl Error for BreakerOpen {}

/// The state of a breaker, for logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Every call passes.
    Closed,
    /// No call passes until the pause is over.
    Open,
    /// The pause is over: one call probes or may probe, all others wait for its outcome.
    HalfOpen,
}

/// A change that the outcome of a call made to a breaker. A probe that fails changes nothing: the
/// breaker was not closed, and it stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerChange {
    /// The system is left alone from now on.
    Opened,
    /// A probe has succeeded, and every call passes again.
    Closed,
}

/// A circuit breaker around one system.
#[derive(Debug)]
pub struct Breaker {
    failures: NonZeroU32,
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    circuit: Circuit,
    /// Counts the changes of `circuit`; an outcome from before the last change is ignored.
    epoch: u64,
}

#[derive(Debug, Clone, Copy)]
enum Circuit {
    Closed {
        failures: u32,
    },
    Open {
        since: Instant,
    },
    Probing,
    /// A probe left without an outcome; the next call is the next probe.
    Untried,
}

impl Breaker {
    /// Creates a closed breaker that opens for `pause` after `failures` consecutive failures.
    pub fn new(failures: NonZeroU32, pause: Duration) -> Breaker {
        let circuit = Circuit::Closed { failures: 0 };
        let state = Mutex::new(State { circuit, epoch: 0 });
        Breaker {
            failures,
            pause,
            state,
        }
    }

    /// Admits one call, which must report its outcome, or returns how long to wait.
    pub fn enter(&self) -> Result<BreakerPass<'_>, BreakerOpen> {
        let mut state = self.lock();
        match state.circuit {
            Circuit::Closed { .. } => {}
            Circuit::Probing => return Err(BreakerOpen { after: self.pause }),
            Circuit::Untried => state.turn(Circuit::Probing),
            Circuit::Open { since } => match self.pause.saturating_sub(since.elapsed()) {
                Duration::ZERO => state.turn(Circuit::Probing),
                after => return Err(BreakerOpen { after }),
            },
        }
        Ok(BreakerPass {
            breaker: self,
            epoch: state.epoch,
        })
    }

    /// Runs a call; an error that `counts` accepts is a failure, any other answer is a success.
    ///
    /// The work is not polled while the breaker is open. Dropping this future leaves no outcome.
    pub async fn run<T, E>(
        &self,
        counts: impl FnOnce(&E) -> bool,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, E>, BreakerOpen> {
        let pass = self.enter()?;
        let done = work.await;
        match &done {
            Err(error) if counts(error) => pass.failed(),
            _ => pass.succeeded(),
        };
        Ok(done)
    }

    /// Returns the current state.
    pub fn state(&self) -> BreakerState {
        match self.lock().circuit {
            Circuit::Closed { .. } => BreakerState::Closed,
            Circuit::Open { since } if since.elapsed() < self.pause => BreakerState::Open,
            Circuit::Open { .. } | Circuit::Probing | Circuit::Untried => BreakerState::HalfOpen,
        }
    }

    fn settle(&self, epoch: u64, outcome: Outcome) -> Option<BreakerChange> {
        let mut state = self.lock();
        if state.epoch != epoch {
            return None;
        }
        match (state.circuit, outcome) {
            (Circuit::Closed { failures }, Outcome::Failure) => {
                let failures = failures.saturating_add(1);
                if failures >= self.failures.get() {
                    state.open();
                    return Some(BreakerChange::Opened);
                }
                state.circuit = Circuit::Closed { failures };
            }
            (Circuit::Closed { .. }, Outcome::Success) => {
                state.circuit = Circuit::Closed { failures: 0 }
            }
            (Circuit::Probing, Outcome::Failure) => state.open(),
            (Circuit::Probing, Outcome::Success) => {
                state.turn(Circuit::Closed { failures: 0 });
                return Some(BreakerChange::Closed);
            }
            (Circuit::Probing, Outcome::None) => state.turn(Circuit::Untried),
            (Circuit::Closed { .. }, Outcome::None) => {}
            (Circuit::Open { .. } | Circuit::Untried, _) => {}
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn turn(&mut self, circuit: Circuit) {
        self.circuit = circuit;
        self.epoch += 1;
    }

    fn open(&mut self) {
        let since = Instant::now();
        self.turn(Circuit::Open { since });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    Failure,
    None,
}

/// The admission of one call. If it is dropped without an outcome, nothing is counted; if it was
/// the probe, the next call probes.
#[derive(Debug)]
#[must_use = "a pass that is dropped leaves no outcome"]
pub struct BreakerPass<'a> {
    breaker: &'a Breaker,
    epoch: u64,
}

impl BreakerPass<'_> {
    /// Records that the system answered, even with a refusal.
    pub fn succeeded(self) -> Option<BreakerChange> {
        self.breaker.settle(self.epoch, Outcome::Success)
    }

    /// Records that the system failed.
    pub fn failed(self) -> Option<BreakerChange> {
        self.breaker.settle(self.epoch, Outcome::Failure)
    }
}

impl Drop for BreakerPass<'_> {
    /// Frees the probe. After an outcome this changes nothing: the outcome of a probe has ended its
    /// epoch, and an admission by a closed breaker occupies nothing.
    fn drop(&mut self) {
        self.breaker.settle(self.epoch, Outcome::None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::future::pending;
    use tokio::time::advance;

    const PAUSE: Duration = Duration::from_secs(10);

    fn breaker(failures: u32) -> Breaker {
        Breaker::new(NonZeroU32::new(failures).unwrap(), PAUSE)
    }

    fn open_breaker() -> Breaker {
        let breaker = breaker(1);
        breaker.enter().unwrap().failed();
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn opens_after_consecutive_failures_and_returns_the_wait() {
        let breaker = breaker(3);
        for _ in 0..2 {
            breaker.enter().unwrap().failed();
        }
        breaker.enter().unwrap().succeeded();
        for _ in 0..3 {
            assert_eq!(breaker.state(), BreakerState::Closed);
            breaker.enter().unwrap().failed();
        }
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.enter().unwrap_err(), BreakerOpen { after: PAUSE });
        advance(PAUSE - Duration::from_secs(1)).await;
        let after = Duration::from_secs(1);
        assert_eq!(breaker.enter().unwrap_err(), BreakerOpen { after });
    }

    #[tokio::test(start_paused = true)]
    async fn successful_probe_closes_and_failed_probe_opens_again() {
        let breaker = open_breaker();
        advance(PAUSE).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        breaker.enter().unwrap().failed();
        assert_eq!(breaker.enter().unwrap_err(), BreakerOpen { after: PAUSE });
        advance(PAUSE).await;
        let probe = breaker.enter().unwrap();
        assert_eq!(breaker.enter().unwrap_err(), BreakerOpen { after: PAUSE });
        probe.succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!(breaker.enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn probe_without_an_outcome_allows_the_next() {
        let breaker = open_breaker();
        advance(PAUSE).await;
        drop(breaker.enter().unwrap());
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        let probe = breaker.enter().unwrap();
        assert!(breaker.enter().is_err());
        probe.succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn running_probe_keeps_others_out() {
        let breaker = open_breaker();
        advance(PAUSE).await;
        let _probe = breaker.enter().unwrap();
        advance(100 * PAUSE).await;
        assert!(breaker.enter().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn late_outcomes_of_earlier_calls_change_nothing() {
        let breaker = breaker(1);
        let (first, late_success) = (breaker.enter().unwrap(), breaker.enter().unwrap());
        let late_failure = breaker.enter().unwrap();
        first.failed();
        late_success.succeeded();
        assert_eq!(breaker.state(), BreakerState::Open);
        advance(PAUSE).await;
        breaker.enter().unwrap().succeeded();
        late_failure.failed();
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[tokio::test(start_paused = true)]
    async fn run_counts_only_the_chosen_errors() {
        let breaker = breaker(1);
        let refused = breaker
            .run(|e| *e == "down", async { Err::<(), _>("no") })
            .await;
        assert_eq!(refused, Ok(Err("no")));
        let down = breaker
            .run(|e| *e == "down", async { Err::<(), _>("down") })
            .await;
        assert_eq!(down, Ok(Err("down")));
        let mut was_run = false;
        let open = breaker.run(|_: &()| true, async {
            was_run = true;
            Ok(())
        });
        assert_eq!(open.await, Err(BreakerOpen { after: PAUSE }));
        assert!(!was_run);
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_probe_allows_the_next() {
        let breaker = open_breaker();
        advance(PAUSE).await;
        let hung = breaker.run(|_: &()| true, pending::<Result<(), ()>>());
        assert!(tokio::time::timeout(PAUSE, hung).await.is_err());
        let next = breaker.run(|_: &()| true, async { Ok(5) }).await;
        assert_eq!(next, Ok(Ok(5)));
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn only_one_of_many_threads_probes() {
        let breaker = Breaker::new(NonZeroU32::MIN, Duration::ZERO);
        breaker.enter().unwrap().failed();
        let passes = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| breaker.enter())).collect();
            let entered = threads.into_iter().map(|t| t.join().unwrap());
            // Collected first: no probe may end before all threads have tried.
            let entered: Vec<_> = entered.collect();
            entered.iter().filter(|e| e.is_ok()).count()
        });
        assert_eq!(passes, 1);
    }

    /// A simple model of the breaker: the events since its state last changed.
    #[derive(Debug)]
    enum Model {
        Closed { calls: Vec<usize>, row: u32 },
        Open { until: u64 },
        HalfOpen { probe: Option<usize> },
    }

    impl Model {
        fn closed() -> Model {
            let calls = Vec::new();
            Model::Closed { calls, row: 0 }
        }

        fn is_closed(&self) -> bool {
            matches!(self, Model::Closed { .. })
        }

        fn enter(&mut self, call: usize, now: u64) -> Result<(), u64> {
            if let Model::Open { until } = self
                && now >= *until
            {
                *self = Model::HalfOpen { probe: None };
            }
            match self {
                Model::Closed { calls, .. } => calls.push(call),
                Model::Open { until } => return Err(*until - now),
                Model::HalfOpen { probe: Some(_) } => return Err(PAUSE.as_secs()),
                Model::HalfOpen { probe } => *probe = Some(call),
            }
            Ok(())
        }

        fn settle(&mut self, call: usize, outcome: Outcome, now: u64, limit: u32) {
            match self {
                Model::Closed { calls, row } if calls.contains(&call) => match outcome {
                    Outcome::Success => *row = 0,
                    Outcome::Failure => *row += 1,
                    Outcome::None => {}
                },
                Model::HalfOpen { probe } if *probe == Some(call) => match outcome {
                    Outcome::Success => *self = Model::closed(),
                    Outcome::Failure => *self = Model::Open { until: now + 10 },
                    Outcome::None => *probe = None,
                },
                _ => {}
            }
            if matches!(self, Model::Closed { row, .. } if *row == limit) {
                *self = Model::Open { until: now + 10 };
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Event {
        Enter,
        Settle(prop::sample::Index, Outcome),
        Wait(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        let outcome = prop_oneof![
            2 => Just(Outcome::Success),
            4 => Just(Outcome::Failure),
            1 => Just(Outcome::None),
        ];
        prop_oneof![
            3 => Just(Event::Enter),
            3 => (any::<prop::sample::Index>(), outcome).prop_map(|(i, o)| Event::Settle(i, o)),
            2 => (0u64..12).prop_map(Event::Wait),
        ]
    }

    async fn replay_events(events: Vec<Event>, limit: u32) -> Result<(), TestCaseError> {
        let breaker = breaker(limit);
        let (mut model, mut now) = (Model::closed(), 0);
        let (mut running, mut calls) = (Vec::new(), 0);
        for event in events {
            match event {
                Event::Wait(seconds) => {
                    now += seconds;
                    advance(Duration::from_secs(seconds)).await;
                }
                Event::Enter => {
                    calls += 1;
                    let outcome = breaker.enter().map(|pass| running.push((calls, pass)));
                    let outcome = outcome.map_err(|open| open.after.as_secs());
                    prop_assert_eq!(outcome, model.enter(calls, now));
                }
                Event::Settle(..) if running.is_empty() => {}
                Event::Settle(index, outcome) => {
                    let (call, pass) = running.remove(index.index(running.len()));
                    let was_closed = model.is_closed();
                    let change = match outcome {
                        Outcome::Success => pass.succeeded(),
                        Outcome::Failure => pass.failed(),
                        Outcome::None => {
                            drop(pass);
                            None
                        }
                    };
                    model.settle(call, outcome, now, limit);
                    let expected = match (was_closed, model.is_closed()) {
                        (true, false) => Some(BreakerChange::Opened),
                        (false, true) => Some(BreakerChange::Closed),
                        _ => None,
                    };
                    prop_assert_eq!(change, expected);
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn breaker_agrees_with_the_model(
            limit in 1u32..4,
            events in prop::collection::vec(event(), 1..100),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            runtime.block_on(replay_events(events, limit))?;
        }
    }
}
