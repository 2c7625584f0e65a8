//! The codes of the reading tools.

use super::ContextV1;

candor_fault::registry! {
    ContextV1, "context-v1";
    InvalidArguments {
        code: "invalid_arguments",
        meaning: "The arguments do not fit the tool's schema, or ask for a part that the document does not have; the command line exits with 2 if the query is wrong and with 3 if the budget is.",
        message: "The arguments are not right",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct every violation; tools/list has the schema.",
        exit: 1, frozen: true
    }
    CacheMissing {
        code: "cache_missing",
        meaning: "No served cache has this name, or the path of a cache does not exist.",
        message: "Cache does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Use a name that context_list returns, or build the cache with `context build`.",
        exit: 4, frozen: true
    }
    CacheInvalid {
        code: "cache_invalid",
        meaning: "The cache exists but violates the invariants of its format.",
        message: "Cache exists but is invalid",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Name the other caches in the call; `context verify` shows what is wrong with this one, and a new build repairs it.",
        exit: 5, frozen: true
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
    DocumentMissing {
        code: "document_missing",
        meaning: "The cache has no document with this id, or none below this folder.",
        message: "Document does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Use an id that context_search or context_list returns.",
        exit: 8, frozen: true
    }
    VersionChanged {
        code: "version_changed",
        meaning: "The document has another version than the call expects, so lines and ranges of the earlier text do not apply.",
        message: "The document has changed",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Search or read the document again, without the old version.",
        exit: 8, frozen: true
    }
    AnswerTooLarge {
        code: "answer_too_large",
        meaning: "The answer would have more than 64 MiB.",
        message: "The answer would be larger than 64 MiB",
        class: Limit, retry: AfterChange, effect: None,
        remedy: "Give a smaller budget, and read the rest by `next`.",
        exit: 3, frozen: true
    }
}
