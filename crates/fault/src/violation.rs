//! Violations of a tool's schema in its arguments, bounded in count and size.

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

/// The most violations in an answer; the rest is counted.
pub const MAX_VIOLATIONS: usize = 50;

/// The most bytes of JSON of a value in a violation.
pub const MAX_VALUE_BYTES: usize = 512;

/// The most characters of a member's name in a violation.
pub const MAX_NAME_CHARS: usize = 256;

/// One step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// A member of an object.
    Member(String),
    /// An item of an array.
    Item(usize),
}

/// The path to a value in the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArgumentPath(pub Vec<PathStep>);

impl ArgumentPath {
    /// Returns `root`, or a JSON pointer.
    pub fn pointer(&self) -> Cow<'static, str> {
        if self.0.is_empty() {
            return Cow::Borrowed("root");
        }
        let mut pointer = String::new();
        for step in &self.0 {
            pointer.push('/');
            match step {
                PathStep::Member(name) => {
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"))
                }
                // Writing to a string cannot fail.
                PathStep::Item(index) => _ = write!(pointer, "{index}"),
            }
        }
        Cow::Owned(pointer)
    }

    /// Returns names and indexes joined by dots, with `last` as a last step; empty at the root.
    pub fn dotted<'l>(&self, last: Option<&'l str>) -> Cow<'l, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(last.unwrap_or_default());
        }
        let mut dotted = String::new();
        for (number, step) in self.0.iter().enumerate() {
            if number > 0 {
                dotted.push('.');
            }
            match step {
                PathStep::Member(name) => dotted.push_str(name),
                // Writing to a string cannot fail.
                PathStep::Item(index) => _ = write!(dotted, "{index}"),
            }
        }
        if let Some(last) = last {
            dotted.push('.');
            dotted.push_str(last);
        }
        Cow::Owned(dotted)
    }
}

/// The kinds of violation, in the order of precedence for dialects whose failures have one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    /// The arguments are not an object.
    NotAnObject,
    /// A member is missing.
    Missing,
    /// A member is not in the schema.
    Unknown,
    /// A value has the wrong type.
    Type,
    /// A value has the wrong form.
    Form,
    /// A value has the right type and form, and is not allowed.
    Value,
}

impl ViolationKind {
    /// Derives the kind from the keyword of a rule, and from whether the whole arguments break it.
    pub fn of(keyword: &str, is_root: bool) -> Self {
        match keyword {
            "type" if is_root => ViolationKind::NotAnObject,
            "required" => ViolationKind::Missing,
            "additionalProperties" => ViolationKind::Unknown,
            "type" => ViolationKind::Type,
            "pattern" | "format" | "contentEncoding" => ViolationKind::Form,
            _ => ViolationKind::Value,
        }
    }
}

/// The parameters of a rule, by their frozen names.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleParams {
    /// They follow from the schema.
    Known(Arc<Value>),
    /// The name of a member that is not in the schema.
    AdditionalProperty(String),
}

impl RuleParams {
    fn get(&self, name: &str) -> Option<&Value> {
        match self {
            RuleParams::Known(params) => params.get(name),
            RuleParams::AdditionalProperty(_) => None,
        }
    }
}

impl From<Value> for RuleParams {
    fn from(params: Value) -> Self {
        match params.get("additionalProperty").and_then(Value::as_str) {
            Some(name) => RuleParams::AdditionalProperty(name.to_owned()),
            None => RuleParams::Known(params.into()),
        }
    }
}

impl Serialize for RuleParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RuleParams::Known(params) => params.as_ref().serialize(serializer),
            RuleParams::AdditionalProperty(name) => {
                serializer.collect_map([("additionalProperty", name)])
            }
        }
    }
}

/// One violation of the schema.
#[derive(Debug, Clone)]
pub struct Violation {
    pub path: ArgumentPath,
    /// The JSON Schema keyword of the rule.
    pub keyword: &'static str,
    /// The frozen wording.
    pub message: Arc<str>,
    pub params: RuleParams,
    /// The value, or its type and size if it is large.
    pub value: ValueExcerpt,
    /// The expected value, in a few words.
    pub expected: Arc<str>,
    /// A sentence of help beside the frozen wording.
    pub hint: Option<String>,
}

impl Violation {
    /// Derives the kind from the keyword and the path.
    pub fn kind(&self) -> ViolationKind {
        match self.keyword {
            // One of several members must be present, and none is.
            "anyOf" if self.params.get("missingProperties").is_some() => ViolationKind::Missing,
            keyword => ViolationKind::of(keyword, self.path.0.is_empty()),
        }
    }

    /// Cuts the names that the caller chose; they can be megabytes long.
    fn cut_names(&mut self) {
        for step in &mut self.path.0 {
            if let PathStep::Member(name) = step {
                cut_name(name);
            }
        }
        if let RuleParams::AdditionalProperty(name) = &mut self.params {
            cut_name(name);
        }
    }

    /// Returns the member that is missing, for `required`.
    pub fn missing(&self) -> Option<&str> {
        self.params.get("missingProperty").and_then(Value::as_str)
    }

    /// Returns the dotted name of the field, with the missing or unknown member.
    pub fn field(&self) -> Cow<'_, str> {
        let last = match &self.params {
            RuleParams::Known(_) => self.missing(),
            RuleParams::AdditionalProperty(name) => Some(name.as_str()),
        };
        self.path.dotted(last)
    }
}

fn cut_name(name: &mut String) {
    if let Some((end, _)) = name.char_indices().nth(MAX_NAME_CHARS) {
        name.truncate(end);
        name.pop();
        name.push('…');
    }
}

impl PartialEq for Violation {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
            && self.keyword == other.keyword
            && self.message == other.message
            && self.params == other.params
            && self.value == other.value
            && self.expected == other.expected
            && self.hint == other.hint
    }
}

/// The violations of one call, in order: the first [`MAX_VIOLATIONS`], and the number of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Violations {
    shown: Vec<Violation>,
    later: Vec<Violation>,
    omitted: u64,
}

impl Violations {
    /// Adds a violation. Past the bound it is only counted, but the first of each kind is kept.
    pub fn push(&mut self, mut violation: Violation) {
        violation.cut_names();
        if self.shown.len() < MAX_VIOLATIONS {
            self.shown.push(violation);
            return;
        }
        self.omitted += 1;
        let kind = violation.kind();
        if !self.all_kinds().any(|known| known.kind() == kind) {
            self.later.push(violation);
        }
    }

    /// Returns true if a violation of this kind would only be counted, so that its text is not needed.
    pub fn is_only_counted(&self, kind: ViolationKind) -> bool {
        self.shown.len() >= MAX_VIOLATIONS && self.all_kinds().any(|known| known.kind() == kind)
    }

    /// Counts a violation without its text.
    pub fn count_omitted(&mut self) {
        self.omitted += 1;
    }

    /// Returns the violations of the answer, then the first of each kind that came later.
    pub fn all_kinds(&self) -> impl Iterator<Item = &Violation> {
        self.shown.iter().chain(&self.later)
    }

    /// Returns the violations of the answer.
    pub fn shown(&self) -> &[Violation] {
        &self.shown
    }

    /// Returns the violations of the answer, so that a server can add its own hints.
    pub fn shown_mut(&mut self) -> &mut [Violation] {
        &mut self.shown
    }

    /// Returns the number of violations that are not in the answer.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the first violation of the kind with the highest precedence.
    pub fn first_by_kind(&self) -> Option<&Violation> {
        // `min_by_key` keeps the first of equals.
        self.all_kinds().min_by_key(|violation| violation.kind())
    }
}

impl FromIterator<Violation> for Violations {
    fn from_iter<I: IntoIterator<Item = Violation>>(all: I) -> Self {
        let mut violations = Violations::default();
        all.into_iter()
            .for_each(|violation| violations.push(violation));
        violations
    }
}

/// The JSON text of a value, or of its type and size if it is large. Copying it is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueExcerpt(Arc<str>);

impl ValueExcerpt {
    /// Returns the JSON text.
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Returns true if both are copies of one excerpt. Texts are not compared.
    pub(crate) fn is_same(&self, other: &ValueExcerpt) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Serialize for ValueExcerpt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = serde_json::from_str::<&RawValue>(&self.0);
        raw.unwrap_or(RawValue::NULL).serialize(serializer)
    }
}

/// Returns the value, or its JSON type and size if it has more than [`MAX_VALUE_BYTES`].
pub fn excerpt(value: &Value) -> ValueExcerpt {
    excerpt_of(value, type_name(value))
}

/// Returns the same as [`excerpt`] for a value that is not a tree, with the name of its JSON type.
pub fn excerpt_of<T: Serialize>(value: &T, type_name: &'static str) -> ValueExcerpt {
    let mut short = ShortText(Vec::new(), 0);
    // The writer accepts everything, so writing cannot fail.
    let _ = serde_json::to_writer(&mut short, value);
    match short.1 <= MAX_VALUE_BYTES {
        true => ValueExcerpt(String::from_utf8(short.0).unwrap_or_default().into()),
        false => omitted(type_name, short.1),
    }
}

/// Returns the same as [`excerpt_of`] for a value whose compact text is at hand.
pub fn excerpt_of_compact(text: &str, type_name: &'static str) -> ValueExcerpt {
    match text.len() <= MAX_VALUE_BYTES {
        true => ValueExcerpt(text.into()),
        false => omitted(type_name, text.len()),
    }
}

fn omitted(type_name: &'static str, bytes: usize) -> ValueExcerpt {
    #[derive(Serialize)]
    struct Omitted {
        omitted: &'static str,
        bytes: usize,
    }
    let text = crate::to_json(&Omitted {
        omitted: type_name,
        bytes,
    });
    ValueExcerpt(text.into())
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A writer that keeps the first bytes and counts all of them.
struct ShortText(Vec<u8>, usize);

impl std::io::Write for ShortText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.1 += bytes.len();
        if self.1 <= MAX_VALUE_BYTES {
            self.0.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violation(keyword: &'static str, path: &[&str]) -> Violation {
        Violation {
            path: ArgumentPath(
                path.iter()
                    .map(|step| PathStep::Member((*step).into()))
                    .collect(),
            ),
            keyword,
            message: "".into(),
            params: json!({}).into(),
            value: excerpt(&json!(null)),
            expected: "".into(),
            hint: None,
        }
    }

    #[test]
    fn kind_past_the_bound_is_found() {
        let many = (0..MAX_VIOLATIONS + 9).map(|_| violation("enum", &["a"]));
        let all: Violations = many.chain([violation("required", &[])]).collect();
        assert_eq!(all.shown().len(), MAX_VIOLATIONS);
        assert_eq!(all.omitted(), 10);
        assert_eq!(
            all.first_by_kind().map(Violation::kind),
            Some(ViolationKind::Missing)
        );
    }

    #[test]
    fn long_name_is_cut() {
        let name = "é".repeat(MAX_NAME_CHARS);
        let mut long = violation("additionalProperties", &[&name, &format!("{name}é")]);
        long.params = RuleParams::AdditionalProperty(format!("{name}é"));
        let all: Violations = [long].into_iter().collect();
        let cut = format!("{}…", "é".repeat(MAX_NAME_CHARS - 1));
        assert_eq!(all.shown()[0].field(), format!("{name}.{cut}.{cut}"));
    }

    #[test]
    fn large_value_becomes_its_type_and_size() {
        let text = "x".repeat(MAX_VALUE_BYTES - 2);
        assert_eq!(excerpt(&json!(text)).get().len(), MAX_VALUE_BYTES);
        assert_eq!(
            excerpt(&json!(text + "x")).get(),
            r#"{"omitted":"string","bytes":513}"#
        );
    }

    #[test]
    fn paths_are_pointers_or_dotted() {
        let path = ArgumentPath(vec![PathStep::Member("a/b~c".into()), PathStep::Item(3)]);
        assert_eq!(path.pointer(), "/a~1b~0c/3");
        assert_eq!(path.dotted(Some("sku")), "a/b~c.3.sku");
        assert_eq!(ArgumentPath::default().pointer(), "root");
    }
}
