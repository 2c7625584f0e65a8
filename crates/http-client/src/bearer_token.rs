//! A bearer token that is sent and never printed.

use hyper::header::HeaderValue;
use std::fmt;

const PREFIX: &str = "Bearer ";

/// A bearer token. `Debug` shows nothing of it.
#[derive(Clone)]
pub struct BearerToken(HeaderValue);

impl BearerToken {
    /// Returns `None` if the text is empty or contains anything but visible ASCII.
    pub fn new(text: &str) -> Option<BearerToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut header = HeaderValue::from_str(&format!("{PREFIX}{text}")).ok()?;
        // Keeps the token out of the header table of HTTP/2 and out of `Debug`.
        header.set_sensitive(true);
        Some(BearerToken(header))
    }

    /// Returns the token itself, for comparison with texts that must not contain it.
    pub fn secret(&self) -> &str {
        let header = self.0.to_str().unwrap_or_default();
        header.strip_prefix(PREFIX).unwrap_or_default()
    }

    /// Returns the value of the header `Authorization`.
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BearerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_visible_ascii_is_accepted() {
        assert_eq!(BearerToken::new("ghp_abc").unwrap().secret(), "ghp_abc");
        for bad in ["", " ", "a b", "a\n", "ä", "a\u{7f}"] {
            assert!(BearerToken::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn debug_output_does_not_contain_the_token() {
        let token = BearerToken::new("ghp_canary").unwrap();
        let shown = format!("{token:?} {:?} {:?}", Some(&token), token.header());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
