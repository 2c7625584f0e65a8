//! One line: the members that its writer gave it, and `seq`, `prev_hash` and `hash`. The hash covers
//! the canonical line without the member `hash`, byte for byte.

use crate::canonical::{NotCanonical, canonical};
use crate::hash::Hash;
use memchr::{memchr, memchr2};
use serde_json::{Map, Value};
use std::ops::Range;

/// How many bytes a line may have, its line break included.
pub const MAX_LINE: usize = 256 * 1024;

/// Where the hash goes: before the first member whose name comes after it. `prev_hash` always does.
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

/// The line of these members at this place of a chain.
pub(crate) fn write(
    mut members: Map<String, Value>,
    seq: u64,
    before: Hash,
) -> Result<ChainedLine, NotCanonical> {
    members.insert(String::from(SEQ), Value::from(seq));
    members.insert(String::from(PREV_HASH), Value::from(before.to_string()));
    // A member of that name would be taken for the line's own hash.
    members.shift_remove(HASH);
    let body = canonical(&members)?;
    let hash = Hash::of(&[&body]);
    let after = |name: &&String| name.encode_utf16().gt(HASH.encode_utf16());
    let later = members.keys().filter(after);
    let next = later.min_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
    let place = next.and_then(|name| member(&body, name)).unwrap_or(1);
    let mut bytes = Vec::with_capacity(body.len() + 80);
    bytes.extend_from_slice(&body[..place]);
    bytes.extend_from_slice(HASH_OPENS);
    bytes.extend_from_slice(hash.to_string().as_bytes());
    bytes.extend_from_slice(HASH_CLOSES);
    bytes.extend_from_slice(&body[place..]);
    bytes.push(b'\n');
    Ok(ChainedLine { bytes, hash })
}

/// Where the member of this name begins.
fn member(body: &[u8], name: &str) -> Option<usize> {
    let mut wanted = Vec::new();
    crate::canonical::write_string(name, &mut wanted);
    let mut found = None;
    each_member(body, |key, _| {
        if body[key.clone()] == wanted {
            found = Some(key.start);
        }
    })?;
    found
}

/// What a line says about its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainFields {
    pub(crate) seq: u64,
    pub(crate) before: Hash,
    /// The hash that it says it has.
    pub(crate) hash: Hash,
    /// The hash that it has.
    pub(crate) actual: Hash,
}

/// Reads a line without its line break; nothing where it is none.
pub(crate) fn read(line: &[u8]) -> Option<ChainFields> {
    let (mut seq, mut before, mut hash) = (None, None, None);
    each_member(line, |key, value| match &line[key.clone()] {
        b"\"seq\"" => seq = Some(value),
        b"\"prev_hash\"" => before = Some(value),
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
        before: quoted(&line[before?])?,
        hash: quoted(&line[value])?,
        actual: Hash::of(&[&line[..opens], &line[closes..]]),
    })
}

/// The number that a line says it has.
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

/// Calls `see` with the place of every name and value of an object; nothing where the braces and
/// strings of the text do not add up. Looks at nothing else: what the hash covers needs no grammar.
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

/// Behind the string that begins at a place.
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

/// Behind the value that begins at a place.
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

/// The lines of some bytes, each with where it ends; what has no line break at its end is none.
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
    fn a_line_is_canonical_and_carries_its_hash() {
        let line = write(members(json!({ "v": 1, "a": "é" })), 7, Hash::NONE).unwrap();
        let text = String::from_utf8(line.bytes.clone()).unwrap();
        let body = format!(r#"{{"a":"é","prev_hash":"{}","seq":7,"v":1}}"#, Hash::NONE);
        let hash = Hash::of(&[body.as_bytes()]);
        assert_eq!(hash, line.hash);
        let wanted = format!(
            r#"{{"a":"é","hash":"{hash}","prev_hash":"{}","seq":7,"v":1}}"#,
            Hash::NONE
        );
        assert_eq!(text, wanted + "\n");
    }

    #[test]
    fn what_is_no_line_is_none() {
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

    /// Pieces that lines are made of, in any order.
    fn soup() -> impl Strategy<Value = Vec<u8>> {
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

        /// Whatever the bytes are, reading them ends; where they are JSON, they say the same to us as
        /// to everybody else.
        #[test]
        fn anything_may_be_read(bytes in soup()) {
            let placed = read(&bytes);
            let json: Option<Map<String, Value>> = serde_json::from_slice(&bytes).ok();
            if let (Some(placed), Some(json)) = (&placed, &json) {
                prop_assert_eq!(json["seq"].as_u64(), Some(placed.seq));
                let text = |name: &str| json[name].as_str().map(str::to_owned);
                prop_assert_eq!(text("hash"), Some(placed.hash.to_string()));
                prop_assert_eq!(text("prev_hash"), Some(placed.before.to_string()));
            }
            prop_assert!(placed.is_none() || seq(&bytes).is_some());
        }

        /// What was cut, repeated or overwritten is not taken for the line that it was.
        #[test]
        fn a_damaged_line_is_noticed(
            from in any::<prop::sample::Index>(),
            length in 0..40usize,
            with in prop_oneof![soup(), Just(Vec::new())],
        ) {
            let line = write(members(json!({ "a": ["b", { "c": "\u{1}\"" }], "z": null })), 3, Hash::NONE).unwrap();
            let whole = line.bytes.strip_suffix(b"\n").unwrap();
            let from = from.index(whole.len());
            let to = (from + length).min(whole.len());
            let damaged = [&whole[..from], &with, &whole[to..]].concat();
            prop_assume!(damaged != whole);
            let noticed = read(&damaged).is_none_or(|placed| placed.actual != line.hash || placed.hash != line.hash);
            prop_assert!(noticed);
        }
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_written(
            seq in 0..1u64 << 53,
            names in prop::collection::btree_map("(hash|h|seq|prev_hash|i|\\PC{0,4})", "\\PC{0,9}", 0..6),
        ) {
            let given: Map<_, _> = names.into_iter().map(|(name, text)| (name, json!({ "hash": text }))).collect();
            let line = write(given, seq, Hash::of(&[b"x"])).unwrap();
            let placed = read(line.bytes.strip_suffix(b"\n").unwrap()).unwrap();
            let wanted = ChainFields { seq, before: Hash::of(&[b"x"]), hash: line.hash, actual: line.hash };
            prop_assert_eq!(placed, wanted);
        }

        #[test]
        fn a_changed_byte_is_noticed(place in any::<prop::sample::Index>(), with in any::<u8>()) {
            let line = write(members(json!({ "a": ["b", { "c": 1 }] })), 3, Hash::NONE).unwrap();
            let mut bytes = line.bytes;
            bytes.pop();
            let place = place.index(bytes.len());
            prop_assume!(bytes[place] != with);
            bytes[place] = with;
            let noticed = read(&bytes).is_none_or(|placed| placed.hash != placed.actual || placed.hash != line.hash);
            prop_assert!(noticed);
        }
    }
}
