//! Answers whose times, ids and waits are replaced by what they are: the rest is compared by the byte.

/// What is replaced: a form in which `0` stands for a digit and `x` for one of base 16, and its name.
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

/// What several have said, which must be the same.
pub(crate) fn same(said: impl IntoIterator<Item = String>) -> String {
    let mut said = said.into_iter();
    let first = said.next().expect("somebody says something");
    for other in said {
        assert_eq!(other, first);
    }
    first
}

/// The text with names for times and ids, wherever they stand.
pub(crate) fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = FORMS.iter().find(|(form, _)| fits(rest, form));
        let (shown, length) = match found {
            Some((form, name)) => (*name, form.len()),
            None => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        masked.push_str(shown);
        rest = &rest[length..];
    }
    masked
}

/// The same, and `MS` for every wait that is a number.
pub(crate) fn unhurried(text: &str) -> String {
    const WAIT: &str = "retryAfterMs";
    let masked = masked(text);
    let mut pieces = masked.split(WAIT);
    let mut unhurried = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|c: char| c.is_ascii_digit());
        let start = digits.filter(|at| piece[..*at].ends_with(':'));
        unhurried += WAIT;
        match start {
            None => unhurried += piece,
            Some(start) => {
                let rest = piece[start..].trim_start_matches(|c: char| c.is_ascii_digit());
                unhurried += &format!("{}MS{rest}", &piece[..start]);
            }
        }
    }
    unhurried
}

#[test]
fn times_ids_and_waits_are_told_by_their_form() {
    let text = r#"{"id":"ord_640f5c4f38000ffffffffffff","at":"2026-01-02T03:04:05.678901Z","t":"{\"retryAfterMs\":12,\"x\":1}","retryAfterMs":null}"#;
    assert_eq!(
        unhurried(text),
        r#"{"id":"ord_ID","at":"TIME","t":"{\"retryAfterMs\":MS,\"x\":1}","retryAfterMs":null}"#
    );
}
