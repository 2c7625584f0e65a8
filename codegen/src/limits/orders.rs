//! The bounds of the order tools.

use super::{Limit, limit, mib, seconds};
use candor_orders::faulty::{SCRIPT_CALLS_MAX, SCRIPT_MAX, SCRIPT_RULES_MAX, SCRIPT_WAIT_MAX};
use candor_orders::http::{BODY_MAX, FAILURE_MAX, NEXT_MAX, VALUES_MAX, WAIT_MAX};
use candor_orders::model::{MONEY_DIGITS, QUANTITY_MAX};
use candor_orders::sql::{IMPORT_MAX, STOCK_MAX};
use candor_orders::{
    CALLS_A_MINUTE, CURSOR_MAX, DEADLINE, FILTER_MAX, KEY_MAX, LINES_MAX, LIST_MAX, NOTES_MAX,
    PAGE_DEFAULT, PAGE_MAX, POSITION_MAX, REASON_MAX, TEXT_MAX, TOOL_CALLS_A_MINUTE,
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
        limit("lines of an order", LINES_MAX, schema, ARGUMENTS),
        limit("units of a line", QUANTITY_MAX, schema, ARGUMENTS),
        limit(
            "digits of an amount, and of a sum",
            MONEY_DIGITS,
            "2001",
            "sum_of_too_many_digits_is_none",
        ),
        limit(
            "tags, custom fields, tracking numbers",
            LIST_MAX,
            schema,
            ARGUMENTS,
        ),
        limit("values of one filter", FILTER_MAX, schema, ARGUMENTS),
        limit(
            "entities of a page",
            format!("{PAGE_DEFAULT}, at most {PAGE_MAX} with `pageSize`"),
            schema,
            ARGUMENTS,
        ),
        limit(
            "characters of a name, SKU or line of an address",
            TEXT_MAX,
            schema,
            ARGUMENTS,
        ),
        limit(
            "characters of an idempotencyKey",
            KEY_MAX,
            schema,
            ARGUMENTS,
        ),
        limit("characters of notes", NOTES_MAX, schema, ARGUMENTS),
        limit("characters of a cursor", CURSOR_MAX, schema, ARGUMENTS),
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
            "time of a call",
            seconds(DEADLINE),
            "3002",
            "deadline_is_configurable",
        ),
        limit(
            "an answer of an adapter over HTTP",
            mib(BODY_MAX),
            useless,
            "endless_body_is_read_to_its_bound",
        ),
        limit(
            "the body of a failure of an adapter",
            kib(FAILURE_MAX),
            "the rest is not read",
            "endless_failure_is_read_to_its_bound",
        ),
        limit(
            "JSON values in an answer of an adapter",
            VALUES_MAX,
            useless,
            "answer_with_too_many_values_is_refused",
        ),
        limit(
            "a cursor of an adapter over HTTP, and a position of any adapter",
            format!("{NEXT_MAX} and {POSITION_MAX} bytes"),
            useless,
            "position_too_long_for_a_cursor_is_an_invalid_response",
        ),
        limit(
            "a wait that an adapter requests",
            seconds(WAIT_MAX),
            "reduced to the bound",
            "every_status_of_a_change",
        ),
        limit(
            "characters of an adapter's own code",
            REASON_MAX,
            "`BACKEND_REFUSED`",
            "every_answer_of_a_change",
        ),
        limit(
            "an imported catalogue, and units of one SKU at one location",
            format!("{}, {STOCK_MAX}", mib(IMPORT_MAX as usize)),
            "refused, nothing changed",
            "invalid_catalogue_is_explained",
        ),
        limit(
            "a script of faults",
            format!(
                "{}, {SCRIPT_RULES_MAX} rules, {SCRIPT_CALLS_MAX} calls of a rule, waits of {} s",
                kib(SCRIPT_MAX),
                SCRIPT_WAIT_MAX / 1000
            ),
            "refused at start",
            "script_error_names_its_path",
        ),
    ]
}
