//! Admission of requests: Host and Origin, then the bearer token.

use candor_fault::Fault;
use candor_fault::dialects::Wire;
use candor_street::{CallerToken, Peer};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The header with the position in the caller's trace.
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// A token that is compared in constant time and never printed.
#[derive(Clone)]
pub struct AdmissionToken(Box<[u8]>);

impl AdmissionToken {
    /// Creates a token from the text of a file, without the white space around it. Returns `None` if it
    /// is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| AdmissionToken(text.as_bytes().into()))
    }

    fn matches(&self, token: &[u8]) -> bool {
        self.0.ct_eq(token).into()
    }
}

impl fmt::Debug for AdmissionToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// A client that is known by its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownClient {
    pub name: String,
    pub may_write: bool,
}

/// Finds clients by the tokens that they show. Tokens may change while the server runs.
pub trait ClientTokens: fmt::Debug + Send + Sync {
    /// Returns the client with this token.
    fn find(&self, token: &str) -> Option<KnownClient>;
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
    /// The clients, each with tokens of its own, in place of the two tokens above.
    pub clients: Option<Arc<dyn ClientTokens>>,
    /// True if every request must show a token of its own, which the server passes on. It is not checked
    /// here, and takes the place of all tokens above.
    pub passes_token_on: bool,
}

impl Admission {
    /// Checks that Host and Origin are this server's own.
    pub(super) fn check_host_and_origin(&self, headers: &HeaderMap) -> Result<(), Fault<Wire>> {
        let forbidden =
            |reason| Wire::invalid_request(reason).with_facts(|facts| facts.status = Some(403));
        let host = text(headers, &HOST).ok_or_else(|| forbidden("the Host header is missing"))?;
        if !self.is_allowed_host(host) {
            return Err(forbidden(
                "the Host header names another server; see --allowed-host",
            ));
        }
        let is_allowed = |origin: &HeaderValue| {
            origin
                .to_str()
                .is_ok_and(|text| self.is_allowed_origin(text))
        };
        if headers.get_all(ORIGIN).iter().all(is_allowed) {
            return Ok(());
        }
        Err(forbidden(
            "the Origin header names another site; see --allowed-origin",
        ))
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        let name = without_port(host);
        let is_listed = |allowed: &String| {
            allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host)
        };
        is_loopback(name) || self.is_bound(name) || self.allowed_hosts.iter().any(is_listed)
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        if self
            .allowed_origins
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(origin))
        {
            return true;
        }
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.map(without_port)
            .is_some_and(|name| is_loopback(name) || self.is_bound(name))
    }

    fn is_bound(&self, name: &str) -> bool {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let address: Option<IpAddr> = name.parse().ok();
        // An unspecified address means all addresses, so no name can be recognised as its own.
        address.is_some() && address == self.bound.filter(|bound| !bound.is_unspecified())
    }

    /// Identifies the caller by its token.
    pub(super) fn check_token(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
    ) -> Result<Peer, Fault<Wire>> {
        if self.passes_token_on {
            let token = bearer(headers).and_then(CallerToken::new);
            // Without a credential: nobody has checked the token yet.
            return Ok(Peer {
                address: Some(address),
                may_write: true,
                trace_parent: trace_parent(headers),
                token: Some(token.ok_or_else(token_required)?),
                ..Peer::default()
            });
        }
        let has_tokens =
            self.clients.is_some() || self.bearer.is_some() || self.write_bearer.is_some();
        let token = has_tokens.then(|| bearer(headers)).flatten();
        if let Some(clients) = &self.clients {
            let client = token.and_then(|token| clients.find(token));
            let client = client.ok_or_else(token_required)?;
            return Ok(Peer {
                credential: Some(client.name),
                address: Some(address),
                may_write: client.may_write,
                trace_parent: trace_parent(headers),
                token: None,
            });
        }
        let is_presented = |secret: &Option<AdmissionToken>| match (secret, token) {
            (Some(secret), Some(token)) => secret.matches(token.as_bytes()),
            _ => false,
        };
        // Both are always compared, so that the time does not reveal which one is similar.
        let (reads, writes) = (is_presented(&self.bearer), is_presented(&self.write_bearer));
        if self.bearer.is_some() && !reads && !writes {
            return Err(token_required());
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
            trace_parent: trace_parent(headers),
            token: None,
        })
    }
}

/// Returns the header `traceparent` if it has the form of version 00.
fn trace_parent(headers: &HeaderMap) -> Option<String> {
    let value = text(headers, &TRACE_PARENT)?;
    let mut parts = value.split('-');
    let parts = [(); 5].map(|()| parts.next());
    let [Some("00"), Some(trace), Some(span), Some(flags), None] = parts else {
        return None;
    };
    let is_hexadecimal = |part: &str, length: usize| {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        part.len() == length && part.bytes().all(digit)
    };
    let is_named = |part: &str| part.bytes().any(|byte| byte != b'0');
    let is_valid = is_hexadecimal(trace, 32)
        && is_hexadecimal(span, 16)
        && is_hexadecimal(flags, 2)
        && is_named(trace)
        && is_named(span);
    is_valid.then(|| value.to_owned())
}

fn token_required() -> Fault<Wire> {
    Wire::invalid_request("a bearer token is required").with_facts(|facts| facts.status = Some(401))
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

/// Returns the name without its port. A suffix that is not a port remains part of the name.
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

    const CLIENT_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

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
    fn position_in_a_trace_has_one_form() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TRACE_PARENT, value.parse().unwrap());
            trace_parent(&headers)
        };
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(read(valid).as_deref(), Some(valid));
        for other in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn only_known_hosts_and_origins_are_admitted() {
        let admission = Admission {
            bound: Some("10.1.2.3".parse().unwrap()),
            allowed_hosts: vec!["tools.example".into()],
            allowed_origins: vec!["https://app.example".into()],
            ..Admission::default()
        };
        for (host, origin, expected) in [
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
                status(admission.check_host_and_origin(&headers(&all))),
                expected,
                "{host} {origin:?}"
            );
        }
        assert_eq!(
            status(admission.check_host_and_origin(&HeaderMap::new())),
            Err(403)
        );
    }

    #[test]
    fn each_token_admits_to_its_operations() {
        let admission = Admission {
            bearer: AdmissionToken::new("read\n"),
            write_bearer: AdmissionToken::new("write"),
            ..Admission::default()
        };
        let peer = |token: &str| {
            let token = headers(&[(AUTHORIZATION, token)]);
            status(admission.check_token(&token, CLIENT_ADDRESS))
                .map(|peer| (peer.credential, peer.may_write))
        };
        assert_eq!(peer("Bearer read"), Ok((Some("bearer".into()), false)));
        assert_eq!(
            peer("bearer write"),
            Ok((Some("write-bearer".into()), true))
        );
        assert_eq!(peer("Bearer rea"), Err(401));
        assert_eq!(peer("Basic read"), Err(401));
        assert_eq!(
            status(admission.check_token(&HeaderMap::new(), CLIENT_ADDRESS)),
            Err(401)
        );
        let open = Admission::default().check_token(&HeaderMap::new(), CLIENT_ADDRESS);
        assert!(open.is_ok_and(|peer| peer.may_write && peer.credential.is_none()));
    }

    #[test]
    fn token_to_pass_on_is_required_and_not_judged() {
        let admission = Admission {
            passes_token_on: true,
            ..Admission::default()
        };
        let peer = |token: &str| {
            let token = headers(&[(AUTHORIZATION, token)]);
            status(admission.check_token(&token, CLIENT_ADDRESS))
        };
        let admitted = peer("bearer canary").unwrap();
        assert_eq!(admitted.token.as_ref().unwrap().secret(), "canary");
        assert!(admitted.may_write && admitted.credential.is_none());
        assert!(!format!("{admitted:?}").contains("canary"));
        for refused in ["Bearer", "Bearer ", "Bearer a b", "Basic canary", "canary"] {
            assert_eq!(peer(refused), Err(401), "{refused}");
        }
        let missing = admission.check_token(&HeaderMap::new(), CLIENT_ADDRESS);
        assert_eq!(status(missing), Err(401));
        let mut two = headers(&[(AUTHORIZATION, "Bearer a")]);
        two.append(AUTHORIZATION, "Bearer b".parse().unwrap());
        assert_eq!(
            status(admission.check_token(&two, CLIENT_ADDRESS)),
            Err(401)
        );
    }

    #[test]
    fn token_is_never_printed() {
        assert_eq!(
            format!("{:?}", AdmissionToken::new("canary")),
            "Some(Secret)"
        );
        assert!(AdmissionToken::new(" \n").is_none());
    }
}
