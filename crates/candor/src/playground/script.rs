//! Scripts of the tool `flaky`: each call with the same script and seed does the next step.

use super::all_dialects::{AllDialects, replay};
use candor_fault::{Effect, Fault, ReplayAnswers, Retry};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of scripts whose progress is stored; the oldest is dropped first.
const MAX_SCRIPTS: usize = 256;

/// The longest delay of a step.
const MAX_DELAY_MS: u64 = 60_000;

/// The number of calls of each script.
#[derive(Debug, Default)]
pub(super) struct Scripts(Mutex<VecDeque<(String, u64, u64)>>);

impl Scripts {
    /// Counts a call of a script. Returns its number, from 0 on.
    pub(super) fn advance(&self, script: &[String], seed: u64) -> u64 {
        let key = script.join("\n");
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, calls)) = known
            .iter_mut()
            .find(|(text, own, _)| *text == key && *own == seed)
        {
            *calls += 1;
            return *calls;
        }
        if known.len() == MAX_SCRIPTS {
            known.pop_front();
        }
        known.push_back((key, seed, 0));
        0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptStep {
    Ok,
    /// Fails with a code: dialect and code.
    Fail(String, String),
    /// Succeeds after a while.
    Delay(Duration),
    Panic,
    /// Does the step with this probability in percent, and else succeeds.
    Maybe(u8, Box<ScriptStep>),
}

impl ScriptStep {
    /// Parses `ok`, `fail DIALECT/CODE`, `delay MS`, `panic`, or `maybe PERCENT STEP`.
    pub(super) fn parse(text: &str) -> Option<ScriptStep> {
        let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match word {
            "ok" if rest.is_empty() => Some(ScriptStep::Ok),
            "panic" if rest.is_empty() => Some(ScriptStep::Panic),
            "fail" => {
                let (section, code) = rest.split_once('/')?;
                failure(section, code).map(|_| ScriptStep::Fail(section.into(), code.into()))
            }
            "delay" => {
                let millis = rest.parse().ok().filter(|millis| *millis <= MAX_DELAY_MS)?;
                Some(ScriptStep::Delay(Duration::from_millis(millis)))
            }
            "maybe" => {
                let (percent, step) = rest.split_once(' ')?;
                let percent = percent.parse().ok().filter(|percent| *percent <= 100)?;
                // A chance within a chance would only be a smaller chance.
                let step = ScriptStep::parse(step)
                    .filter(|step| !matches!(step, ScriptStep::Maybe(..)))?;
                Some(ScriptStep::Maybe(percent, Box::new(step)))
            }
            _ => None,
        }
    }

    /// Returns the step that call number `call` does.
    pub(super) fn decide(self, seed: u64, call: u64) -> ScriptStep {
        match self {
            ScriptStep::Maybe(percent, step) => {
                let mut random =
                    fastrand::Rng::with_seed(seed ^ call.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                if random.u8(0..100) < percent {
                    *step
                } else {
                    ScriptStep::Ok
                }
            }
            step => step,
        }
    }
}

/// Makes the fault of a step: without effect, and retryable if the row leaves that open.
pub(super) fn failure(section: &str, code: &str) -> Option<Fault<AllDialects>> {
    let answers = ReplayAnswers {
        retry: Retry::SameCall,
        effect: Effect::None,
        wait: None,
        reason: None,
    };
    replay(section, code, &answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_steps_are_parsed_and_others_are_not() {
        assert_eq!(ScriptStep::parse("ok"), Some(ScriptStep::Ok));
        assert_eq!(
            ScriptStep::parse(" fail orders/3001"),
            Some(ScriptStep::Fail("orders".into(), "3001".into()))
        );
        assert_eq!(
            ScriptStep::parse("delay 5"),
            Some(ScriptStep::Delay(Duration::from_millis(5)))
        );
        assert_eq!(
            ScriptStep::parse("maybe 30 panic"),
            Some(ScriptStep::Maybe(30, Box::new(ScriptStep::Panic)))
        );
        for wrong in [
            "",
            "fail",
            "fail x/1",
            "delay -1",
            "delay 60001",
            "maybe 101 ok",
            "maybe 5 maybe 5 ok",
            "ok ok",
        ] {
            assert_eq!(ScriptStep::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_same_seed_decides_the_same_way() {
        let draw = |seed| -> Vec<ScriptStep> {
            let step = ScriptStep::Maybe(50, Box::new(ScriptStep::Panic));
            (0..64)
                .map(|call| step.clone().decide(seed, call))
                .collect()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).contains(&ScriptStep::Ok) && draw(7).contains(&ScriptStep::Panic));
    }

    #[test]
    fn scripts_count_separately_and_the_oldest_is_dropped() {
        let scripts = Scripts::default();
        let script = vec!["ok".to_owned()];
        assert_eq!(scripts.advance(&script, 1), 0);
        assert_eq!(scripts.advance(&script, 1), 1);
        assert_eq!(scripts.advance(&script, 2), 0);
        for seed in 10..10 + MAX_SCRIPTS as u64 {
            scripts.advance(&script, seed);
        }
        assert_eq!(scripts.advance(&script, 1), 0);
    }
}
