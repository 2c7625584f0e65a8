//! Replaces times, ids and waits in answers by fixed names, so that the rest can be compared byte by byte.

/// The forms that are replaced, and their names: `0` matches a digit, `x` a hexadecimal one.
const FORMS: [(&str, &str); 7] = [
    ("0000-00-00T00:00:00.000000Z", "TIME"),
    ("ord_xxxxxxxxxxxxxxxxxxxxxxxxx", "ord_ID"),
    ("ful_xxxxxxxxxxxxxxxxxxxxxxxxx", "ful_ID"),
    ("ret_xxxxxxxxxxxxxxxxxxxxxxxxx", "ret_ID"),
    ("cus_xxxxxxxxxxxxxxxxxxxxxxxxx", "cus_ID"),
    ("rec_xxxxxxxxxxxxxxxxxxxxxxxxx", "rec_ID"),
    ("0000-00-00T00:00:00.000Z", "TIME"),
];

fn fits(text: &str, form: &str) -> bool {
    let byte = |(byte, form): (u8, u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        form => byte == form,
    };
    text.len() >= form.len() && text.bytes().zip(form.bytes()).all(byte)
}

/// Returns the first of several texts, all of which must be equal.
pub(crate) fn all_equal(texts: impl IntoIterator<Item = String>) -> String {
    let mut texts = texts.into_iter();
    let first = texts.next().expect("there is a text");
    for other in texts {
        assert_eq!(other, first);
    }
    first
}

/// Replaces times and ids by their names.
pub(crate) fn mask(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let form = FORMS.iter().find(|(form, _)| fits(rest, form));
        let (replacement, length) = match form {
            Some((form, name)) => (*name, form.len()),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        masked.push_str(replacement);
        rest = &rest[length..];
    }
    masked
}

/// Replaces times, ids and numeric waits by their names.
pub(crate) fn mask_waits(text: &str) -> String {
    const WAIT: &str = "retryAfterMs";
    let masked = mask(text);
    let mut pieces = masked.split(WAIT);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|c: char| c.is_ascii_digit());
        let start = digits.filter(|at| piece[..*at].ends_with(':'));
        out += WAIT;
        match start {
            None => out += piece,
            Some(start) => {
                let rest = piece[start..].trim_start_matches(|c: char| c.is_ascii_digit());
                out += &format!("{}MS{rest}", &piece[..start]);
            }
        }
    }
    out
}

#[test]
fn times_ids_and_waits_are_masked() {
    let text = r#"{"id":"ord_640f5c4f38000ffffffffffff","at":"2026-01-02T03:04:05.678901Z","t":"{\"retryAfterMs\":12,\"x\":1}","retryAfterMs":null}"#;
    assert_eq!(
        mask_waits(text),
        r#"{"id":"ord_ID","at":"TIME","t":"{\"retryAfterMs\":MS,\"x\":1}","retryAfterMs":null}"#
    );
}
