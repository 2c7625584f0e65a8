//! The head of a request to the proxy.

/// A request that the proxy understands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProxyRequest {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The head to send on, for plain HTTP. `None` for a tunnel.
    pub(crate) head: Option<Vec<u8>>,
}

/// Headers that concern only the connection to the proxy.
const HOP_BY_HOP: [&str; 5] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "keep-alive",
    "upgrade",
];

/// Parses a complete head, its empty line included. Returns `None` if it is not HTTP for a proxy.
pub(crate) fn parse(head: &[u8]) -> Option<ProxyRequest> {
    let text = std::str::from_utf8(head).ok()?;
    let (line, headers) = text.split_once("\r\n")?;
    let mut parts = line.split(' ');
    let (method, target, version) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = split_authority(target, None)?;
        return Some(ProxyRequest {
            host,
            port,
            head: None,
        });
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let (host, port) = split_authority(authority, Some(80))?;
    let slash = if path.starts_with('?') { "/" } else { "" };
    // One request on one connection: what follows on a kept one would not be judged.
    let mut sent = format!("{method} {slash}{path} HTTP/1.1\r\n");
    for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
        let (name, _) = header.split_once(':')?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return None;
        }
        if name.eq_ignore_ascii_case("host")
            || HOP_BY_HOP.iter().any(|hop| name.eq_ignore_ascii_case(hop))
        {
            continue;
        }
        sent.push_str(header);
        sent.push_str("\r\n");
    }
    // The host that was judged, not one that a header names.
    sent.push_str(&format!("Host: {authority}\r\nConnection: close\r\n\r\n"));
    Some(ProxyRequest {
        host,
        port,
        head: Some(sent.into_bytes()),
    })
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Splits `host:port` or `[address]:port`. The port may be absent if there is a usual one.
fn split_authority(authority: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            // An interface name after `%` would choose another network.
            if host.contains('%') {
                return None;
            }
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some("")),
            )
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let port = match port? {
        "" => usual?,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    let valid = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_plain);
    (valid && port > 0).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(head: &str) -> Option<(String, u16)> {
        parse(head.as_bytes()).map(|request| (request.host, request.port))
    }

    #[test]
    fn tunnels_and_plain_requests_are_parsed() {
        let tunnel = parse(b"CONNECT a.example:8443 HTTP/1.1\r\nHost: evil\r\n\r\n").unwrap();
        assert_eq!(
            (tunnel.host.as_str(), tunnel.port, tunnel.head),
            ("a.example", 8443, None)
        );
        assert_eq!(
            target("CONNECT [2600::1]:443 HTTP/1.1\r\n\r\n"),
            Some(("2600::1".into(), 443))
        );
        assert_eq!(
            target("GET http://a.example HTTP/1.0\r\n\r\n"),
            Some(("a.example".into(), 80))
        );
        assert_eq!(
            target("GET http://[::1]:81/x HTTP/1.1\r\n\r\n"),
            Some(("::1".into(), 81))
        );
        assert_eq!(
            target("GET http://a:80?q HTTP/1.1\r\n\r\n"),
            Some(("a".into(), 80))
        );

        let head = "POST http://a.example:81/p?q HTTP/1.1\r\nhost: other\r\nContent-Length: 3\r\nConnection: keep-alive\r\nProxy-Authorization: x\r\nX: y\r\n\r\n";
        let plain = parse(head.as_bytes()).unwrap().head.unwrap();
        assert_eq!(
            String::from_utf8(plain).unwrap(),
            "POST /p?q HTTP/1.1\r\nContent-Length: 3\r\nX: y\r\nHost: a.example:81\r\nConnection: close\r\n\r\n"
        );
    }

    #[test]
    fn other_requests_are_not_understood() {
        for head in [
            "",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\n\r\n",
            "get http://a/ HTTP/1.1\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "CONNECT a:0 HTTP/1.1\r\n\r\n",
            "CONNECT a:65536 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n",
            "CONNECT [fe80::1%eth0]:443 HTTP/1.1\r\n\r\n",
            "CONNECT user@a:443 HTTP/1.1\r\n\r\n",
            "GET http://user:pw@a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n folded: x\r\n\r\n",
            "\u{16}\u{3}\u{1}TLS\r\n\r\n",
        ] {
            assert_eq!(parse(head.as_bytes()), None, "{head:?}");
        }
    }
}
