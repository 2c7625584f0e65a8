//! Where the order system is, and which addresses need no encryption.

use super::settings::SetupError;
use hyper::Uri;
use std::net::IpAddr;

/// The address that all routes stand behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    encrypted: bool,
    /// Scheme, host, port and path, without a slash at its end.
    base: String,
}

impl Address {
    pub(super) fn read(url: &str, allow_insecure: bool) -> Result<Address, SetupError> {
        let uri: Uri = url.parse().map_err(|_| SetupError::Address)?;
        let encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(SetupError::Address),
        };
        let authority = uri.authority().ok_or(SetupError::Address)?;
        let named = authority.as_str().contains('@') || authority.host().is_empty();
        if named || uri.query().is_some() || climbs(uri.path()) || url.contains('#') {
            return Err(SetupError::Address);
        }
        if !encrypted && !allow_insecure && !on_this_machine(authority.host()) {
            return Err(SetupError::Unencrypted);
        }
        let scheme = if encrypted { "https" } else { "http" };
        let path = uri.path().trim_end_matches('/');
        Ok(Address {
            encrypted,
            base: format!("{scheme}://{authority}{path}"),
        })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// The address of a route, which is a name.
    pub(super) fn below(&self, route: &str) -> String {
        format!("{}/v1/{route}", self.base)
    }
}

/// Whether a path has `.` or `..` in it, encoded or not: they mean other things to other programs.
fn climbs(path: &str) -> bool {
    path.split('/').any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

fn on_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    loopback || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_stand_behind_the_address() {
        let below = |url| Address::read(url, false).map(|address| address.below("get-orders"));
        for (url, route) in [
            (
                "https://shop.example/",
                "https://shop.example/v1/get-orders",
            ),
            (
                "https://shop.example:8443/a/b/",
                "https://shop.example:8443/a/b/v1/get-orders",
            ),
            ("http://127.0.0.1:9/x", "http://127.0.0.1:9/x/v1/get-orders"),
            ("http://[::1]:9", "http://[::1]:9/v1/get-orders"),
            ("http://localhost", "http://localhost/v1/get-orders"),
        ] {
            assert_eq!(below(url), Ok(String::from(route)));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in [
            "",
            "shop.example",
            "/v1",
            "ftp://a",
            "https://u@a",
            "https://u:p@a/",
            "https://a/?q",
            "https://a/../b",
            "https://a/%2E%2e/b",
            "https://a/#b",
        ] {
            assert_eq!(Address::read(bad, true), Err(SetupError::Address), "{bad}");
        }
    }

    #[test]
    fn only_this_machine_is_asked_in_the_open() {
        for far in [
            "http://shop.example",
            "http://10.0.0.1",
            "http://127.0.0.1.example",
        ] {
            assert_eq!(Address::read(far, false), Err(SetupError::Unencrypted));
            assert!(Address::read(far, true).is_ok());
        }
    }
}
