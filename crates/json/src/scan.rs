//! The one validating scan of a text, before anything looks into it: grammar, depth, count,
//! surrogates, repeated names, numbers out of range. It never recurses, and records where each value is.

use crate::index::{IndexEntry, JsonIndex, JsonKind};
use crate::json_ref::unescape;
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

/// Scans a whole text. The index is empty if the text is not JSON, or has too many values.
pub fn scan(text: &str) -> (ScanOutcome, JsonIndex) {
    // Offsets in the index have 32 bits; no transport accepts as much.
    if u32::try_from(text.len()).is_err() {
        let outcome = ScanOutcome::Flawed(ScanError::TooManyValues);
        return (outcome, JsonIndex::default());
    }
    let mut scanner = Scanner::new(text);
    let outcome = match scanner.document() {
        Ok(()) => scanner.flaw.map_or(ScanOutcome::Fine, ScanOutcome::Flawed),
        Err(ScanStop::Malformed) => ScanOutcome::Malformed,
        Err(ScanStop::TooManyValues) => ScanOutcome::Flawed(ScanError::TooManyValues),
    };
    match outcome {
        ScanOutcome::Malformed | ScanOutcome::Flawed(ScanError::TooManyValues) => {
            (outcome, JsonIndex::default())
        }
        _ => (outcome, JsonIndex(scanner.entries)),
    }
}

/// Indexes a text of JSON, however many values it has.
pub(crate) fn index_all(text: &str) -> JsonIndex {
    let mut scanner = Scanner::new(text);
    scanner.max_values = usize::MAX;
    match scanner.document() {
        Ok(()) => JsonIndex(scanner.entries),
        Err(_) => JsonIndex::default(),
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

/// An open array or object.
struct OpenContainer<'a> {
    /// Its entry.
    entry: usize,
    /// The deviations from compact form before it.
    deviations: usize,
    /// The names of an object.
    names: Option<OpenNames<'a>>,
}

/// The names of an open object: the index of the first one, and all of them if they are many.
struct OpenNames<'a> {
    first: usize,
    set: Option<HashSet<Cow<'a, str>>>,
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
        match self.escaped {
            false => Cow::Borrowed(self.text),
            true => unescape(self.text),
        }
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
const USUAL_ENTRIES: usize = 16;

/// The most digits of an integer that is certainly printed as it is written.
const PLAIN_DIGITS: usize = 18;

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    values: usize,
    max_values: usize,
    flaw: Option<ScanError>,
    frames: Vec<OpenContainer<'a>>,
    names: Vec<MemberName<'a>>,
    entries: Vec<IndexEntry>,
    /// The number of places so far where the text is not in compact form.
    deviations: usize,
    /// The name of the member whose value comes next: its offsets, and true if it has escapes. Empty
    /// before an item of an array.
    next_name: (u32, u32, bool),
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Scanner {
            text,
            bytes: text.as_bytes(),
            at: 0,
            values: 0,
            max_values: MAX_VALUES,
            flaw: None,
            frames: Vec::with_capacity(USUAL_FRAMES),
            names: Vec::with_capacity(USUAL_NAMES),
            entries: Vec::with_capacity(USUAL_ENTRIES),
            deviations: 0,
            next_name: Default::default(),
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
            self.deviations += 1;
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
        match self.frames.last().is_some_and(|open| open.names.is_some()) {
            true => NextToken::Name,
            false => NextToken::Value,
        }
    }

    fn close(&mut self, byte: u8) -> Result<NextToken, ScanStop> {
        self.at += 1;
        let Some(open) = self.frames.pop() else {
            return Err(ScanStop::Malformed);
        };
        match (open.names, byte) {
            (None, b']') => {}
            (Some(names), b'}') => self.names.truncate(names.first),
            _ => return Err(ScanStop::Malformed),
        }
        let size = self.entries.len() - open.entry;
        let entry = &mut self.entries[open.entry];
        entry.end = self.at as u32;
        entry.size = size as u32;
        entry.is_compact = self.deviations == open.deviations;
        Ok(NextToken::CommaOrEnd)
    }

    fn value(&mut self, byte: u8) -> Result<NextToken, ScanStop> {
        self.values += 1;
        if self.values > self.max_values {
            return Err(ScanStop::TooManyValues);
        }
        let start = self.at;
        let (kind, is_compact) = match byte {
            b'{' => {
                let first = self.names.len();
                self.open(JsonKind::Object, Some(OpenNames { first, set: None }));
                return Ok(NextToken::NameOrEnd);
            }
            b'[' => {
                self.open(JsonKind::Array, None);
                return Ok(NextToken::ValueOrEnd);
            }
            b'"' => (JsonKind::String, !self.string()?.escaped),
            b't' => (JsonKind::Boolean, self.literal("true")?),
            b'f' => (JsonKind::Boolean, self.literal("false")?),
            b'n' => (JsonKind::Null, self.literal("null")?),
            _ => (JsonKind::Number, self.number()?),
        };
        self.deviations += usize::from(!is_compact);
        self.add_entry(kind, start, is_compact);
        Ok(NextToken::CommaOrEnd)
    }

    /// Records a value that begins at `start` and ends here, as far as it is known.
    fn add_entry(&mut self, kind: JsonKind, start: usize, is_compact: bool) {
        if let Some(parent) = self.frames.last() {
            self.entries[parent.entry].len += 1;
        }
        let (name_start, name_end, is_name_escaped) = std::mem::take(&mut self.next_name);
        // The text is shorter than 4 GiB.
        self.entries.push(IndexEntry {
            kind,
            is_compact,
            is_name_escaped,
            start: start as u32,
            end: self.at as u32,
            name_start,
            name_end,
            len: 0,
            size: 1,
        });
    }

    fn open(&mut self, kind: JsonKind, names: Option<OpenNames<'a>>) {
        self.add_entry(kind, self.at, true);
        self.at += 1;
        self.frames.push(OpenContainer {
            entry: self.entries.len() - 1,
            deviations: self.deviations,
            names,
        });
        if self.frames.len() > MAX_DEPTH {
            self.report_flaw(ScanError::TooDeep);
        }
    }

    /// Consumes a word. Returns true, because it is in compact form.
    fn literal(&mut self, word: &str) -> Result<bool, ScanStop> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end) != Some(word.as_bytes()) {
            return Err(ScanStop::Malformed);
        }
        self.at = end;
        Ok(true)
    }

    fn name(&mut self) -> Result<NextToken, ScanStop> {
        let start = self.at + 1;
        let name = self.string()?;
        self.next_name = (start as u32, (self.at - 1) as u32, name.escaped);
        self.deviations += usize::from(name.escaped);
        self.add_name(name);
        if self.next_token() != Some(b':') {
            return Err(ScanStop::Malformed);
        }
        self.at += 1;
        Ok(NextToken::Value)
    }

    /// Adds a name to the innermost object, and reports a repeated one.
    fn add_name(&mut self, name: MemberName<'a>) {
        let open = self.frames.last_mut().and_then(|open| open.names.as_mut());
        let Some(OpenNames { first, set }) = open else {
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

    /// Consumes a number. Returns true if it is an integer that is printed as it is written.
    fn number(&mut self) -> Result<bool, ScanStop> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(ScanStop::Malformed),
        }
        let whole = &self.text[start..self.at];
        let mut is_plain = whole.len() <= PLAIN_DIGITS && whole != "-0";
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
            is_plain = false;
        }
        let mut may_be_large = self.at - start > 300;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
            may_be_large = true;
            is_plain = false;
        }
        let number = &self.text[start..self.at];
        if may_be_large && number.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.report_flaw(ScanError::NumberRange);
        }
        Ok(is_plain)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IndexedText, JsonRef};
    use proptest::prelude::*;
    use serde_json::Value;

    fn scan(text: &str) -> ScanOutcome {
        let (outcome, index) = super::scan(text);
        let has_index = match outcome {
            ScanOutcome::Malformed | ScanOutcome::Flawed(ScanError::TooManyValues) => false,
            ScanOutcome::Fine | ScanOutcome::Flawed(_) => true,
        };
        assert_eq!(index.root(text).is_some(), has_index);
        outcome
    }

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
    fn index_of_the_largest_message_is_bounded() {
        let text = format!("[{}]", vec!["1"; MAX_VALUES - 1].join(","));
        let (_, index) = super::scan(&text);
        let copy = index.root(&text).unwrap().to_indexed();
        assert_eq!(copy.index_bytes(), crate::MAX_INDEX_BYTES);
        assert_eq!(crate::MAX_INDEX_BYTES, 28 * MAX_VALUES);
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
        let text = r#" { "a" : [1,{"x":"}"}] , "b\"\u0063":"d,e" ,"n":-1.5 } "#;
        let (_, index) = super::scan(text);
        let matches: Vec<_> = index.root(text).unwrap().members().collect();
        let texts: Vec<_> = matches
            .iter()
            .map(|(name, value)| (&**name, value.text()))
            .collect();
        assert_eq!(
            texts,
            [
                ("a", r#"[1,{"x":"}"}]"#),
                ("b\"c", "\"d,e\""),
                ("n", "-1.5")
            ]
        );
        assert_eq!(matches[0].1.items().count(), 2);
        let inner = matches[0].1.items().nth(1).unwrap();
        assert_eq!(inner.get("x").unwrap().as_str().unwrap(), "}");
        for empty in ["{}", "[1]", "7"] {
            let (_, index) = super::scan(empty);
            assert_eq!(index.root(empty).unwrap().members().count(), 0);
        }
    }

    #[test]
    fn compact_form_is_recognised() {
        for compact in [
            "{}",
            "[]",
            r#"{"a":[1,-20,"é",true,null]}"#,
            "0",
            "123456789012345678",
        ] {
            assert!(
                IndexedText::new(compact).unwrap().root().is_compact(),
                "{compact}"
            );
        }
        for other in [
            "[ ]",
            "[1, 2]",
            r#"["\n"]"#,
            r#"{"\u0061":1}"#,
            "[1.0]",
            "1e2",
            "-0",
            "1234567890123456789",
            "{\"a\": 1}",
        ] {
            assert!(
                !IndexedText::new(other).unwrap().root().is_compact(),
                "{other}"
            );
        }
        // White space around a value does not belong to it.
        let text = r#" { "a" : [1,2] } "#;
        let (_, index) = super::scan(text);
        assert!(index.root(text).unwrap().get("a").unwrap().is_compact());
    }

    #[test]
    fn copied_value_is_indexed_like_its_own_text() {
        let text = r#"{"\u0061":{"b":[1,{"\u0063":"d"}, [2],3],"\u0065":{}},"f":2}"#;
        let (_, index) = super::scan(text);
        let part = index.root(text).unwrap().get("a").unwrap();
        let items = part.get("b").unwrap().items();
        for copied in items.chain([part]) {
            assert_eq!(
                copied.to_indexed(),
                IndexedText::new(copied.text()).unwrap()
            );
        }
        assert_eq!(
            JsonRef::EMPTY_OBJECT.to_indexed(),
            IndexedText::new("{}").unwrap()
        );
        assert_eq!(
            JsonRef::NULL.to_indexed(),
            IndexedText::new("null").unwrap()
        );
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
            let indexed = IndexedText::new(text.as_str()).unwrap();
            prop_assert_eq!(indexed.root().to_value(), value.clone());
            if indexed.root().is_compact() {
                prop_assert_eq!(&text, &value.to_string());
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
