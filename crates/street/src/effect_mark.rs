//! The mark that records whether a call has changed anything: set by the tool, read by the boundary.

use candor_fault::{Cause, Dialect, Effect, Fault, Refusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const BEGUN: u8 = 1;
const DONE: u8 = 2;
const CLOSED: u8 = 3;
const READ_ONLY: u8 = 4;
const DOUBTED: u8 = 5;

/// The progress of the effect of one call.
#[derive(Debug, Clone)]
pub struct EffectMark(Arc<AtomicU8>);

/// The call may not begin its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStopped {
    /// The call was cancelled, or its time is over.
    TooLate,
    /// The tool was declared read-only.
    ReadOnly,
}

impl EffectMark {
    pub(crate) fn new(writes: bool) -> Self {
        EffectMark(Arc::new(AtomicU8::new(if writes {
            IDLE
        } else {
            READ_ONLY
        })))
    }

    /// Returns the mark of work that may change nothing.
    pub fn read_only() -> Self {
        EffectMark::new(false)
    }

    /// Returns the mark of work that no call can stop, such as a command of the owner.
    pub fn unstoppable() -> Self {
        EffectMark::new(true)
    }

    /// Marks the beginning of the effect. Call it before the first step that cannot be undone. It fails
    /// if the call was stopped; the client was then told that nothing happened, so the tool must not go on.
    pub fn begins(&self) -> Result<(), CallStopped> {
        let seen = self
            .0
            .compare_exchange(IDLE, BEGUN, Ordering::AcqRel, Ordering::Acquire);
        match seen {
            Ok(_) | Err(BEGUN | DONE | DOUBTED) => Ok(()),
            Err(READ_ONLY) => Err(CallStopped::ReadOnly),
            Err(_) => Err(CallStopped::TooLate),
        }
    }

    /// Marks the end of the effect. Call it after the last step.
    pub fn done(&self) {
        // Only an effect that has begun can be done; a stopped or read-only mark does not change.
        self.change_state(&[BEGUN, DOUBTED], DONE);
    }

    /// Resets the mark. Call it after every step of the change was undone.
    pub fn undone(&self) {
        self.change_state(&[BEGUN], IDLE);
    }

    /// Marks the effect as unknown. Call it if the outcome of a step is lost. A later attempt that undoes its
    /// own steps does not reset this; one that completes does.
    pub fn doubt(&self) {
        self.change_state(&[BEGUN, DONE], DOUBTED);
    }

    /// Changes the state to `next` if the current state is one of `from`.
    fn change_state(&self, from: &[u8], next: u8) {
        let step = |now: u8| from.contains(&now).then_some(next);
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, step);
    }

    /// Stops the call if its effect has not begun. Returns true if it is stopped.
    pub(crate) fn close(&self) -> bool {
        let closed = self
            .0
            .compare_exchange(IDLE, CLOSED, Ordering::AcqRel, Ordering::Acquire);
        matches!(closed, Ok(_) | Err(CLOSED | READ_ONLY))
    }

    /// Returns the effect of the call, as far as it is marked.
    pub fn effect(&self) -> Effect {
        match self.0.load(Ordering::Acquire) {
            BEGUN | DOUBTED => Effect::Unknown,
            DONE => Effect::Done,
            _ => Effect::None,
        }
    }
}

impl<D: Dialect> From<CallStopped> for Fault<D> {
    fn from(stopped: CallStopped) -> Self {
        D::adopt(match stopped {
            CallStopped::TooLate => Refusal::Cancelled {
                effect: Effect::None,
            },
            CallStopped::ReadOnly => Refusal::Panicked {
                cause: Cause::from("a tool that is declared read-only began to change something"),
                effect: Effect::None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_determines_the_effect() {
        let mark = EffectMark::new(true);
        assert_eq!(mark.effect(), Effect::None);
        assert_eq!(mark.begins(), Ok(()));
        assert_eq!(mark.effect(), Effect::Unknown);
        assert!(!mark.close());
        mark.done();
        assert_eq!(mark.effect(), Effect::Done);
    }

    #[test]
    fn stopped_call_cannot_begin_an_effect() {
        let mark = EffectMark::new(true);
        assert!(mark.close());
        assert_eq!(mark.begins(), Err(CallStopped::TooLate));
        mark.done();
        assert_eq!(mark.effect(), Effect::None);
    }

    #[test]
    fn undone_effect_is_none() {
        let mark = EffectMark::new(true);
        assert_eq!(mark.begins(), Ok(()));
        mark.undone();
        assert_eq!(mark.effect(), Effect::None);
        assert!(mark.close());
    }

    #[test]
    fn effect_in_doubt_is_unknown_until_it_is_done() {
        for done in [false, true] {
            let mark = EffectMark::new(true);
            assert_eq!(mark.begins(), Ok(()));
            if done {
                mark.done();
            }
            mark.doubt();
            assert_eq!(mark.effect(), Effect::Unknown);
            assert_eq!(mark.begins(), Ok(()));
            mark.undone();
            assert_eq!(mark.effect(), Effect::Unknown);
            assert!(!mark.close());
            mark.done();
            assert_eq!(mark.effect(), Effect::Done);
        }
    }

    #[test]
    fn effect_that_never_began_is_not_in_doubt() {
        for mark in [EffectMark::new(true), EffectMark::new(false)] {
            mark.doubt();
            assert_eq!(mark.effect(), Effect::None);
            assert!(mark.close());
            mark.doubt();
            assert_eq!(mark.effect(), Effect::None);
        }
    }

    #[test]
    fn read_only_mark_never_begins() {
        let mark = EffectMark::new(false);
        assert_eq!(mark.begins(), Err(CallStopped::ReadOnly));
        assert_eq!(mark.effect(), Effect::None);
        assert!(mark.close());
    }
}
