//! The core codes of the neutral dialect `candor/1`, which every server of it has beside its own.

use crate::dialects::Candor;

crate::registry! {
    Candor<Code>, "candor";
    InvalidArguments {
        code: "invalid_arguments",
        meaning: "The arguments do not fit the tool's schema.",
        message: "The arguments do not fit the tool's schema",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct every violation; tools/list has the schema.",
        frozen: true
    }
    Limited {
        code: "limited",
        meaning: "Too many calls.",
        message: "Too many calls",
        class: Limit, retry: AfterDelay, effect: None,
        remedy: "Wait retry_after_ms, then send the same call.",
        frozen: true
    }
    Deadline {
        code: "deadline",
        meaning: "The time for the call is over.",
        message: "The call took too long",
        class: Limit, retry: ask, effect: ask,
        remedy: "If the effect is unknown, look at the state before anything is sent again.",
        frozen: true
    }
    Cancelled {
        code: "cancelled",
        meaning: "The call was cancelled.",
        message: "The call was cancelled",
        class: Caller, retry: ask, effect: ask,
        remedy: "Send the call again if it is still wanted and the effect is none.",
        frozen: true
    }
    Unrecorded {
        code: "unrecorded",
        meaning: "The call could not be put on record.",
        message: "The call could not be recorded",
        class: Server, retry: AfterChange, effect: ask,
        remedy: "Ask the owner of the server to look at its record; the effect says whether the change stands.",
        frozen: true
    }
    Internal {
        code: "internal",
        meaning: "A bug in the server.",
        message: "Internal error",
        class: Server, retry: Never, effect: ask,
        remedy: "Report it to the author of the server with the time of the call.",
        frozen: true
    }
}
