//! The hosts that a process may reach.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The maximum number of patterns.
pub const MAX_HOSTS: usize = 32;
/// The ports of a pattern that names none.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// The maximum length of a host name, in bytes.
const MAX_NAME: usize = 253;

/// The hosts that a process may reach, if their addresses are public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hosts {
    /// Every public host, on every port.
    Any,
    /// Hosts that match one of these patterns.
    Only(Vec<HostPattern>),
}

impl Hosts {
    /// Returns true if a host and a port match.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        match self {
            Hosts::Any => true,
            Hosts::Only(patterns) => patterns.iter().any(|pattern| pattern.matches(host, port)),
        }
    }
}

/// A host such as `api.example.org`, or all hosts below a domain such as `*.example.net`, with an optional
/// port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPattern {
    /// In lower case, without the wildcard.
    name: String,
    /// True if it matches the hosts below the name, and not the name itself.
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// Returns true if a host and a port match.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let matches_name = match self.below {
            false => host == self.name,
            true => host
                .strip_suffix(&self.name)
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|rest| !rest.is_empty()),
        };
        let matches_port = match self.port {
            Some(only) => port == only,
            None => USUAL_PORTS.contains(&port),
        };
        matches_name && matches_port
    }
}

/// The reason why a text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostError {
    Scheme,
    Path,
    Port,
    Wildcard,
    Name,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HostError::Scheme => "a host has no scheme; write api.example.org",
            HostError::Path => "a host has no path; write api.example.org",
            HostError::Port => "the port is not a number from 1 to 65535",
            HostError::Wildcard => "a wildcard stands only at the beginning, as in *.example.org",
            HostError::Name => "it is not the name of a host",
        })
    }
}

impl std::error::Error for HostError {}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text.contains("://") {
            return Err(HostError::Scheme);
        }
        if text.contains(['/', '?', '#', '@', '\\']) {
            return Err(HostError::Path);
        }
        let (host, port) = match text.rsplit_once(':') {
            None => (text, None),
            Some((host, port)) => {
                let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
                let number: Option<u16> = digits.then(|| port.parse().ok()).flatten();
                match number {
                    Some(number) if number > 0 => (host, Some(number)),
                    _ => return Err(HostError::Port),
                }
            }
        };
        let (name, below) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        if name.contains('*') {
            return Err(HostError::Wildcard);
        }
        let is_label = |label: &str| {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if name.len() > MAX_NAME || !name.split('.').all(is_label) {
            return Err(HostError::Name);
        }
        Ok(HostPattern {
            name: name.to_ascii_lowercase(),
            below,
            port,
        })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wildcard = if self.below { "*." } else { "" };
        write!(f, "{wildcard}{}", self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_hosts_and_ports() {
        for (pattern, host, port, expected) in [
            ("api.example.org", "api.example.org", 443, true),
            ("api.example.org", "API.Example.ORG.", 80, true),
            ("api.example.org", "api.example.org", 8080, false),
            ("api.example.org", "x.api.example.org", 443, false),
            ("api.example.org", "api.example.org.evil.net", 443, false),
            ("*.example.net:8443", "a.example.net", 8443, true),
            ("*.example.net:8443", "a.b.example.net", 8443, true),
            ("*.example.net:8443", "a.example.net", 443, false),
            ("*.example.net", "example.net", 443, false),
            ("*.example.net", ".example.net", 443, false),
            ("*.example.net", "evilexample.net", 443, false),
        ] {
            let hosts = Hosts::Only(vec![pattern.parse().unwrap()]);
            assert_eq!(
                hosts.matches(host, port),
                expected,
                "{pattern} {host}:{port}"
            );
        }
        assert!(Hosts::Any.matches("anything", 22));
        assert!(!Hosts::Only(Vec::new()).matches("anything", 443));
    }

    #[test]
    fn texts_that_are_not_hosts_have_their_reason() {
        for (text, error) in [
            ("https://example.org", HostError::Scheme),
            ("example.org/x", HostError::Path),
            ("user@example.org", HostError::Path),
            ("example.org:0", HostError::Port),
            ("example.org:65536", HostError::Port),
            ("example.org:", HostError::Port),
            ("example.org:+80", HostError::Port),
            ("*", HostError::Wildcard),
            ("a.*.org", HostError::Wildcard),
            ("*.*.org", HostError::Wildcard),
            ("", HostError::Name),
            ("*.", HostError::Name),
            ("a..b", HostError::Name),
            ("-a.org", HostError::Name),
            ("exämple.org", HostError::Name),
            ("a b", HostError::Name),
        ] {
            assert_eq!(text.parse::<HostPattern>(), Err(error), "{text}");
        }
        let shown: HostPattern = "*.Example.net:8443".parse().unwrap();
        assert_eq!(shown.to_string(), "*.example.net:8443");
    }
}
