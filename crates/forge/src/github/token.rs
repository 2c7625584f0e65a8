//! The token that GitHub is shown: never printed, never compared, only sent.

use hyper::header::HeaderValue;
use std::fmt;

/// A token for GitHub.
#[derive(Clone)]
pub struct Token(HeaderValue);

impl Token {
    /// The token in `text`, if it can stand in a header: visible ASCII only, and not empty.
    pub fn new(text: &str) -> Option<Token> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}")).ok()?;
        // Keeps it out of what HTTP/2 remembers of a connection, and out of `Debug`.
        header.set_sensitive(true);
        Some(Token(header))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_visible_ascii() {
        assert!(Token::new("ghp_abc").is_some());
        for bad in ["", " ", "a b", "a\n", "ä", "a\u{7f}"] {
            assert!(Token::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_token_shows_nothing_of_itself() {
        let token = Token::new("ghp_canary").unwrap();
        let shown = format!("{token:?} {:?} {:?}", Some(&token), token.header());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
