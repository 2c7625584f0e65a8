//! Searches repositories.
//!
//! Every word must be in `owner/name` or in the description, in any case. `user:`, `org:`, `repo:` and
//! `stars:` (always 0) are evaluated, `in:` always matches. No repository matches any other
//! `qualifier:value`.

use super::history::page;
use super::repository_root::RepositoryRoot;
use crate::{Failure, Paging, RepoName, RepositoryPage};

/// One condition of a query.
#[derive(Debug, PartialEq)]
enum Term {
    Word(String),
    Owner(String),
    Repo(String),
    Always,
    Never,
}

fn terms(query: &str) -> Vec<Term> {
    query.split_whitespace().map(term).collect()
}

fn term(word: &str) -> Term {
    let lower = word.to_lowercase();
    let Some((qualifier, value)) = lower.split_once(':') else {
        return Term::Word(lower);
    };
    let named = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    if qualifier.is_empty() || value.is_empty() || !qualifier.bytes().all(named) {
        return Term::Word(lower);
    }
    match qualifier {
        "user" | "org" => Term::Owner(value.to_owned()),
        "repo" => Term::Repo(value.to_owned()),
        "in" => Term::Always,
        "stars" if admits_zero(value) => Term::Always,
        _ => Term::Never,
    }
}

/// Returns true if 0 is in a range: `5`, `>5`, `>=5`, `<5`, `<=5`, `1..5`, `*..5`, `1..*`.
fn admits_zero(range: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    if let Some((from, to)) = range.split_once("..") {
        let from = from == "*" || number(from) == Some(0);
        return from && (to == "*" || number(to).is_some());
    }
    if let Some(from) = range.strip_prefix(">=") {
        return number(from) == Some(0);
    }
    if let Some(to) = range.strip_prefix("<=") {
        return number(to).is_some();
    }
    if let Some(to) = range.strip_prefix('<') {
        return number(to).is_some_and(|to| to > 0);
    }
    // 0 is never greater than a number.
    !range.starts_with('>') && number(range) == Some(0)
}

fn meets(name: &RepoName, description: &str, terms: &[Term]) -> bool {
    let folded = name.folded();
    terms.iter().all(|term| match term {
        Term::Word(word) => folded.contains(word.as_str()) || description.contains(word.as_str()),
        Term::Owner(owner) => name.owner().eq_ignore_ascii_case(owner),
        Term::Repo(repo) => folded == *repo,
        Term::Always => true,
        Term::Never => false,
    })
}

pub(super) fn search(
    root: &RepositoryRoot,
    query: &str,
    paging: Paging,
) -> Result<RepositoryPage, Failure> {
    let terms = terms(query);
    let mut found = Vec::new();
    let mut incomplete = false;
    for location in root.all()? {
        let opened = match root.open_at(location) {
            Ok(opened) => opened,
            // A directory that is not a repository.
            Err(Failure::Missing(_)) => continue,
            Err(_) => {
                incomplete = true;
                continue;
            }
        };
        let description = opened.description().unwrap_or_default().to_lowercase();
        if !meets(&opened.location.name, &description, &terms) {
            continue;
        }
        match opened.summary() {
            Ok(summary) => found.push(summary),
            // One damaged repository does not hide the others.
            Err(_) => incomplete = true,
        }
    }
    let total_count = found.len() as u64;
    let (repositories, _) = page(found.into_iter(), paging);
    Ok(RepositoryPage {
        repositories,
        total_count,
        incomplete,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_any_stars() {
        for yes in ["0", ">=0", "<1", "<=0", "0..5", "*..5", "0..*", "*..*"] {
            assert!(admits_zero(yes), "{yes}");
        }
        for no in ["1", ">0", ">=1", "<0", "1..5", "", "x", "0..x", ">", "-1"] {
            assert!(!admits_zero(no), "{no}");
        }
    }

    #[test]
    fn words_and_qualifiers_are_told_apart() {
        assert_eq!(
            terms("Hello USER:Octo stars:>100 in:name a::b :x topic:rust x:"),
            [
                Term::Word("hello".to_owned()),
                Term::Owner("octo".to_owned()),
                Term::Never,
                Term::Always,
                Term::Never,
                Term::Word(":x".to_owned()),
                Term::Never,
                Term::Word("x:".to_owned()),
            ]
        );
    }
}
