//! Writes JSON in two forms at once: plain, and quoted, as the contents of a JSON string. Quoting it
//! afterwards would take as long as everything else that an answer needs.

use crate::to_json;

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
}

impl<'t> QuotedJson<'t> {
    pub(crate) fn new(capacity: usize, quoted: &'t mut String) -> Self {
        QuotedJson {
            plain: String::with_capacity(capacity),
            quoted,
        }
    }

    /// Appends a constant part.
    pub(crate) fn piece(&mut self, piece: &Piece) {
        self.plain.push_str(piece.plain);
        self.quoted.push_str(piece.quoted);
    }

    /// Appends the contents of a string.
    pub(crate) fn text(&mut self, text: &str) {
        match needs_escapes(text) {
            false => {
                self.plain.push_str(text);
                self.quoted.push_str(text);
            }
            true => {
                let escaped = to_json(text);
                self.json(contents(&escaped));
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
    while let Some(at) = rest.bytes().position(is_escaped) {
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

/// Returns true if a text and its form in a JSON string differ.
fn needs_escapes(text: &str) -> bool {
    // Without an early end many bytes are compared at once.
    text.bytes().fold(false, |any, byte| any | is_escaped(byte))
}

fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
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
