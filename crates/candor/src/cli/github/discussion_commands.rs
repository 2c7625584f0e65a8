//! `candor github comment`, `review` and `label`: commands that speak for somebody else in the local forge.

use super::owner_commands::repo_name;
use super::{forge_error, open_recorded};
use crate::cli::data_dir::DataDirArgs;
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_forge::{DiffSide, LineComment, RepoName, ReviewEvent};
use clap::Args;
use std::num::NonZeroU64;

/// The maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 100;

/// The maximum number of characters of a text, as for the tools.
const MAX_TEXT_CHARS: usize = 10_000;

fn name(text: &str) -> Result<String, String> {
    let characters = text.chars().count();
    match characters == 0 || characters > MAX_NAME_CHARS || text.chars().any(char::is_control) {
        true => Err(format!("give a name of 1 to {MAX_NAME_CHARS} characters")),
        false => Ok(text.to_owned()),
    }
}

fn body(text: &str) -> Result<String, String> {
    match text.is_empty() || text.chars().count() > MAX_TEXT_CHARS {
        true => Err(format!("give a text of 1 to {MAX_TEXT_CHARS} characters")),
        false => Ok(text.to_owned()),
    }
}

/// Parses `PATH:LINE=TEXT`. The path may contain `:` and `=`, the text too.
fn line_comment(given: &str) -> Result<LineComment, String> {
    let wrong = || String::from("write PATH:LINE=TEXT, or PATH:-LINE=TEXT for a deleted line");
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    for (at, _) in given.match_indices('=') {
        let (place, text) = (&given[..at], &given[at + 1..]);
        let Some((path, line)) = place.rsplit_once(':') else {
            continue;
        };
        let (side, line) = match line.strip_prefix('-') {
            Some(line) => (DiffSide::Left, line),
            None => (DiffSide::Right, line),
        };
        if path.is_empty() || !is_line(line) {
            continue;
        }
        return Ok(LineComment {
            path: path.to_owned(),
            line: line.parse().map_err(|_| wrong())?,
            start_line: None,
            side,
            body: body(text)?,
        });
    }
    Err(wrong())
}

/// Comment on an issue or a pull request of the local forge in the name of somebody
#[derive(Debug, Args)]
pub(in crate::cli) struct CommentArgs {
    /// The repository
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: RepoName,
    /// The number of the issue or pull request
    number: NonZeroU64,
    /// The comment
    #[arg(value_parser = body)]
    text: String,
    /// The name of the person who comments
    #[arg(long = "as", value_name = "NAME", value_parser = name)]
    author: String,
    #[command(flatten)]
    data: DataDirArgs,
}

impl CommentArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let id = run(|_| async {
            let forge = open_recorded(&self.data).await?;
            let (number, name) = (self.number.get(), &self.author);
            let made = forge.comment_as(&self.repo, number, name, &self.text).await;
            made.map_err(|error| forge_error(&error))
        })?;
        print(format!("comment {id} on #{} of {}\n", self.number, self.repo).as_bytes())
    }
}

/// Review a pull request of the local forge in the name of somebody
///
/// The tools act in the name of the forge, and nobody approves their own pull request. With this command
/// another person approves, requests changes, or comments on lines. An approval merges the pull request if
/// it has auto-merge and nothing else is missing.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReviewArgs {
    /// The repository
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: RepoName,
    /// The number of the pull request
    number: NonZeroU64,
    /// Approve the present head
    #[arg(long, conflicts_with = "request_changes")]
    approve: bool,
    /// Request changes, which blocks merges into a base that requires approvals
    #[arg(long)]
    request_changes: bool,
    /// Comment on a line that the pull request shows; PATH:-LINE for a deleted line (repeatable)
    #[arg(long, value_name = "PATH:LINE=TEXT", value_parser = line_comment)]
    comment: Vec<LineComment>,
    /// The text of the review
    #[arg(long, value_name = "TEXT", value_parser = body)]
    body: Option<String>,
    /// The name of the reviewer
    #[arg(long = "as", value_name = "NAME", value_parser = name)]
    author: String,
    #[command(flatten)]
    data: DataDirArgs,
}

impl ReviewArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let event = match (self.approve, self.request_changes) {
            (true, _) => ReviewEvent::Approve,
            (false, true) => ReviewEvent::RequestChanges,
            (false, false) => ReviewEvent::Comment,
        };
        let (number, name) = (self.number.get(), &self.author);
        if event != ReviewEvent::Approve && self.body.is_none() && self.comment.is_empty() {
            let hint = "give --approve, or --body TEXT or --comment PATH:LINE=TEXT";
            return Err(CommandError::new("the review says nothing").with_hint(hint));
        }
        let repo = &self.repo;
        let review = run(|_| async {
            let forge = open_recorded(&self.data).await?;
            let (body, comments) = (self.body.clone(), self.comment.clone());
            let made = forge.review_as(repo, number, name, event, body, comments);
            made.await.map_err(|error| forge_error(&error))
        })?;
        let state = review.state.to_lowercase().replace('_', " ");
        print(format!("review {} of #{number} of {repo}: {state}\n", review.id).as_bytes())
    }
}

/// Set the labels of an issue or a pull request of the local forge
///
/// The given labels replace the earlier ones. Without a label, all of them are removed.
#[derive(Debug, Args)]
pub(in crate::cli) struct LabelArgs {
    /// The repository
    #[arg(value_name = "OWNER/NAME", value_parser = repo_name)]
    repo: RepoName,
    /// The number of the issue or pull request
    number: NonZeroU64,
    /// The labels
    #[arg(value_parser = name)]
    labels: Vec<String>,
    #[command(flatten)]
    data: DataDirArgs,
}

impl LabelArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        run(|_| async {
            let forge = open_recorded(&self.data).await?;
            let set = forge.set_labels(&self.repo, self.number.get(), &self.labels);
            set.await.map_err(|error| forge_error(&error))
        })?;
        let labels = match self.labels.is_empty() {
            true => String::from("no labels"),
            false => self.labels.join(", "),
        };
        print(format!("#{} of {}: {labels}\n", self.number, self.repo).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_comments_are_split_at_the_line() {
        let split = |text: &str| {
            let comment = line_comment(text).ok()?;
            Some((comment.path, comment.line, comment.side, comment.body))
        };
        let right = |path: &str, line, body: &str| {
            Some((path.to_owned(), line, DiffSide::Right, body.to_owned()))
        };
        assert_eq!(split("a/b.rs:3=x = y"), right("a/b.rs", 3, "x = y"));
        assert_eq!(split("a:b=c:4=d:5=e"), right("a:b=c", 4, "d:5=e"));
        let left = Some((String::from("a"), 2, DiffSide::Left, String::from("gone")));
        assert_eq!(split("a:-2=gone"), left);
        for wrong in [
            "",
            "a",
            "a:1",
            "a=1",
            "a:x=y",
            ":1=x",
            "a:1=",
            "a:99999999999999999999=x",
        ] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
