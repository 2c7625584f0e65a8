//! Sentences that help to repair an argument, apart from the frozen wording.

use crate::nearest::{MAX_NEAR_CHARS, nearest};
use crate::subschema::{HintSource, Subschema};
use candor_fault::escape_invisible;
use candor_json::JsonRef;
use serde_json::Value;
use std::borrow::Cow;

/// The most members of the input that are compared with the name of a missing one.
const MEMBERS_SEEN: usize = 256;

/// The most alternatives that a hint names.
const MAX_ALTERNATIVES: usize = 10;

/// Returns the hint for a broken `keyword: rule`.
pub(crate) fn advice(keyword: &str, rule: &Value) -> HintSource {
    let sentence = match keyword {
        "enum" => return near_values(rule),
        "pattern" => return ending(rule),
        "not" => excluded(rule).map(|names| match names.as_slice() {
            [one, other] => format!("give `{one}` or `{other}`, not both"),
            _ => format!("leave `{}` out", names.join("`, `")),
        }),
        "anyOf" => {
            alternatives(rule).map(|names| format!("give at least one of {}", names.join(", ")))
        }
        "oneOf" => {
            alternatives(rule).map(|names| format!("give exactly one of {}", names.join(", ")))
        }
        _ => None,
    };
    sentence.map_or(HintSource::Nothing, HintSource::Sentence)
}

fn near_values(rule: &Value) -> HintSource {
    let values = rule.as_array().into_iter().flatten();
    let words: Vec<_> = values.filter_map(Value::as_str).map(String::from).collect();
    if words.is_empty() {
        HintSource::Nothing
    } else {
        HintSource::Near(words)
    }
}

/// Returns the ending that a pattern demands, if it demands nothing else: `/$`, or `^$|/$` if the text may
/// be empty.
fn ending(rule: &Value) -> HintSource {
    let pattern = rule.as_str().unwrap_or_default();
    let pattern = pattern.strip_prefix("^$|").unwrap_or(pattern);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-:=@#%&,;".contains(c);
    match pattern.strip_suffix('$') {
        Some(ending) if !ending.is_empty() && ending.chars().all(is_plain) => {
            HintSource::Ending(ending.to_owned())
        }
        _ => HintSource::Nothing,
    }
}

/// Returns the one or two members that `not: {required: […]}` excludes.
pub(crate) fn excluded(rule: &Value) -> Option<Vec<&str>> {
    let names = only_required(rule)?;
    (1..=2).contains(&names.len()).then_some(names)
}

/// Returns the members of which `anyOf` or `oneOf` requires one, quoted, if no branch requires
/// anything else.
pub(crate) fn alternatives(rule: &Value) -> Option<Vec<String>> {
    let branches = rule.as_array()?;
    let one_name = |branch| match only_required(branch)?.as_slice() {
        [name] => Some(format!("`{name}`")),
        _ => None,
    };
    let names: Vec<_> = branches.iter().map(one_name).collect::<Option<_>>()?;
    (2..=MAX_ALTERNATIVES)
        .contains(&names.len())
        .then_some(names)
}

/// Returns the members that a subschema requires, if it demands nothing else.
fn only_required(schema: &Value) -> Option<Vec<&str>> {
    let keywords = schema.as_object().filter(|keywords| keywords.len() == 1)?;
    let names = keywords.get("required")?.as_array()?.iter();
    names
        .map(|name| name.as_str().filter(|name| name.len() <= MAX_NEAR_CHARS))
        .collect()
}

/// Returns the allowed word that a wrong value was probably meant to be.
pub(crate) fn near_value(allowed: &[String], value: JsonRef<'_>) -> Option<String> {
    let near = nearest(&value.as_str()?, allowed.iter().map(String::as_str))?;
    Some(format!("did you mean '{near}'?"))
}

/// Returns the value with the ending that it lacks.
pub(crate) fn with_ending(ending: &str, value: JsonRef<'_>) -> Option<String> {
    let text = value.as_str()?;
    let is_short = text.chars().nth(MAX_NEAR_CHARS).is_none();
    let text = visible(&text);
    (is_short && !text.is_empty()).then(|| format!("did you mean '{text}{ending}'?"))
}

/// Returns the member, one of those that were not given, that an unknown one was probably meant to be.
pub(crate) fn unknown(name: &str, absent: &[&str]) -> Option<String> {
    let near = nearest(name, absent.iter().copied())?;
    Some(
        [
            "did you mean '",
            near,
            "' instead of '",
            &visible(name),
            "'?",
        ]
        .concat(),
    )
}

/// Returns the unknown member under which a missing one was probably given.
pub(crate) fn missing(name: &str, node: &Subschema, given: JsonRef<'_>) -> Option<String> {
    let names = given.members().take(MEMBERS_SEEN).map(|(name, _)| name);
    let names: Vec<_> = names.filter(|given| !node.has_property(given)).collect();
    let near = nearest(name, names.iter().map(|name| &**name))?;
    Some(
        [
            "'",
            &visible(near),
            "' was given: did you mean '",
            name,
            "'?",
        ]
        .concat(),
    )
}

fn visible(text: &str) -> Cow<'_, str> {
    match text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(escape_invisible(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_json::IndexedText;
    use serde_json::json;

    fn sentence(keyword: &str, rule: Value) -> Option<String> {
        match advice(keyword, &rule) {
            HintSource::Sentence(sentence) => Some(sentence),
            _ => None,
        }
    }

    #[test]
    fn excluded_members_are_named() {
        assert_eq!(
            sentence("not", json!({"required": ["branch", "ref"]})).as_deref(),
            Some("give `branch` or `ref`, not both")
        );
        assert_eq!(
            sentence("not", json!({"required": ["ref"]})).as_deref(),
            Some("leave `ref` out")
        );
        assert_eq!(sentence("not", json!({"required": ["a", "b", "c"]})), None);
        assert_eq!(
            sentence("not", json!({"required": ["a", "b"], "minProperties": 3})),
            None
        );
        assert_eq!(sentence("not", json!({"type": "string"})), None);
    }

    #[test]
    fn missing_ending_is_appended() {
        let hint = |pattern: &str, value: Value| {
            let HintSource::Ending(ending) = advice("pattern", &json!(pattern)) else {
                return None;
            };
            with_ending(&ending, IndexedText::from(&value).root())
        };
        let meant = Some(String::from("did you mean 'errors/'?"));
        assert_eq!(hint("^$|/$", json!("errors")), meant);
        assert_eq!(hint("/$", json!("errors")), meant);
        assert_eq!(hint("/$", json!("")), None);
        assert_eq!(hint("/$", json!("x".repeat(MAX_NEAR_CHARS + 1))), None);
        for pattern in ["$", "^$|$", "^a$", "[/]$", "a|/$", "/", "/\\$"] {
            assert_eq!(hint(pattern, json!("errors")), None, "{pattern}");
        }
    }

    #[test]
    fn alternatives_of_one_member_each_are_named() {
        let one_each = json!([{"required": ["content"]}, {"required": ["edits"]}]);
        assert_eq!(
            sentence("anyOf", one_each.clone()).as_deref(),
            Some("give at least one of `content`, `edits`")
        );
        assert_eq!(
            sentence("oneOf", one_each).as_deref(),
            Some("give exactly one of `content`, `edits`")
        );
        assert_eq!(
            sentence("anyOf", json!([{"required": ["a"]}, {"type": "null"}])),
            None
        );
        assert_eq!(sentence("anyOf", json!([{"required": ["a"]}])), None);
    }

    #[test]
    fn only_strings_have_similar_values() {
        assert_eq!(advice("enum", &json!([1, null])), HintSource::Nothing);
        let words = vec![String::from("open"), String::from("closed")];
        assert_eq!(
            advice("enum", &json!(["open", 1, "closed"])),
            HintSource::Near(words.clone())
        );
        assert_eq!(
            near_value(&words, IndexedText::from(&json!("Open")).root()).as_deref(),
            Some("did you mean 'open'?")
        );
        assert_eq!(
            near_value(&words, IndexedText::from(&json!(5)).root()),
            None
        );
    }
}
