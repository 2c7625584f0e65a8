//! `docs/limits.md`: every bound of the program, from its constants.

mod orders;
mod workspace;

use candor::cli::{LAST_SPANS_TIMEOUT, MAX_COLLECTOR_ANSWER, SEND_TIMEOUT};
use candor_wire::{MAX_DEPTH, MAX_INDEX_BYTES, MAX_VALUES, http, stdio};

/// A row of the page: what is bounded, the bound, what happens beyond it, and the test of it.
struct Limit {
    what: &'static str,
    bound: String,
    beyond: &'static str,
    test: &'static str,
}

fn mib(bytes: usize) -> String {
    format!("{} MiB", bytes / (1024 * 1024))
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}

fn seconds(time: std::time::Duration) -> String {
    format!("{} s", time.as_secs())
}

fn limit(
    what: &'static str,
    bound: impl ToString,
    beyond: &'static str,
    test: &'static str,
) -> Limit {
    Limit {
        what,
        bound: bound.to_string(),
        beyond,
        test,
    }
}

fn message_limits() -> Vec<Limit> {
    vec![
        limit(
            "depth of a message",
            MAX_DEPTH,
            "−32600",
            "each_flaw_of_valid_json_has_its_error",
        ),
        limit(
            "JSON values in a message",
            MAX_VALUES,
            "−32600 [413]",
            "too_many_values_are_refused",
        ),
        limit(
            "the index of the arguments of a call",
            kib(MAX_INDEX_BYTES),
            "not reached: an entry has 28 bytes, and the values are bounded",
            "index_of_the_largest_message_is_bounded",
        ),
        limit(
            "a line on stdio",
            mib(stdio::MAX_LINE),
            "−32600, the rest of the line is skipped",
            "line_over_the_limit_is_refused",
        ),
        limit(
            "a body over HTTP",
            mib(http::MAX_BODY),
            "−32600 [413]",
            "body_over_the_limit_is_refused",
        ),
        limit(
            "request bytes held over all connections",
            mib(http::MAX_HELD),
            "incomplete bodies are evicted, the oldest first: their connections are closed; if that is not enough, −32603 [503] with `Retry-After: 1`",
            "requests_share_a_bounded_buffer",
        ),
        limit(
            "the head of an HTTP request",
            kib(http::MAX_HEAD),
            "−32600 [431], then closed",
            "every_refused_head_has_a_body",
        ),
        limit(
            "fields of a head",
            http::MAX_FIELDS,
            "−32600 [431], then closed",
            "every_refused_head_has_a_body",
        ),
        limit(
            "the target of an HTTP request",
            kib(http::MAX_TARGET),
            "−32600 [414], then closed",
            "every_refused_head_has_a_body",
        ),
    ]
}

fn transport_limits() -> Vec<Limit> {
    vec![
        limit(
            "sending a batch of spans to the collector of `--otlp`",
            seconds(SEND_TIMEOUT),
            "the batch is lost, which is logged",
            "collector_that_never_answers_stops_nothing",
        ),
        limit(
            "the answer of that collector",
            kib(usize::try_from(MAX_COLLECTOR_ANSWER).unwrap_or(usize::MAX)),
            "the rest is not read",
            "unreachable_collector_is_logged_and_stops_nothing",
        ),
        limit(
            "wait for that collector at the end of the process",
            seconds(LAST_SPANS_TIMEOUT),
            "the last spans are lost, which is logged",
            "collector_that_never_answers_stops_nothing",
        ),
        limit(
            "pending calls on one stdio connection",
            stdio::MAX_WAITING,
            "the next call waits up to 10 s, then −32603",
            "calls_beyond_the_bound_wait_their_turn",
        ),
        limit(
            "answers queued on stdio",
            stdio::MAX_QUEUED,
            "further calls wait before they answer",
            "client_that_does_not_read_takes_bounded_memory",
        ),
        limit(
            "open HTTP connections",
            format!(
                "{}, or half of the limit of open files if that is less",
                http::MAX_CONNECTIONS
            ),
            "one that may be evicted is closed; if there is none, newcomers wait to be accepted",
            "connections_are_evicted_in_order",
        ),
        limit(
            "connections of one address that is not loopback",
            http::MAX_CONNECTIONS_PER_ADDRESS,
            "one of that address is closed, or else the newcomer",
            "address_has_a_limit_of_its_own",
        ),
        limit(
            "the least age of an incomplete request that is evicted",
            seconds(http::MIN_EVICTION_AGE),
            "its connection may be closed for a newcomer",
            "young_request_is_not_evicted",
        ),
        limit(
            "the least time in which a peer without a token has read nothing of its answer",
            seconds(http::MIN_EVICTION_AGE),
            "its connection may be closed for a newcomer",
            "only_old_unread_answers_without_a_token_are_evicted",
        ),
        limit(
            "connections that wait to be accepted",
            format!("{}, or less if the system has a lower limit", http::BACKLOG),
            "the system decides, usually the peer tries again after 1 s",
            "many_peers_connect_at_once",
        ),
        limit(
            "HTTP requests in work, over all servers",
            http::MAX_REQUESTS,
            "the request waits",
            "calls_beyond_the_limit_are_refused_after_their_wait",
        ),
        limit(
            "the wait of a complete HTTP request",
            seconds(http::REQUEST_WAIT),
            "−32603 [503] with `Retry-After: 1`",
            "calls_beyond_the_limit_are_refused_after_their_wait",
        ),
        limit(
            "the time for the head of a request, from its first byte",
            seconds(http::HEAD_TIMEOUT),
            "−32600 [408], then closed",
            "head_that_takes_too_long_is_answered",
        ),
        limit(
            "the time for the body of a request",
            seconds(http::BODY_TIMEOUT),
            "−32600 [408], then closed",
            "byte_every_nine_seconds_does_not_extend_a_body",
        ),
        limit(
            "the time without a byte of the body",
            seconds(http::BODY_STALL),
            "−32600 [408], then closed",
            "body_without_a_byte_is_refused",
        ),
        limit(
            "the time that a connection may be idle after its last answer",
            seconds(http::IDLE_TIMEOUT),
            "closed without an answer",
            "idle_connection_is_closed_after_its_last_answer",
        ),
        limit(
            "the checks of `/ready`, and the time for which their result is repeated",
            format!(
                "{} ms, {}",
                http::READINESS_TIMEOUT.as_millis(),
                seconds(http::READINESS_TTL)
            ),
            "`not_ready` [503]",
            "one_server_that_is_not_ready_is_enough",
        ),
        limit(
            "the time in which a peer reads nothing of its answer",
            seconds(http::UNREAD_TIMEOUT),
            "closed; what the server holds for the answer is free",
            "unread_answer_times_out",
        ),
        limit(
            "the time of a reading call of the stateless era after the end of the input",
            seconds(http::HANGUP_GRACE),
            "it is cancelled and answered",
            "reading_call_of_the_stateless_era_is_cancelled_after_the_grace",
        ),
        limit(
            "progress events queued for one call",
            http::PROGRESS_QUEUE,
            "progress is dropped",
            "progress_beyond_the_queue_is_dropped",
        ),
        limit(
            "the time for running calls after the end of input or a signal",
            seconds(stdio::PATIENCE),
            "they are stopped, recorded and answered",
            "timeouts_of_ten_seconds_are_observed",
        ),
    ]
}

fn answer_limits() -> Vec<Limit> {
    use candor_fault::{
        MAX_CAUSE_BYTES, MAX_CAUSE_DEPTH, MAX_QUOTE_CHARS, MAX_VALUE_BYTES, MAX_VIOLATIONS,
    };
    vec![
        limit(
            "violations in an answer",
            MAX_VIOLATIONS,
            "the others are counted",
            "kind_past_the_bound_is_found",
        ),
        limit(
            "bytes of a value in a violation",
            MAX_VALUE_BYTES,
            "its type and size instead",
            "large_value_becomes_its_type_and_size",
        ),
        limit(
            "characters of a caller's text in a message",
            MAX_QUOTE_CHARS,
            "cut with …",
            "quotes_are_escaped_and_cut",
        ),
        limit(
            "levels of a cause",
            MAX_CAUSE_DEPTH,
            "cut with a marker",
            "deep_value_is_cut_with_a_marker",
        ),
        limit(
            "bytes of a cause",
            MAX_CAUSE_BYTES,
            "cut with a marker",
            "cause_of_any_size_stays_within_its_bound",
        ),
    ]
}

fn schema_limits() -> Vec<Limit> {
    use candor_schema::{MAX_NEAR_CANDIDATES, MAX_NEAR_CHARS, MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH};
    vec![
        limit(
            "depth of a schema",
            MAX_SCHEMA_DEPTH,
            "the server does not start",
            "invalid_schemas_are_refused",
        ),
        limit(
            "depth of a value whose violations are explained",
            MAX_VALUE_DEPTH,
            "one violation",
            "value_beyond_the_maximum_depth_is_one_violation",
        ),
        limit(
            "characters of a name that is compared",
            MAX_NEAR_CHARS,
            "no similar name is suggested",
            "long_names_and_late_candidates_are_not_compared",
        ),
        limit(
            "names that are compared",
            MAX_NEAR_CANDIDATES,
            "later names are not compared",
            "long_names_and_late_candidates_are_not_compared",
        ),
    ]
}

fn context_limits() -> Vec<Limit> {
    use candor_context::{
        LONGEST_WAIT, MAX_ANSWER, MAX_AT_WORK, MAX_BUDGET, MAX_CONTENT, MAX_DOCUMENTS, MAX_ENTRIES,
        MAX_GLOBS, MAX_INSTRUCTIONS, MAX_LIST_FILE, MAX_OPEN, MAX_PROBLEMS, MAX_QUERY, MAX_RECENT,
        MAX_RESOURCE, MAX_RESOURCES, MAX_SEARCHED, MAX_SERVED, MAX_SKIPPED, MAX_UNCOUNTED_ANSWER,
        MAX_WAITING_ANSWERS, QUIET_TIME, RETRY_INTERVAL, SEARCH_INTERVAL, Tokenizer, passages,
    };
    vec![
        limit(
            "bytes of a query",
            MAX_QUERY,
            "`invalid_query`",
            "oversized_query_is_refused",
        ),
        limit(
            "a budget",
            MAX_BUDGET,
            "`invalid_budget`",
            "only_whole_numbers_are_budgets",
        ),
        limit(
            "an answer",
            mib(MAX_ANSWER),
            "`invalid_budget`",
            "oversized_response_is_refused",
        ),
        limit(
            "a document's content",
            mib(MAX_CONTENT as usize),
            "the build fails, `cache_invalid`",
            "oversized_source_is_refused",
        ),
        limit(
            "documents of a cache",
            MAX_DOCUMENTS,
            "the build fails, `cache_invalid`",
            "entries_beyond_the_limit_are_refused",
        ),
        limit(
            "globs of a build",
            MAX_GLOBS,
            "the build is refused",
            "number_of_globs_is_bounded",
        ),
        limit(
            "the quiet time before `update --watch` updates",
            format!(
                "{} ms, at most {} s",
                QUIET_TIME.as_millis(),
                LONGEST_WAIT.as_secs()
            ),
            "the update starts",
            "update_waits_for_quiet_but_not_forever",
        ),
        limit(
            "the time after which an update that the system has failed is tried again",
            format!("{} s", RETRY_INTERVAL.as_secs()),
            "the update starts, with `update --watch` and `serve --update`",
            "failure_of_the_system_is_tried_again",
        ),
        limit(
            "the time until `serve --update` follows a new cache",
            format!("{} s", SEARCH_INTERVAL.as_secs()),
            "it is updated",
            "cache_that_appears_later_is_followed",
        ),
        limit(
            "files that a build lists as skipped",
            MAX_SKIPPED,
            "the others are counted",
            "at_most_a_hundred_skipped_files_are_listed",
        ),
        limit(
            "a manifest or an index",
            mib(MAX_LIST_FILE as usize),
            "`cache_invalid`",
            "oversized_manifest_is_refused",
        ),
        limit(
            "problems that `verify` reports",
            MAX_PROBLEMS,
            "the others are omitted",
            "only_the_first_hundred_problems_are_reported",
        ),
        limit(
            "bytes of a passage",
            passages::MOST_BYTES,
            "it is cut",
            "long_text_is_cut_at_lines_then_spaces_then_anywhere",
        ),
        limit(
            "caches served together",
            MAX_SERVED,
            "the server does not start, exit 1",
            "more_caches_than_the_limit_are_refused",
        ),
        limit(
            "caches of one search",
            MAX_SEARCHED,
            "`invalid_arguments`",
            "more_caches_than_the_limit_are_refused",
        ),
        limit(
            "entries of a list",
            MAX_ENTRIES,
            "`invalid_arguments`",
            "wrong_arguments_are_reported_all_at_once",
        ),
        limit(
            "resources of a page",
            MAX_RESOURCES,
            "a cursor",
            "resources_are_listed_in_pages",
        ),
        limit(
            "a resource",
            mib(MAX_RESOURCE),
            "−32602, read it with `context_get`",
            "resources_are_read_whole",
        ),
        limit(
            "bytes of the instructions",
            MAX_INSTRUCTIONS,
            "cut with \"and N more\"",
            "instructions_are_bounded",
        ),
        limit(
            "a word that is counted at once by `o200k`",
            mib(Tokenizer::MOST_PIECE),
            "it is counted in parts",
            "hostile_texts_are_counted_in_bounded_time",
        ),
        limit(
            "open caches of a server",
            MAX_OPEN,
            "the least recently used one is closed",
            "least_recently_used_cache_is_closed",
        ),
        limit(
            "documents of a cache in the memory of a server",
            mib(MAX_RECENT),
            "the least recently used ones are read again",
            "recent_documents_stay_within_their_limit",
        ),
        limit(
            "answers that are rendered or wait to be written, on one server",
            mib(MAX_WAITING_ANSWERS),
            "further calls wait for room before they read documents; a larger answer takes all of it",
            "room_is_held_until_the_answer_is_written",
        ),
        limit(
            "an answer that needs no such room",
            kib(MAX_UNCOUNTED_ANSWER),
            "it reserves its size",
            "reservation_fits_the_rendered_answer",
        ),
        limit(
            "calls that a server processes at the same time",
            MAX_AT_WORK,
            "the others wait",
            "calls_beyond_the_limit_wait",
        ),
    ]
}

fn github_limits() -> Vec<Limit> {
    use candor_forge::dialect::MAX_CONFLICTS;
    use candor_forge::github::limits;
    use candor_forge::github::{
        JWT_SECONDS, MAX_CALLERS, MAX_INSTALLATIONS, MAX_KNOWN_TOKENS, TOKEN_MARGIN,
    };
    use candor_forge::local::{
        HISTORY_TIME, MAX_ALTERNATES, MAX_CACHED_BYTES, MAX_CACHED_OBJECT, MAX_CACHED_REFS,
        MAX_COMMITS, MAX_DEPTH, MAX_MATCHES, MAX_POOLED_COMMITS, MAX_POOLED_HANDLES,
        MAX_POOLED_REPOSITORIES, MAX_REVIEWS, MAX_SCANNED_COMMITS, MAX_SEARCHED_BYTES,
        MAX_SEARCHED_ISSUES, MAX_SIMILAR, SEARCH_TIME,
    };
    use candor_forge::{
        FOREIGN_WORDS_CHARS, LAST_COMMENTS, LINE_MESSAGE_CHARS, MAX_ANSWER_BYTES, MAX_CHANGES,
        MAX_COMPARED_FILES, MAX_CORE_LIST_BYTES, MAX_DEFAULT_LIST_BYTES, MAX_FILE_BYTES,
        MAX_FILE_MATCHES, MAX_FILTERED_PULLS, MAX_JOB_LOG_BYTES, MAX_JOBS, MAX_LIMITED_REPOS,
        MAX_LINES_BYTES, MAX_LOG_BYTES, MAX_LOG_LINES, MAX_LOG_TAIL_BYTES, MAX_MATCH_CHARS,
        MAX_OCCURRENCES, MAX_PATCH_BYTES, MAX_README_BYTES, MAX_REVIEW_COMMENTS, MAX_TEXT_BYTES,
        MAX_TOOLSET_LIST_BYTES, MAX_TREE_ENTRIES, READ_DEADLINE, TREE_ENTRIES, WRITE_DEADLINE,
        WRITES_A_MINUTE,
    };
    use candor_street::MAX_CALLER_TOKEN_BYTES;
    vec![
        limit(
            "a file in an answer",
            mib(MAX_FILE_BYTES as usize),
            "−32003 with its size",
            "huge_file_is_too_large_by_its_header",
        ),
        limit(
            "bytes of a README",
            MAX_README_BYTES,
            "cut, `truncated`",
            "long_readme_is_truncated",
        ),
        limit(
            "entries of a tree or a directory",
            format!("{TREE_ENTRIES}, at most {MAX_TREE_ENTRIES} with `--max-entries`"),
            "omitted, `truncated`",
            "tree_is_bounded",
        ),
        limit(
            "bytes of patches of a pull request, a comparison or a commit",
            MAX_PATCH_BYTES,
            "omitted, `truncated`",
            "details_are_bounded",
        ),
        limit(
            "changed files of a comparison or a commit",
            MAX_COMPARED_FILES,
            "omitted, `truncated`",
            "changed_files_and_patches_are_bounded",
        ),
        limit(
            "a text file that is read by lines, searched for an edit, or edited",
            mib(MAX_TEXT_BYTES as usize),
            "−32003 with its size",
            "lines_of_a_file_are_answered",
        ),
        limit(
            "lines of a file in an answer",
            kib(MAX_LINES_BYTES),
            "omitted, `truncated`; the first line is cut",
            "answer_has_whole_lines_unless_one_is_too_long",
        ),
        limit(
            "an answer of a tool of the toolset `loop`",
            kib(MAX_ANSWER_BYTES),
            "cut, `truncated` or `incomplete`",
            "list_is_cut_by_its_bytes",
        ),
        limit(
            "commits that a filtered local history reads for a page",
            format!("{MAX_SCANNED_COMMITS}, {}", seconds(HISTORY_TIME)),
            "`truncated`",
            "commits_of_a_path_are_those_of_git_log",
        ),
        limit(
            "jobs of an answer with logs",
            MAX_JOBS,
            "omitted, `more`",
            "failing_checks_of_a_commit_have_their_logs",
        ),
        limit(
            "lines of a job's log",
            format!("200, at most {MAX_LOG_LINES} with `tail_lines`"),
            "omitted, `truncated`",
            "last_lines_are_taken",
        ),
        limit(
            "the log of one job, and of all jobs of an answer",
            format!("{}, {}", kib(MAX_JOB_LOG_BYTES), kib(MAX_LOG_BYTES)),
            "omitted, `truncated`",
            "tail_is_the_end_of_the_log_within_its_size",
        ),
        limit(
            "the end of a log that is read or stored",
            mib(MAX_LOG_TAIL_BYTES),
            "omitted, `truncated`",
            "end_of_a_huge_log_is_kept",
        ),
        limit(
            "a log that is downloaded",
            mib(limits::MAX_LOG_BYTES as usize),
            "`unavailable: too_large`",
            "end_of_a_huge_log_is_kept",
        ),
        limit(
            "changes of a commit",
            MAX_CHANGES,
            "−32602",
            "hundred_changes_are_the_most",
        ),
        limit(
            "occurrences of a text that are counted",
            MAX_OCCURRENCES,
            "not counted",
            "text_is_replaced_if_it_occurs_once",
        ),
        limit(
            "conflicts in a failure",
            MAX_CONFLICTS,
            "counted in `conflicts_omitted`",
            "conflict_names_its_paths",
        ),
        limit(
            "the time of a local search for code",
            seconds(SEARCH_TIME),
            "`incomplete`",
            "search_ends_at_its_bounds",
        ),
        limit(
            "matches of a local search for code",
            MAX_MATCHES,
            "`incomplete`",
            "search_ends_at_its_bounds",
        ),
        limit(
            "a file that a local search for code reads",
            mib(MAX_SEARCHED_BYTES as usize),
            "not searched",
            "search_ends_at_its_bounds",
        ),
        limit(
            "matches of a file, and their characters",
            format!("{MAX_FILE_MATCHES}, {MAX_MATCH_CHARS}"),
            "omitted, cut",
            "matches_are_bounded_in_number_and_length",
        ),
        limit(
            "`tools/list` of `core`, and of `default`",
            format!(
                "{}, {}",
                kib(MAX_CORE_LIST_BYTES),
                kib(MAX_DEFAULT_LIST_BYTES)
            ),
            "a test fails",
            "lists_are_small_and_can_be_enforced",
        ),
        limit(
            "`tools/list`: what each further toolset adds",
            kib(MAX_TOOLSET_LIST_BYTES),
            "a test fails",
            "lists_are_small_and_can_be_enforced",
        ),
        limit(
            "comments of a review",
            MAX_REVIEW_COMMENTS,
            "−32602",
            "every_keyword_is_enforced_and_named",
        ),
        limit(
            "reviews of a local pull request in an answer",
            MAX_REVIEWS,
            "the last ones, `truncated`",
            "many_reviews_are_cut",
        ),
        limit(
            "comments of a pull request of GitHub that are read, of each kind",
            limits::MAX_COMMENT_PAGES * limits::MAX_PAGE_ENTRIES,
            "`truncated`",
            "more_comments_than_are_read_is_stated",
        ),
        limit(
            "comments in an answer of `get_issue`",
            LAST_COMMENTS,
            "the last ones, `truncated`",
            "last_thirty_comments_are_shown",
        ),
        limit(
            "pull requests that are filtered by author and label",
            MAX_FILTERED_PULLS,
            "the newest, `incomplete`",
            "author_and_label_are_looked_for_among_the_newest_thousand",
        ),
        limit(
            "issues and pull requests that a local search reads",
            MAX_SEARCHED_ISSUES,
            "the newest, `incomplete`",
            "search_of_issues_ends_at_its_bound",
        ),
        limit(
            "writes per minute and repository",
            WRITES_A_MINUTE,
            "−32004 with the time to wait",
            "writes_to_one_repository_are_limited",
        ),
        limit(
            "repositories whose writes are counted",
            MAX_LIMITED_REPOS,
            "further ones wait",
            "many_keys_take_bounded_memory_and_lift_no_limit",
        ),
        limit(
            "the time for a reading call",
            seconds(READ_DEADLINE),
            "−32603",
            "slow_backend_times_out",
        ),
        limit(
            "the time for a writing call",
            seconds(WRITE_DEADLINE),
            "−32603, which states whether anything happened",
            "slow_backend_times_out",
        ),
        limit(
            "characters of a text from GitHub in a message",
            FOREIGN_WORDS_CHARS,
            "cut with …",
            "words_of_github_are_cut_and_escaped",
        ),
        limit(
            "characters of a message in the log line",
            LINE_MESSAGE_CHARS,
            "cut with …",
            "long_message_is_cut",
        ),
        limit(
            "bytes of an answer from GitHub",
            limits::MAX_ANSWER_BYTES,
            "−32603",
            "huge_answer_is_not_read_to_its_end",
        ),
        limit(
            "redirects that are followed",
            limits::MAX_REDIRECTS,
            "−32603",
            "redirect_loop_ends",
        ),
        limit(
            "pages of statuses or check runs",
            limits::MAX_PAGES,
            "−32603",
            "too_many_checks_are_a_failure",
        ),
        limit(
            "answers from GitHub that are cached",
            limits::MAX_CACHED_RESPONSES,
            "the least recently used one is dropped",
            "least_used_goes_first",
        ),
        limit(
            "bytes of answers from GitHub that are cached",
            limits::MAX_CACHED_BYTES,
            "the least recently used one is dropped",
            "bytes_are_bounded_in_all_and_in_one",
        ),
        limit(
            "bytes of a caller's token for GitHub",
            MAX_CALLER_TOKEN_BYTES,
            "(401)",
            "only_visible_ascii_within_the_bound_is_a_token",
        ),
        limit(
            "callers whose retries are counted",
            MAX_CALLERS,
            "the least recent one is dropped",
            "least_used_entry_is_dropped",
        ),
        limit(
            "owners of repositories whose tokens an app keeps",
            MAX_INSTALLATIONS,
            "the least recent one is dropped",
            "least_used_entry_is_dropped",
        ),
        limit(
            "the time before its end at which an app's token is replaced",
            seconds(TOKEN_MARGIN),
            "another one is bought",
            "token_is_replaced_five_minutes_before_its_end",
        ),
        limit(
            "the life of an app's JSON web token, in seconds",
            JWT_SECONDS,
            "another one is signed",
            "token_has_the_claims_and_verifies",
        ),
        limit(
            "tokens that are looked for in what GitHub answers",
            MAX_KNOWN_TOKENS,
            "the oldest one is forgotten",
            "oldest_token_is_forgotten_first",
        ),
        limit(
            "paths that differ from a missing one in case only",
            MAX_SIMILAR,
            "omitted",
            "path_in_another_case_is_named",
        ),
        limit(
            "local repositories that are kept open",
            MAX_POOLED_REPOSITORIES,
            "the least recently used one is closed",
            "open_repositories_and_handles_are_bounded",
        ),
        limit(
            "unused handles of a local repository",
            MAX_POOLED_HANDLES,
            "further ones are closed",
            "open_repositories_and_handles_are_bounded",
        ),
        limit(
            "commits that such a handle reads for a page",
            MAX_POOLED_COMMITS,
            "it is closed",
            "handle_that_read_many_commits_is_closed",
        ),
        limit(
            "remembered refs of a local repository",
            MAX_CACHED_REFS,
            "they are read again",
            "remembered_refs_are_bounded",
        ),
        limit(
            "memory of cached local objects",
            format!(
                "{}, {} for one",
                mib(MAX_CACHED_BYTES),
                mib(MAX_CACHED_OBJECT)
            ),
            "the older half is dropped, a larger object is not cached",
            "cache_is_bounded_and_keeps_what_is_used",
        ),
        limit(
            "alternates of a clone that is imported",
            MAX_ALTERNATES,
            "the import fails",
            "too_many_alternates_are_refused",
        ),
        limit(
            "levels of a local tree",
            MAX_DEPTH,
            "−32603",
            "tree_that_is_too_deep_is_refused",
        ),
        limit(
            "commits of a local rebase",
            MAX_COMMITS,
            "−32005",
            "too_many_commits_are_not_rebased",
        ),
    ]
}

/// Returns the content of `docs/limits.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Limits\n\nThis page lists every bound of the program: what is bounded, the bound, what the peer sees beyond it, and the test that checks it. A number in brackets is an HTTP status. `cargo xtask codegen` generates it from the constants; do not edit it.\n",
    );
    let parts = [
        ("Messages", message_limits()),
        ("Connections and calls", transport_limits()),
        ("Arguments", schema_limits()),
        ("Answers", answer_limits()),
        ("Context", context_limits()),
        ("GitHub", github_limits()),
        ("Workspace: reading and writing", workspace::file_limits()),
        ("Workspace: plans and approvals", workspace::plan_limits()),
        ("Workspace: commands of plans", workspace::command_limits()),
        ("Chained logs", workspace::log_limits()),
        ("Orders: arguments", orders::argument_limits()),
        ("Orders: calls to an order system", orders::adapter_limits()),
    ];
    for (title, limits) in parts {
        page +=
            &format!("\n## {title}\n\n| what | bound | beyond it | test |\n|---|---|---|---|\n");
        for one in limits {
            page += &format!(
                "| {} | {} | {} | `{}` |\n",
                one.what, one.bound, one.beyond, one.test
            );
        }
    }
    page
}
