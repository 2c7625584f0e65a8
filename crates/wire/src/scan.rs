//! The one validating scan of a message, before anything looks into it: grammar, depth, count,
//! surrogates, repeated names, numbers out of range. It never recurses and keeps no values.

use std::borrow::Cow;
use std::collections::HashSet;

/// The most levels of a message.
pub const MAX_DEPTH: usize = 128;

/// The most JSON values of a message.
pub const MAX_VALUES: usize = 100_000;

/// From this many names on, an object's names are looked up in a set.
const LINEAR_NAMES: usize = 16;

/// The outcome of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanOutcome {
    /// Acceptable JSON.
    Fine,
    /// Not JSON.
    Malformed,
    /// Grammatical JSON that is refused all the same.
    Flawed(ScanError),
}

/// The reason why grammatical JSON is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanError {
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More than [`MAX_VALUES`] values; the rest was not scanned.
    TooManyValues,
    /// A surrogate without its other half.
    LoneSurrogate,
    /// A member name twice in one object.
    RepeatedName,
    /// A number that no double can hold.
    NumberRange,
}

/// Scans a whole message.
pub fn scan(text: &str) -> ScanOutcome {
    let mut scanner = Scanner::new(text);
    match scanner.document() {
        Ok(()) => scanner.flaw.map_or(ScanOutcome::Fine, ScanOutcome::Flawed),
        Err(ScanStop::Malformed) => ScanOutcome::Malformed,
        Err(ScanStop::TooManyValues) => ScanOutcome::Flawed(ScanError::TooManyValues),
    }
}

enum ScanStop {
    Malformed,
    TooManyValues,
}

/// The token that the grammar allows next.
enum NextToken {
    Value,
    ValueOrEnd,
    NameOrEnd,
    Name,
    CommaOrEnd,
}

/// An open array, or an open object with the index of its first name.
enum OpenContainer<'a> {
    Array,
    Object {
        first: usize,
        set: Option<HashSet<Cow<'a, str>>>,
    },
}

/// A member's name between its quotes, escapes as they are.
#[derive(Clone, Copy)]
struct MemberName<'a> {
    text: &'a str,
    escaped: bool,
}

impl<'a> MemberName<'a> {
    /// Returns the name with its escapes resolved. A name with invalid escapes is refused elsewhere.
    fn unescaped(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.text);
        }
        serde_json::from_str::<String>(&format!("\"{}\"", self.text))
            .map_or(Cow::Borrowed(self.text), Cow::Owned)
    }

    fn equals(self, other: MemberName<'_>) -> bool {
        if self.escaped || other.escaped {
            return self.unescaped() == other.unescaped();
        }
        self.text == other.text
    }
}

/// Capacities for an ordinary message, so that it needs no second allocation.
const USUAL_FRAMES: usize = 8;
const USUAL_NAMES: usize = 16;

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    values: usize,
    flaw: Option<ScanError>,
    frames: Vec<OpenContainer<'a>>,
    names: Vec<MemberName<'a>>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Scanner {
            text,
            bytes: text.as_bytes(),
            at: 0,
            values: 0,
            flaw: None,
            frames: Vec::with_capacity(USUAL_FRAMES),
            names: Vec::with_capacity(USUAL_NAMES),
        }
    }

    fn document(&mut self) -> Result<(), ScanStop> {
        let mut expect = NextToken::Value;
        loop {
            let byte = self.next_token().ok_or(ScanStop::Malformed)?;
            expect = match (expect, byte) {
                (NextToken::ValueOrEnd, b']') | (NextToken::NameOrEnd, b'}') => self.close(byte)?,
                (NextToken::CommaOrEnd, b']' | b'}') => self.close(byte)?,
                (NextToken::CommaOrEnd, b',') => self.comma(),
                (NextToken::Value | NextToken::ValueOrEnd, _) => self.value(byte)?,
                (NextToken::Name | NextToken::NameOrEnd, b'"') => self.name()?,
                _ => return Err(ScanStop::Malformed),
            };
            if self.frames.is_empty() {
                return self.check_end();
            }
        }
    }

    /// Returns the next byte that is not white space, without consuming it.
    fn next_token(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn check_end(&mut self) -> Result<(), ScanStop> {
        match self.next_token() {
            None => Ok(()),
            Some(_) => Err(ScanStop::Malformed),
        }
    }

    fn report_flaw(&mut self, flaw: ScanError) {
        self.flaw.get_or_insert(flaw);
    }

    fn comma(&mut self) -> NextToken {
        self.at += 1;
        match self.frames.last() {
            Some(OpenContainer::Object { .. }) => NextToken::Name,
            _ => NextToken::Value,
        }
    }

    fn close(&mut self, byte: u8) -> Result<NextToken, ScanStop> {
        self.at += 1;
        match (self.frames.pop(), byte) {
            (Some(OpenContainer::Array), b']') => {}
            (Some(OpenContainer::Object { first, .. }), b'}') => self.names.truncate(first),
            _ => return Err(ScanStop::Malformed),
        }
        Ok(NextToken::CommaOrEnd)
    }

    fn value(&mut self, byte: u8) -> Result<NextToken, ScanStop> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(ScanStop::TooManyValues);
        }
        match byte {
            b'{' => {
                let first = self.names.len();
                self.open(OpenContainer::Object { first, set: None });
                return Ok(NextToken::NameOrEnd);
            }
            b'[' => {
                self.open(OpenContainer::Array);
                return Ok(NextToken::ValueOrEnd);
            }
            b'"' => {
                self.string()?;
            }
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            _ => self.number()?,
        }
        Ok(NextToken::CommaOrEnd)
    }

    fn open(&mut self, frame: OpenContainer<'a>) {
        self.at += 1;
        self.frames.push(frame);
        if self.frames.len() > MAX_DEPTH {
            self.report_flaw(ScanError::TooDeep);
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), ScanStop> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) != Some(word.as_bytes()) {
            return Err(ScanStop::Malformed);
        }
        self.at = end;
        Ok(())
    }

    fn name(&mut self) -> Result<NextToken, ScanStop> {
        let name = self.string()?;
        self.add_name(name);
        if self.next_token() != Some(b':') {
            return Err(ScanStop::Malformed);
        }
        self.at += 1;
        Ok(NextToken::Value)
    }

    /// Adds a name to the innermost object, and reports a repeated one.
    fn add_name(&mut self, name: MemberName<'a>) {
        let Some(OpenContainer::Object { first, set }) = self.frames.last_mut() else {
            return;
        };
        let known = &self.names[*first..];
        let repeated = match set {
            Some(set) => !set.insert(name.unescaped()),
            None if known.len() < LINEAR_NAMES => known.iter().any(|other| other.equals(name)),
            None => {
                let all: HashSet<_> = known.iter().map(|other| other.unescaped()).collect();
                !set.insert(all).insert(name.unescaped())
            }
        };
        self.names.push(name);
        if repeated {
            self.report_flaw(ScanError::RepeatedName);
        }
    }

    /// A string between its quotes.
    fn string(&mut self) -> Result<MemberName<'a>, ScanStop> {
        let start = self.at + 1;
        self.at = start;
        let mut escaped = false;
        loop {
            self.at += count_plain(&self.bytes[self.at..]);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let text = self.text.get(start..self.at).ok_or(ScanStop::Malformed)?;
                    self.at += 1;
                    return Ok(MemberName { text, escaped });
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(ScanStop::Malformed),
            }
            escaped = true;
        }
    }

    fn escape(&mut self) -> Result<(), ScanStop> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let unit = self.code_unit(self.at)?;
                self.at += 6;
                match unit {
                    0xD800..0xDC00 => self.low_surrogate()?,
                    0xDC00..0xE000 => self.report_flaw(ScanError::LoneSurrogate),
                    _ => {}
                }
            }
            _ => return Err(ScanStop::Malformed),
        }
        Ok(())
    }

    /// Consumes the second half after a high surrogate, if there is one.
    fn low_surrogate(&mut self) -> Result<(), ScanStop> {
        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            self.report_flaw(ScanError::LoneSurrogate);
            return Ok(());
        }
        match self.code_unit(self.at)? {
            0xDC00..0xE000 => self.at += 6,
            _ => self.report_flaw(ScanError::LoneSurrogate),
        }
        Ok(())
    }

    /// The four digits of the escape at `at`.
    fn code_unit(&self, at: usize) -> Result<u32, ScanStop> {
        let digits = self.bytes.get(at + 2..at + 6).ok_or(ScanStop::Malformed)?;
        let mut unit = 0;
        for digit in digits {
            let value = (*digit as char).to_digit(16).ok_or(ScanStop::Malformed)?;
            unit = unit * 16 + value;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), ScanStop> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(ScanStop::Malformed),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut may_be_large = self.at - start > 300;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            may_be_large = true;
        }
        let number = &self.text[start..self.at];
        if may_be_large && number.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.report_flaw(ScanError::NumberRange);
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanStop> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        if self.at == start {
            Err(ScanStop::Malformed)
        } else {
            Ok(())
        }
    }
}

/// Counts the bytes at the beginning that are neither a quote, a backslash nor a control character.
/// Reads eight at a time, because most of a message is inside strings.
fn count_plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // The high bit of each byte that is zero; bytes after the first one may be wrong.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let matches = (control | quote | backslash) & (ONES << 7);
        if matches != 0 {
            return index * 8 + (matches.trailing_zeros() / 8) as usize;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let rest_plain = rest.iter().position(special).unwrap_or(rest.len());
    words.len() * 8 + rest_plain
}

/// Returns the members of an object in a scanned text, in order: each name with its escapes resolved,
/// and the text of its value. A value that is not an object has no members.
pub fn members(object: &str) -> Members<'_> {
    let object = object.trim_ascii();
    let inside = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    Members {
        rest: inside.unwrap_or_default(),
    }
}

/// See [`members`].
#[derive(Debug)]
pub struct Members<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        let name_end = string_end(rest.as_bytes())?;
        let name = rest.get(1..name_end - 1)?;
        let value = rest.get(name_end..)?.trim_ascii_start().strip_prefix(':')?;
        let value = value.trim_ascii_start();
        let end = value_end(value.as_bytes());
        let after = value.get(end..)?.trim_ascii_start();
        self.rest = after.strip_prefix(',').unwrap_or_default();
        let name = MemberName {
            text: name,
            escaped: name.contains('\\'),
        };
        Some((name.unescaped(), value.get(..end)?.trim_ascii_end()))
    }
}

/// Returns the end of the string that begins at the first byte, its quotes included.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += count_plain(bytes.get(at..)?);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the end of the value that begins at the first byte.
fn value_end(bytes: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += string_end(&bytes[at..]).unwrap_or(bytes.len() - at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn only_valid_json_is_accepted() {
        for fine in [
            "0",
            " [] ",
            "{}",
            r#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",null]}"#,
            "-0",
            "\"\"",
        ] {
            assert_eq!(scan(fine), ScanOutcome::Fine, "{fine}");
        }
        for broken in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":}",
            "{\"a\"}",
            "01",
            "1.",
            "-",
            "+1",
            "1e",
            "tru",
            "nulll",
            "[1 2]",
            "{\"a\":1,}",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\n\"",
            "\"",
            "]",
            "{]",
            "[}",
            "1 1",
            "'a'",
            "\u{feff}1",
        ] {
            assert_eq!(scan(broken), ScanOutcome::Malformed, "{broken}");
        }
    }

    #[test]
    fn each_flaw_of_valid_json_has_its_error() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(scan(&deep(MAX_DEPTH)), ScanOutcome::Fine);
        assert_eq!(
            scan(&deep(MAX_DEPTH + 1)),
            ScanOutcome::Flawed(ScanError::TooDeep)
        );
        assert_eq!(scan(&"[".repeat(MAX_DEPTH + 1)), ScanOutcome::Malformed);
        for lone in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            r#"{"\ud800":1}"#,
        ] {
            assert_eq!(
                scan(lone),
                ScanOutcome::Flawed(ScanError::LoneSurrogate),
                "{lone}"
            );
        }
        for twice in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"b":{"c":1,"c":1}}]"#,
        ] {
            assert_eq!(
                scan(twice),
                ScanOutcome::Flawed(ScanError::RepeatedName),
                "{twice}"
            );
        }
        assert_eq!(scan(r#"{"a":{"a":1},"b":{"a":1}}"#), ScanOutcome::Fine);
        assert_eq!(scan("1e400"), ScanOutcome::Flawed(ScanError::NumberRange));
        assert_eq!(
            scan(&"9".repeat(400)),
            ScanOutcome::Flawed(ScanError::NumberRange)
        );
        assert_eq!(scan("1e-400"), ScanOutcome::Fine);
    }

    #[test]
    fn too_many_values_are_refused() {
        let list = |n: usize| format!("[{}]", vec!["1"; n].join(","));
        assert_eq!(scan(&list(MAX_VALUES - 1)), ScanOutcome::Fine);
        assert_eq!(
            scan(&list(MAX_VALUES)),
            ScanOutcome::Flawed(ScanError::TooManyValues)
        );
    }

    #[test]
    fn repeated_name_is_found_among_thousands() {
        let object = |extra: &str| {
            let names: Vec<_> = (0..5000).map(|n| format!("\"n{n}\":0")).collect();
            format!("{{{}{extra}}}", names.join(","))
        };
        assert_eq!(scan(&object("")), ScanOutcome::Fine);
        assert_eq!(
            scan(&object(",\"n7\":0")),
            ScanOutcome::Flawed(ScanError::RepeatedName)
        );
        assert_eq!(
            scan(&object(",\"\\u006e7\":0")),
            ScanOutcome::Flawed(ScanError::RepeatedName)
        );
    }

    #[test]
    fn members_are_names_with_the_text_of_their_values() {
        let matches: Vec<_> =
            members(r#" { "a" : [1,{"x":"}"}] , "b\"\u0063":"d,e" ,"n":-1.5 } "#).collect();
        assert_eq!(
            matches,
            [
                ("a".into(), r#"[1,{"x":"}"}]"#),
                ("b\"c".into(), "\"d,e\""),
                ("n".into(), "-1.5")
            ]
        );
        assert_eq!(members("{}").count(), 0);
        assert_eq!(members("[1]").count(), 0);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(".{0,6}", inner, 0..5)
                    .prop_map(|all| Value::Object(all.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_json_value_is_accepted_and_its_members_are_found(value in any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            prop_assert_eq!(scan(&text), ScanOutcome::Fine);
            if let Value::Object(object) = &value {
                let matches: Vec<_> = members(&text)
                    .map(|(name, value)| (name.into_owned(), serde_json::from_str::<Value>(value).unwrap()))
                    .collect();
                let expected: Vec<_> = object.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                prop_assert_eq!(matches, expected);
            }
        }

        #[test]
        fn plain_bytes_are_counted_up_to_the_first_special_one(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x1fu8..0x24, 0x5bu8..0x5e], 0..40)) {
            let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            prop_assert_eq!(count_plain(&bytes), bytes.iter().position(special).unwrap_or(bytes.len()));
        }

        // serde_json is the oracle for the grammar; further refusals have outcomes of their own.
        #[test]
        fn damaged_json_is_judged_as_by_the_oracle(value in any_json(), at: prop::sample::Index, with in "[\\]\\[{}\",:0-9a-z\\\\.+ -]{0,2}") {
            let mut text = serde_json::to_string(&value).unwrap();
            let mut index = at.index(text.len() + 1);
            while !text.is_char_boundary(index) { index -= 1; }
            let end = (index + 1..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(index);
            text.replace_range(index..end, &with);
            let oracle = serde_json::from_str::<Value>(&text).is_ok();
            match scan(&text) {
                ScanOutcome::Fine => prop_assert!(oracle, "{}", text),
                ScanOutcome::Malformed => prop_assert!(!oracle, "{}", text),
                ScanOutcome::Flawed(ScanError::RepeatedName) => prop_assert!(oracle),
                ScanOutcome::Flawed(_) => prop_assert!(!oracle),
            }
        }
    }
}
