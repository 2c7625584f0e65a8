//! The eight codes of the GitHub dialect, frozen by its specification.

use super::Github;

candor_fault::registry! {
    Github, "github";
    InvalidParams {
        number: -32602, name: "INVALID_PARAMS",
        meaning: "The arguments do not fit the tool's schema, or the tool is unknown.",
        message: "Invalid params",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct every field named in `validation_errors`; `tools/list` has the schema.",
        frozen: true
    }
    PermissionDenied {
        number: -32001, name: "PERMISSION_DENIED",
        meaning: "The token, the allow-list or the write permission forbids it.",
        message: "Permission denied",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Ask the owner of this server or of the token for the permission.",
        frozen: true
    }
    NotFound {
        number: -32002, name: "NOT_FOUND",
        meaning: "The repository, branch, path, commit or pull request does not exist, or the token cannot see it.",
        message: "Not found: it does not exist, or the token cannot see it",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Check owner, repository, ref and path.",
        frozen: true
    }
    ValidationError {
        number: -32003, name: "VALIDATION_ERROR",
        meaning: "The arguments are well formed, but the repository's state does not allow them.",
        message: "Validation error",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Read the current state, then send a call that fits it.",
        frozen: true
    }
    RateLimited {
        number: -32004, name: "RATE_LIMIT_EXCEEDED",
        meaning: "Too many calls: GitHub's limit, or this server's limit on writes.",
        message: "Rate limit exceeded",
        class: Limit, retry: AfterDelay, effect: None,
        remedy: "Wait `retry_after_ms`, then send the same call.",
        frozen: true
    }
    NotMergeable {
        number: -32005, name: "PR_NOT_MERGEABLE",
        meaning: "The pull request conflicts, is a draft, is closed, is blocked, or misses required checks.",
        message: "Pull request is not mergeable",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Look at `mergeable_state` and `failing_checks`, resolve them, then merge.",
        frozen: true
    }
    HeadMismatch {
        number: -32006, name: "HEAD_SHA_MISMATCH",
        meaning: "The head of the pull request is not the commit that the caller expected.",
        message: "Head SHA does not match",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Review the new head in `actual`, then merge with that `sha`.",
        frozen: true
    }
    Internal {
        number: -32603, name: "INTERNAL_ERROR",
        meaning: "Anything else: GitHub failed or could not be reached, a deadline passed, or a bug.",
        message: "Internal error",
        class: Server, retry: ask, effect: ask,
        remedy: "If `effect` is unknown, read the state before anything is sent again.",
        frozen: true
    }
}
