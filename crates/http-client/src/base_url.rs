//! The URL that every request of a client starts with.

use crate::HttpSetupError;
use hyper::Uri;
use std::net::IpAddr;

/// The hosts that may be reached without encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only this machine.
    LoopbackOnly,
    AnyHost,
}

/// Scheme, host, port and path of a server's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    origin: Origin,
    /// Without a slash at its end.
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) encrypted: bool,
    /// In lower case.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl BaseUrl {
    /// Parses an `http` or `https` URL without user name, query, fragment and dot segments.
    pub fn parse(url: &str, plain_http: PlainHttp) -> Result<BaseUrl, HttpSetupError> {
        let uri: Uri = url.parse().map_err(|_| HttpSetupError::InvalidUrl)?;
        let origin = Origin::of(&uri).ok_or(HttpSetupError::InvalidUrl)?;
        // `Uri` drops a fragment without a word.
        if uri.query().is_some() || url.contains('#') || has_dot_segment(uri.path()) {
            return Err(HttpSetupError::InvalidUrl);
        }
        let needs_encryption = plain_http == PlainHttp::LoopbackOnly && !is_loopback(&origin.host);
        if needs_encryption && !origin.encrypted {
            return Err(HttpSetupError::Unencrypted);
        }
        Ok(BaseUrl {
            origin,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    pub fn is_encrypted(&self) -> bool {
        self.origin.encrypted
    }

    /// Returns true if the host is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.origin.host)
    }

    pub(crate) fn has_host(&self, host: &str) -> bool {
        self.origin.host == host
    }

    pub(crate) fn has_port(&self, port: u16) -> bool {
        self.origin.port == port
    }

    /// Returns scheme, host and port. The port is left out if it is the scheme's default.
    pub fn origin(&self) -> String {
        let Origin { host, port, .. } = &self.origin;
        let (scheme, default_port) = match self.origin.encrypted {
            true => ("https", 443),
            false => ("http", 80),
        };
        match *port == default_port {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{port}"),
        }
    }

    /// Returns the path, without a slash at its end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Appends a route, which starts with a slash.
    pub fn join(&self, route: &str) -> String {
        format!("{}{}{route}", self.origin(), self.path)
    }

    /// Returns the route of a `Location` header. Returns `None` if it leads to another origin or out of
    /// this base URL's path.
    pub fn route_of(&self, location: &str) -> Option<String> {
        let uri: Uri = location.parse().ok()?;
        if uri.authority().is_some() {
            if Origin::of(&uri)? != self.origin {
                return None;
            }
        } else if !location.starts_with('/') {
            return None;
        }
        let route = uri.path_and_query()?.as_str().strip_prefix(&self.path)?;
        let path = route.split('?').next().unwrap_or_default();
        (route.starts_with('/') && !has_dot_segment(path)).then(|| route.to_owned())
    }
}

impl Origin {
    /// Returns `None` if the URL has a user name, no host, or another scheme than `http` and `https`.
    pub(crate) fn of(uri: &Uri) -> Option<Origin> {
        let encrypted = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let port = match uri.port() {
            Some(port) => port.as_u16(),
            None if encrypted => 443,
            None => 80,
        };
        Some(Origin {
            encrypted,
            host: authority.host().to_ascii_lowercase(),
            port,
        })
    }
}

/// Returns true if a path contains `.` or `..`, encoded or not: programs disagree about their meaning.
fn has_dot_segment(path: &str) -> bool {
    path.split('/').any(|segment| {
        let decoded = segment.to_ascii_lowercase().replace("%2e", ".");
        decoded == "." || decoded == ".."
    })
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback_ip = address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback_ip || host == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_is_appended_to_the_base() {
        for (url, joined) in [
            ("https://shop.example/", "https://shop.example/v1/orders"),
            (
                "https://Shop.Example:8443/a/b/",
                "https://shop.example:8443/a/b/v1/orders",
            ),
            ("https://shop.example:443", "https://shop.example/v1/orders"),
            ("http://127.0.0.1:9/x", "http://127.0.0.1:9/x/v1/orders"),
            ("http://[::1]:9", "http://[::1]:9/v1/orders"),
            ("http://LocalHost", "http://localhost/v1/orders"),
        ] {
            let base = BaseUrl::parse(url, PlainHttp::LoopbackOnly).unwrap();
            assert_eq!(base.join("/v1/orders"), joined);
        }
    }

    #[test]
    fn unusable_url_is_refused() {
        for bad in [
            "",
            "api.example",
            "/api",
            "ftp://a",
            "https://u@a",
            "https://u:p@a/",
            "https://a/?q",
            "https://a/../b",
            "https://a/%2E%2e/b",
            "https://a/#b",
        ] {
            let parsed = BaseUrl::parse(bad, PlainHttp::AnyHost);
            assert_eq!(parsed, Err(HttpSetupError::InvalidUrl), "{bad}");
        }
    }

    #[test]
    fn remote_host_needs_encryption_unless_allowed() {
        for url in [
            "http://shop.example",
            "http://10.0.0.1",
            "http://127.0.0.1.example",
        ] {
            let parsed = BaseUrl::parse(url, PlainHttp::LoopbackOnly);
            assert_eq!(parsed, Err(HttpSetupError::Unencrypted));
            assert!(BaseUrl::parse(url, PlainHttp::AnyHost).is_ok());
        }
    }

    #[test]
    fn location_outside_the_base_has_no_route() {
        let base = BaseUrl::parse("https://git.example.com/api/v3", PlainHttp::LoopbackOnly);
        let base = base.unwrap();
        for inside in [
            "https://git.example.com/api/v3/repositories/1?a=b",
            "https://GIT.example.com:443/api/v3/repositories/1?a=b",
            "/api/v3/repositories/1?a=b",
        ] {
            let route = base.route_of(inside);
            assert_eq!(route.as_deref(), Some("/repositories/1?a=b"), "{inside}");
        }
        for outside in [
            "http://git.example.com/api/v3/repositories/1",
            "https://git.example.com:8443/api/v3/repositories/1",
            "https://git.example.com.evil.org/api/v3/repositories/1",
            "https://git.example.com@evil.org/api/v3/repositories/1",
            "https://evil.org/api/v3/repositories/1",
            "//evil.org/api/v3/repositories/1",
            "https://git.example.com/login",
            "https://git.example.com/api/v31/repositories/1",
            "https://git.example.com/api/v3/repos/../user",
            "https://git.example.com/api/v3/repos/%2E%2e/user",
            "repositories/1",
            "",
        ] {
            assert_eq!(base.route_of(outside), None, "{outside}");
        }
    }
}
