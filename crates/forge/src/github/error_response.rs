//! Reads a response that is not a success as typed facts: status, headers, documented members. Its prose
//! is passed on and decides nothing.

use super::limits::{MAX_MESSAGE_CHARS, MAX_RESET_SECONDS};
use super::redaction::Redactor;
use crate::{GithubErrorResponse, MissingItem, RequestKind};
use candor_fault::Timestamp;
use candor_http_client::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";
const SSO: &str = "x-github-sso";

/// The facts about a request that explain its response.
#[derive(Debug)]
pub(super) struct RequestFacts<'a> {
    pub(super) step: RequestKind,
    pub(super) missing: &'a MissingItem,
    /// The host of the API's pages for people.
    pub(super) site: &'a str,
}

/// Reads a response that is not a success.
pub(super) fn error_response(
    facts: &RequestFacts<'_>,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
    redactor: &Redactor,
) -> GithubErrorResponse {
    // An error page of a proxy is not JSON, and only its status counts.
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = json["message"].as_str().map(|text| redactor.text(text));
    let asks_to_wait = headers.contains_key(RETRY_AFTER);
    let used_up = used_up(headers);
    let documented = json["documentation_url"]
        .as_str()
        .is_some_and(names_rate_limits);
    GithubErrorResponse {
        status,
        step: facts.step,
        missing: facts.missing.clone(),
        message: message.map(|text| text.chars().take(MAX_MESSAGE_CHARS).collect()),
        errors: Some(json["errors"].clone())
            .filter(Value::is_array)
            .map(|errors| Box::new(redactor.value(errors))),
        limited: status == 429 || status == 403 && (asks_to_wait || used_up || documented),
        retry_after: wait(headers, now),
        sso_url: sso_url(headers, facts.site).map(|url| redactor.text(url).into()),
    }
}

/// Returns the address in `x-github-sso: required; url=…` if it is on the site of the API.
fn sso_url<'a>(headers: &'a HeaderMap, site: &str) -> Option<&'a str> {
    let header = headers.get(SSO)?.to_str().ok()?;
    let mut parts = header.split(';').map(str::trim);
    let url = parts.find_map(|part| part.strip_prefix("url="))?;
    let host = url.strip_prefix("https://")?;
    let host = host.split(['/', '?', '#']).next()?;
    host.eq_ignore_ascii_case(site).then_some(url)
}

/// Returns the wait that GitHub asks for: in seconds, or until the reset of an exhausted limit.
pub(super) fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if let Some(seconds) = number(headers, RETRY_AFTER.as_str()) {
        return Some(Duration::from_secs(seconds));
    }
    let reset = number(headers, RESET).filter(|_| used_up(headers))?;
    let now = u64::try_from(now.as_second()).unwrap_or_default();
    let wait = reset.saturating_sub(now).clamp(1, MAX_RESET_SECONDS);
    Some(Duration::from_secs(wait))
}

fn used_up(headers: &HeaderMap) -> bool {
    number(headers, REMAINING) == Some(0)
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Returns true if a URL of GitHub's documentation is a page or section on rate limits.
fn names_rate_limits(url: &str) -> bool {
    let location = url.split_once("://").map_or(url, |(_, rest)| rest);
    let location = location.split_once('/').map_or("", |(_, path)| path);
    let (path, section) = location.split_once('#').unwrap_or((location, ""));
    let path = path.split('?').next().unwrap_or_default();
    let pages = path.split('/').any(|part| part.contains("rate-limits"));
    pages || section.contains("rate-limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_http_client::header::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        });
        pairs.collect()
    }

    fn read(status: u16, pairs: &[(&'static str, &str)], body: &str) -> GithubErrorResponse {
        let facts = RequestFacts {
            step: RequestKind::Read,
            missing: &MissingItem::Repository,
            site: "github.com",
        };
        let now = Timestamp::from_second(1000).unwrap();
        let redactor = Redactor::default();
        let headers = headers(pairs);
        error_response(&facts, status, &headers, body.as_bytes(), now, &redactor)
    }

    #[test]
    fn headers_tell_a_limit_and_how_long_it_lasts() {
        let primary = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1042"),
        ];
        let response = read(403, &primary, "{}");
        assert!(response.limited);
        assert_eq!(response.retry_after, Some(Duration::from_secs(42)));
        let secondary = [("retry-after", "7"), ("x-ratelimit-remaining", "0")];
        let response = read(429, &secondary, "<html>");
        assert!(response.limited);
        assert_eq!(response.retry_after, Some(Duration::from_secs(7)));
        let dated = read(403, &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], "");
        assert!(dated.limited);
        assert_eq!(dated.retry_after, None);
        let left = [
            ("x-ratelimit-remaining", "7"),
            ("x-ratelimit-reset", "1042"),
        ];
        let response = read(403, &left, "{}");
        assert!(!response.limited);
        assert_eq!(response.retry_after, None);
    }

    #[test]
    fn too_many_requests_are_a_limit_without_headers() {
        assert!(read(429, &[], "<html>").limited);
        assert!(!read(403, &[], "<html>").limited);
    }

    #[test]
    fn page_of_single_sign_on_is_kept_if_it_is_on_the_site() {
        let url = |header: &str| read(403, &[("x-github-sso", header)], "{}").sso_url;
        let page = "https://github.com/orgs/octo/sso?authorization_request=x";
        assert_eq!(url(&format!("required; url={page}")).as_deref(), Some(page));
        for other in [
            "required; url=http://github.com/orgs/octo/sso",
            "required; url=https://github.com.example.com/sso",
            "required; url=https://a@github.com/sso",
            "partial-results; organizations=1,2",
        ] {
            assert_eq!(url(other), None, "{other}");
        }
    }

    #[test]
    fn end_of_a_limit_is_within_an_hour() {
        let at = |reset: &str| {
            let pairs = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
            read(403, &pairs, "{}").retry_after
        };
        assert_eq!(at("999"), Some(Duration::from_secs(1)));
        assert_eq!(at("1507651200000"), Some(Duration::from_secs(3600)));
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn link_to_documentation_shows_a_limit() {
        for url in [
            "https://docs.github.com/rest/overview/resources-in-the-rest-api#secondary-rate-limits",
            "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api",
            "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
            "https://developer.github.com/v3/#rate-limiting",
            "https://developer.github.com/v3/#abuse-rate-limits",
        ] {
            assert!(names_rate_limits(url), "{url}");
            let body = format!(r#"{{"documentation_url":"{url}"}}"#);
            assert!(read(403, &[], &body).limited);
            assert!(!read(404, &[], &body).limited);
        }
        for url in [
            "https://docs.github.com/rest/reference/issues#create-a-label",
            "https://docs.github.com/rest/repos/repos?about=rate-limits",
            "rate-limits",
            "",
        ] {
            assert!(!names_rate_limits(url), "{url}");
        }
    }

    #[test]
    fn page_in_html_leaves_the_status() {
        let response = read(502, &[], "<html>rate limit</html>");
        assert_eq!((response.status, response.message), (502, None));
        assert_eq!(response.errors, None);
        assert!(!response.limited);
    }

    proptest! {
        /// The status is kept for any body, and only 403 and 429 are limits.
        #[test]
        fn any_bytes_are_read(
            status in 300u16..600,
            body in proptest::collection::vec(any::<u8>(), 0..200),
            wait in "[0-9a-z:, -]{0,20}",
        ) {
            let body = String::from_utf8_lossy(&body);
            let response = read(status, &[("retry-after", &wait)], &body);
            prop_assert_eq!(response.status, status);
            prop_assert_eq!(response.limited, matches!(status, 403 | 429));
            let seconds = wait.trim().parse().ok().map(Duration::from_secs);
            prop_assert_eq!(response.retry_after, seconds);
        }

        /// The message decides nothing: the facts are the same for any text.
        #[test]
        fn words_change_nothing(words in "(rate limit|not found|abuse|validation|403|\\PC{0,20})") {
            let body = serde_json::json!({ "message": words, "documentation_url": "https://docs.github.com/rest" });
            let response = read(403, &[], &body.to_string());
            prop_assert!(!response.limited);
            prop_assert_eq!(response.message, Some(words));
        }
    }
}
