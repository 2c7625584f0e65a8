//! The 35 codes of the workspace dialect, frozen by its specification, and its invariants.

use super::Workspace;
use candor_fault::Reason;

/// The invariants whose violation is `INVARIANT_VIOLATION`.
pub static INVARIANTS: &[Reason] = &[
    Reason {
        name: "STATE_INTACT",
        meaning: "The state directory holds what this program wrote.",
    },
    Reason {
        name: "JOURNAL_CONSISTENT",
        meaning: "The journal of writes agrees with the files.",
    },
    Reason {
        name: "ROOT_UNCHANGED",
        meaning: "The workspace root is the directory that the session began with.",
    },
    Reason {
        name: "PROTECTED_PATHS_UNCHANGED",
        meaning: "No command changed a protected path.",
    },
    Reason {
        name: "AUDIT_CHAIN_INTACT",
        meaning: "The audit log verifies.",
    },
];

candor_fault::registry! {
    Workspace, "workspace";
    SessionNotInitialized {
        code: "SESSION_NOT_INITIALIZED",
        meaning: "No session was created with begin_session.",
        message: "No session has been started",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Call begin_session first.",
        frozen: true
    }
    SessionLocked {
        code: "SESSION_LOCKED",
        meaning: "The session is locked because of an earlier failure.",
        message: "The session is locked because of an earlier failure",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Write a failure report with write_failure_report, or ask the owner to unlock the workspace.",
        frozen: true
    }
    SessionInitializationFailed {
        code: "SESSION_INITIALIZATION_FAILED",
        meaning: "The session could not be started.",
        message: "The session could not be started",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Call begin_session with one of the roots that this server was started with.",
        frozen: true
    }
    InvalidInputType {
        code: "INVALID_INPUT_TYPE",
        meaning: "A value has the wrong type.",
        message: "A value has the wrong type",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send the value with the type that the tool's schema names.",
        frozen: true
    }
    InvalidInputFormat {
        code: "INVALID_INPUT_FORMAT",
        meaning: "A value is malformed.",
        message: "A value is malformed",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send the value in the form that the tool's schema names.",
        frozen: true
    }
    InvalidInputValue {
        code: "INVALID_INPUT_VALUE",
        meaning: "A value is not allowed, or a member is not known.",
        message: "A value is not allowed",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send a value that the tool's schema allows.",
        frozen: true
    }
    MissingRequiredField {
        code: "MISSING_REQUIRED_FIELD",
        meaning: "A required member is absent.",
        message: "A required member is missing",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Add the missing member.",
        frozen: true
    }
    UnauthorizedAction {
        code: "UNAUTHORIZED_ACTION",
        meaning: "The action is not allowed for this role, or the path is protected.",
        message: "This role may not do that",
        class: Policy, retry: Never, effect: None,
        remedy: "Leave it to the role or the person who may.",
        frozen: true
    }
    InsufficientPermissions {
        code: "INSUFFICIENT_PERMISSIONS",
        meaning: "The operating system or a read-only server refuses the access.",
        message: "Permission denied",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Ask the owner of the workspace to change the permission.",
        frozen: true
    }
    RoleMismatch {
        code: "ROLE_MISMATCH",
        meaning: "The claimed role is not the role of this server.",
        message: "The claimed role is not the role of this server",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Leave `role` out, or send the role that session_status shows.",
        frozen: true
    }
    InvalidPath {
        code: "INVALID_PATH",
        meaning: "The path is malformed, or names something that is no ordinary file.",
        message: "The path is invalid",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send a path to an ordinary file, relative to the workspace root.",
        frozen: true
    }
    PathNotFound {
        code: "PATH_NOT_FOUND",
        meaning: "A directory of the path does not exist.",
        message: "The path does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Check the path with list_files.",
        frozen: true
    }
    PathTraversalBlocked {
        code: "PATH_TRAVERSAL_BLOCKED",
        meaning: "The path has a `..` component.",
        message: "The path has a `..` component",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Send the path without `..`, relative to the workspace root.",
        frozen: true
    }
    OutsideWorkspace {
        code: "OUTSIDE_WORKSPACE",
        meaning: "The path lies outside the workspace, or a link leads out of it.",
        message: "The path is outside the workspace",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Use paths inside the workspace only.",
        frozen: true
    }
    FileNotFound {
        code: "FILE_NOT_FOUND",
        meaning: "The file does not exist.",
        message: "The file does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Check the name with list_files.",
        frozen: true
    }
    FileAlreadyExists {
        code: "FILE_ALREADY_EXISTS",
        meaning: "The file exists, and the call said that it must not.",
        message: "The file already exists",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Choose another name, or leave out create_only to change the file.",
        frozen: true
    }
    FileReadFailed {
        code: "FILE_READ_FAILED",
        meaning: "The file could not be read as asked.",
        message: "The file could not be read",
        class: Server, retry: AfterChange, effect: None,
        remedy: "Look at `cause`; ask for a range, or for base64, where that is the reason.",
        frozen: true
    }
    FileWriteFailed {
        code: "FILE_WRITE_FAILED",
        meaning: "The file could not be written; its old bytes are intact.",
        message: "The file could not be written",
        class: Server, retry: AfterChange, effect: None,
        remedy: "Ask the owner of the machine to look at the disk named in `cause`.",
        frozen: true
    }
    PatchInvalid {
        code: "PATCH_INVALID",
        meaning: "The patch is no unified diff of one file.",
        message: "The patch is malformed",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send a unified diff of one file, or use `edits`.",
        frozen: true
    }
    PatchApplyFailed {
        code: "PATCH_APPLY_FAILED",
        meaning: "The patch or edit does not fit the file.",
        message: "The patch does not apply",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Read the file again and make the patch against what it holds now.",
        frozen: true
    }
    HashMismatch {
        code: "HASH_MISMATCH",
        meaning: "The file is not the one that the caller saw.",
        message: "The file has changed since it was read",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Read the file again; `cause` has the expected and the actual hash.",
        frozen: true
    }
    PlanNotFound {
        code: "PLAN_NOT_FOUND",
        meaning: "No such plan exists.",
        message: "The plan does not exist",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "See list_plans, or ask for a plan to be saved.",
        frozen: true
    }
    PlanNotApproved {
        code: "PLAN_NOT_APPROVED",
        meaning: "The plan is a draft, expired, revoked, or signed by nobody who may.",
        message: "The plan is not approved",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Ask a person to approve it; `human_message` has the command.",
        frozen: true
    }
    PlanEnforcementFailed {
        code: "PLAN_ENFORCEMENT_FAILED",
        meaning: "The stored plan is damaged.",
        message: "The stored plan is damaged",
        class: Server, retry: AfterChange, effect: None,
        remedy: "Ask a person to restore the plan, or save it anew.",
        frozen: true
    }
    PlanScopeViolation {
        code: "PLAN_SCOPE_VIOLATION",
        meaning: "The plan's phase does not allow this target or operation.",
        message: "The plan does not allow this",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Stay within the phase, or ask for a plan that allows it.",
        frozen: true
    }
    PolicyViolation {
        code: "POLICY_VIOLATION",
        meaning: "The edit adds something that the policy forbids.",
        message: "The edit violates the policy",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Remove every finding in `cause`, or ask for an exception in the plan.",
        frozen: true
    }
    RustPolicyViolation {
        code: "RUST_POLICY_VIOLATION",
        meaning: "The edit adds Rust code that the strict profile forbids.",
        message: "The edit violates the Rust policy",
        class: Policy, retry: AfterChange, effect: None,
        remedy: "Remove every finding in `cause`, or ask for an exception in the plan.",
        frozen: true
    }
    PreflightFailed {
        code: "PREFLIGHT_FAILED",
        meaning: "The plan's commands failed, or could not be run safely.",
        message: "The checks of the plan failed",
        class: Caller, retry: AfterChange, effect: ask,
        remedy: "Read `output_tail` in `cause`, mend the code, and run the checks again.",
        frozen: true
    }
    InvariantViolation {
        code: "INVARIANT_VIOLATION",
        meaning: "An invariant of the system does not hold.",
        message: "An invariant of the system does not hold",
        class: Server, retry: Never, effect: ask,
        remedy: "Stop, and let a person look at the workspace.",
        frozen: true,
        reasons: INVARIANTS
    }
    BootstrapFailure {
        code: "BOOTSTRAP_FAILURE",
        meaning: "The server cannot start with this configuration.",
        message: "The server could not start",
        class: Server, retry: AfterChange, effect: None,
        remedy: "Correct the configuration or the key that `cause` names.",
        frozen: true
    }
    SelfAuditFailure {
        code: "SELF_AUDIT_FAILURE",
        meaning: "The server found its own record or registry broken at start.",
        message: "The server's self-audit failed",
        class: Server, retry: AfterChange, effect: None,
        remedy: "Run `candor audit verify`; a person may quarantine the log.",
        frozen: true
    }
    AuditLogFailed {
        code: "AUDIT_LOG_FAILED",
        meaning: "The call could not be put on record.",
        message: "The audit log could not be written",
        class: Server, retry: AfterChange, effect: ask,
        remedy: "Ask the owner of the machine to look at the disk of the log.",
        frozen: true
    }
    AuditLockFailed {
        code: "AUDIT_LOCK_FAILED",
        meaning: "The audit log's lock could not be had in time.",
        message: "The audit log is busy",
        class: Server, retry: ask, effect: ask,
        remedy: "Send the same call again if `effect` is none, else look at the workspace first.",
        frozen: true
    }
    InternalError {
        code: "INTERNAL_ERROR",
        meaning: "An unexpected failure of the server: a bug.",
        message: "Something unexpected went wrong in the server",
        class: Server, retry: Never, effect: ask,
        remedy: "Report it with the seq of the audit line.",
        frozen: true
    }
    UnknownToolFailure {
        code: "UNKNOWN_TOOL_FAILURE",
        meaning: "A failure that no other code names.",
        message: "The tool failed for a reason that has no code of its own",
        class: Server, retry: ask, effect: ask,
        remedy: "Look at `cause`.",
        frozen: true
    }
}
