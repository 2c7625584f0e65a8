//! The tokens that this process has sent to GitHub, to find them in what comes back.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

/// The maximum number of tokens that are remembered. The oldest is forgotten first.
pub const MAX_KNOWN_TOKENS: usize = 1024;

/// The least length of a token that is recognised. A shorter one would be found in ordinary words.
const MIN_CHARS: usize = 8;

/// The beginning of a token.
type Start = [u8; MIN_CHARS];

/// The tokens of this process.
#[derive(Default)]
pub(super) struct KnownTokens(RwLock<Arc<TokenSet>>);

#[derive(Clone, Default)]
struct TokenSet {
    by_start: HashMap<Start, Vec<Arc<str>>>,
    oldest_first: VecDeque<Arc<str>>,
}

impl KnownTokens {
    /// Remembers a token that is about to be sent.
    pub(super) fn remember(&self, token: &str) {
        if token.len() < MIN_CHARS || self.tokens().contains(token) {
            return;
        }
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut *tokens).insert(token);
    }

    /// Replaces every remembered token in these bytes.
    pub(super) fn redact<'a>(&self, bytes: &'a [u8], marker: &str) -> Cow<'a, [u8]> {
        let tokens = self.tokens();
        let Some((mut position, mut length)) = tokens.find(bytes, 0) else {
            return Cow::Borrowed(bytes);
        };
        let mut clean = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        loop {
            clean.extend_from_slice(&bytes[copied..position]);
            clean.extend_from_slice(marker.as_bytes());
            copied = position + length;
            match tokens.find(bytes, copied) {
                Some(next) => (position, length) = next,
                None => break,
            }
        }
        clean.extend_from_slice(&bytes[copied..]);
        Cow::Owned(clean)
    }

    fn tokens(&self) -> Arc<TokenSet> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TokenSet {
    fn contains(&self, token: &str) -> bool {
        let start = start_of(token.as_bytes()).and_then(|start| self.by_start.get(start));
        start.is_some_and(|tokens| tokens.iter().any(|known| **known == *token))
    }

    fn insert(&mut self, token: &str) {
        let Some(start) = start_of(token.as_bytes()) else {
            return;
        };
        if self.contains(token) {
            return;
        }
        let token: Arc<str> = token.into();
        self.by_start
            .entry(*start)
            .or_default()
            .push(Arc::clone(&token));
        self.oldest_first.push_back(token);
        if self.oldest_first.len() > MAX_KNOWN_TOKENS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, token: &str) {
        let Some(start) = start_of(token.as_bytes()) else {
            return;
        };
        if let Some(tokens) = self.by_start.get_mut(start) {
            tokens.retain(|known| **known != *token);
            if tokens.is_empty() {
                self.by_start.remove(start);
            }
        }
    }

    /// Returns the position and the length of the first token from `from` on; of several that start at the
    /// same position, the longest.
    fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        // Most bytes begin no token, and a look at two of them says so.
        let (mut first, mut second) = ([false; 256], [false; 256]);
        for token in &self.oldest_first {
            let token = token.as_bytes();
            first[usize::from(token[0])] = true;
            second[usize::from(token[1])] = true;
        }
        let windows = bytes[from..].windows(MIN_CHARS).enumerate();
        let mut starts = windows
            .filter(|(_, window)| first[usize::from(window[0])] && second[usize::from(window[1])]);
        starts.find_map(|(offset, window)| {
            let tokens = self.by_start.get(start_of(window)?)?.iter();
            let here = &bytes[from + offset..];
            let found = tokens.filter(|token| here.starts_with(token.as_bytes()));
            let length = found.map(|token| token.len()).max()?;
            Some((from + offset, length))
        })
    }
}

fn start_of(bytes: &[u8]) -> Option<&Start> {
    bytes.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(known: &KnownTokens, text: &str) -> String {
        let clean = known.redact(text.as_bytes(), "*");
        String::from_utf8(clean.into_owned()).unwrap()
    }

    #[test]
    fn every_remembered_token_is_found() {
        let known = KnownTokens::default();
        assert_eq!(redact(&known, "token-of-one"), "token-of-one");
        for token in [
            "token-of-one",
            "token-of-one-and-more",
            "short",
            "other-tok",
        ] {
            known.remember(token);
        }
        assert_eq!(
            redact(
                &known,
                "token-of-onetoken-of-one-and-more, short, other-tok"
            ),
            "**, short, *"
        );
        assert_eq!(redact(&known, "token-of-on"), "token-of-on");
        assert_eq!(redact(&known, ""), "");
    }

    #[test]
    fn oldest_token_is_forgotten_first() {
        let known = KnownTokens::default();
        for number in 0..=MAX_KNOWN_TOKENS {
            known.remember(&format!("token-number-{number:04}"));
            known.remember("token-number-0001");
        }
        assert_eq!(redact(&known, "token-number-0000"), "token-number-0000");
        assert_eq!(redact(&known, "token-number-0001"), "*");
        assert_eq!(redact(&known, "token-number-1024"), "*");
        assert_eq!(known.tokens().oldest_first.len(), MAX_KNOWN_TOKENS);
    }
}
