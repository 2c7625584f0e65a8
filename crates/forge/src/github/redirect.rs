//! Where a redirect may lead: within the API, and never past the allow-list. A renamed repository is
//! redirected to its number, so what it is called now is looked up first.

use super::api::Api;
use super::ask::Ask;
use super::broken::Broken;
use super::route::Route;
use super::shapes::Named;
use crate::{Denied, Failure, Missing, RepoName, Turn};

impl Api {
    /// The route that a redirect leads to, if it may be followed.
    pub(super) async fn admitted(
        &self,
        turn: &Turn,
        location: Option<String>,
        about: Option<&RepoName>,
    ) -> Result<String, Failure> {
        let location = location.ok_or_else(|| Broken::redirect("a redirect to nowhere"))?;
        let route = self
            .base
            .route_of(&location)
            .ok_or_else(|| Broken::redirect("a redirect out of the API"))?;
        let repo = match target(&route) {
            Target::Number(number) => self.numbered(turn, number).await?,
            Target::Repository(name) => name,
            // What was asked for was about no repository either.
            Target::Other if about.is_none() => return Ok(route),
            Target::Other => {
                return Err(Broken::redirect("a redirect from a repository to none").into());
            }
        };
        match (self.may)(&repo) {
            true => Ok(route),
            false => Err(Failure::Denied(Denied::Repository(repo))),
        }
    }

    async fn numbered(&self, turn: &Turn, number: u64) -> Result<RepoName, Failure> {
        let route = Route::root("repositories").number(number);
        let ask = Ask::new(route, Missing::Repository);
        let found: Named = self.fetch_here(turn, &ask).await?.json()?;
        RepoName::read(&found.full_name)
            .ok_or_else(|| Broken::nonsense("a repository without owner/name").into())
    }
}

/// What a route is about.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Number(u64),
    Repository(RepoName),
    Other,
}

fn target(route: &str) -> Target {
    let path = route.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("repositories"), Some(number), _) => {
            number.parse().map_or(Target::Other, Target::Number)
        }
        (Some("repos"), Some(owner), Some(name)) => {
            let read = RepoName::read(&format!("{owner}/{name}"));
            read.map_or(Target::Other, Target::Repository)
        }
        _ => Target::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_says_what_it_is_about() {
        assert_eq!(target("/repositories/12/pulls?a=/b"), Target::Number(12));
        let repo = RepoName::read("a/b").unwrap();
        assert_eq!(target("/repos/a/b"), Target::Repository(repo));
        for other in ["/repositories/x", "/repos/a", "/repos/%61/b", "/user", "/"] {
            assert_eq!(target(other), Target::Other, "{other}");
        }
    }
}
