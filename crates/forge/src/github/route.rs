//! Builds the path and the query of a request. Every part is encoded, none is `.` or `..`.

use crate::{Failure, RepoName};
use candor_fault::Cause;
use std::fmt::Write as _;

/// The path of a request below the API's root, and its query.
#[derive(Debug, Clone)]
pub(super) struct Route {
    text: String,
    repo: Option<RepoName>,
    queried: bool,
    climbs: bool,
}

impl Route {
    /// Starts a route at the root. The text is not encoded.
    pub(super) fn root(text: &'static str) -> Route {
        Route {
            text: format!("/{text}"),
            repo: None,
            queried: false,
            climbs: false,
        }
    }

    /// Starts the route of a repository.
    pub(super) fn of(repo: &RepoName) -> Route {
        let mut route = Route::root("repos").name(repo.owner()).name(repo.name());
        route.repo = Some(repo.clone());
        route
    }

    /// Returns the repository of the route.
    pub(super) fn repo(&self) -> Option<&RepoName> {
        self.repo.as_ref()
    }

    /// Appends a text that is not encoded.
    pub(super) fn then(mut self, text: &'static str) -> Route {
        self.text.push('/');
        self.text.push_str(text);
        self
    }

    /// Appends one part, encoded.
    pub(super) fn name(mut self, name: &str) -> Route {
        self.climbs |= matches!(name, "" | "." | "..");
        self.text.push('/');
        encode(name, &mut self.text);
        self
    }

    /// Appends the parts of a path or ref, encoded.
    pub(super) fn names(self, path: &str) -> Route {
        path.split('/').fold(self, Route::name)
    }

    pub(super) fn number(mut self, number: u64) -> Route {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "/{number}");
        self
    }

    pub(super) fn query(mut self, key: &'static str, value: &str) -> Route {
        self.text.push(if self.queried { '&' } else { '?' });
        self.queried = true;
        self.text.push_str(key);
        self.text.push('=');
        encode(value, &mut self.text);
        self
    }

    pub(super) fn page(self, page: u32, per_page: u32) -> Route {
        self.query("per_page", &per_page.to_string())
            .query("page", &page.to_string())
    }

    /// Returns the text of the route.
    pub(super) fn text(&self) -> Result<&str, Failure> {
        match self.climbs {
            false => Ok(&self.text),
            true => Err(Failure::Broken(
                "an address with an empty part, or with `.` or `..`, is never asked for",
                Cause::from("a name that no schema admits"),
            )),
        }
    }
}

/// Encodes everything but the unreserved characters of RFC 3986.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> RepoName {
        RepoName::parse("octo/hello.world").unwrap()
    }

    #[test]
    fn every_part_is_encoded() {
        let route = Route::of(&repo())
            .then("contents")
            .names("a b/ü?#%/c..d")
            .query("ref", "heads/x&y=1+2")
            .page(2, 30);
        assert_eq!(
            route.text().unwrap(),
            "/repos/octo/hello.world/contents/a%20b/%C3%BC%3F%23%25/c..d\
             ?ref=heads%2Fx%26y%3D1%2B2&per_page=30&page=2"
        );
    }

    #[test]
    fn part_that_climbs_is_never_asked_for() {
        for bad in ["..", "a/../b", ".", "a//b", "/a", "a/"] {
            let route = Route::of(&repo()).then("contents").names(bad);
            assert!(route.text().is_err(), "{bad}");
        }
    }
}
