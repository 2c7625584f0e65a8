//! Searches the titles and descriptions of issues and pull requests, newest first.

use super::LocalForge;
use super::code_search::terms;
use super::errors::OrBroken;
use super::history::skipped;
use super::pull_attributes::{NameTable, names};
use super::stored_pulls::signed;
use super::{times, url};
use crate::{Failure, IssueKind, IssueMatch, IssueMatches, Paging, PullState, RepoName};

/// The maximum number of issues and pull requests that are searched.
pub const MAX_SEARCHED_ISSUES: usize = 10_000;

/// The rows that are read at once.
const AT_ONCE: usize = 250;

/// A row of either table.
type Row = (
    String,
    i64,
    String,
    Option<String>,
    String,
    Option<String>,
    i64,
    i64,
);

/// A query: words that must occur, and the kind and state that are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct ParsedQuery {
    terms: Vec<String>,
    kind: Option<IssueKind>,
    state: Option<PullState>,
}

impl ParsedQuery {
    /// Parses a query. `is:`, `type:` and `state:` with a known word are conditions, the rest are words.
    fn parse(query: &str) -> ParsedQuery {
        let mut parsed = ParsedQuery::default();
        for term in terms(query) {
            match term.as_str() {
                "is:issue" | "type:issue" => parsed.kind = Some(IssueKind::Issue),
                "is:pr" | "is:pull-request" | "type:pr" => {
                    parsed.kind = Some(IssueKind::PullRequest);
                }
                "is:open" | "state:open" => parsed.state = Some(PullState::Open),
                "is:closed" | "state:closed" => parsed.state = Some(PullState::Closed),
                _ => parsed.terms.push(term),
            }
        }
        parsed
    }

    fn admits(&self, kind: IssueKind, state: PullState, title: &str, body: Option<&str>) -> bool {
        let fits = self.kind.is_none_or(|wanted| wanted == kind)
            && self.state.is_none_or(|wanted| wanted == state);
        if !fits {
            return false;
        }
        let text = format!("{title}\n{}", body.unwrap_or_default()).to_lowercase();
        self.terms.iter().all(|term| text.contains(term.as_str()))
    }
}

impl LocalForge {
    pub(super) async fn found_issues(
        &self,
        repo: &RepoName,
        query: &str,
        paging: Paging,
    ) -> Result<IssueMatches, Failure> {
        let location = self.location(repo).await?;
        let query = ParsedQuery::parse(query);
        let (skip, most) = (skipped(paging), paging.per_page as usize);
        let (mut results, mut total_count, mut incomplete) = (Vec::new(), 0_u64, false);
        let mut reading = self.database.read().await?;
        for offset in (0..).step_by(AT_ONCE) {
            let rows: Vec<Row> = sqlx::query_as(
                "SELECT 'issue', number, title, body, state, author, created_at, updated_at
                     FROM issues WHERE repo = ?1
                 UNION ALL
                 SELECT 'pull', number, title, body, state, author, created_at, updated_at
                     FROM pull_requests WHERE repo = ?1
                 ORDER BY number DESC LIMIT ?2 OFFSET ?3",
            )
            .bind(repo.folded())
            .bind(signed(AT_ONCE as u64))
            .bind(signed(offset as u64))
            .fetch_all(&mut *reading)
            .await
            .or_broken("the issues could not be read")?;
            let is_last = rows.len() < AT_ONCE;
            for (kind, number, title, body, state, author, created_at, updated_at) in rows {
                let kind = match kind.as_str() {
                    "issue" => IssueKind::Issue,
                    _ => IssueKind::PullRequest,
                };
                let state = match state.as_str() {
                    "open" | "merging" => PullState::Open,
                    _ => PullState::Closed,
                };
                if !query.admits(kind, state, &title, body.as_deref()) {
                    continue;
                }
                total_count += 1;
                if total_count <= skip || results.len() == most {
                    continue;
                }
                let number = u64::try_from(number).unwrap_or_default();
                let labels = NameTable::Labels;
                results.push(IssueMatch {
                    number,
                    kind,
                    title,
                    state,
                    author,
                    labels: names(&mut reading, labels, &repo.folded(), number).await?,
                    created_at: times::of_micros(created_at),
                    updated_at: times::of_micros(updated_at),
                    url: match kind {
                        IssueKind::Issue => url::issue(&location.name, number),
                        IssueKind::PullRequest => url::pull(&location.name, number),
                    },
                });
            }
            if is_last {
                break;
            }
            if offset + AT_ONCE >= MAX_SEARCHED_ISSUES {
                incomplete = true;
                break;
            }
        }
        Ok(IssueMatches {
            more: total_count > skip + results.len() as u64,
            results,
            total_count,
            incomplete,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifiers_of_kind_and_state_are_conditions() {
        let parsed = ParsedQuery::parse("is:issue Crash \"on start\" state:open label:x");
        let expected = ParsedQuery {
            terms: ["crash", "on start", "label:x"].map(String::from).to_vec(),
            kind: Some(IssueKind::Issue),
            state: Some(PullState::Open),
        };
        assert_eq!(parsed, expected);
        let (issue, open) = (IssueKind::Issue, PullState::Open);
        let words = ParsedQuery::parse("crash START");
        assert!(words.admits(issue, open, "Crash", Some("on start")));
        assert!(!words.admits(issue, open, "Crash", None));
        assert!(!parsed.admits(IssueKind::PullRequest, open, "crash on start label:x", None));
    }
}
