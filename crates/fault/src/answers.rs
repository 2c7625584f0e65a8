//! The closed sets of the five answers of every failure, and their form on the wire.

use serde::{Deserialize, Serialize};

/// The party that has to act before the call can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The caller: other arguments, or another order of calls.
    Caller,
    /// The owner of a rule that forbids the call.
    Policy,
    /// Neither side is at fault: the call reached a limit on rate, time or size.
    Limit,
    /// The operator of a system behind this server.
    Upstream,
    /// The operator or the authors of this server.
    Server,
}

/// The result of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// It fails again, no matter what the caller changes.
    Never,
    /// Something has to change first: the arguments, or the world.
    AfterChange,
    /// The same call may be sent again at once.
    SameCall,
    /// The same call may be sent again after a wait.
    AfterDelay,
}

/// The effect of the failed call on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing was changed.
    None,
    /// The change was made, although the call failed.
    Done,
    /// The change may or may not have been made.
    Unknown,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// Returns the word on the wire.
            pub const fn word(self) -> &'static str {
                match self { $($type::$variant => $word),* }
            }
        }
    };
}
words!(Class { Caller = "caller", Policy = "policy", Limit = "limit", Upstream = "upstream", Server = "server" });
words!(Retry { Never = "never", AfterChange = "after_change", SameCall = "same_call", AfterDelay = "after_delay" });
words!(Effect { None = "none", Done = "done", Unknown = "unknown" });

impl Retry {
    /// Returns the answer after a call was cut short: it can be sent again only if it had no effect.
    pub const fn after_cut(effect: Effect) -> Retry {
        match effect {
            Effect::None => Retry::SameCall,
            Effect::Done | Effect::Unknown => Retry::AfterChange,
        }
    }
}

/// The object `fault` of the wire: the five answers but the code, in their fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FiveAnswers<'a> {
    pub class: Class,
    pub retry: Retry,
    /// The wait before a retry, if it is known.
    pub retry_after_ms: Option<u64>,
    pub effect: Effect,
    pub remedy: &'a str,
}
