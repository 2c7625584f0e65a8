//! The bounds of the workspace tools and of chained logs.

use super::{Limit, limit, mib, seconds};
use candor_sandbox::Limits;

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}

/// The bounds of reading, listing, searching, editing and reporting.
pub(super) fn file_limits() -> Vec<Limit> {
    use candor_workspace::edit::{MAX_EDITS, MAX_HUNKS, MAX_RESULT};
    use candor_workspace::path::{MAX_LINKS, MAX_MADE_DIRS, MAX_NAME_BYTES, MAX_PATH_BYTES};
    use candor_workspace::policy::{MAX_FINDING_TEXT, MAX_FINDINGS};
    use candor_workspace::protected::{MAX_RULES_BYTES, MAX_RULES_LINES};
    use candor_workspace::reading::{
        MATCH_CHARS, MAX_CONTENT_BYTES, MAX_FILTER_GLOB_BYTES, MAX_GITIGNORE_BYTES, MAX_LISTED,
        MAX_LISTED_BYTES, MAX_MATCHES, MAX_PATTERN_CHARS, MAX_SCAN_BYTES, MAX_SEARCHED_BYTES,
        MAX_SEARCHED_FILE, MAX_SEARCHED_FILES, MAX_SEARCHED_LINE, MAX_WALK_DEPTH, MAX_WALK_NAMES,
        MAX_WHOLE_BYTES,
    };
    use candor_workspace::{
        MAX_BODY, MAX_CHANGES, MAX_INSTRUCTIONS, MAX_LINES, MAX_LINES_BYTES, MAX_REPORTS_A_DAY,
        MAX_REPORTS_OF_LOCK, MAX_TITLE, MAX_WAIT_S, SELF_UNLOCK_PERIOD_S,
    };
    vec![
        limit(
            "bytes of a path",
            MAX_PATH_BYTES,
            "`INVALID_PATH`",
            "invalid_paths_are_refused",
        ),
        limit(
            "bytes of a name in a path",
            MAX_NAME_BYTES,
            "`INVALID_PATH`",
            "invalid_paths_are_refused",
        ),
        limit(
            "directories that one call makes",
            MAX_MADE_DIRS,
            "`PATH_NOT_FOUND`",
            "p19_directories_are_made_only_within_the_plan",
        ),
        limit(
            "links that are followed to one file",
            MAX_LINKS,
            "`INVALID_PATH`",
            "link_loops_are_refused",
        ),
        limit(
            "a file that is read without a range",
            mib(MAX_WHOLE_BYTES as usize),
            "`FILE_READ_FAILED`",
            "long_file_is_read_in_parts",
        ),
        limit(
            "content of a file in one answer",
            mib(MAX_CONTENT_BYTES),
            "cut, `truncated`",
            "long_file_is_read_in_parts",
        ),
        limit(
            "bytes of a file that are read to find a line or its hash",
            mib(MAX_SCAN_BYTES as usize),
            "`FILE_READ_FAILED`, or no hash",
            "only_the_beginning_of_a_huge_file_is_read",
        ),
        limit(
            "bytes of a glob in list_files and search_files",
            MAX_FILTER_GLOB_BYTES,
            "`INVALID_INPUT_FORMAT`",
            "invalid_glob_is_refused",
        ),
        limit(
            "entries in a list",
            MAX_LISTED,
            "omitted and counted, `truncated`",
            "full_answer_counts_omitted_entries",
        ),
        limit(
            "paths in a list",
            kib(MAX_LISTED_BYTES),
            "omitted and counted, `truncated`",
            "answer_is_bounded_in_bytes",
        ),
        limit(
            "names that one walk of a tree visits",
            MAX_WALK_NAMES,
            "omitted, `truncated`",
            "walk_visits_a_bounded_number_of_names",
        ),
        limit(
            "levels of directories that a walk visits",
            MAX_WALK_DEPTH,
            "omitted, `truncated`",
            "walk_ends_at_the_maximum_depth",
        ),
        limit(
            "a `.gitignore`",
            kib(MAX_GITIGNORE_BYTES as usize),
            "the rest is ignored",
            "only_the_beginning_of_a_long_ignore_file_applies",
        ),
        limit(
            "characters of a pattern",
            MAX_PATTERN_CHARS,
            "`INVALID_INPUT_VALUE`",
            "invalid_pattern_is_refused",
        ),
        limit(
            "matches in an answer",
            MAX_MATCHES,
            "omitted, `truncated`",
            "full_answer_is_marked_as_truncated",
        ),
        limit(
            "characters of a matching line",
            MATCH_CHARS,
            "the part around the match, `cut`",
            "match_in_a_long_line_is_shown_with_its_surroundings",
        ),
        limit(
            "a file that is searched",
            mib(MAX_SEARCHED_FILE as usize),
            "skipped and counted",
            "skipped_files_are_counted",
        ),
        limit(
            "a line that is searched",
            kib(MAX_SEARCHED_LINE),
            "the rest of the file is skipped and counted",
            "skipped_files_are_counted",
        ),
        limit(
            "files that one search reads",
            MAX_SEARCHED_FILES,
            "omitted, `truncated`",
            "searched_files_and_bytes_are_bounded",
        ),
        limit(
            "bytes that one search reads",
            mib(MAX_SEARCHED_BYTES as usize),
            "omitted, `truncated`",
            "searched_files_and_bytes_are_bounded",
        ),
        limit(
            "`.candor/deny_read`, `.candor/executed`",
            kib(MAX_RULES_BYTES),
            "`FILE_READ_FAILED`, nothing is read or written",
            "invalid_line_is_reported",
        ),
        limit(
            "lines of `.candor/deny_read`, `.candor/executed`",
            MAX_RULES_LINES,
            "`FILE_READ_FAILED`, nothing is read or written",
            "invalid_line_is_reported",
        ),
        limit(
            "changes in one call",
            MAX_CHANGES,
            "`INVALID_INPUT_VALUE`",
            "arguments_are_bounded_by_their_schemas",
        ),
        limit(
            "edits of one file",
            MAX_EDITS,
            "`INVALID_INPUT_VALUE`",
            "refusals_name_the_edit_and_the_nearest_lines",
        ),
        limit(
            "hunks of a patch",
            MAX_HUNKS,
            "`PATCH_INVALID`",
            "invalid_patches_are_refused",
        ),
        limit(
            "the result of edits or of a patch",
            mib(MAX_RESULT),
            "`INVALID_INPUT_VALUE` for edits, `PATCH_APPLY_FAILED` for a patch",
            "oversized_result_is_refused",
        ),
        limit(
            "findings of a policy in an answer",
            MAX_FINDINGS,
            "counted in `omitted`",
            "findings_are_bounded_and_ordered_by_severity",
        ),
        limit(
            "characters of a finding",
            MAX_FINDING_TEXT,
            "cut with …",
            "findings_are_bounded_and_ordered_by_severity",
        ),
        limit(
            "seconds of wait_for_approval",
            MAX_WAIT_S,
            "`INVALID_INPUT_VALUE`",
            "arguments_are_bounded_by_their_schemas",
        ),
        limit(
            "characters of a report's title",
            MAX_TITLE,
            "`INVALID_INPUT_VALUE`",
            "arguments_are_bounded_by_their_schemas",
        ),
        limit(
            "characters of a report",
            MAX_BODY,
            "`INVALID_INPUT_VALUE`",
            "arguments_are_bounded_by_their_schemas",
        ),
        limit(
            "reports about one lock",
            MAX_REPORTS_OF_LOCK,
            "`INSUFFICIENT_PERMISSIONS`",
            "p7_second_self_unlock_needs_a_person",
        ),
        limit(
            "reports of a workspace within a day",
            MAX_REPORTS_A_DAY,
            "`INSUFFICIENT_PERMISSIONS`",
            "p7_reports_of_a_day_are_bounded",
        ),
        limit(
            "time in which a role unlocks itself once",
            format!("{} min", SELF_UNLOCK_PERIOD_S / 60),
            "`unlocked: false`, `needs_person`",
            "p7_second_self_unlock_needs_a_person",
        ),
        limit(
            "characters of the instructions",
            MAX_INSTRUCTIONS,
            "roots are left out",
            "p19_instructions_name_role_root_and_first_call",
        ),
        limit(
            "lines in an answer of read_audit_log",
            MAX_LINES,
            "`INVALID_INPUT_VALUE`",
            "arguments_are_bounded_by_their_schemas",
        ),
        limit(
            "bytes in an answer of read_audit_log",
            mib(MAX_LINES_BYTES),
            "left for the next call, `more`",
            "page_is_bounded_in_lines_and_bytes",
        ),
    ]
}

/// Plans, approvals, approvers and revocations.
pub(super) fn plan_limits() -> Vec<Limit> {
    use candor_workspace::approval::{
        MAX_APPROVALS, MAX_APPROVER_BYTES, MAX_KEY_BYTES, MAX_KEY_ROUNDS, MAX_REVOCATIONS,
        MAX_ROOT_BYTES, MAX_SIGNERS, MAX_SIGNERS_BYTES, MAX_STATEMENT_BYTES,
    };
    use candor_workspace::plan::store::{MAX_LISTED_PLANS, MAX_READ_PLANS};
    use candor_workspace::plan::{
        MAX_ARG_BYTES, MAX_ARGS, MAX_COMMANDS, MAX_ENV, MAX_EXCEPTIONS, MAX_GLOB_BYTES, MAX_GLOBS,
        MAX_OBJECTIVE_BYTES, MAX_PHASE_ID, MAX_PHASES, MAX_PLAN_BYTES, MAX_REASON_BYTES,
        MAX_TITLE_BYTES, MAX_WRITABLE,
    };
    use candor_workspace::repository::{
        GIT_TIMEOUT, MAX_CACHED_COMMITS, MAX_FILE_LIST, MAX_PACKED_REFS, MAX_ROOT_COMMITS,
    };
    vec![
        limit(
            "plans that wait for approval",
            candor_workspace::plan::store::MAX_DRAFTS,
            "`INSUFFICIENT_PERMISSIONS`",
            "p9_drafts_are_bounded_and_old_ones_can_be_removed",
        ),
        limit(
            "the text of a plan",
            kib(MAX_PLAN_BYTES),
            "`INVALID_INPUT_FORMAT`",
            "sum_of_all_parts_is_bounded",
        ),
        limit(
            "bytes of a title",
            MAX_TITLE_BYTES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "bytes of an objective",
            MAX_OBJECTIVE_BYTES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "phases of a plan",
            MAX_PHASES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "globs of a phase",
            MAX_GLOBS,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "bytes of a glob or a directory",
            MAX_GLOB_BYTES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "commands of a phase",
            MAX_COMMANDS,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "arguments of a command",
            MAX_ARGS,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "bytes of an argument or a variable",
            MAX_ARG_BYTES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "writable directories of a phase",
            MAX_WRITABLE,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "variables of a phase",
            MAX_ENV,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "exceptions of a phase",
            MAX_EXCEPTIONS,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "bytes of a reason",
            MAX_REASON_BYTES,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "characters of a phase's id",
            MAX_PHASE_ID,
            "`INVALID_INPUT_VALUE`, or `INVALID_INPUT_FORMAT` in TOML",
            "phase_ids_have_one_form",
        ),
        limit(
            "plans in one answer of `list_plans`",
            MAX_LISTED_PLANS,
            "the next ones follow `next_after`",
            "p9_lists_have_pages",
        ),
        limit(
            "plans that a command of the owner reads",
            MAX_READ_PLANS,
            "omitted and counted; such a plan can be named by its hash",
            "plans_that_are_read_are_limited",
        ),
        limit(
            "approvals of one plan that are read",
            MAX_APPROVALS,
            "further ones do not count",
            "each_key_has_one_approval_of_a_plan",
        ),
        limit(
            "a signed statement",
            kib(MAX_STATEMENT_BYTES),
            "it does not count",
            "each_key_has_one_approval_of_a_plan",
        ),
        limit(
            "bytes of an approver's name",
            MAX_APPROVER_BYTES,
            "it cannot be signed",
            "inconsistent_members_are_refused",
        ),
        limit(
            "bytes of a root's path in a statement",
            MAX_ROOT_BYTES,
            "it cannot be signed",
            "inconsistent_members_are_refused",
        ),
        limit(
            "root commits of a repository that approvals are bound to",
            MAX_ROOT_COMMITS,
            "approvals are not bound to the repository; one that is does not hold",
            "identity_has_one_notation",
        ),
        limit(
            "`packed-refs`, and each reftable, of a repository",
            mib(MAX_PACKED_REFS),
            "as above",
            "hostile_git_directory_is_bounded",
        ),
        limit(
            "seconds of git, to find the root commits",
            GIT_TIMEOUT.as_secs(),
            "as above; tried again after a minute",
            "output_and_time_are_bounded",
        ),
        limit(
            "list of tracked files that is counted",
            mib(MAX_FILE_LIST),
            "`at least` before the number",
            "output_and_time_are_bounded",
        ),
        limit(
            "commits whose root commits are remembered",
            MAX_CACHED_COMMITS,
            "the others are forgotten and found again",
            "entries_are_bounded",
        ),
        limit(
            "revocations of a workspace, and of approvals that are bound to no path",
            MAX_REVOCATIONS,
            "`INVARIANT_VIOLATION`, nothing is approved",
            "too_many_revocations_are_refused",
        ),
        limit(
            "a file of approvers",
            kib(MAX_SIGNERS_BYTES),
            "`BOOTSTRAP_FAILURE`",
            "errors_name_their_line",
        ),
        limit(
            "keys of approvers",
            MAX_SIGNERS,
            "`BOOTSTRAP_FAILURE`",
            "errors_name_their_line",
        ),
        limit(
            "a private key",
            kib(MAX_KEY_BYTES),
            "it is not accepted as a key",
            "invalid_key_files_have_their_errors",
        ),
        limit(
            "rounds for a key's passphrase",
            MAX_KEY_ROUNDS,
            "it is not accepted as a key",
            "key_with_too_many_rounds_is_refused",
        ),
    ]
}

/// The bounds of the commands of plans.
pub(super) fn command_limits() -> Vec<Limit> {
    use candor_sandbox::{
        MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, MAX_CONNECTIONS, MAX_GRANTS, MAX_HEADER_BYTES,
        REQUEST_TIMEOUT,
    };
    use candor_workspace::command::{MAX_DEPTH, MAX_OUTPUT_BYTES, OUTPUT_BYTES};
    use candor_workspace::governed::{
        MAX_GOVERNED_BYTES, MAX_GOVERNED_CHANGES, MAX_GOVERNED_FILES,
    };
    use candor_workspace::plan::MAX_GRANTED_COMMANDS;
    use candor_workspace::{MAX_STDIN, MAX_TIMEOUT_S};
    let usual = Limits::default();
    vec![
        limit(
            "time of a command",
            format!(
                "{}, or `--preflight-timeout`",
                seconds(usual.time.unwrap_or_default())
            ),
            "stopped, `PREFLIGHT_FAILED`",
            "descendants_end_with_the_time_limit",
        ),
        limit(
            "output of a command",
            kib(OUTPUT_BYTES),
            "only the last part is kept",
            "the_end_of_a_hundred_megabytes_is_kept",
        ),
        limit(
            "output of `run_command`",
            kib(MAX_OUTPUT_BYTES),
            "only the first 16 and the last 48 KiB are kept",
            "long_output_keeps_its_beginning_and_its_end",
        ),
        limit(
            "time of `run_command`",
            format!("{MAX_TIMEOUT_S} s"),
            "`INVALID_INPUT_VALUE`",
            "bad_arguments_of_commands_are_refused",
        ),
        limit(
            "characters on the stdin of `run_command`",
            MAX_STDIN,
            "`INVALID_INPUT_VALUE`",
            "bad_arguments_of_commands_are_refused",
        ),
        limit(
            "patterns of commands that a phase grants",
            MAX_GRANTED_COMMANDS,
            "`INVALID_INPUT_FORMAT`",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "hosts of a phase's network",
            candor_sandbox::MAX_HOSTS,
            "`INVALID_INPUT_FORMAT`",
            "each_bound_is_reported_with_its_path",
        ),
        limit(
            "files in `writable` that git does not ignore",
            MAX_GOVERNED_FILES,
            "`PREFLIGHT_FAILED`",
            "number_of_governed_files_is_bounded",
        ),
        limit(
            "bytes in these files",
            mib(MAX_GOVERNED_BYTES as usize),
            "`PREFLIGHT_FAILED`",
            "size_of_governed_files_is_bounded",
        ),
        limit(
            "changes of these files in one call",
            MAX_GOVERNED_CHANGES,
            "put back, `PLAN_SCOPE_VIOLATION`",
            "forbidden_things_are_put_back",
        ),
        limit(
            "memory of one of its processes",
            mib(usual.memory as usize),
            "the kernel refuses more",
            "memory_files_and_processes_are_limited",
        ),
        limit(
            "processes that it starts",
            usual.processes,
            "the kernel refuses more, except for root",
            "memory_files_and_processes_are_limited",
        ),
        limit(
            "a file that it writes",
            mib(usual.file as usize),
            "the kernel refuses more",
            "a_file_cannot_exceed_its_limit",
        ),
        limit(
            "files that one of its processes has open",
            usual.files,
            "the kernel refuses more",
            "memory_files_and_processes_are_limited",
        ),
        limit(
            "arguments, and variables",
            MAX_ARGUMENTS,
            "`PREFLIGHT_FAILED`",
            "a_malformed_specification_is_refused",
        ),
        limit(
            "arguments and variables together",
            kib(MAX_ARGUMENT_BYTES),
            "`PREFLIGHT_FAILED`",
            "a_malformed_specification_is_refused",
        ),
        limit(
            "paths that are granted",
            MAX_GRANTS,
            "`PREFLIGHT_FAILED`",
            "too_many_grants_are_refused",
        ),
        limit(
            "levels of directories below the root that are searched",
            MAX_DEPTH,
            "hidden from the command",
            "directories_that_lie_too_deep_are_hidden",
        ),
        limit(
            "connections to its proxy",
            MAX_CONNECTIONS,
            "closed",
            "connections_over_the_limit_are_closed",
        ),
        limit(
            "the head of a request to its proxy",
            kib(MAX_HEADER_BYTES),
            "closed",
            "requests_that_are_not_http_are_closed",
        ),
        limit(
            "time to send the head of a request to its proxy",
            seconds(REQUEST_TIMEOUT),
            "closed",
            "a_silent_client_is_closed",
        ),
    ]
}

/// Chained logs.
pub(super) fn log_limits() -> Vec<Limit> {
    use candor_audit::{CHECKPOINT_LINES, MAX_CHECKPOINT, MAX_LINE, SMALL_LOG};
    vec![
        limit(
            "a line",
            kib(MAX_LINE),
            "it is not written, `AUDIT_LOG_FAILED`",
            "longest_line_is_written_and_a_longer_one_is_refused",
        ),
        limit(
            "lines after the last checkpoint",
            CHECKPOINT_LINES,
            "a new checkpoint is written",
            "checkpoint_is_written_after_many_lines",
        ),
        limit(
            "a checkpoint",
            kib(MAX_CHECKPOINT),
            "it is not accepted as a checkpoint",
            "invalid_checkpoints_are_refused",
        ),
        limit(
            "a log that is verified from its first line when a session begins",
            format!("{} MiB", SMALL_LOG / (1024 * 1024)),
            "a larger one is verified from its newest checkpoint on, and lacks no file",
            "missing_and_swapped_files_of_a_large_log_are_noticed",
        ),
        limit(
            "calls a second (`--max-rate`)",
            candor_workspace::MAX_RATE,
            "further calls wait",
            "calls_beyond_the_burst_wait_at_the_even_pace",
        ),
        limit(
            "calls at once after a pause",
            candor_workspace::BURST,
            "further calls wait",
            "p12_further_calls_wait_and_none_is_refused",
        ),
        limit(
            "the log of a workspace (`--log-max`)",
            format!("{} GiB", candor_workspace::LOG_MAX / (1024 * 1024 * 1024)),
            "`AUDIT_LOG_FAILED`",
            "p12_full_log_stops_every_call_but_two",
        ),
        limit(
            "directories of checkpoints that a workspace remembers",
            candor_workspace::log_checkpoints::MAX_CHECKPOINT_PLACES,
            "`SESSION_INITIALIZATION_FAILED`",
            "number_of_directories_is_bounded",
        ),
    ]
}
