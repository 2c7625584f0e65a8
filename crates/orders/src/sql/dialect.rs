//! The places where the SQL of SQLite and of PostgreSQL differs; everything else is said once.

use sqlx::error::DatabaseError;
use std::time::Duration;

/// Which SQL a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlDialect {
    /// SQLite, in one file.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// What an error of the database says about what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseErrorKind {
    /// Two transactions were in each other's way: the same transaction may pass now.
    Again,
    /// It took too long.
    TooLong,
    /// The database cannot work now.
    Unavailable,
    /// Something of ours is wrong.
    Bug,
}

impl SqlDialect {
    /// How a transaction that writes begins: what it reads does not change before it ends.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "BEGIN IMMEDIATE",
            SqlDialect::Postgres => "BEGIN",
        }
    }

    /// How a transaction begins whose statements all see the store as it was at one moment.
    pub(super) const fn begin_snapshot(self) -> &'static str {
        match self {
            SqlDialect::Sqlite => "BEGIN",
            SqlDialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// What makes a query lock the rows that it reads; SQLite has locked everything already.
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

    /// What keeps two processes from making the tables at once; SQLite's transaction does it itself.
    pub(super) const fn migration_lock(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some("SELECT pg_advisory_xact_lock(7308604896985606)"),
        }
    }

    /// Whether the tables are there.
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

    /// How many tables of somebody else there are, where a store shares its place with nobody: a file
    /// is a store or something else, a server may hold many things side by side.
    pub(super) const fn count_all_tables(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => Some(
                "SELECT COUNT(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'",
            ),
            SqlDialect::Postgres => None,
        }
    }

    /// What every new connection is told. A statement ends on its own when nobody waits any more.
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

    /// What lets a database know how its tables look after many rows came at once. SQLite needs to
    /// know nothing: its plans here follow from the indexes alone.
    pub(super) const fn update_statistics(self) -> Option<&'static str> {
        match self {
            SqlDialect::Sqlite => None,
            SqlDialect::Postgres => Some("ANALYZE"),
        }
    }

    /// What an error of the database says, by its code.
    pub(super) fn classify(self, error: &dyn DatabaseError) -> DatabaseErrorKind {
        let code = error.code().unwrap_or_default();
        match self {
            SqlDialect::Sqlite => sqlite(code.parse().unwrap_or_default()),
            SqlDialect::Postgres => postgres(&code),
        }
    }
}

/// SQLite's result codes: the lowest byte is the kind.
fn sqlite(code: u32) -> DatabaseErrorKind {
    match code & 0xff {
        // Busy for as long as a call may take, interrupted.
        5 | 9 => DatabaseErrorKind::TooLong,
        // Locked, read-only, an error of the disk, full, cannot be opened.
        6 | 8 | 10 | 13 | 14 => DatabaseErrorKind::Unavailable,
        _ => DatabaseErrorKind::Bug,
    }
}

/// The SQLSTATE of PostgreSQL.
fn postgres(code: &str) -> DatabaseErrorKind {
    match code {
        // Serialization failure, deadlock.
        "40001" | "40P01" => DatabaseErrorKind::Again,
        // Cancelled by the statement timeout, a lock that was not to be had.
        "57014" | "55P03" => DatabaseErrorKind::TooLong,
        // In a read-only transaction: a standby that is not the primary yet.
        "25006" => DatabaseErrorKind::Unavailable,
        // Connection, resources, intervention of an operator, the system.
        _ if ["08", "53", "57", "58"].contains(&code.get(..2).unwrap_or_default()) => {
            DatabaseErrorKind::Unavailable
        }
        // Too many connections for the role, credentials refused: the owner has to act.
        _ if code.starts_with("28") => DatabaseErrorKind::Unavailable,
        _ => DatabaseErrorKind::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_has_its_verdict() {
        assert_eq!(sqlite(5), DatabaseErrorKind::TooLong);
        assert_eq!(sqlite(5 | 2 << 8), DatabaseErrorKind::TooLong);
        assert_eq!(sqlite(13), DatabaseErrorKind::Unavailable);
        assert_eq!(sqlite(1), DatabaseErrorKind::Bug);
        assert_eq!(postgres("40P01"), DatabaseErrorKind::Again);
        assert_eq!(postgres("57014"), DatabaseErrorKind::TooLong);
        assert_eq!(postgres("57P01"), DatabaseErrorKind::Unavailable);
        assert_eq!(postgres("53300"), DatabaseErrorKind::Unavailable);
        assert_eq!(postgres("42P01"), DatabaseErrorKind::Bug);
        assert_eq!(postgres(""), DatabaseErrorKind::Bug);
    }
}
