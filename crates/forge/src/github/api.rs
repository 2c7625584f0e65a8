//! The client of one API: base URL, identities, cached responses and headers.

use super::authentication::Identities;
use super::error_response::{RequestFacts, error_response};
use super::limits::MAX_REFUSAL_BYTES;
use super::redaction::Redactor;
use super::requests::GithubRead;
use super::response_cache::ResponseCache;
use super::route::Route;
use super::settings::{GithubSettings, GithubSetupError, RepoFilter};
use crate::{BackendContext, Failure, GithubErrorResponse, MissingItem, RepoName};
use candor_http_client::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use candor_http_client::{
    BaseUrl, BearerToken, BodyLimit, Bytes, ClientOptions, HttpClient, PlainHttp, Response,
    ResponseBody,
};
use candor_street::Clock;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const VERSION_HEADER: HeaderName = HeaderName::from_static("x-github-api-version");
const VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");

/// The time after which an unused connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_IDLE_CONNECTIONS: usize = 4;

/// The client of one API.
pub(super) struct Api {
    pub(super) base: BaseUrl,
    pub(super) client: HttpClient,
    pub(super) identities: Identities,
    pub(super) redactor: Redactor,
    /// The host of the API's pages for people.
    pub(super) site: String,
    pub(super) user_agent: HeaderValue,
    /// For downloads at other hosts, which never get a token.
    pub(super) downloads: HttpClient,
    pub(super) allows_repo: RepoFilter,
    pub(super) clock: Arc<dyn Clock>,
    /// The timeout of one exchange.
    pub(super) attempt: Duration,
    pub(super) response_cache: ResponseCache,
}

impl fmt::Debug for Api {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Api")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Api {
    pub(super) fn new(settings: GithubSettings) -> Result<Api, GithubSetupError> {
        let base = BaseUrl::parse(&settings.api_url, PlainHttp::LoopbackOnly)?;
        let options = ClientOptions {
            connect_timeout: settings.timeouts.connect,
            idle_timeout: IDLE_TIMEOUT,
            max_idle_connections: MAX_IDLE_CONNECTIONS,
        };
        let client = HttpClient::new(&base, options)?;
        let user_agent = HeaderValue::from_str(&settings.user_agent)
            .ok()
            .filter(|value| !value.is_empty())
            .ok_or(GithubSetupError::UserAgent)?;
        Ok(Api {
            site: site(&base),
            downloads: HttpClient::for_downloads(&base, options)?,
            base,
            client,
            redactor: Redactor::default(),
            identities: Identities::new(settings.authentication, settings.random),
            user_agent,
            allows_repo: settings.allows_repo,
            clock: settings.clock,
            attempt: settings.timeouts.attempt,
            response_cache: ResponseCache::default(),
        })
    }

    /// Returns the headers of a request with this token.
    pub(super) fn headers(&self, accept: &'static str, token: Option<&BearerToken>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(VERSION_HEADER, VERSION);
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.header());
        }
        headers
    }

    /// Reads a response that is not a success. If its body is lost, its status and headers remain.
    pub(super) async fn read_error_response(
        &self,
        facts: &RequestFacts<'_>,
        response: Response<ResponseBody>,
    ) -> GithubErrorResponse {
        let (head, body) = response.into_parts();
        let said = body.read(BodyLimit::Prefix(MAX_REFUSAL_BYTES)).await;
        let said = said.map(|body| body.bytes).unwrap_or_default();
        let (status, now) = (head.status.as_u16(), self.clock.now());
        error_response(facts, status, &head.headers, &said, now, &self.redactor)
    }

    /// Finds out whether a 404 refers to the whole repository.
    pub(super) async fn explain_not_found(
        &self,
        context: &BackendContext,
        route: &Route,
        failure: Failure,
    ) -> Failure {
        let mut response = match failure {
            Failure::GithubErrorResponse(response) if response.status == 404 => response,
            other => return other,
        };
        if let Some(repo) = route.repo()
            && response.missing != MissingItem::Repository
            && self.is_repository_hidden(context, repo).await
        {
            response.missing = MissingItem::Repository;
        }
        Failure::GithubErrorResponse(response)
    }

    async fn is_repository_hidden(&self, context: &BackendContext, repo: &RepoName) -> bool {
        let request = GithubRead::new(Route::of(repo), MissingItem::Repository);
        let found = self.fetch(context, &request).await;
        matches!(
            found,
            Err(Failure::GithubErrorResponse(GithubErrorResponse {
                status: 404,
                ..
            }))
        )
    }
}

/// Returns the host of the pages for people: that of an Enterprise server's API, or without `api.`.
fn site(base: &BaseUrl) -> String {
    let origin = base.origin();
    let host = origin.split_once("://").map_or(&*origin, |(_, host)| host);
    host.strip_prefix("api.").unwrap_or(host).to_owned()
}

/// Returns the header `Location`.
pub(super) fn location(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(LOCATION)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Returns the URL of the GraphQL API: beside the REST API of an Enterprise server, below the public
/// one.
pub(super) fn graphql_url(base: &BaseUrl) -> String {
    match base.path().strip_suffix("/v3") {
        Some(parent) => format!("{}{parent}/graphql", base.origin()),
        None => base.join("/graphql"),
    }
}

/// Adds the content type of a JSON body to the headers and returns the body's bytes.
pub(super) fn json_body(headers: &mut HeaderMap, body: Option<&Value>) -> Bytes {
    let Some(value) = body else {
        return Bytes::new();
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Bytes::from(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphql_is_below_the_public_api_and_beside_that_of_enterprise() {
        for (api, graphql) in [
            ("https://api.github.com", "https://api.github.com/graphql"),
            (
                "https://Git.Example.com/api/v3/",
                "https://git.example.com/api/graphql",
            ),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/graphql"),
        ] {
            let base = BaseUrl::parse(api, PlainHttp::LoopbackOnly).unwrap();
            assert_eq!(graphql_url(&base), graphql);
        }
    }
}
