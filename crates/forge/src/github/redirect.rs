//! Checks redirects: they must stay within the API and the allow-list. A renamed repository is
//! redirected to its number, so its current name is read first.

use super::api::Api;
use super::exchange_failure::ExchangeFailure;
use super::raw_types::RawRepositoryName;
use super::requests::GithubRead;
use super::route::Route;
use crate::{BackendContext, DenialReason, Failure, MissingItem, RepoName};

impl Api {
    /// Returns the route of a redirect if it may be followed.
    pub(super) async fn resolve_redirect(
        &self,
        context: &BackendContext,
        location: Option<String>,
        about: Option<&RepoName>,
    ) -> Result<String, Failure> {
        let location =
            location.ok_or_else(|| ExchangeFailure::redirect("a redirect to nowhere"))?;
        let route = self
            .base
            .route_of(&location)
            .ok_or_else(|| ExchangeFailure::redirect("a redirect out of the API"))?;
        let repo = match target(&route) {
            RedirectTarget::Number(number) => self.find_repository_name(context, number).await?,
            RedirectTarget::Repository(name) => name,
            // The request did not refer to a repository either.
            RedirectTarget::Other if about.is_none() => return Ok(route),
            RedirectTarget::Other => {
                return Err(
                    ExchangeFailure::redirect("a redirect from a repository to none").into(),
                );
            }
        };
        match (self.allows_repo)(&repo) {
            true => Ok(route),
            false => Err(Failure::Denied(DenialReason::Repository(repo))),
        }
    }

    async fn find_repository_name(
        &self,
        context: &BackendContext,
        number: u64,
    ) -> Result<RepoName, Failure> {
        let route = Route::root("repositories").number(number);
        let request = GithubRead::new(route, MissingItem::Repository);
        let found: RawRepositoryName = self
            .fetch_without_redirects(context, &request)
            .await?
            .json()?;
        RepoName::parse(&found.full_name)
            .ok_or_else(|| ExchangeFailure::nonsense("a repository without owner/name").into())
    }
}

/// The subject of a route.
#[derive(Debug, PartialEq, Eq)]
enum RedirectTarget {
    Number(u64),
    Repository(RepoName),
    Other,
}

fn target(route: &str) -> RedirectTarget {
    let path = route.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("repositories"), Some(number), _) => number
            .parse()
            .map_or(RedirectTarget::Other, RedirectTarget::Number),
        (Some("repos"), Some(owner), Some(name)) => {
            let read = RepoName::parse(&format!("{owner}/{name}"));
            read.map_or(RedirectTarget::Other, RedirectTarget::Repository)
        }
        _ => RedirectTarget::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_says_what_it_is_about() {
        assert_eq!(
            target("/repositories/12/pulls?a=/b"),
            RedirectTarget::Number(12)
        );
        let repo = RepoName::parse("a/b").unwrap();
        assert_eq!(target("/repos/a/b"), RedirectTarget::Repository(repo));
        for other in ["/repositories/x", "/repos/a", "/repos/%61/b", "/user", "/"] {
            assert_eq!(target(other), RedirectTarget::Other, "{other}");
        }
    }
}
