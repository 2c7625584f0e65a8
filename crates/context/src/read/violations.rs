//! Violations of rules that no schema can state, because they depend on the caches or on several
//! arguments.

use crate::failure::QueryFlaw;
use crate::tokenizer::Tokenizer;
use crate::{MAX_BUDGET, MAX_QUERY, MAX_SERVED};
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use serde_json::{Value, json};

/// Returns the violation of a rule by one argument.
pub(crate) fn violation(
    member: &str,
    keyword: &'static str,
    message: String,
    value: &Value,
    expected: String,
) -> Violation {
    Violation {
        path: ArgumentPath(vec![PathStep::Member(member.to_owned())]),
        keyword,
        message: message.into(),
        params: json!({}).into(),
        value: excerpt(value),
        expected: expected.into(),
        hint: None,
    }
}

pub(crate) fn one(violation: Violation) -> Violations {
    Violations::from_iter([violation])
}

/// Returns the violation of a query that cannot be asked.
pub(crate) fn of_query(flaw: &QueryFlaw, query: &str) -> Violation {
    violation(
        "query",
        "format",
        flaw.to_string(),
        &json!(query),
        format!("text of at most {MAX_QUERY} bytes without NUL"),
    )
}

/// Returns the violation of a missing argument that is required only for these caches.
pub(crate) fn missing(member: &str, expected: String, hint: String) -> Violation {
    Violation {
        path: ArgumentPath::default(),
        keyword: "required",
        message: format!("must have required property '{member}'").into(),
        params: json!({ "missingProperty": member }).into(),
        value: excerpt(&json!({})),
        expected: expected.into(),
        hint: Some(hint),
    }
}

/// Returns the violation of a folder without a cache.
pub(crate) fn missing_cache() -> Violation {
    missing(
        "cache",
        String::from("an object with 'cache', if it has 'under' or 'after'"),
        String::from("without 'cache' the caches are listed"),
    )
}

/// Returns the violation of a budget that is not a whole number of at least `least`.
pub(crate) fn of_budget(text: &str, least: u64) -> Violation {
    violation(
        "budget",
        "minimum",
        format!("must be a whole number from {least} to {MAX_BUDGET}"),
        &json!(text),
        format!("a whole number from {least} to {MAX_BUDGET}"),
    )
}

/// Returns the violation of `lines` and `range` together.
pub(crate) fn lines_and_range(range: &Value) -> Violation {
    violation(
        "range",
        "not",
        String::from("must NOT be given together with 'lines'"),
        range,
        String::from("absent if 'lines' is given"),
    )
}

/// Returns the violation of caches that count tokens in different ways.
pub(crate) fn mixed_tokenizers(caches: &[(String, Tokenizer)]) -> Violation {
    let names: Vec<&str> = caches.iter().map(|(name, _)| name.as_str()).collect();
    let counted = |(name, tokenizer): &(String, Tokenizer)| {
        format!("{} by {}", shown_name(name), tokenizer.name())
    };
    let counted: Vec<String> = caches.iter().map(counted).collect();
    Violation {
        hint: Some(format!("tokens are counted in {}", counted.join(", "))),
        ..violation(
            "caches",
            "tokenizer",
            String::from("must be caches with one tokenizer"),
            &json!(names),
            String::from("caches with one tokenizer"),
        )
    }
}

/// Returns the violation of an id that several caches have.
pub(crate) fn ambiguous_id(caches: &[String]) -> Violation {
    let names: Vec<&str> = caches.iter().map(String::as_str).collect();
    Violation {
        hint: Some(format!(
            "the id is in the caches {}",
            listed(&names, MAX_SERVED)
        )),
        ..violation(
            "cache",
            "required",
            String::from("must be given, because several caches have this id"),
            &Value::Null,
            String::from("the name of one of these caches"),
        )
    }
}

/// Returns the names as a list for a hint: the first ones, and the number of the others.
pub(crate) fn listed(names: &[&str], most: usize) -> String {
    let shown = names.iter().take(most).map(|name| shown_name(name));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > most {
        text.push_str(&format!(" and {} more", names.len() - most));
    }
    text
}

/// Returns a name of a cache or a document, safe and bounded, in backticks.
pub(crate) fn shown_name(name: &str) -> String {
    format!("`{}`", crate::failure::shown(name))
}
