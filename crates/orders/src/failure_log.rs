//! Log lines about failures of the order system that its owner has to look at. Equal lines are
//! written at most once in ten seconds.

use crate::failure::{Failure, FinalFailure, RefusalReason};
use crate::faults;
use crate::guarded_adapter::BreakerEvent;
use crate::{Corrections, OrderOperation};
use candor_fault::Cause;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The time in which an equal line is counted and not written.
pub const EQUAL_LINES_EVERY: Duration = Duration::from_secs(10);

/// The most lines that are remembered. A line beyond them is written whenever it occurs.
pub const MAX_REMEMBERED_LINES: usize = 256;

/// The most bytes of a cause that are written.
const MAX_CAUSE: usize = 2048;

/// The parts of a line that make it equal to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LogLine {
    tool: &'static str,
    event: Event,
    code: Option<i32>,
    original_error: Option<String>,
    client: String,
    cause: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    InvalidAnswer,
    Refused,
    CredentialRefused,
    OutcomeUnknown,
    Unavailable,
    Late,
    Omitted,
    Breaker(BreakerEvent),
}

/// The last time that a line was written, and how often it has occurred since.
#[derive(Debug)]
struct Repetition {
    written: Instant,
    unwritten: u64,
}

/// Writes the lines.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    recent: Mutex<BTreeMap<LogLine, Repetition>>,
}

impl FailureLog {
    /// Logs a failure if the owner of the server has to know about it. `hide` redacts the cause.
    pub(crate) fn failed(
        &self,
        operation: OrderOperation,
        client: &str,
        failure: &Failure,
        hide: impl Fn(&str) -> Option<String>,
    ) {
        let Some(event) = event(failure) else { return };
        let cause = failure.cause().map(|cause| match cause.normalised() {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
        let mut cause = cause.unwrap_or_default();
        if let Some(hidden) = hide(&cause) {
            cause = hidden;
        }
        cause.truncate(cause.floor_char_boundary(MAX_CAUSE));
        self.write(LogLine {
            tool: operation.name(),
            event,
            code: Some(failure.code()),
            original_error: faults::original_error(failure),
            client: client.to_owned(),
            cause,
        });
    }

    /// Logs the entities that were left out of a page, with what is wrong with the first of them.
    pub(crate) fn omitted(&self, operation: OrderOperation, client: &str, page: &Corrections) {
        let Some(first) = page.omitted.first() else {
            return;
        };
        let cause = match page.omitted.len() - 1 {
            0 => first.detail.clone(),
            more => format!("{}; and {more} more", first.detail),
        };
        self.write(LogLine {
            tool: operation.name(),
            event: Event::Omitted,
            code: None,
            original_error: None,
            client: client.to_owned(),
            cause,
        });
    }

    /// Logs a breaker that a call has opened or closed. No two of these lines are equal, because a
    /// suppressed one would leave the wrong state at the end of the log.
    pub(crate) fn breaker(&self, operation: OrderOperation, client: &str, event: BreakerEvent) {
        self.write(LogLine {
            tool: operation.name(),
            event: Event::Breaker(event),
            code: None,
            original_error: None,
            client: client.to_owned(),
            cause: String::new(),
        });
    }

    fn write(&self, line: LogLine) {
        let Some(repeated) = self.repetitions(&line) else {
            return;
        };
        let LogLine {
            tool,
            event,
            code,
            original_error,
            client,
            cause,
        } = line;
        let repeated = Some(repeated).filter(|count| *count > 0);
        macro_rules! line {
            ($level:ident, $message:literal) => {
                tracing::$level!(
                    tool,
                    code,
                    original_error,
                    client,
                    cause,
                    repeated,
                    $message
                )
            };
        }
        match event {
            Event::InvalidAnswer => line!(warn, "the order system's answer cannot be used"),
            Event::Refused => line!(warn, "the order system refused a call without a valid code"),
            Event::CredentialRefused => line!(
                error,
                "the order system refuses this server's credentials: check its token"
            ),
            Event::OutcomeUnknown => {
                line!(
                    warn,
                    "the answer to a change was lost, and no key protects it"
                )
            }
            Event::Unavailable => line!(warn, "the order system is unavailable"),
            Event::Late => line!(warn, "the order system gave up on a call"),
            Event::Omitted => line!(warn, "entities were left out of a page"),
            Event::Breaker(event) => write_breaker(tool, &client, event),
        }
    }

    /// Returns how often the line was suppressed since it was last written. Returns `None` if it is
    /// suppressed now.
    fn repetitions(&self, line: &LogLine) -> Option<u64> {
        let now = Instant::now();
        let is_old = |written: Instant| now.duration_since(written) >= EQUAL_LINES_EVERY;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recent.get_mut(line) {
            if !is_old(known.written) {
                known.unwritten += 1;
                return None;
            }
            known.written = now;
            return Some(std::mem::take(&mut known.unwritten));
        }
        if recent.len() >= MAX_REMEMBERED_LINES {
            recent.retain(|_, known| !is_old(known.written));
        }
        if recent.len() < MAX_REMEMBERED_LINES {
            let first = Repetition {
                written: now,
                unwritten: 0,
            };
            recent.insert(line.clone(), first);
        }
        Some(0)
    }
}

fn write_breaker(tool: &'static str, client: &str, event: BreakerEvent) {
    let BreakerEvent {
        breaker, openings, ..
    } = event;
    match event.is_open {
        true => tracing::warn!(
            breaker,
            openings,
            tool,
            client,
            "a breaker has opened: the order system is not called for a while"
        ),
        false => tracing::warn!(
            breaker,
            openings,
            tool,
            client,
            "a breaker has closed: the order system answers again"
        ),
    }
}

/// Returns the event that a failure is logged as.
fn event(failure: &Failure) -> Option<Event> {
    match failure {
        Failure::Final(failure, _) => match &**failure {
            FinalFailure::Refusal(refusal) => match refusal.reason {
                RefusalReason::InvalidAdapterResponse => Some(Event::InvalidAnswer),
                RefusalReason::BackendRefused => Some(Event::Refused),
                RefusalReason::AdapterUnauthorized => Some(Event::CredentialRefused),
                RefusalReason::OutcomeUnknown => Some(Event::OutcomeUnknown),
                _ => None,
            },
            FinalFailure::Violation(_) => None,
        },
        Failure::Busy(refusal, ..) if refusal.reason == RefusalReason::BackendRefused => {
            Some(Event::Refused)
        }
        Failure::Unavailable(..) => Some(Event::Unavailable),
        // Without a cause the call's own deadline passed, which says nothing about the order system.
        Failure::TimedOut(Some(_)) => Some(Event::Late),
        _ => None,
    }
}

impl Failure {
    /// Returns the cause, for the log.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        match self {
            Failure::Final(_, cause)
            | Failure::Busy(_, _, cause)
            | Failure::Limited(_, cause)
            | Failure::TimedOut(cause)
            | Failure::Unavailable(_, cause) => cause.as_deref(),
            Failure::Internal(_, cause) => Some(cause),
            Failure::BreakerOpen(_)
            | Failure::Waited(_)
            | Failure::ScopeRequired(_)
            | Failure::Unsupported
            | Failure::UnsupportedPart(_)
            | Failure::CallStopped(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cause: &str) -> LogLine {
        LogLine {
            tool: "get-orders",
            event: Event::Unavailable,
            code: Some(4002),
            original_error: None,
            client: String::from("default"),
            cause: cause.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn equal_lines_are_written_once_in_ten_seconds() {
        let log = FailureLog::default();
        assert_eq!(log.repetitions(&line("a")), Some(0));
        assert_eq!(log.repetitions(&line("b")), Some(0));
        for _ in 0..3 {
            assert_eq!(log.repetitions(&line("a")), None);
        }
        tokio::time::advance(EQUAL_LINES_EVERY).await;
        assert_eq!(log.repetitions(&line("a")), Some(3));
        assert_eq!(log.repetitions(&line("a")), None);
        assert_eq!(log.repetitions(&line("b")), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn remembered_lines_are_bounded() {
        let log = FailureLog::default();
        for number in 0..2 * MAX_REMEMBERED_LINES {
            assert_eq!(log.repetitions(&line(&number.to_string())), Some(0));
        }
        assert_eq!(log.recent.lock().unwrap().len(), MAX_REMEMBERED_LINES);
        tokio::time::advance(EQUAL_LINES_EVERY).await;
        assert_eq!(log.repetitions(&line("new")), Some(0));
        assert_eq!(log.repetitions(&line("new")), None);
        assert_eq!(log.recent.lock().unwrap().len(), 1);
    }
}
