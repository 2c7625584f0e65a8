//! Secrets whose shape is proof enough, and passwords in URLs.

use super::report::{PolicyRule, RawFinding};
use candor_secrets::SecretKind;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// The names of hosts that examples use, with everything below them.
const EXAMPLE_HOSTS: [&str; 7] = [
    "localhost",
    "test",
    "example",
    "invalid",
    "example.com",
    "example.net",
    "example.org",
];

/// Finds the secrets of a text, in their order.
pub(super) fn find(text: &str) -> impl Iterator<Item = RawFinding> {
    let found = candor_secrets::find(text).into_iter();
    found.filter_map(move |found| {
        let rule = match found.kind {
            SecretKind::PrivateKey => PolicyRule::PrivateKey,
            SecretKind::UrlPassword if is_credential(text, &found.range) => {
                PolicyRule::UrlCredentials
            }
            kind if kind.is_certain() => PolicyRule::SecretToken,
            _ => return None,
        };
        Some(RawFinding {
            rule,
            range: found.range,
        })
    })
}

/// Returns true if the password of `scheme://user:password@host` is meant to be used: it is neither the
/// name of the user nor crossed out, and the host is neither this machine nor one of an example.
fn is_credential(text: &str, password: &Range<usize>) -> bool {
    let before = text.get(..password.start).unwrap_or_default();
    let user = before.rsplit("://").next().unwrap_or_default();
    let user = user.trim_end_matches(':');
    let secret = text.get(password.clone()).unwrap_or_default();
    let after = text.get(password.end..).unwrap_or_default();
    let host = after.strip_prefix('@').unwrap_or_default();
    let end = |c: char| c.is_whitespace() || c.is_control() || "/?#\"'`<>\\,;()|".contains(c);
    let host = host.split(end).next().unwrap_or_default();
    secret != user && !secret.chars().all(|c| c == '*') && !is_example(host)
}

/// Returns true for loopback addresses and for hosts that are reserved for examples.
fn is_example(host: &str) -> bool {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        let address = address.parse::<Ipv6Addr>();
        return address.is_ok_and(|address| {
            address.is_loopback() || address.segments()[..2] == [0x2001, 0x0db8]
        });
    }
    let name = host.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return address.is_loopback() || address.is_documentation();
    }
    EXAMPLE_HOSTS.iter().any(|example| {
        let rest = name.strip_suffix(example);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
