//! The sentences that explain the closed sets of answers.

use candor_fault::{Class, Effect, Retry};

/// Returns who has to act.
pub(super) const fn class(class: Class) -> &'static str {
    match class {
        Class::Caller => "the caller, with other arguments or calls in another order",
        Class::Policy => "the person who set the rule that forbids the call",
        Class::Limit => "nobody: the call reached a limit on rate, time or size",
        Class::Upstream => "the operator of the system behind this server",
        Class::Server => "the operator of this server, or its authors",
    }
}

/// Returns what happens after a retry.
pub(super) const fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "the call fails again, whatever the caller does",
        Retry::AfterChange => "the same call fails again until something changes",
        Retry::SameCall => "the same call may be sent again",
        Retry::AfterDelay => "the same call may be sent again after a wait",
    }
}

/// Returns whether anything happened.
pub(super) const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "nothing was changed",
        Effect::Done => "the change was made, although the call failed",
        Effect::Unknown => "it is unknown whether the change was made",
    }
}
