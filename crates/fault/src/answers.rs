//! The closed sets behind the five answers of every failure, and their one form on the wire.

use serde::{Deserialize, Serialize};

/// Who has to act for the call to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The caller's arguments or order of calls.
    Caller,
    /// A rule that somebody set on purpose.
    Policy,
    /// A limit on rate, time or size.
    Limit,
    /// A system behind this server.
    Upstream,
    /// This server itself.
    Server,
}

/// What a retry would bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// It fails again, whatever the caller does.
    Never,
    /// Something has to change first: the arguments, or the world.
    AfterChange,
    /// The same call may be sent again at once.
    SameCall,
    /// The same call may be sent again after a wait.
    AfterDelay,
}

/// Whether anything happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing was changed.
    None,
    /// The change was made, although the call failed.
    Done,
    /// It cannot be known whether the change was made.
    Unknown,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// The word on the wire.
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
    /// After a call was cut short: it can be sent again only if nothing can have happened.
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
    /// Who has to act.
    pub class: Class,
    /// What a retry would bring.
    pub retry: Retry,
    /// How long to wait first, where that is known.
    pub retry_after_ms: Option<u64>,
    /// Whether anything happened.
    pub effect: Effect,
    /// What to do, one sentence.
    pub remedy: &'a str,
}
