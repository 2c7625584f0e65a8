//! URLs of this backend: `candor:///owner/repo/…`, never a path of the disk.

use crate::RepoName;
use std::fmt::Write as _;

pub(super) fn repository(repo: &RepoName) -> String {
    format!("candor:///{repo}")
}

pub(super) fn blob(repo: &RepoName, at: &str, path: &str) -> String {
    below(repo, "blob", &[at, path])
}

pub(super) fn tree(repo: &RepoName, at: &str, path: &str) -> String {
    below(repo, "tree", &[at, path])
}

pub(super) fn commit(repo: &RepoName, sha: &str) -> String {
    below(repo, "commit", &[sha])
}

pub(super) fn pull(repo: &RepoName, number: u64) -> String {
    format!("{}/pull/{number}", repository(repo))
}

pub(super) fn issue(repo: &RepoName, number: u64) -> String {
    format!("{}/issues/{number}", repository(repo))
}

pub(super) fn release(repo: &RepoName, tag: &str) -> String {
    below(repo, "releases", &[tag])
}

fn below(repo: &RepoName, kind: &str, parts: &[&str]) -> String {
    let mut url = repository(repo);
    let segments = parts.iter().flat_map(|part| part.split('/'));
    for segment in [kind]
        .into_iter()
        .chain(segments.filter(|one| !one.is_empty()))
    {
        url.push('/');
        push_encoded(&mut url, segment);
    }
    url
}

fn push_encoded(url: &mut String, segment: &str) {
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                url.push(char::from(byte));
            }
            // Writing to a string does not fail.
            _ => drop(write!(url, "%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_is_encoded() {
        let repo = RepoName::parse("a/b").unwrap();
        assert_eq!(
            blob(&repo, "feature/x", "ä b/c?#%.md"),
            "candor:///a/b/blob/feature/x/%C3%A4%20b/c%3F%23%25.md"
        );
        assert_eq!(tree(&repo, "main", ""), "candor:///a/b/tree/main");
        assert_eq!(pull(&repo, 7), "candor:///a/b/pull/7");
    }
}
