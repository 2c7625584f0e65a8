//! A token that a caller has shown for the server to pass on.

use std::fmt;

/// The maximum number of bytes of a caller's token.
pub const MAX_CALLER_TOKEN_BYTES: usize = 1024;

/// A caller's own token for the system behind a server. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct CallerToken(Box<str>);

impl CallerToken {
    /// Returns `None` if the text is empty, too long, or contains anything but visible ASCII.
    pub fn new(text: &str) -> Option<CallerToken> {
        let is_usable = (1..=MAX_CALLER_TOKEN_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_usable.then(|| CallerToken(text.into()))
    }

    /// Returns the token itself.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for CallerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("CallerToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_visible_ascii_within_the_bound_is_a_token() {
        let longest = "x".repeat(MAX_CALLER_TOKEN_BYTES);
        assert_eq!(CallerToken::new(&longest).unwrap().secret(), longest);
        for bad in ["", " ", "a b", "a\n", "ä", &format!("{longest}x")] {
            assert!(CallerToken::new(bad).is_none(), "{bad:?}");
        }
        assert_eq!(
            format!("{:?}", CallerToken::new("canary").unwrap()),
            "CallerToken"
        );
    }
}
