//! One value of an indexed text.

use crate::index::{IndexEntry, IndexedText, JsonKind};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A value of an indexed text. Copying it is cheap.
#[derive(Clone, Copy)]
pub struct JsonRef<'a> {
    text: &'a str,
    entries: &'a [IndexEntry],
    at: usize,
}

const fn constant(kind: JsonKind, end: u32) -> IndexEntry {
    IndexEntry {
        kind,
        is_compact: true,
        is_name_escaped: false,
        start: 0,
        end,
        name_start: 0,
        name_end: 0,
        len: 0,
        size: 1,
    }
}

impl JsonRef<'static> {
    /// The value `null`.
    pub const NULL: JsonRef<'static> = JsonRef {
        text: "null",
        entries: &[constant(JsonKind::Null, 4)],
        at: 0,
    };

    /// The object without members.
    pub const EMPTY_OBJECT: JsonRef<'static> = JsonRef {
        text: "{}",
        entries: &[constant(JsonKind::Object, 2)],
        at: 0,
    };
}

impl<'a> JsonRef<'a> {
    pub(crate) fn new(text: &'a str, entries: &'a [IndexEntry], at: usize) -> Self {
        JsonRef { text, entries, at }
    }

    fn entry(&self) -> &'a IndexEntry {
        &self.entries[self.at]
    }

    fn at(&self, at: usize) -> Self {
        JsonRef { at, ..*self }
    }

    pub fn kind(&self) -> JsonKind {
        self.entry().kind
    }

    /// Returns the position in the text.
    pub fn range(&self) -> Range<usize> {
        self.entry().start as usize..self.entry().end as usize
    }

    /// Returns the text of the value as it was written.
    pub fn text(&self) -> &'a str {
        &self.text[self.range()]
    }

    /// Returns a number that no other value of the same text has.
    pub fn id(&self) -> usize {
        self.at
    }

    /// Returns the address of the index, which no other index has at the same time.
    pub fn index_address(&self) -> usize {
        self.entries.as_ptr().addr()
    }

    /// Returns true if the text is the compact form of the value: written down again, it has the same
    /// bytes.
    pub fn is_compact(&self) -> bool {
        self.entry().is_compact
    }

    pub fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    pub fn is_object(&self) -> bool {
        self.kind() == JsonKind::Object
    }

    pub fn is_string(&self) -> bool {
        self.kind() == JsonKind::String
    }

    pub fn is_number(&self) -> bool {
        self.kind() == JsonKind::Number
    }

    pub fn as_bool(&self) -> Option<bool> {
        (self.kind() == JsonKind::Boolean).then(|| self.text() == "true")
    }

    /// Returns the value of a string with its escapes resolved.
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        let inside = self.entry().start as usize + 1..(self.entry().end as usize).max(1) - 1;
        match (self.kind(), self.is_compact()) {
            (JsonKind::String, true) => Some(Cow::Borrowed(&self.text[inside])),
            (JsonKind::String, false) => Some(unescape(&self.text[inside])),
            _ => None,
        }
    }

    /// Returns a number as `serde_json` reads it: integers of 64 bits exactly, all others as doubles.
    pub fn as_number(&self) -> Option<Number> {
        match (self.kind(), self.is_compact()) {
            (JsonKind::Number, true) => plain_integer(self.text()),
            (JsonKind::Number, false) => serde_json::from_str(self.text()).ok(),
            _ => None,
        }
    }

    /// Returns the number of members or items.
    pub fn len(&self) -> usize {
        self.entry().len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values of an array. Another value has none.
    pub fn items(&self) -> Items<'a> {
        Items(match self.kind() {
            JsonKind::Array => Children::of(*self),
            _ => Children::none(*self),
        })
    }

    /// Returns the members of an object, in order. Another value has none.
    pub fn members(&self) -> Members<'a> {
        Members(match self.kind() {
            JsonKind::Object => Children::of(*self),
            _ => Children::none(*self),
        })
    }

    /// Returns the member of this name.
    pub fn get(&self, name: &str) -> Option<JsonRef<'a>> {
        let mut children = self.members().0;
        children.find(|child| child.has_name(name))
    }

    /// Returns the member of this name, or null if it is absent.
    pub fn get_or_null(&self, name: &str) -> JsonRef<'a> {
        self.get(name).unwrap_or(JsonRef::NULL)
    }

    /// Returns the member's name as it was written, between its quotes.
    fn written_name(&self) -> &'a str {
        &self.text[self.entry().name_start as usize..self.entry().name_end as usize]
    }

    fn has_name(&self, name: &str) -> bool {
        match self.entry().is_name_escaped {
            false => self.written_name() == name,
            true => spells(self.written_name(), name),
        }
    }

    fn name(&self) -> Cow<'a, str> {
        match self.entry().is_name_escaped {
            false => Cow::Borrowed(self.written_name()),
            true => unescape(self.written_name()),
        }
    }

    /// Returns the value as a tree.
    pub fn to_value(&self) -> Value {
        match self.kind() {
            JsonKind::Null => Value::Null,
            JsonKind::Boolean => Value::Bool(self.text() == "true"),
            JsonKind::Number => self.as_number().map_or(Value::Null, Value::Number),
            JsonKind::String => Value::String(self.as_str().unwrap_or_default().into_owned()),
            JsonKind::Array => self.items().map(|item| item.to_value()).collect(),
            JsonKind::Object => {
                let members = self.members();
                let members = members.map(|(name, value)| (name.into_owned(), value.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Copies the value with its part of the index.
    pub fn to_indexed(&self) -> IndexedText {
        let end = self.at + self.entry().size as usize;
        IndexedText::copy_of(self.text(), &self.entries[self.at..end])
    }
}

impl fmt::Debug for JsonRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

/// Resolves the escapes of a scanned string, given without its quotes.
pub(crate) fn unescape(inside: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(&format!("\"{inside}\""))
        .map_or(Cow::Borrowed(inside), Cow::Owned)
}

/// Returns true if a scanned string, given without its quotes, is `text` once its escapes are resolved.
/// Makes no copy, because a name may be compared with many others.
fn spells(inside: &str, text: &str) -> bool {
    let (mut inside, mut text) = (inside, text);
    while let Some((plain, escape)) = inside.split_once('\\') {
        let Some(rest) = text.strip_prefix(plain) else {
            return false;
        };
        let Some((c, behind)) = resolve_escape(escape) else {
            return false;
        };
        let Some(rest) = rest.strip_prefix(c) else {
            return false;
        };
        (inside, text) = (behind, rest);
    }
    inside == text
}

/// Resolves the escape whose backslash is just before `escape`. Returns its character, and the text
/// after it. Returns `None` for a lone surrogate.
fn resolve_escape(escape: &str) -> Option<(char, &str)> {
    let (kind, behind) = escape.split_at_checked(1)?;
    let c = match kind {
        "b" => '\u{8}',
        "f" => '\u{c}',
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        "u" => return resolve_code_units(behind),
        _ => kind.chars().next()?,
    };
    Some((c, behind))
}

fn resolve_code_units(digits: &str) -> Option<(char, &str)> {
    let unit = |digits: &str| u16::from_str_radix(digits, 16).ok();
    let (first, behind) = digits.split_at_checked(4)?;
    let first = unit(first)?;
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, behind));
    }
    let (second, behind) = behind.strip_prefix("\\u")?.split_at_checked(4)?;
    let pair = char::decode_utf16([first, unit(second)?]).next()?;
    Some((pair.ok()?, behind))
}

/// Returns an integer that is written as it is printed.
fn plain_integer(text: &str) -> Option<Number> {
    match text.starts_with('-') {
        true => text.parse::<i64>().ok().map(Number::from),
        false => text.parse::<u64>().ok().map(Number::from),
    }
}

/// The values directly within another one.
#[derive(Debug, Clone)]
struct Children<'a> {
    next: JsonRef<'a>,
    left: usize,
}

impl<'a> Children<'a> {
    fn of(parent: JsonRef<'a>) -> Self {
        Children {
            next: parent.at(parent.at + 1),
            left: parent.len(),
        }
    }

    fn none(parent: JsonRef<'a>) -> Self {
        Children {
            next: parent,
            left: 0,
        }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = JsonRef<'a>;

    fn next(&mut self) -> Option<JsonRef<'a>> {
        self.left = self.left.checked_sub(1)?;
        let child = self.next;
        self.next = child.at(child.at + child.entry().size as usize);
        Some(child)
    }
}

/// See [`JsonRef::items`].
#[derive(Debug, Clone)]
pub struct Items<'a>(Children<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = JsonRef<'a>;

    fn next(&mut self) -> Option<JsonRef<'a>> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// See [`JsonRef::members`].
#[derive(Debug, Clone)]
pub struct Members<'a>(Children<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, JsonRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let child = self.0.next()?;
        Some((child.name(), child))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.left, Some(self.0.left))
    }
}

impl ExactSizeIterator for Members<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escaped_name_is_compared_as_its_value(parts in prop::collection::vec(prop::sample::select(vec!["a", "é", r"\n", r"\b", r"\f", r"\r", r"\t", r"\/", r#"\""#, r"\\", r"\u0061", r"\u00E9", r"\ud83d\ude00"]), 0..4), other in "[aé\n😀/]{0,4}") {
            let inside: String = parts.concat();
            let value = unescape(&inside);
            prop_assert!(spells(&inside, &value));
            prop_assert_eq!(spells(&inside, &other), value == other);
            let longer = format!("{value}a");
            prop_assert!(!spells(&inside, &longer));
        }
    }

    #[test]
    fn lone_surrogate_spells_nothing() {
        for inside in [r"\ud800", r"\udc00", r"\ud800\u0041", r"\ud800a"] {
            assert!(!spells(inside, "\u{fffd}"), "{inside}");
            assert!(!spells(inside, inside), "{inside}");
        }
    }
}
