//! The one type of failure, and the only way to make one: raising a registered code.

use crate::{
    Cause, Class, ClientText, Code, CodeRow, Dialect, Effect, FiveAnswers, Retry, Violations,
};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// The row has this answer.
#[derive(Debug, Clone, Copy)]
pub struct Fixed;

/// Each failure has to give this answer.
#[derive(Debug, Clone, Copy)]
pub struct PerFault;

/// A code of dialect `D` that can be raised; `R` and `E` say whether retry and effect are open.
#[derive(Debug)]
pub struct Raise<D, R, E> {
    row: &'static CodeRow,
    kind: PhantomData<Kind<D, R, E>>,
}

/// Makes a raisable code sendable and copyable whatever its parameters are.
type Kind<D, R, E> = fn() -> (D, R, E);

impl<D, R, E> Clone for Raise<D, R, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D, R, E> Copy for Raise<D, R, E> {}

impl<D, R, E> Raise<D, R, E> {
    #[doc(hidden)]
    pub const fn of_row(row: &'static CodeRow) -> Self {
        Raise {
            row,
            kind: PhantomData,
        }
    }

    /// The row that will be raised.
    pub const fn row(self) -> &'static CodeRow {
        self.row
    }

    /// The same code raised in a dialect that has these rows among its own.
    pub(crate) const fn within<T>(self) -> Raise<T, R, E> {
        Raise::of_row(self.row)
    }
}

impl<D: Dialect> Raise<D, Fixed, Fixed> {
    /// The failure; the row has all answers.
    pub fn fault(self) -> Fault<D> {
        Fault::new(self.row, Retry::Never, Effect::Unknown)
    }
}

impl<D: Dialect> Raise<D, Fixed, PerFault> {
    /// The failure, with whether anything happened.
    pub fn fault(self, effect: Effect) -> Fault<D> {
        Fault::new(self.row, Retry::Never, effect)
    }
}

impl<D: Dialect> Raise<D, PerFault, Fixed> {
    /// The failure, with what a retry would bring.
    pub fn fault(self, retry: Retry) -> Fault<D> {
        Fault::new(self.row, retry, Effect::Unknown)
    }
}

impl<D: Dialect> Raise<D, PerFault, PerFault> {
    /// The failure, with what a retry would bring and whether anything happened.
    pub fn fault(self, retry: Retry, effect: Effect) -> Fault<D> {
        Fault::new(self.row, retry, effect)
    }
}

/// A failure of dialect `D`, complete by construction and one word wide.
pub struct Fault<D: Dialect>(Box<Inner<D>>);

struct Inner<D: Dialect> {
    row: &'static CodeRow,
    retry: Retry,
    effect: Effect,
    after: Option<Duration>,
    message: Option<ClientText>,
    remedy: Option<ClientText>,
    violations: Violations,
    cause: Option<Cause>,
    facts: D::Facts,
}

impl<D: Dialect> Fault<D> {
    fn new(row: &'static CodeRow, retry: Retry, effect: Effect) -> Self {
        Fault(Box::new(Inner {
            row,
            retry: row.retry.or(retry),
            effect: row.effect.or(effect),
            after: None,
            message: None,
            remedy: None,
            violations: Violations::default(),
            cause: None,
            facts: D::Facts::default(),
        }))
    }

    /// The failure of a code chosen at run time; an answer that the row fixes stays as it is.
    ///
    /// For servers that fail to order. A server that knows what went wrong raises the constant.
    pub fn replay(code: D::Code, retry: Retry, effect: Effect) -> Self {
        Fault::new(code.row(), retry, effect)
    }

    /// With a message better than the row's.
    pub fn with_message(mut self, message: impl Into<ClientText>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// With a remedy better than the row's.
    pub fn with_remedy(mut self, remedy: impl Into<ClientText>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// With what only this dialect's answers carry.
    pub fn with_facts(mut self, tell: impl FnOnce(&mut D::Facts)) -> Self {
        tell(&mut self.0.facts);
        self
    }

    /// With everything that is wrong about the arguments.
    pub fn with_violations(mut self, violations: Violations) -> Self {
        self.0.violations = violations;
        self
    }

    /// With the cause, for the log and for the dialects that show one.
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// With the wait before a retry. Where the same call may be sent again, this narrows the answer
    /// to "after a delay"; a failure that forbids the same call keeps its answer, and no wait.
    pub fn after(mut self, wait: Duration) -> Self {
        if matches!(self.0.retry, Retry::SameCall | Retry::AfterDelay) {
            self.0.retry = Retry::AfterDelay;
            self.0.after = Some(wait);
        }
        self
    }

    /// With every text that did not come from the registry passed through `redact`, which gives back
    /// nothing where there is nothing to hide: the message, the remedy and the cause.
    pub fn redacted(mut self, redact: &dyn Fn(&str) -> Option<String>) -> Self {
        for own in [&mut self.0.message, &mut self.0.remedy]
            .into_iter()
            .flatten()
        {
            own.redact(redact);
        }
        if let Some(cause) = &mut self.0.cause {
            cause.redact(redact);
        }
        self
    }

    /// The row of the code.
    pub fn row(&self) -> &'static CodeRow {
        self.0.row
    }

    /// Whether this failure has the given code.
    pub fn is<R, E>(&self, code: Raise<D, R, E>) -> bool {
        self.0.row.has_key_of(code.row)
    }

    /// The code as the enum of the dialect's own registry, if it stands there.
    pub fn code(&self) -> Option<D::Code> {
        let rows = D::Code::rows();
        let place = rows.iter().position(|row| row.has_key_of(self.0.row))?;
        D::Code::all().get(place).copied()
    }

    /// Who has to act.
    pub fn class(&self) -> Class {
        self.0.row.class
    }

    /// What a retry would bring.
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The wait before a retry.
    pub fn wait(&self) -> Option<Duration> {
        self.0.after
    }

    /// Whether anything happened.
    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    /// What to do, one sentence.
    pub fn remedy(&self) -> &str {
        match &self.0.remedy {
            Some(remedy) => remedy.as_str(),
            None => self.0.row.remedy,
        }
    }

    /// The message: this failure's own, else the row's.
    pub fn message(&self) -> &str {
        match &self.0.message {
            Some(message) => message.as_str(),
            None => self.0.row.message,
        }
    }

    /// Everything that is wrong about the arguments.
    pub fn violations(&self) -> &Violations {
        &self.0.violations
    }

    /// The cause.
    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    /// What only this dialect's answers carry.
    pub fn facts(&self) -> &D::Facts {
        &self.0.facts
    }

    /// The five answers in their form on the wire.
    pub fn five(&self) -> FiveAnswers<'_> {
        FiveAnswers {
            class: self.class(),
            retry: self.retry(),
            retry_after_ms: self.0.after.map(millis_up),
            effect: self.effect(),
            remedy: self.remedy(),
        }
    }
}

/// Whole milliseconds, rounded up: a client that waits this long has waited long enough.
fn millis_up(wait: Duration) -> u64 {
    let whole = wait.as_nanos().div_ceil(1_000_000);
    u64::try_from(whole).unwrap_or(u64::MAX)
}

impl<D: Dialect> Clone for Fault<D> {
    fn clone(&self) -> Self {
        Fault(Box::new(Inner {
            row: self.0.row,
            retry: self.0.retry,
            effect: self.0.effect,
            after: self.0.after,
            message: self.0.message.clone(),
            remedy: self.0.remedy.clone(),
            violations: self.0.violations.clone(),
            cause: self.0.cause.clone(),
            facts: self.0.facts.clone(),
        }))
    }
}

impl<D: Dialect> fmt::Debug for Fault<D> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Fault")
            .field("dialect", &self.0.row.dialect)
            .field("code", &self.0.row.code)
            .field("message", &self.message())
            .field("five", &self.five())
            .field("violations", &self.0.violations)
            .field("cause", &self.0.cause)
            .field("facts", &self.0.facts)
            .finish()
    }
}
