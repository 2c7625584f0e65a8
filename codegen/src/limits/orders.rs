//! The bounds of the order tools.

use super::{Limit, limit, mib, seconds};
use candor::cli::{MAX_CONFIG_FILE, MAX_CONFIG_KEYS, MAX_CONFIG_LEVELS, MAX_CONFIG_PROBLEMS};
use candor_orders::faulty::{MAX_SCRIPT, MAX_SCRIPT_CALLS, MAX_SCRIPT_RULES, MAX_SCRIPT_WAIT};
use candor_orders::http::{
    MAX_BODY, MAX_FAILURE_BODY, MAX_NAMES, MAX_NEXT_CURSOR, MAX_STATUSES, MAX_VALUES, MAX_WAIT,
};
use candor_orders::model::{MAX_QUANTITY, MONEY_DIGITS};
use candor_orders::sql::{
    COMMIT_GROUP, MAX_IMPORT, MAX_NAMED, MAX_STOCK, MAX_WAITING_CHANGES, REMOVED_AT_ONCE,
};
use candor_orders::{
    CALLS_A_MINUTE, CALLS_IN_FLIGHT, DEADLINE, EQUAL_LINES_EVERY, MAX_CLIENTS, MAX_CLIENTS_FILE,
    MAX_CURSOR, MAX_ENTRIES, MAX_FILTER, MAX_KEY, MAX_LINES, MAX_LIST, MAX_NOTES, MAX_PAGE_SIZE,
    MAX_POSITION, MAX_REASON, MAX_REMEMBERED_LINES, MAX_SKIP, MAX_TEXT, MAX_TOKENS, PAGE_DEFAULT,
    TOOL_CALLS_A_MINUTE,
};

/// The test that has every wrong argument.
const ARGUMENTS: &str = "wrong_arguments_are_answered_without_the_order_system";

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}

/// The bounds of arguments.
pub(super) fn argument_limits() -> Vec<Limit> {
    let schema = "2001, −32602";
    vec![
        limit("lines of an order", MAX_LINES, schema, ARGUMENTS),
        limit("units of a line", MAX_QUANTITY, schema, ARGUMENTS),
        limit(
            "digits of an amount, and of a sum",
            MONEY_DIGITS,
            "2001",
            "sum_of_too_many_digits_is_refused",
        ),
        limit(
            "tags, custom fields, tracking numbers",
            MAX_LIST,
            schema,
            ARGUMENTS,
        ),
        limit(
            "payments, refunds, lines of an exchange",
            MAX_ENTRIES,
            schema,
            ARGUMENTS,
        ),
        limit("values of one filter", MAX_FILTER, schema, ARGUMENTS),
        limit(
            "entities that `skip` leaves out, with `--compat reference`",
            MAX_SKIP,
            schema,
            "other_calls_are_refused_without_the_order_system",
        ),
        limit(
            "entities of a page",
            format!("{PAGE_DEFAULT}, at most {MAX_PAGE_SIZE} with `pageSize`"),
            schema,
            ARGUMENTS,
        ),
        limit(
            "characters of a name, SKU or line of an address",
            MAX_TEXT,
            schema,
            ARGUMENTS,
        ),
        limit(
            "characters of an idempotencyKey",
            MAX_KEY,
            schema,
            ARGUMENTS,
        ),
        limit("characters of notes", MAX_NOTES, schema, ARGUMENTS),
        limit("characters of a cursor", MAX_CURSOR, schema, ARGUMENTS),
    ]
}

/// The bounds of calls of an order system, and of its answers.
pub(super) fn adapter_limits() -> Vec<Limit> {
    let useless = "4001 `INVALID_ADAPTER_RESPONSE`";
    vec![
        limit(
            "calls of one client",
            format!("{CALLS_A_MINUTE} per minute"),
            "3001",
            "client_is_limited_over_all_tools_and_others_are_not",
        ),
        limit(
            "calls of one client to one tool",
            format!("{TOOL_CALLS_A_MINUTE} per minute"),
            "3001",
            "tool_is_limited_for_each_client",
        ),
        limit(
            "calls of one client that run at once",
            CALLS_IN_FLIGHT,
            "3001",
            "each_client_has_its_own_bound",
        ),
        limit(
            "a file of clients",
            format!(
                "{}, {MAX_CLIENTS} clients, {MAX_TOKENS} tokens of a client",
                mib(MAX_CLIENTS_FILE)
            ),
            "refused at start; later the clients stay as they were",
            "file_is_bounded",
        ),
        limit(
            "a configuration file",
            format!(
                "{}, {MAX_CONFIG_KEYS} keys, {MAX_CONFIG_LEVELS} levels",
                mib(MAX_CONFIG_FILE)
            ),
            "refused at start",
            "bounds_are_kept",
        ),
        limit(
            "errors of a configuration file that are shown",
            MAX_CONFIG_PROBLEMS,
            "the others are counted",
            "at_most_20_errors_are_shown",
        ),
        limit(
            "time of a call",
            seconds(DEADLINE),
            "3002",
            "deadline_is_configurable",
        ),
        limit(
            "changes that wait for their turn",
            MAX_WAITING_CHANGES,
            "3001",
            "number_of_waiting_changes_is_bounded",
        ),
        limit(
            "connections of a client while others make changes",
            "a quarter, and those that the others want",
            "further changes wait",
            "client_leaves_connections_for_others_while_these_count",
        ),
        limit(
            "changes that share a commit",
            COMMIT_GROUP,
            "the others follow in the next commit",
            "changes_of_a_file_share_a_commit",
        ),
        limit(
            "an answer of an adapter over HTTP",
            mib(MAX_BODY),
            useless,
            "endless_body_is_read_to_its_bound",
        ),
        limit(
            "the body of a failure of an adapter",
            kib(MAX_FAILURE_BODY),
            "the rest is not read",
            "endless_failure_is_read_to_its_bound",
        ),
        limit(
            "JSON values in an answer of an adapter",
            MAX_VALUES,
            useless,
            "answer_with_too_many_values_is_refused",
        ),
        limit(
            "statuses that an adapter maps, and names in each list of its capabilities",
            format!("{MAX_STATUSES} and {MAX_NAMES}"),
            useless,
            "lists_of_capabilities_are_bounded",
        ),
        limit(
            "a cursor of an adapter over HTTP, and a position of any adapter",
            format!("{MAX_NEXT_CURSOR} and {MAX_POSITION} bytes"),
            useless,
            "position_too_long_for_a_cursor_is_an_invalid_response",
        ),
        limit(
            "equal log lines about failures",
            format!(
                "one in {}, of {MAX_REMEMBERED_LINES} lines",
                seconds(EQUAL_LINES_EVERY)
            ),
            "counted in `repeated`; a line beyond them is written",
            "remembered_lines_are_bounded",
        ),
        limit(
            "a wait that an adapter requests",
            seconds(MAX_WAIT),
            "reduced to the bound",
            "every_status_of_a_change",
        ),
        limit(
            "characters of an adapter's own code",
            MAX_REASON,
            "`BACKEND_REFUSED`",
            "every_answer_of_a_change",
        ),
        limit(
            "an imported catalogue, and units of one SKU at one location",
            format!("{}, {MAX_STOCK}", mib(MAX_IMPORT as usize)),
            "refused, nothing changed",
            "invalid_catalogue_is_explained",
        ),
        limit(
            "ids that `verify` names for one invariant",
            MAX_NAMED,
            "the others are counted",
            "number_of_named_ids_is_bounded",
        ),
        limit(
            "records that `--keep-records-days` removes at a time",
            REMOVED_AT_ONCE,
            "the others follow in the next batch",
            "old_records_are_removed",
        ),
        limit(
            "a script of faults",
            format!(
                "{}, {MAX_SCRIPT_RULES} rules, {MAX_SCRIPT_CALLS} calls of a rule, waits of {} s",
                kib(MAX_SCRIPT),
                MAX_SCRIPT_WAIT / 1000
            ),
            "refused at start",
            "script_error_names_its_path",
        ),
    ]
}
