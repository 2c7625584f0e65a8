//! Statements that are sent to a database together. A file is used by a thread of its own, and the
//! way there and back takes longer than a small statement.

use super::connection::AnyQuery;
use super::dialect::SqlDialect;
use super::errors::{TransactionError, to_transaction_error};
use futures_util::TryStreamExt as _;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::{AnyConnection, AssertSqlSafe, Either, Execute as _, Executor as _};

/// Some statements of SQLite as one text, with their arguments numbered through.
#[derive(Default)]
pub(super) struct StatementBatch {
    text: String,
    arguments: AnyArguments,
}

impl StatementBatch {
    pub(super) fn of(statements: Vec<AnyQuery>) -> Result<StatementBatch, TransactionError> {
        let mut batch = StatementBatch::default();
        for statement in statements {
            batch.add(statement)?;
        }
        Ok(batch)
    }

    /// Adds statements without arguments.
    pub(super) fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str("; ");
        }
        self.text.push_str(text);
    }

    /// Adds a statement with its arguments, and returns its text.
    pub(super) fn add(&mut self, mut query: AnyQuery) -> Result<String, TransactionError> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode);
        let arguments =
            arguments.map_err(|error| to_transaction_error(error, SqlDialect::Sqlite))?;
        let before = self.arguments.values.0.len();
        self.add_text("");
        let text = query.sql();
        renumber(text.as_str(), before, &mut self.text);
        let arguments = arguments.into_iter().flat_map(|some| some.values.0);
        self.arguments.values.0.extend(arguments);
        Ok(text.as_str().to_owned())
    }

    /// Runs the statements one after another until one fails. Returns the rows of each.
    pub(super) async fn run(
        self,
        connection: &mut AnyConnection,
    ) -> Result<Vec<Vec<AnyRow>>, sqlx::Error> {
        let query = sqlx::query_with(AssertSqlSafe(self.text), self.arguments);
        let mut results = connection.fetch_many(query);
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        while let Some(result) = results.try_next().await? {
            match result {
                Either::Left(_) => all.push(std::mem::take(&mut rows)),
                Either::Right(row) => rows.push(row),
            }
        }
        Ok(all)
    }
}

/// Appends a statement, with `before` added to the numbers of its arguments. No statement has a `$`
/// anywhere else.
fn renumber(statement: &str, before: usize, text: &mut String) {
    let mut parts = statement.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = number.parse::<usize>().unwrap_or_default() + before;
        text.push('$');
        text.push_str(&number.to_string());
        text.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::{get_number, get_text, sql};
    use super::*;
    use sqlx::Connection as _;

    #[tokio::test]
    async fn statements_of_a_batch_have_their_own_arguments_and_rows() {
        sqlx::any::install_default_drivers();
        let mut connection = AnyConnection::connect("sqlite::memory:").await.unwrap();
        let mut batch = StatementBatch::default();
        batch.add_text("CREATE TABLE t (a BIGINT, b TEXT)");
        let insert = "INSERT INTO t VALUES ($1, $2), ($1 + 1, $2) RETURNING a";
        batch.add(sql(insert).bind(1_i64).bind("x")).unwrap();
        batch.add(sql(insert).bind(11_i64).bind("y")).unwrap();
        batch
            .add(sql("SELECT b FROM t WHERE a = $1").bind(12_i64))
            .unwrap();
        batch
            .add(sql("SELECT b FROM t WHERE a = $1").bind(13_i64))
            .unwrap();
        let rows = batch.run(&mut connection).await.unwrap();
        let counts: Vec<_> = rows.iter().map(Vec::len).collect();
        assert_eq!(counts, [0, 2, 2, 1, 0]);
        assert_eq!(get_number(&rows[2][1], 0).unwrap(), 12);
        assert_eq!(get_text(&rows[3][0], 0).unwrap(), "y");
    }

    #[tokio::test]
    async fn batch_ends_at_the_first_failure() {
        sqlx::any::install_default_drivers();
        let mut connection = AnyConnection::connect("sqlite::memory:").await.unwrap();
        let mut batch = StatementBatch::default();
        batch.add_text("CREATE TABLE t (a BIGINT UNIQUE)");
        for number in [1_i64, 1, 2] {
            batch
                .add(sql("INSERT INTO t VALUES ($1)").bind(number))
                .unwrap();
        }
        assert!(batch.run(&mut connection).await.is_err());
        let rows = sql("SELECT a FROM t")
            .fetch_all(&mut connection)
            .await
            .unwrap();
        assert_eq!(rows.len(), 1);
    }
}
