//! Writes JSON in two forms at once: plain, and quoted, as the contents of a JSON string. Quoting it
//! afterwards would take as long as everything else that an answer needs.

use crate::byte_search::find_escaped;
use crate::{ValueExcerpt, to_json};
use std::ops::Range;

/// A constant part of JSON in both forms.
pub(crate) struct Piece {
    pub(crate) plain: &'static str,
    pub(crate) quoted: &'static str,
}

/// Makes a [`Piece`] of literals; `q` stands for a quotation mark.
macro_rules! piece {
    ($($part:tt)*) => {
        $crate::quoted_json::Piece {
            plain: concat!($($crate::quoted_json::plain_part!($part)),*),
            quoted: concat!($($crate::quoted_json::quoted_part!($part)),*),
        }
    };
}

macro_rules! plain_part {
    (q) => {
        "\""
    };
    ($text:literal) => {
        $text
    };
}

macro_rules! quoted_part {
    (q) => {
        "\\\""
    };
    ($text:literal) => {
        $text
    };
}

pub(crate) use {piece, plain_part, quoted_part};

/// JSON that is being written. The quoted form is appended to a text that exists.
pub(crate) struct QuotedJson<'t> {
    pub(crate) plain: String,
    quoted: &'t mut String,
    /// The value that was written last, and where its quoted form is.
    last_value: Option<(ValueExcerpt, Range<usize>)>,
}

impl<'t> QuotedJson<'t> {
    pub(crate) fn new(capacity: usize, quoted: &'t mut String) -> Self {
        QuotedJson {
            plain: String::with_capacity(capacity),
            quoted,
            last_value: None,
        }
    }

    /// Appends a constant part. Inlined, because copying a known number of bytes is much faster.
    #[inline]
    pub(crate) fn piece(&mut self, piece: &Piece) {
        self.plain.push_str(piece.plain);
        self.quoted.push_str(piece.quoted);
    }

    /// Appends a part whose forms are known.
    pub(crate) fn both(&mut self, plain: &str, quoted: &str) {
        self.plain.push_str(plain);
        self.quoted.push_str(quoted);
    }

    /// Appends the contents of a string.
    pub(crate) fn text(&mut self, text: &str) {
        match find_escaped(text) {
            None => {
                self.plain.push_str(text);
                self.quoted.push_str(text);
            }
            Some(_) => {
                let escaped = to_json(text);
                self.json(contents(&escaped));
            }
        }
    }

    /// Appends a value. Violations of one object in a row have the same value, which is quoted once.
    pub(crate) fn value(&mut self, value: &ValueExcerpt) {
        match &self.last_value {
            Some((last, range)) if last.is_same(value) => {
                self.plain.push_str(value.get());
                self.quoted.extend_from_within(range.clone());
            }
            _ => {
                let start = self.quoted.len();
                self.json(value.get());
                self.last_value = Some((value.clone(), start..self.quoted.len()));
            }
        }
    }

    /// Appends a part that is JSON already.
    pub(crate) fn json(&mut self, json: &str) {
        self.plain.push_str(json);
        push_escaped(json, self.quoted);
    }
}

/// Appends a text as the contents of a JSON string.
pub(crate) fn push_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = find_escaped(rest) {
        let (before, from) = rest.split_at(at);
        let (one, after) = from.split_at(1);
        out.push_str(before);
        match one {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            control => out.push_str(contents(&to_json(control))),
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Returns a JSON string without its quotation marks.
fn contents(string: &str) -> &str {
    let inner = string.strip_prefix('"');
    inner
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_have_both_forms() {
        let piece = piece!["{" q "a" q ":"];
        assert_eq!((piece.plain, piece.quoted), ("{\"a\":", "{\\\"a\\\":"));
    }

    proptest! {
        #[test]
        fn quoted_form_is_the_plain_one_as_a_string(texts in prop::collection::vec(any::<String>(), 0..4)) {
            let mut quoted = String::from("before ");
            let mut json = QuotedJson::new(0, &mut quoted);
            json.piece(&piece!["["]);
            for (number, text) in texts.iter().enumerate() {
                if number > 0 {
                    json.piece(&piece![","]);
                }
                json.piece(&piece!["{" q "t" q ":" q]);
                json.text(text);
                json.piece(&piece![q "," q "j" q ":"]);
                json.json(&to_json(text));
                json.piece(&piece!["}"]);
            }
            json.piece(&piece!["]"]);
            let plain = json.plain;
            let expected: Vec<_> = texts.iter().map(|text| serde_json::json!({ "t": text, "j": text })).collect();
            prop_assert_eq!(&plain, &to_json(&expected));
            prop_assert_eq!(quoted, format!("before {}", contents(&to_json(&plain))));
        }
    }
}
