//! The name of a repository: owner and name, compared without case.

use std::fmt;

/// `owner/name`.
#[derive(Debug, Clone)]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    /// Parses two parts of letters, digits, `.`, `_` and `-`, neither of them `.` or `..`.
    pub fn parse(text: &str) -> Option<RepoName> {
        let (owner, name) = text.split_once('/')?;
        (is_part(owner) && is_part(name)).then(|| RepoName {
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the repository of the same name of another owner.
    pub fn of(&self, owner: &str) -> Option<RepoName> {
        is_part(owner).then(|| RepoName {
            owner: owner.to_owned(),
            name: self.name.clone(),
        })
    }

    /// Returns the name in lower case, for comparison.
    pub fn folded(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

fn is_part(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty() && text != "." && text != ".." && text.bytes().all(known)
}

impl PartialEq for RepoName {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl Eq for RepoName {}

impl fmt::Display for RepoName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.owner, self.name)
    }
}

impl<'de> serde::Deserialize<'de> for RepoName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        RepoName::parse(&text).ok_or_else(|| serde::de::Error::custom("is no owner/name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_has_two_parts_of_its_alphabet() {
        for good in ["a/b", "A-1/b.git", "a/...", ".a/.b", "a/..b"] {
            assert!(RepoName::parse(good).is_some(), "{good}");
        }
        for bad in [
            "", "a", "a/", "/b", "a/b/c", "../b", "a/..", "./b", "a/ b", "ä/b",
        ] {
            assert!(RepoName::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn case_makes_no_difference() {
        assert_eq!(RepoName::parse("Octo/Cat"), RepoName::parse("octo/cAT"));
    }
}
