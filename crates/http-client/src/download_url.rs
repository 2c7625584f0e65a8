//! The URL of a download to which a server has redirected.

use crate::base_url::{BaseUrl, Origin, is_loopback};
use crate::public_address::is_public;
use hyper::Uri;
use std::net::IpAddr;

/// A complete `http` or `https` URL without user name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadUrl {
    text: String,
    origin: Origin,
}

/// The reason why a redirect to a download is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadRefusal {
    /// It is not a complete URL.
    InvalidUrl,
    /// It is not encrypted.
    Unencrypted,
    /// It leads to the server itself.
    OwnHost,
    /// It leads to this machine or to a private network.
    PrivateAddress,
}

impl DownloadUrl {
    /// Checks the target of a redirect. It must be encrypted, unless the server itself is on this machine and
    /// is not, and lead to another host with a public address; servers on this machine differ by their
    /// ports. The addresses of a name are checked when it is resolved.
    pub fn check(target: &str, server: &BaseUrl) -> Result<DownloadUrl, DownloadRefusal> {
        let uri: Uri = target.parse().map_err(|_| DownloadRefusal::InvalidUrl)?;
        let origin = Origin::of(&uri).ok_or(DownloadRefusal::InvalidUrl)?;
        let is_local = server.is_loopback();
        if !origin.encrypted && (server.is_encrypted() || !is_local) {
            return Err(DownloadRefusal::Unencrypted);
        }
        if server.has_host(&origin.host) && (!is_local || server.has_port(origin.port)) {
            return Err(DownloadRefusal::OwnHost);
        }
        let address = origin.host.trim_start_matches('[').trim_end_matches(']');
        let address: Option<IpAddr> = address.parse().ok();
        let is_private = address.is_some_and(|address| !is_public(address))
            || is_loopback(&origin.host)
            || origin.host.ends_with(".localhost");
        if is_private && !(is_local && is_loopback(&origin.host)) {
            return Err(DownloadRefusal::PrivateAddress);
        }
        Ok(DownloadUrl {
            text: target.to_owned(),
            origin,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlainHttp;

    fn check(target: &str, server: &str) -> Option<DownloadRefusal> {
        let server = BaseUrl::parse(server, PlainHttp::LoopbackOnly).unwrap();
        DownloadUrl::check(target, &server).err()
    }

    #[test]
    fn only_another_public_host_is_downloaded_from() {
        use DownloadRefusal::*;
        for (target, refusal) in [
            ("https://storage.example/log?sig=a%2Bb", None),
            ("https://storage.example:8443/log", None),
            ("http://storage.example/log", Some(Unencrypted)),
            ("https://api.github.com/log", Some(OwnHost)),
            ("https://API.github.com:8443/log", Some(OwnHost)),
            ("https://127.0.0.1/log", Some(PrivateAddress)),
            ("https://[::1]/log", Some(PrivateAddress)),
            ("https://localhost/log", Some(PrivateAddress)),
            ("https://a.localhost/log", Some(PrivateAddress)),
            ("https://169.254.169.254/latest", Some(PrivateAddress)),
            ("https://[fd00::1]/log", Some(PrivateAddress)),
            ("https://u:p@storage.example/log", Some(InvalidUrl)),
            ("ftp://storage.example/log", Some(InvalidUrl)),
            ("/log", Some(InvalidUrl)),
            ("//storage.example/log", Some(InvalidUrl)),
            ("", Some(InvalidUrl)),
        ] {
            assert_eq!(check(target, "https://api.github.com"), refusal, "{target}");
        }
    }

    #[test]
    fn server_of_this_machine_may_redirect_to_another_port() {
        let server = "http://127.0.0.1:9000";
        for (target, refusal) in [
            ("http://127.0.0.1:9001/log", None),
            ("https://storage.example/log", None),
            ("http://127.0.0.1:9000/log", Some(DownloadRefusal::OwnHost)),
            ("http://10.0.0.1/log", Some(DownloadRefusal::PrivateAddress)),
        ] {
            assert_eq!(check(target, server), refusal, "{target}");
        }
    }
}
