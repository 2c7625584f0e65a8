//! The six codes of the context dialect, frozen by its specification.

use super::Context;

candor_fault::registry! {
    Context, "context";
    CacheMissing {
        code: "cache_missing",
        meaning: "The cache path does not exist, is not a directory, or lies outside the root.",
        message: "Cache does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Check the cache path, or build the cache with `context build`.",
        exit: 4, frozen: true
    }
    CacheInvalid {
        code: "cache_invalid",
        meaning: "The cache exists but violates the invariants of its format.",
        message: "Cache exists but is invalid",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Run `context verify` to see what is wrong, then build the cache again.",
        exit: 5, frozen: true
    }
    InvalidQuery {
        code: "invalid_query",
        meaning: "The query cannot be processed as given.",
        message: "Query is invalid",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send the query as a string of at most 65,536 bytes without NUL, and no unknown argument.",
        exit: 2, frozen: true
    }
    InvalidBudget {
        code: "invalid_budget",
        meaning: "The budget is missing, negative, fractional, no number, or above the hard maximum.",
        message: "Budget is invalid",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send the budget as an integer from 0 to 9007199254740991.",
        exit: 3, frozen: true
    }
    IoError {
        code: "io_error",
        meaning: "The file system or the operating system failed; the cache may be fine.",
        message: "I/O error occurred",
        class: Server, retry: SameCall, effect: None,
        remedy: "Check permissions, disk and open files on the machine of the cache, then call again.",
        exit: 6, frozen: true
    }
    InternalError {
        code: "internal_error",
        meaning: "The implementation broke its own rules: a bug.",
        message: "Internal error",
        class: Server, retry: Never, effect: None,
        remedy: "Report it with the command and the log line.",
        exit: 7, frozen: true
    }
}
