//! Admission of requests: Host and Origin, then the bearer token.

use candor_fault::Fault;
use candor_fault::dialects::Wire;
use candor_street::Peer;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use std::fmt;
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// A token that is compared in constant time and never printed.
#[derive(Clone)]
pub struct AdmissionToken(Box<[u8]>);

impl AdmissionToken {
    /// A token from the text of a file; white space around it does not belong to it. Nothing for an
    /// empty one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| AdmissionToken(text.as_bytes().into()))
    }

    fn is(&self, shown: &[u8]) -> bool {
        self.0.ct_eq(shown).into()
    }
}

impl fmt::Debug for AdmissionToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// The requirements of a listener.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// The bound address, whose name is allowed as a host.
    pub bound: Option<IpAddr>,
    /// More host names.
    pub allowed_hosts: Vec<String>,
    /// More origins, as browsers write them.
    pub allowed_origins: Vec<String>,
    /// The token for everything but health.
    pub bearer: Option<AdmissionToken>,
    /// The token that writing tools require.
    pub write_bearer: Option<AdmissionToken>,
}

impl Admission {
    /// Returns true if Host and Origin are this server's own.
    pub(super) fn place(&self, headers: &HeaderMap) -> Result<(), Fault<Wire>> {
        let forbidden =
            |why| Wire::invalid_request(why).with_facts(|facts| facts.status = Some(403));
        let host = text(headers, &HOST).ok_or_else(|| forbidden("the Host header is missing"))?;
        if !self.own_host(host) {
            return Err(forbidden(
                "the Host header names another server; see --allowed-host",
            ));
        }
        let own = |origin: &HeaderValue| origin.to_str().is_ok_and(|text| self.own_origin(text));
        if headers.get_all(ORIGIN).iter().all(own) {
            return Ok(());
        }
        Err(forbidden(
            "the Origin header names another site; see --allowed-origin",
        ))
    }

    fn own_host(&self, host: &str) -> bool {
        let name = without_port(host);
        let known = |allowed: &String| {
            allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host)
        };
        is_loopback(name) || self.is_bound(name) || self.allowed_hosts.iter().any(known)
    }

    fn own_origin(&self, origin: &str) -> bool {
        if self
            .allowed_origins
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        let place = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        place
            .map(without_port)
            .is_some_and(|name| is_loopback(name) || self.is_bound(name))
    }

    fn is_bound(&self, name: &str) -> bool {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let address: Option<IpAddr> = name.parse().ok();
        // An unspecified address means all addresses, so no name can be recognised as its own.
        address.is_some() && address == self.bound.filter(|bound| !bound.is_unspecified())
    }

    /// Identifies the caller by its token.
    pub(super) fn credential(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Peer, Fault<Wire>> {
        let shown = bearer(headers);
        let shows = |secret: &Option<AdmissionToken>| match (secret, shown) {
            (Some(secret), Some(shown)) => secret.is(shown.as_bytes()),
            _ => false,
        };
        // Both are compared always: the time says nothing about which one is close.
        let (reads, writes) = (shows(&self.bearer), shows(&self.write_bearer));
        if self.bearer.is_some() && !reads && !writes {
            return Err(Wire::invalid_request("a bearer token is required")
                .with_facts(|facts| facts.status = Some(401)));
        }
        let credential = match (writes, reads) {
            (true, _) => Some("write-bearer"),
            (false, true) => Some("bearer"),
            (false, false) => None,
        };
        Ok(Peer {
            credential: credential.map(String::from),
            address: Some(address),
            may_write: self.write_bearer.is_none() || writes,
        })
    }
}

/// Returns the text of a header that is present exactly once.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok().map(str::trim),
        _ => None,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = text(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The name without its port; what follows the name and is no port stays, and makes it another name.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn headers(all: &[(HeaderName, &str)]) -> HeaderMap {
        let pairs = all
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()));
        pairs.collect()
    }

    fn status<T>(result: Result<T, Fault<Wire>>) -> Result<T, u16> {
        result.map_err(|fault| fault.facts().status.unwrap_or_default())
    }

    #[test]
    fn only_own_hosts_and_origins_come_in() {
        let admission = Admission {
            bound: Some("10.1.2.3".parse().unwrap()),
            allowed_hosts: vec!["tools.example".into()],
            allowed_origins: vec!["https://app.example".into()],
            ..Admission::default()
        };
        for (host, origin, wanted) in [
            ("localhost:8788", None, Ok(())),
            ("LOCALHOST", Some("http://localhost:3000"), Ok(())),
            ("127.0.0.1:1", Some("https://127.0.0.1"), Ok(())),
            ("[::1]:1", Some("http://[::1]:99"), Ok(())),
            ("10.1.2.3:8788", None, Ok(())),
            ("tools.example:443", Some("https://app.example"), Ok(())),
            ("evil.example", None, Err(403)),
            ("127.0.0.1.evil.example", None, Err(403)),
            ("localhost.evil.example:80", None, Err(403)),
            ("localhost:evil.example", None, Err(403)),
            ("[::1].evil.example", None, Err(403)),
            (
                "127.0.0.1",
                Some("http://localhost:80@evil.example"),
                Err(403),
            ),
            ("127.0.0.1", Some("http://evil.example"), Err(403)),
            ("127.0.0.1", Some("http://localhost.evil.example"), Err(403)),
            ("127.0.0.1", Some("null"), Err(403)),
            ("127.0.0.1", Some("file://"), Err(403)),
        ] {
            let mut all = vec![(HOST, host)];
            all.extend(origin.map(|origin| (ORIGIN, origin)));
            assert_eq!(
                status(admission.place(&headers(&all))),
                wanted,
                "{host} {origin:?}"
            );
        }
        assert_eq!(status(admission.place(&HeaderMap::new())), Err(403));
    }

    #[test]
    fn tokens_open_what_they_are_for() {
        let admission = Admission {
            bearer: AdmissionToken::new("read\n"),
            write_bearer: AdmissionToken::new("write"),
            ..Admission::default()
        };
        let peer = |token: &str| {
            let shown = headers(&[(AUTHORIZATION, token)]);
            status(admission.credential(&shown, HERE)).map(|peer| (peer.credential, peer.may_write))
        };
        assert_eq!(peer("Bearer read"), Ok((Some("bearer".into()), false)));
        assert_eq!(
            peer("bearer write"),
            Ok((Some("write-bearer".into()), true))
        );
        assert_eq!(peer("Bearer rea"), Err(401));
        assert_eq!(peer("Basic read"), Err(401));
        assert_eq!(
            status(admission.credential(&HeaderMap::new(), HERE)),
            Err(401)
        );
        let open = Admission::default().credential(&HeaderMap::new(), HERE);
        assert!(open.is_ok_and(|peer| peer.may_write && peer.credential.is_none()));
    }

    #[test]
    fn a_secret_is_never_printed() {
        assert_eq!(
            format!("{:?}", AdmissionToken::new("canary")),
            "Some(Secret)"
        );
        assert!(AdmissionToken::new(" \n").is_none());
    }
}
