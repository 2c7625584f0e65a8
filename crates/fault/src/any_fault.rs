//! A failure whose dialect is known only at run time.

use crate::{Answer, CallFacts, Code, CodeRow, Dialect, Effect, Fault, Retry, Timestamp};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A failure of any dialect, for programs that work with all registries.
#[derive(Debug, Clone)]
pub struct AnyFault(Arc<dyn ErasedFault>);

trait ErasedFault: Debug + Send + Sync {
    fn row(&self) -> &'static CodeRow;
    fn retry(&self) -> Retry;
    fn effect(&self) -> Effect;
    fn answer(&self, call: &CallFacts<'_>, at: Timestamp) -> Answer;
}

impl<D: Dialect> ErasedFault for Fault<D> {
    fn row(&self) -> &'static CodeRow {
        self.row()
    }

    fn retry(&self) -> Retry {
        self.retry()
    }

    fn effect(&self) -> Effect {
        self.effect()
    }

    fn answer(&self, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        D::encode_failure(self, call, at)
    }
}

impl<D: Dialect> From<Fault<D>> for AnyFault {
    fn from(fault: Fault<D>) -> Self {
        AnyFault(Arc::new(fault))
    }
}

/// The parts of a failure that is made on demand. Answers that the row fixes win over these.
#[derive(Debug, Clone, Copy)]
pub struct ReplayAnswers {
    pub retry: Retry,
    pub effect: Effect,
    /// The wait before a retry; ignored if the failure forbids the same call.
    pub wait: Option<Duration>,
    /// A registered word below the code.
    pub reason: Option<&'static str>,
}

impl AnyFault {
    /// Makes the failure of dialect `D` with this code or code name. Returns `None` if the dialect
    /// has no such code.
    pub fn replay<D: Dialect>(code: &str, answers: &ReplayAnswers) -> Option<AnyFault> {
        let mut codes = D::Code::all().iter();
        let code = codes.find(|known| {
            let row = known.row();
            row.name == code || row.code.to_string() == code
        })?;
        let mut fault = Fault::<D>::replay(*code, answers.retry, answers.effect);
        if let Some(wait) = answers.wait {
            fault = fault.after(wait);
        }
        if let Some(reason) = answers.reason {
            fault = fault.with_facts(|facts| D::set_reason(facts, reason));
        }
        Some(fault.into())
    }

    pub fn row(&self) -> &'static CodeRow {
        self.0.row()
    }

    pub fn retry(&self) -> Retry {
        self.0.retry()
    }

    pub fn effect(&self) -> Effect {
        self.0.effect()
    }

    /// Encodes the failure in its own dialect.
    pub fn answer(&self, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        self.0.answer(call, at)
    }
}
