//! Which repositories may be touched at all, for reading and for writing alike.

use crate::RepoName;

/// A list of patterns `owner/name`; `*` stands for any text within a part. No pattern admits all.
#[derive(Debug, Clone, Default)]
pub struct AllowList(Vec<(String, String)>);

impl AllowList {
    /// One pattern more; nothing where it is none.
    pub fn admitting(mut self, pattern: &str) -> Option<Self> {
        let (owner, name) = pattern.split_once('/')?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-*".contains(&byte);
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(known);
        if !is_part(owner) || !is_part(name) {
            return None;
        }
        self.0
            .push((owner.to_ascii_lowercase(), name.to_ascii_lowercase()));
        Some(self)
    }

    /// Whether a repository may be touched.
    pub fn admits(&self, repo: &RepoName) -> bool {
        let owner = repo.owner().to_ascii_lowercase();
        let name = repo.name().to_ascii_lowercase();
        let fits = |(owners, names): &(String, String)| {
            matches(owners.as_bytes(), owner.as_bytes())
                && matches(names.as_bytes(), name.as_bytes())
        };
        self.0.is_empty() || self.0.iter().any(fits)
    }
}

/// Whether the text has the pattern's form; goes back to the last `*` only, so it is never slow.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(byte) if *byte == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                None => return false,
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    at = after;
                    seen = taken + 1;
                }
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> AllowList {
        let add = |list: AllowList, pattern: &&str| list.admitting(pattern).unwrap();
        patterns.iter().fold(AllowList::default(), add)
    }

    #[test]
    fn a_pattern_admits_its_repositories_without_case() {
        for (patterns, repo, wanted) in [
            (&[][..], "any/thing", true),
            (&["octo/*"][..], "Octo/cat", true),
            (&["octo/*"][..], "octopus/cat", false),
            (&["octo/cat", "x/*-a*b"][..], "x/1-a2b", true),
            (&["octo/cat", "x/*-a*b"][..], "x/1-a2c", false),
            (&["OCTO/CAT"][..], "octo/cat", true),
            (&["*/cat"][..], "a/dog", false),
        ] {
            let repo = RepoName::read(repo).unwrap();
            assert_eq!(list(patterns).admits(&repo), wanted, "{patterns:?} {repo}");
        }
        for bad in ["octo", "octo/", "/x", "a/b/c", "a b/c"] {
            assert!(AllowList::default().admitting(bad).is_none(), "{bad}");
        }
    }
}
