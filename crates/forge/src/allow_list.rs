//! The allow-list of repositories, for reads and writes.

use crate::RepoName;
use crate::wildcard::matches;

/// A list of patterns `owner/name`. `*` matches any text within a part. An empty list allows everything.
#[derive(Debug, Clone, Default)]
pub struct AllowList(Vec<String>);

impl AllowList {
    /// Adds a pattern. Returns `None` if it is not a pattern.
    pub fn with_pattern(mut self, pattern: &str) -> Option<Self> {
        let (owner, name) = pattern.split_once('/')?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-*".contains(&byte);
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(known);
        if !is_part(owner) || !is_part(name) {
            return None;
        }
        self.0.push(pattern.to_ascii_lowercase());
        Some(self)
    }

    /// Returns true if tools may use the repository.
    pub fn allows(&self, repo: &RepoName) -> bool {
        let name = repo.folded();
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, &name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> AllowList {
        let add = |list: AllowList, pattern: &&str| list.with_pattern(pattern).unwrap();
        patterns.iter().fold(AllowList::default(), add)
    }

    #[test]
    fn pattern_admits_its_repositories_without_case() {
        for (patterns, repo, wanted) in [
            (&[][..], "any/thing", true),
            (&["octo/*"][..], "Octo/cat", true),
            (&["octo/*"][..], "octopus/cat", false),
            (&["octo/cat", "x/*-a*b"][..], "x/1-a2b", true),
            (&["octo/cat", "x/*-a*b"][..], "x/1-a2c", false),
            (&["OCTO/CAT"][..], "octo/cat", true),
            (&["*/cat"][..], "a/dog", false),
        ] {
            let repo = RepoName::parse(repo).unwrap();
            assert_eq!(list(patterns).allows(&repo), wanted, "{patterns:?} {repo}");
        }
        for bad in ["octo", "octo/", "/x", "a/b/c", "a b/c"] {
            assert!(AllowList::default().with_pattern(bad).is_none(), "{bad}");
        }
    }
}
