//! One line: the members that the caller gave, and `seq`, `prev_hash` and `hash`. The hash covers
//! the canonical line without the member `hash`, byte for byte.

use crate::canonical::{NotCanonical, canonical};
use crate::hash::Hash;
use memchr::{memchr, memchr2};
use serde_json::{Map, Value};
use std::ops::Range;

/// The most bytes of a line, its line break included.
pub const MAX_LINE: usize = 256 * 1024;

/// The hash is inserted before the first member whose name sorts after it. `prev_hash` always does.
const HASH: &str = "hash";
const PREV_HASH: &str = "prev_hash";
const SEQ: &str = "seq";

/// `"hash":"` and `",` around 64 digits.
const HASH_OPENS: &[u8] = b"\"hash\":\"";
const HASH_CLOSES: &[u8] = b"\",";

/// A line with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainedLine {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: Hash,
}

/// Returns the line of these members at this position of a chain.
pub(crate) fn write(
    mut members: Map<String, Value>,
    seq: u64,
    prev_hash: Hash,
) -> Result<ChainedLine, NotCanonical> {
    members.insert(String::from(SEQ), Value::from(seq));
    members.insert(String::from(PREV_HASH), Value::from(prev_hash.to_string()));
    // A member of that name would be mistaken for the hash of the line.
    members.shift_remove(HASH);
    let body = canonical(&members)?;
    let hash = Hash::of(&[&body]);
    let after = |name: &&String| name.encode_utf16().gt(HASH.encode_utf16());
    let later = members.keys().filter(after);
    let next = later.min_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
    let offset = next
        .and_then(|name| member_offset(&body, name))
        .unwrap_or(1);
    let mut bytes = Vec::with_capacity(body.len() + 80);
    bytes.extend_from_slice(&body[..offset]);
    bytes.extend_from_slice(HASH_OPENS);
    bytes.extend_from_slice(hash.to_string().as_bytes());
    bytes.extend_from_slice(HASH_CLOSES);
    bytes.extend_from_slice(&body[offset..]);
    bytes.push(b'\n');
    Ok(ChainedLine { bytes, hash })
}

/// Returns the offset of the member with this name.
fn member_offset(body: &[u8], name: &str) -> Option<usize> {
    let mut expected = Vec::new();
    crate::canonical::write_string(name, &mut expected);
    let mut found = None;
    each_member(body, |key, _| {
        if body[key.clone()] == expected {
            found = Some(key.start);
        }
    })?;
    found
}

/// The members of a line that place it in a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainFields {
    pub(crate) seq: u64,
    pub(crate) prev_hash: Hash,
    /// The hash that the line contains.
    pub(crate) hash: Hash,
    /// The hash of its content.
    pub(crate) computed: Hash,
}

/// Reads a line without its line break. Returns `None` if it is not a line of a log.
pub(crate) fn read(line: &[u8]) -> Option<ChainFields> {
    let (mut seq, mut prev_hash, mut hash) = (None, None, None);
    each_member(line, |key, value| match &line[key.clone()] {
        b"\"seq\"" => seq = Some(value),
        b"\"prev_hash\"" => prev_hash = Some(value),
        b"\"hash\"" => hash = Some((key.start, value)),
        _ => {}
    })?;
    let (opens, value) = hash?;
    let closes = value.end + 1;
    if line.get(value.end) != Some(&b',') {
        return None;
    }
    Some(ChainFields {
        seq: number(&line[seq?])?,
        prev_hash: quoted(&line[prev_hash?])?,
        hash: quoted(&line[value])?,
        computed: Hash::of(&[&line[..opens], &line[closes..]]),
    })
}

/// Reads the number of a line.
pub(crate) fn seq(line: &[u8]) -> Option<u64> {
    let mut seq = None;
    each_member(line, |key, value| {
        if &line[key] == b"\"seq\"" {
            seq = Some(value);
        }
    })?;
    number(&line[seq?])
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let plain = digits && (text.len() == 1 || text.first() != Some(&b'0'));
    std::str::from_utf8(text)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

fn quoted(text: &[u8]) -> Option<Hash> {
    Hash::read(text.strip_prefix(b"\"")?.strip_suffix(b"\"")?)
}

/// Calls `see` with the ranges of every name and value of an object. Returns `None` if braces and
/// strings are not balanced. Nothing else is checked: the hash covers the rest.
fn each_member(text: &[u8], mut see: impl FnMut(Range<usize>, Range<usize>)) -> Option<()> {
    let inner = text.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let end = inner.len() + 1;
    let mut at = 1;
    while at < end {
        let key = at..string_end(text, at)?;
        if text.get(key.end) != Some(&b':') {
            return None;
        }
        let value = key.end + 1..value_end(text, key.end + 1, end)?;
        at = match text.get(value.end) {
            _ if value.end == end => end,
            Some(b',') => value.end + 1,
            _ => return None,
        };
        see(key, value);
    }
    Some(())
}

/// Returns the offset just past the string that starts at `at`.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the offset just past the value that starts at `at`.
fn value_end(text: &[u8], mut at: usize, end: usize) -> Option<usize> {
    let mut depth = 0usize;
    while at < end {
        match text[at] {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
    }
    (depth == 0 && at == end).then_some(at)
}

/// Iterates over the lines of some bytes, each with its end. Bytes after the last line break are
/// left out.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = memchr(b'\n', &bytes[at..])?;
        let line = &bytes[at..at + length];
        at += length + 1;
        Some((line, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn members(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn line_is_canonical_and_contains_its_hash() {
        let line = write(members(json!({ "v": 1, "a": "é" })), 7, Hash::NONE).unwrap();
        let text = String::from_utf8(line.bytes.clone()).unwrap();
        let body = format!(r#"{{"a":"é","prev_hash":"{}","seq":7,"v":1}}"#, Hash::NONE);
        let hash = Hash::of(&[body.as_bytes()]);
        assert_eq!(hash, line.hash);
        let expected = format!(
            r#"{{"a":"é","hash":"{hash}","prev_hash":"{}","seq":7,"v":1}}"#,
            Hash::NONE
        );
        assert_eq!(text, expected + "\n");
    }

    #[test]
    fn invalid_lines_are_refused() {
        let good = write(members(json!({ "a": { "hash": "x" } })), 1, Hash::NONE).unwrap();
        let good = &good.bytes[..good.bytes.len() - 1];
        assert!(read(good).is_some());
        for cut in 0..good.len() {
            assert_eq!(read(&good[..cut]), None, "{cut}");
        }
        for bad in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"seq":1}"#,
            r#"{"a""#,
            r#"{"a":"\"#,
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
    }

    /// Generates parts of lines in any order.
    fn line_parts() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\\", "\\\"", "\"\"", "{}", "[]", "0", "1", "-1", "+1", "01",
                "\"seq\":", "\"seq\":7,", "\"hash\":", "\"prev_hash\":", "\"a\":", "null", " ", "\n", "é",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            1 => Just(format!("\"{}\"", Hash::NONE).into_bytes()),
            1 => Just(format!("\"hash\":\"{}\",", Hash::NONE).into_bytes()),
            1 => Just(format!("\"prev_hash\":\"{}\",", Hash::NONE).into_bytes()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        let inner = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
        prop_oneof![
            inner.clone(),
            inner.prop_map(|inner| [b"{", inner.as_slice(), b"\"z\":1}"].concat()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Any bytes can be read; if they are JSON, the fields are those that a JSON parser finds.
        #[test]
        fn any_bytes_can_be_read(bytes in line_parts()) {
            let fields = read(&bytes);
            let json: Option<Map<String, Value>> = serde_json::from_slice(&bytes).ok();
            if let (Some(fields), Some(json)) = (&fields, &json) {
                prop_assert_eq!(json["seq"].as_u64(), Some(fields.seq));
                let text = |name: &str| json[name].as_str().map(str::to_owned);
                prop_assert_eq!(text("hash"), Some(fields.hash.to_string()));
                prop_assert_eq!(text("prev_hash"), Some(fields.prev_hash.to_string()));
            }
            prop_assert!(fields.is_none() || seq(&bytes).is_some());
        }

        #[test]
        fn damaged_line_is_detected(
            from in any::<prop::sample::Index>(),
            length in 0..40usize,
            with in prop_oneof![line_parts(), Just(Vec::new())],
        ) {
            let line = write(members(json!({ "a": ["b", { "c": "\u{1}\"" }], "z": null })), 3, Hash::NONE).unwrap();
            let whole = line.bytes.strip_suffix(b"\n").unwrap();
            let from = from.index(whole.len());
            let to = (from + length).min(whole.len());
            let damaged = [&whole[..from], &with, &whole[to..]].concat();
            prop_assume!(damaged != whole);
            let noticed = read(&damaged).is_none_or(|fields| fields.computed != line.hash || fields.hash != line.hash);
            prop_assert!(noticed);
        }
    }

    proptest! {
        #[test]
        fn written_line_is_read_back(
            seq in 0..1u64 << 53,
            names in prop::collection::btree_map("(hash|h|seq|prev_hash|i|\\PC{0,4})", "\\PC{0,9}", 0..6),
        ) {
            let given: Map<_, _> = names.into_iter().map(|(name, text)| (name, json!({ "hash": text }))).collect();
            let line = write(given, seq, Hash::of(&[b"x"])).unwrap();
            let fields = read(line.bytes.strip_suffix(b"\n").unwrap()).unwrap();
            let expected = ChainFields { seq, prev_hash: Hash::of(&[b"x"]), hash: line.hash, computed: line.hash };
            prop_assert_eq!(fields, expected);
        }

        #[test]
        fn changed_byte_is_detected(offset in any::<prop::sample::Index>(), with in any::<u8>()) {
            let line = write(members(json!({ "a": ["b", { "c": 1 }] })), 3, Hash::NONE).unwrap();
            let mut bytes = line.bytes;
            bytes.pop();
            let offset = offset.index(bytes.len());
            prop_assume!(bytes[offset] != with);
            bytes[offset] = with;
            let noticed = read(&bytes).is_none_or(|fields| fields.hash != fields.computed || fields.hash != line.hash);
            prop_assert!(noticed);
        }
    }
}
