//! Where the API is, what addresses below it look like, and whether a redirect stays there.

use super::settings::SetupError;
use hyper::Uri;
use std::net::IpAddr;

/// The root of a REST API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    encrypted: bool,
    host: String,
    port: u16,
    /// The path that every address begins with, without a slash at its end.
    prefix: String,
}

impl Address {
    pub(super) fn read(url: &str) -> Result<Address, SetupError> {
        let uri: Uri = url.parse().map_err(|_| SetupError::Address)?;
        let place = place(&uri).ok_or(SetupError::Address)?;
        if uri.query().is_some() || strays(uri.path()) {
            return Err(SetupError::Address);
        }
        let (encrypted, host, port) = place;
        if !encrypted && !on_this_machine(&host) {
            return Err(SetupError::Unencrypted);
        }
        Ok(Address {
            encrypted,
            host,
            port,
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// The address of a route, which begins with a slash.
    pub(super) fn below(&self, route: &str) -> String {
        format!("{}{}{route}", self.root(), self.prefix)
    }

    /// The address of the GraphQL API: beside the REST API of an Enterprise server, below the public
    /// one.
    pub(super) fn graphql(&self) -> String {
        match self.prefix.strip_suffix("/v3") {
            Some(above) => format!("{}{above}/graphql", self.root()),
            None => self.below("/graphql"),
        }
    }

    /// The route that a `Location` leads to, where that is in this API.
    pub(super) fn route_of(&self, location: &str) -> Option<String> {
        let uri: Uri = location.parse().ok()?;
        if uri.authority().is_some() {
            let (encrypted, host, port) = place(&uri)?;
            if (encrypted, host.as_str(), port) != (self.encrypted, self.host.as_str(), self.port) {
                return None;
            }
        } else if !location.starts_with('/') {
            return None;
        }
        let route = uri.path_and_query()?.as_str().strip_prefix(&self.prefix)?;
        let path = route.split('?').next().unwrap_or_default();
        (route.starts_with('/') && !strays(path)).then(|| route.to_owned())
    }

    fn root(&self) -> String {
        let (scheme, usual) = match self.encrypted {
            true => ("https", 443),
            false => ("http", 80),
        };
        let Address { host, port, .. } = self;
        match *port == usual {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{port}"),
        }
    }
}

/// Whether it is encrypted, the host and the port; nothing where somebody's name stands before the
/// host.
fn place(uri: &Uri) -> Option<(bool, String, u16)> {
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
    Some((encrypted, authority.host().to_ascii_lowercase(), port))
}

/// Whether a path climbs: `.` and `..`, encoded or not, mean other things to other programs.
fn strays(path: &str) -> bool {
    path.split('/').any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

fn on_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    loopback || host == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address::read(url).unwrap()
    }

    #[test]
    fn graphql_is_below_the_public_api_and_beside_that_of_enterprise() {
        let public = address("https://api.github.com");
        assert_eq!(public.graphql(), "https://api.github.com/graphql");
        assert_eq!(public.below("/user"), "https://api.github.com/user");
        let own = address("https://Git.Example.com/api/v3/");
        assert_eq!(own.graphql(), "https://git.example.com/api/graphql");
        assert_eq!(own.below("/user"), "https://git.example.com/api/v3/user");
        let here = address("http://127.0.0.1:8080");
        assert_eq!(here.graphql(), "http://127.0.0.1:8080/graphql");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in [
            "",
            "api.github.com",
            "/api",
            "ftp://a",
            "https://u@a",
            "https://u:p@a/",
            "https://a/?q",
            "https://a/../b",
        ] {
            assert_eq!(Address::read(bad), Err(SetupError::Address), "{bad}");
        }
        let open = Address::read("http://api.github.com");
        assert_eq!(open, Err(SetupError::Unencrypted));
        assert!(Address::read("http://[::1]:80").is_ok());
        assert!(Address::read("http://localhost").is_ok());
    }

    #[test]
    fn a_redirect_stays_in_the_api_or_leads_nowhere() {
        let own = address("https://git.example.com/api/v3");
        let route = |location: &str| own.route_of(location);
        let there = Some("/repositories/1?a=b".to_owned());
        assert_eq!(
            route("https://git.example.com/api/v3/repositories/1?a=b"),
            there
        );
        assert_eq!(
            route("https://GIT.example.com:443/api/v3/repositories/1?a=b"),
            there
        );
        assert_eq!(route("/api/v3/repositories/1?a=b"), there);
        for elsewhere in [
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
            assert_eq!(route(elsewhere), None, "{elsewhere}");
        }
    }
}
