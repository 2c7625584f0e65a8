//! Failures, and the only way to make one: raising a registered code.

use crate::rendered_parts::FaultKey;
use crate::{
    Cause, Class, ClientText, Code, CodeRow, Dialect, Effect, FiveAnswers, IncludesCodesOf, Retry,
    Violations,
};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// The row fixes this answer.
#[derive(Debug, Clone, Copy)]
pub struct Fixed;

/// Each failure gives this answer.
#[derive(Debug, Clone, Copy)]
pub struct PerFault;

/// A code of dialect `D` that can be raised. `R` and `E` are [`Fixed`] or [`PerFault`]: whether the
/// failure has to give retry and effect.
#[derive(Debug)]
pub struct Raise<D, R, E> {
    row: &'static CodeRow,
    kind: PhantomData<Kind<D, R, E>>,
}

/// A function type, so that `Raise` is `Send` and `Copy` for all parameters.
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

    pub const fn row(self) -> &'static CodeRow {
        self.row
    }

    /// Returns the same code for a dialect that declares that it includes the codes of `D`.
    pub const fn in_dialect<T: IncludesCodesOf<D>>(self) -> Raise<T, R, E> {
        Raise::of_row(self.row)
    }
}

impl<D: Dialect> Raise<D, Fixed, Fixed> {
    /// Makes the failure; the row fixes all answers.
    pub fn fault(self) -> Fault<D> {
        Fault::new(self.row, Retry::Never, Effect::Unknown)
    }
}

impl<D: Dialect> Raise<D, Fixed, PerFault> {
    /// Makes the failure with its effect.
    pub fn fault(self, effect: Effect) -> Fault<D> {
        Fault::new(self.row, Retry::Never, effect)
    }
}

impl<D: Dialect> Raise<D, PerFault, Fixed> {
    /// Makes the failure with its retry answer.
    pub fn fault(self, retry: Retry) -> Fault<D> {
        Fault::new(self.row, retry, Effect::Unknown)
    }
}

impl<D: Dialect> Raise<D, PerFault, PerFault> {
    /// Makes the failure with its retry answer and its effect.
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

    /// Makes the failure of a code that is chosen at run time. Answers that the row fixes win.
    ///
    /// For servers that fail on demand; others raise a constant.
    pub fn replay(code: D::Code, retry: Retry, effect: Effect) -> Self {
        Fault::new(code.row(), retry, effect)
    }

    /// Replaces the message of the row.
    pub fn with_message(mut self, message: impl Into<ClientText>) -> Self {
        self.0.message = Some(message.into());
        self
    }

    /// Replaces the remedy of the row.
    pub fn with_remedy(mut self, remedy: impl Into<ClientText>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Appends a sentence to the remedy.
    pub fn with_further_remedy(mut self, sentence: &'static str) -> Self {
        let remedy = self.0.remedy.take();
        let remedy = remedy.unwrap_or_else(|| self.0.row.remedy.into());
        self.0.remedy = Some(remedy.then(sentence));
        self
    }

    /// Sets members that only this dialect's answers contain.
    pub fn with_facts(mut self, set: impl FnOnce(&mut D::Facts)) -> Self {
        set(&mut self.0.facts);
        self
    }

    /// Sets the violations of the arguments.
    pub fn with_violations(mut self, violations: Violations) -> Self {
        self.0.violations = violations;
        self
    }

    /// Sets the cause, for the log and for dialects that show it.
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Sets the wait before a retry. If the same call may be sent again, the answer becomes
    /// [`Retry::AfterDelay`]; a failure that forbids the same call keeps its answer and has no wait.
    pub fn after(mut self, wait: Duration) -> Self {
        if matches!(self.0.retry, Retry::SameCall | Retry::AfterDelay) {
            self.0.retry = Retry::AfterDelay;
            self.0.after = Some(wait);
        }
        self
    }

    /// Passes every text that is not from the registry through `redact`: the message, the remedy and
    /// the cause. `redact` returns `None` if there is nothing to hide.
    pub fn redacted(mut self, redact: &dyn Fn(&str) -> Option<String>) -> Self {
        for text in [&mut self.0.message, &mut self.0.remedy]
            .into_iter()
            .flatten()
        {
            text.redact(redact);
        }
        if let Some(cause) = &mut self.0.cause {
            cause.redact(redact);
        }
        self
    }

    pub fn row(&self) -> &'static CodeRow {
        self.0.row
    }

    /// Returns true if this failure has the given code.
    pub fn is<R, E>(&self, code: Raise<D, R, E>) -> bool {
        self.0.row.has_key_of(code.row)
    }

    /// Returns the code as the enum of the dialect's registry. `None` for an included code of another
    /// dialect.
    pub fn code(&self) -> Option<D::Code> {
        let rows = D::Code::rows();
        let index = rows.iter().position(|row| row.has_key_of(self.0.row))?;
        D::Code::all().get(index).copied()
    }

    pub fn class(&self) -> Class {
        self.0.row.class
    }

    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    pub fn wait(&self) -> Option<Duration> {
        self.0.after
    }

    pub fn effect(&self) -> Effect {
        self.0.effect
    }

    pub fn remedy(&self) -> &str {
        match &self.0.remedy {
            Some(remedy) => remedy.as_str(),
            None => self.0.row.remedy,
        }
    }

    /// Returns the failure's own message, else the one of the row.
    pub fn message(&self) -> &str {
        match &self.0.message {
            Some(message) => message.as_str(),
            None => self.0.row.message,
        }
    }

    /// Returns the key of this failure's texts. `None` if it has texts or a wait of its own.
    pub(crate) fn key(&self) -> Option<FaultKey> {
        let Inner {
            row, retry, effect, ..
        } = *self.0;
        let is_plain =
            self.0.message.is_none() && self.0.remedy.is_none() && self.0.after.is_none();
        is_plain.then(|| FaultKey::new(row, retry, effect))
    }

    pub fn violations(&self) -> &Violations {
        &self.0.violations
    }

    pub fn cause(&self) -> Option<&Cause> {
        self.0.cause.as_ref()
    }

    pub fn facts(&self) -> &D::Facts {
        &self.0.facts
    }

    /// Returns the five answers in their form on the wire.
    pub fn five_answers(&self) -> FiveAnswers<'_> {
        FiveAnswers {
            class: self.class(),
            retry: self.retry(),
            retry_after_ms: self.0.after.map(millis_up),
            effect: self.effect(),
            remedy: self.remedy(),
        }
    }
}

/// Returns whole milliseconds, rounded up, so that a client never waits too short.
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
            .field("five", &self.five_answers())
            .field("violations", &self.0.violations)
            .field("cause", &self.0.cause)
            .field("facts", &self.0.facts)
            .finish()
    }
}
