//! The differences between the SQL of SQLite and of PostgreSQL.

use sqlx::error::DatabaseError;
use std::time::Duration;

/// The SQL dialect of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlDialect {
    Sqlite,
    Postgres,
}

/// The memory for pages of a file on the connection that writes, in KiB. A new order writes to about ten
/// places all over the indexes; with SQLite's own 2,000 KiB most of them are read again each time.
const WRITE_CACHE_KIB: u32 = 16_384;

/// The kind of a database error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseErrorKind {
    /// A conflict of two transactions: the same transaction may succeed now.
    Again,
    /// A lock was not released in time.
    LockWait,
    TooLong,
    Unavailable,
    /// A defect of this program.
    Bug,
}

impl SqlDialect {
    /// Starts a transaction that writes. What it reads does not change before it ends.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "BEGIN IMMEDIATE",
            SqlDialect::Postgres => "BEGIN",
        }
    }

    /// As [`SqlDialect::begin`]; each statement waits at most `lock_wait` for a lock. A file is
    /// locked as a whole when the transaction starts.
    pub(super) fn begin_waiting(self, lock_wait: Duration) -> String {
        let limit = lock_wait.as_millis().max(1);
        let begin = self.begin();
        match self {
            SqlDialect::Sqlite => format!("PRAGMA busy_timeout = {limit}; {begin}"),
            SqlDialect::Postgres => format!("{begin}; SET LOCAL lock_timeout = {limit}"),
        }
    }

    /// Starts a transaction whose statements all see the same snapshot.
    pub(super) const fn begin_snapshot(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "BEGIN",
            SqlDialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// The time of the database in microseconds. In a transaction that waited, the time of the
    /// statement and not of the transaction.
    pub(super) const fn now(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "CAST(unixepoch('subsec') * 1000000 AS BIGINT)",
            SqlDialect::Postgres => {
                "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
            }
        }
    }

    /// The parts of a query for the rows of each period in the table `days`: its start, the
    /// comparison with the period, and its end. For a join PostgreSQL may read all rows; a query for
    /// each period is planned for one period.
    pub(super) const fn for_each_day(self) -> [&'static str; 3] {
        match self {
            SqlDialect::Sqlite => ["", "IN (SELECT period FROM days)", ""],
            SqlDialect::Postgres => [
                "SELECT rows_of_day.* FROM days CROSS JOIN LATERAL (",
                "= days.period",
                ") AS rows_of_day",
            ],
        }
    }

    /// The end of a query that locks the rows it reads. SQLite has already locked everything.
    pub(super) const fn lock_suffix(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "",
            SqlDialect::Postgres => " FOR UPDATE",
        }
    }

    /// The type of text that is compared byte by byte.
    pub(super) const fn text_type(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "TEXT",
            SqlDialect::Postgres => "TEXT COLLATE \"C\"",
        }
    }

    /// Prevents two processes from creating the tables at once. SQLite's transaction does that
    /// itself.
    pub(super) const fn migration_lock(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some("SELECT pg_advisory_xact_lock(7308604896985606)"),
        }
    }

    /// Creates the source of order numbers. A file has one writer, which takes the next number from
    /// the orders themselves.
    pub(super) const fn create_order_numbers(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some("CREATE SEQUENCE order_numbers START 1001"),
        }
    }

    /// Continues the order numbers after those of existing orders.
    pub(super) const fn continue_order_numbers(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some(
                "SELECT setval('order_numbers', (SELECT COALESCE(MAX(number), 1000) FROM orders) + 1, false)",
            ),
        }
    }

    /// An expression for the next order number. Numbers of orders that are rolled back may be
    /// skipped.
    pub(super) const fn next_order_number(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "(SELECT COALESCE(MAX(number), 1000) + 1 FROM orders)",
            SqlDialect::Postgres => "nextval('order_numbers')",
        }
    }

    /// A query for the next order numbers, as many as its argument.
    pub(super) const fn next_order_numbers(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => {
                "WITH RECURSIVE following(step) AS
                     (SELECT 1 UNION ALL SELECT step + 1 FROM following WHERE step < $1)
                 SELECT (SELECT COALESCE(MAX(number), 1000) FROM orders) + step FROM following"
            }
            SqlDialect::Postgres => {
                "SELECT nextval('order_numbers') FROM generate_series(1, $1) ORDER BY 1"
            }
        }
    }

    /// Counts the tables of this program.
    pub(super) const fn count_our_tables(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => {
                "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'settings'"
            }
            SqlDialect::Postgres => {
                "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = 'settings'"
            }
        }
    }

    /// Counts all tables, if a store does not share its database. A file is a store or something
    /// else; a server may contain other tables.
    pub(super) const fn count_all_tables(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => Some(
                "SELECT COUNT(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'",
            ),
            SqlDialect::Postgres => None,
        }
    }

    /// The statements for every new connection. A statement is cancelled when its call has timed
    /// out.
    pub(super) fn connection_setup(self, deadline: Duration) -> Vec<String> {
        let limit = deadline.as_millis().max(1);
        match self {
            SqlDialect::Sqlite => vec![
                String::from("PRAGMA journal_mode = WAL"),
                String::from("PRAGMA synchronous = FULL"),
                format!("PRAGMA busy_timeout = {limit}"),
            ],
            SqlDialect::Postgres => vec![
                format!("SET statement_timeout = {limit}"),
                format!("SET idle_in_transaction_session_timeout = {}", limit * 2),
                String::from("SET synchronous_commit = on"),
                String::from("SET default_transaction_isolation = 'read committed'"),
            ],
        }
    }

    /// The statements for every new connection that writes, after [`SqlDialect::connection_setup`].
    /// The journal of savepoints is kept in memory: without that, SQLite creates a temporary file for
    /// each group of changes and writes more into it than into its log.
    pub(super) fn write_setup(self) -> Vec<String> {
        match self {
            SqlDialect::Sqlite => vec![
                String::from("PRAGMA temp_store = MEMORY"),
                format!("PRAGMA cache_size = -{WRITE_CACHE_KIB}"),
            ],
            SqlDialect::Postgres => Vec::new(),
        }
    }

    /// The statements for the connection of an owner's command. They change nothing in a database
    /// of another program.
    pub(super) fn owner_setup(self, statement_limit: Duration, lock_wait: Duration) -> Vec<String> {
        let limit = statement_limit.as_millis();
        match self {
            SqlDialect::Sqlite => vec![
                String::from("PRAGMA synchronous = FULL"),
                format!("PRAGMA busy_timeout = {}", lock_wait.as_millis()),
            ],
            SqlDialect::Postgres => vec![
                format!("SET statement_timeout = {limit}"),
                format!("SET idle_in_transaction_session_timeout = {limit}"),
                String::from("SET default_transaction_isolation = 'read committed'"),
            ],
        }
    }

    /// The statements that start an erasure. Every change claims its key first, so a lock of the
    /// keys keeps all changes out; queries go on. What a file deletes is overwritten.
    pub(super) fn begin_erasure(self, lock_wait: Duration) -> Vec<String> {
        match self {
            SqlDialect::Sqlite => vec![
                String::from("PRAGMA secure_delete = ON"),
                self.begin().to_owned(),
            ],
            SqlDialect::Postgres => vec![
                self.begin().to_owned(),
                format!("SET LOCAL lock_timeout = {}", lock_wait.as_millis()),
                String::from("LOCK TABLE keys IN EXCLUSIVE MODE"),
            ],
        }
    }

    /// A query for the names of all tables and indexes.
    pub(super) const fn table_and_index_names(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "SELECT name FROM sqlite_master WHERE type IN ('table', 'index')",
            SqlDialect::Postgres => {
                "SELECT CAST(tablename AS TEXT) FROM pg_catalog.pg_tables WHERE schemaname = current_schema()
                 UNION ALL SELECT CAST(indexname AS TEXT) FROM pg_catalog.pg_indexes WHERE schemaname = current_schema()"
            }
        }
    }

    /// A query for damage of the file itself: pages, and indexes that do not match their tables. A
    /// server checks its own files.
    pub(super) const fn file_damage(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => Some("PRAGMA integrity_check(1000)"),
            SqlDialect::Postgres => None,
        }
    }

    /// A query for order numbers that the next new order would repeat. A file takes the next number
    /// from the orders.
    pub(super) const fn repeated_order_numbers(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some(
                "SELECT CAST(number AS TEXT) FROM orders, order_numbers
                 WHERE number > last_value OR (number = last_value AND NOT is_called)",
            ),
        }
    }

    /// Updates the planner's statistics after many rows were inserted. SQLite does not need it: its
    /// plans follow from the indexes alone.
    pub(super) const fn update_statistics(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some("ANALYZE"),
        }
    }

    /// Returns the kind of an error by its code.
    pub(super) fn classify(self, error: &dyn DatabaseError) -> DatabaseErrorKind {
        let code = error.code().unwrap_or_default();
        match self {
            SqlDialect::Sqlite => sqlite(code.parse().unwrap_or_default()),
            SqlDialect::Postgres => postgres(&code),
        }
    }
}

/// SQLite's result codes; the lowest byte is the kind.
fn sqlite(code: u32) -> DatabaseErrorKind {
    match code & 0xff {
        // Busy until the timeout.
        5 => DatabaseErrorKind::LockWait,
        // Interrupted.
        9 => DatabaseErrorKind::TooLong,
        // Locked, read-only, disk error, full, cannot be opened.
        6 | 8 | 10 | 13 | 14 => DatabaseErrorKind::Unavailable,
        _ => DatabaseErrorKind::Bug,
    }
}

/// The SQLSTATE of PostgreSQL.
fn postgres(code: &str) -> DatabaseErrorKind {
    match code {
        // Serialization failure, deadlock.
        "40001" | "40P01" => DatabaseErrorKind::Again,
        // Lock not available.
        "55P03" => DatabaseErrorKind::LockWait,
        // Statement timeout.
        "57014" => DatabaseErrorKind::TooLong,
        // Read-only transaction: a standby that is not yet the primary.
        "25006" => DatabaseErrorKind::Unavailable,
        // Connection, resources, operator intervention, system.
        _ if ["08", "53", "57", "58"].contains(&code.get(..2).unwrap_or_default()) => {
            DatabaseErrorKind::Unavailable
        }
        // Too many connections for the role, credentials refused.
        _ if code.starts_with("28") => DatabaseErrorKind::Unavailable,
        _ => DatabaseErrorKind::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_errors_are_classified_by_code() {
        assert_eq!(sqlite(5), DatabaseErrorKind::LockWait);
        assert_eq!(sqlite(5 | 2 << 8), DatabaseErrorKind::LockWait);
        assert_eq!(sqlite(9), DatabaseErrorKind::TooLong);
        assert_eq!(sqlite(13), DatabaseErrorKind::Unavailable);
        assert_eq!(sqlite(1), DatabaseErrorKind::Bug);
        assert_eq!(postgres("40P01"), DatabaseErrorKind::Again);
        assert_eq!(postgres("55P03"), DatabaseErrorKind::LockWait);
        assert_eq!(postgres("57014"), DatabaseErrorKind::TooLong);
        assert_eq!(postgres("57P01"), DatabaseErrorKind::Unavailable);
        assert_eq!(postgres("53300"), DatabaseErrorKind::Unavailable);
        assert_eq!(postgres("42P01"), DatabaseErrorKind::Bug);
        assert_eq!(postgres(""), DatabaseErrorKind::Bug);
    }
}
