//! Comments of issues and pull requests.

use super::LocalForge;
use super::errors::{OrBroken, run_blocking};
use super::history::skipped;
use super::stored_pulls::signed;
use super::{times, url};
use crate::{Comment, CommentKind, CommentPage, DiffSide, Failure, MissingItem, Paging, RepoName};
use candor_street::EffectMark;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, Row as _};
use std::sync::Arc;

const READ: &str = "the comments could not be read";
pub(super) const WRITE: &str = "the comment could not be written";

/// The lines that a comment of a review is about.
#[derive(Debug, Clone)]
pub(super) struct CommentedLines {
    pub(super) review_id: Option<i64>,
    pub(super) path: String,
    pub(super) line: u64,
    pub(super) start_line: Option<u64>,
    pub(super) side: DiffSide,
    /// The head and the merge base at the time of the comment.
    pub(super) commit_sha: String,
    pub(super) base_sha: String,
    pub(super) in_reply_to: Option<u64>,
}

/// A comment in the database.
#[derive(Debug, Clone)]
pub(super) struct StoredComment {
    pub(super) id: u64,
    pub(super) number: u64,
    pub(super) author: String,
    pub(super) body: String,
    /// `None` for a comment on the whole issue or pull request.
    pub(super) lines: Option<CommentedLines>,
    pub(super) created_at: i64,
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

impl<'r> FromRow<'r, SqliteRow> for StoredComment {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        let number = |name: &str| -> Result<Option<u64>, sqlx::Error> {
            Ok(row.try_get::<Option<i64>, _>(name)?.map(unsigned))
        };
        let side: Option<String> = row.try_get("side")?;
        let lines = match row.try_get("path")? {
            None => None,
            Some(path) => Some(CommentedLines {
                review_id: row.try_get("review_id")?,
                path,
                line: number("line")?.unwrap_or_default(),
                start_line: number("start_line")?,
                side: match side.as_deref() {
                    Some("LEFT") => DiffSide::Left,
                    _ => DiffSide::Right,
                },
                commit_sha: row.try_get("commit_sha")?,
                base_sha: row.try_get("base_sha")?,
                in_reply_to: number("in_reply_to")?,
            }),
        };
        Ok(StoredComment {
            id: unsigned(row.try_get("id")?),
            number: unsigned(row.try_get("number")?),
            author: row.try_get("author")?,
            body: row.try_get("body")?,
            lines,
            created_at: row.try_get("created_at")?,
        })
    }
}

/// Writes a comment and returns its id. The id in `comment` is ignored.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    repo: &str,
    comment: &StoredComment,
) -> Result<u64, Failure> {
    let lines = comment.lines.as_ref();
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO comments (repo, number, kind, author, body, review_id, path, line, start_line,
             side, commit_sha, base_sha, in_reply_to, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
    )
    .bind(repo)
    .bind(signed(comment.number))
    .bind(if lines.is_some() { "review" } else { "comment" })
    .bind(&comment.author)
    .bind(&comment.body)
    .bind(lines.and_then(|lines| lines.review_id))
    .bind(lines.map(|lines| lines.path.as_str()))
    .bind(lines.map(|lines| signed(lines.line)))
    .bind(lines.and_then(|lines| lines.start_line).map(signed))
    .bind(lines.map(|lines| lines.side.word()))
    .bind(lines.map(|lines| lines.commit_sha.as_str()))
    .bind(lines.map(|lines| lines.base_sha.as_str()))
    .bind(lines.and_then(|lines| lines.in_reply_to).map(signed))
    .bind(comment.created_at)
    .fetch_one(connection)
    .await
    .or_broken(WRITE)?;
    Ok(unsigned(id))
}

/// Returns comments of an issue or a pull request, oldest first.
pub(super) async fn list(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
    skip: u64,
    most: u64,
) -> Result<Vec<StoredComment>, Failure> {
    let rows = sqlx::query_as(
        "SELECT * FROM comments WHERE repo = ? AND number = ? ORDER BY id LIMIT ? OFFSET ?",
    )
    .bind(repo)
    .bind(signed(number))
    .bind(signed(most))
    .bind(signed(skip))
    .fetch_all(connection);
    rows.await.or_broken(READ)
}

/// Returns the number of comments of an issue or a pull request.
pub(super) async fn count(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
) -> Result<u64, Failure> {
    let count: i64 =
        sqlx::query_scalar("SELECT count(*) FROM comments WHERE repo = ? AND number = ?")
            .bind(repo)
            .bind(signed(number))
            .fetch_one(connection)
            .await
            .or_broken(READ)?;
    Ok(unsigned(count))
}

/// The kind of thing that has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    Issue,
    Pull,
}

/// Returns what has a number, and marks it as changed now.
pub(super) async fn touch(
    connection: &mut SqliteConnection,
    repo: &str,
    number: u64,
    at: i64,
) -> Result<Option<NumberKind>, Failure> {
    let pull = "UPDATE pull_requests SET updated_at = ? WHERE repo = ? AND number = ?";
    let issue = "UPDATE issues SET updated_at = ? WHERE repo = ? AND number = ?";
    for (statement, kind) in [(pull, NumberKind::Pull), (issue, NumberKind::Issue)] {
        let changed = sqlx::query(statement)
            .bind(at)
            .bind(repo)
            .bind(signed(number))
            .execute(&mut *connection)
            .await
            .or_broken(WRITE)?;
        if changed.rows_affected() > 0 {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

/// Returns a comment as an answer has it. `line` is its line now, `None` if that has changed.
pub(super) fn shown(
    repo: &RepoName,
    kind: NumberKind,
    comment: StoredComment,
    line: Option<u64>,
) -> Comment {
    let of = match kind {
        NumberKind::Pull => url::pull(repo, comment.number),
        NumberKind::Issue => url::issue(repo, comment.number),
    };
    let url = format!("{of}#comment-{}", comment.id);
    let created_at = times::of_micros(comment.created_at);
    let Some(lines) = comment.lines else {
        return Comment {
            id: comment.id,
            kind: CommentKind::Comment,
            author: Some(comment.author),
            body: comment.body,
            path: None,
            line: None,
            side: None,
            commit_sha: None,
            in_reply_to: None,
            outdated: false,
            created_at,
            url,
        };
    };
    Comment {
        id: comment.id,
        kind: CommentKind::Review,
        author: Some(comment.author),
        body: comment.body,
        path: Some(lines.path),
        line: Some(line.unwrap_or(lines.line)),
        side: Some(lines.side),
        commit_sha: Some(lines.commit_sha),
        in_reply_to: lines.in_reply_to,
        outdated: line.is_none(),
        created_at,
        url,
    }
}

impl LocalForge {
    /// Comments on an issue or a pull request in the name of `author`.
    pub(super) async fn write_comment(
        &self,
        mark: &EffectMark,
        repo: &RepoName,
        number: u64,
        author: &str,
        body: &str,
    ) -> Result<Comment, Failure> {
        let location = self.location(repo).await?;
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut comment = StoredComment {
            id: 0,
            number,
            author: author.to_owned(),
            body: body.to_owned(),
            lines: None,
            created_at: now,
        };
        let mut change = self.change_rows(mark).await?;
        let kind = touch(change.connection(), &folded, number, now).await?;
        let kind = kind.ok_or(MissingItem::IssueOrPull(number))?;
        comment.id = insert(change.connection(), &folded, &comment).await?;
        change.commit(WRITE).await?;
        Ok(shown(&location.name, kind, comment, None))
    }

    /// Lists the comments of a pull request, each with its line as it is now.
    pub(super) async fn comments_of(
        &self,
        repo: &RepoName,
        number: u64,
        paging: Paging,
    ) -> Result<CommentPage, Failure> {
        let location = self.location(repo).await?;
        let pull = self.row(repo, number).await?;
        let most = u64::from(paging.per_page);
        let mut reading = self.database.read().await?;
        let folded = repo.folded();
        let mut rows = list(&mut reading, &folded, number, skipped(paging), most + 1).await?;
        drop(reading);
        let more = rows.len() as u64 > most;
        rows.truncate(paging.per_page as usize);
        let root = Arc::clone(&self.root);
        let comments = run_blocking(move || {
            root.build(&location, |base| {
                let positions = base.pull_positions(&root, &pull, &rows)?;
                let rows = rows.iter().cloned().zip(positions);
                let show = |(row, line)| shown(&base.location.name, NumberKind::Pull, row, line);
                Ok(rows.map(show).collect())
            })
        });
        Ok(CommentPage {
            comments: comments.await?,
            more,
            truncated: false,
        })
    }

    /// Replies to a comment on a line. A reply to a reply belongs to the same first comment.
    pub(super) async fn write_reply(
        &self,
        mark: &EffectMark,
        repo: &RepoName,
        number: u64,
        comment: u64,
        body: &str,
    ) -> Result<Comment, Failure> {
        let location = self.location(repo).await?;
        let pull = self.row(repo, number).await?;
        let (folded, now) = (repo.folded(), self.now().as_microsecond());
        let mut reading = self.database.read().await?;
        let found: Option<StoredComment> = sqlx::query_as(
            "SELECT * FROM comments
             WHERE id = ? AND repo = ? AND number = ? AND path IS NOT NULL",
        )
        .bind(signed(comment))
        .bind(&folded)
        .bind(signed(number))
        .fetch_optional(&mut *reading)
        .await
        .or_broken(READ)?;
        drop(reading);
        let answered = found.ok_or(MissingItem::LineComment(comment))?;
        let mut lines = answered.lines.ok_or(MissingItem::LineComment(comment))?;
        lines.in_reply_to = lines.in_reply_to.or(Some(answered.id));
        lines.review_id = None;
        let mut reply = StoredComment {
            id: 0,
            number,
            author: self.identity.name.clone(),
            body: body.to_owned(),
            lines: Some(lines),
            created_at: now,
        };
        let (root, at, row) = (Arc::clone(&self.root), location.clone(), reply.clone());
        let line = run_blocking(move || {
            let rows = [row];
            root.build(&at, |base| base.pull_positions(&root, &pull, &rows))
        });
        let line = line.await?.into_iter().next().flatten();
        let mut change = self.change_rows(mark).await?;
        touch(change.connection(), &folded, number, now).await?;
        reply.id = insert(change.connection(), &folded, &reply).await?;
        change.commit(WRITE).await?;
        Ok(shown(&location.name, NumberKind::Pull, reply, line))
    }
}
