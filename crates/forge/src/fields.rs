//! Schemas of the arguments that tools share. The published schema is the enforced one, so every rule is
//! a pattern without lookaround.

use serde_json::{Value, json};

/// The pattern of a repository, as the specification prints it.
pub(crate) const REPO: &str = "^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$";

/// The pattern of a commit, as the specification prints it.
pub(crate) const SHA: &str = "^[a-f0-9]{7,40}$";

/// The pattern of a branch, as the specification prints it.
const BRANCH: &str = "^[a-zA-Z0-9._/-]+$";

/// A branch, with an owner before it if the head is in a fork.
const HEAD: &str = "^([a-zA-Z0-9._-]+:)?[a-zA-Z0-9._/-]+$";

/// A time in RFC 3339.
const TIME: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$";

/// The largest number that every JSON reader keeps exactly.
pub(crate) const MAX_NUMBER: i64 = 9_007_199_254_740_991;

/// A name that is neither empty nor `.` nor `..`.
const NAME: &str = r"(\.{0,2}[^./]|\.{3})[^/]*";

/// A name that is not `.git`, however it is spelled.
const NO_GIT: &str =
    r"([^/]{0,3}|[^/]{5,}|[^./][^/]{3}|\.[^gG/][^/]{2}|\.[gG][^iI/][^/]|\.[gG][iI][^tT/])";

/// A name that does not end with `.lock`.
const NO_LOCK: &str = r"([^/:]{0,4}|[^/:]*([^/:k]|[^/:c]k|[^/:o]ck|[^/:l]ock|[^/:.]lock))";

/// Returns a rule beyond the specification's, with the sentence for a caller who breaks it.
fn rule(pattern: impl Into<String>, sentence: &str) -> Value {
    json!({ "pattern": pattern.into(), "description": sentence })
}

/// Returns the schema of a repository. Its rule about dots accepts any number of parts, also empty
/// ones: the specification's pattern refuses those, and each mistake is reported once.
pub(crate) fn repo() -> Value {
    json!({
        "type": "string",
        "pattern": REPO,
        "allOf": [rule(format!("^({NAME})?(/({NAME})?)*$"), "no part is . or ..")],
        "description": "owner/name"
    })
}

/// Returns git's rules for the name of a branch, after the text that `before` matches.
fn ref_rules(before: &str) -> Value {
    json!([
        rule(
            format!("^({before}[^./:-][^/:]*(/[^./:][^/:]*)*)?$"),
            "no empty part, none begins with ., no - first"
        ),
        rule(r"^([^.]|\.[^.])*$", "no .., no . last"),
        rule(
            format!("^{before}({NO_LOCK}(/|$))+$"),
            "no part ends with .lock"
        )
    ])
}

fn named(description: &str) -> Value {
    json!({
        "type": "string",
        "maxLength": 100,
        "pattern": BRANCH,
        "allOf": ref_rules(""),
        "description": description
    })
}

pub(crate) fn branch() -> Value {
    named("A branch; the default branch if absent")
}

pub(crate) fn branch_to_write() -> Value {
    named("The branch; it must exist")
}

pub(crate) fn new_branch() -> Value {
    let mut schema = named("The branch to make");
    schema["not"] = json!({ "const": "HEAD" });
    schema
}

pub(crate) fn branch_to_commit() -> Value {
    named("The branch; it must exist unless the repository is empty")
}

/// Returns the schema of a revision that must be given.
pub(crate) fn revision(description: &str) -> Value {
    named(description)
}

/// Returns the schema of a branch by which a list is filtered.
pub(crate) fn branch_filter(description: &str) -> Value {
    named(description)
}

pub(crate) fn base() -> Value {
    named("The branch to merge into")
}

pub(crate) fn reference() -> Value {
    named("A branch, tag or SHA, instead of branch")
}

pub(crate) fn head() -> Value {
    head_of("The branch to merge, or owner:branch of a fork")
}

pub(crate) fn head_revision() -> Value {
    head_of("A branch, tag or SHA; with owner: one of a fork")
}

fn head_of(description: &str) -> Value {
    let mut rules = ref_rules("([^:]*:)?");
    if let Some(rules) = rules.as_array_mut() {
        rules.push(rule(
            "^([^:]*:)?[^:]{1,100}$",
            "a branch has at most 100 characters",
        ));
    }
    json!({
        "type": "string",
        "maxLength": 140,
        "pattern": HEAD,
        "allOf": rules,
        "description": description
    })
}

/// Returns the rules for every path, also the root's. A file has a `minLength` in addition.
fn path_rules() -> Value {
    json!([
        rule(
            format!("^(({NAME}/)*{NAME})?$"),
            "relative; no part is empty, . or .."
        ),
        rule(format!("^({NO_GIT}/)*{NO_GIT}$"), "no part is .git"),
        rule(r"^[^\x00]*$", "no NUL")
    ])
}

pub(crate) fn path(description: &str) -> Value {
    json!({
        "type": "string",
        "maxLength": 500,
        "minLength": 1,
        "allOf": path_rules(),
        "description": description
    })
}

pub(crate) fn directory() -> Value {
    directory_or("A directory; \"\" is the root")
}

pub(crate) fn path_or_root() -> Value {
    directory_or("A file or directory; \"\" is the root")
}

fn directory_or(description: &str) -> Value {
    json!({
        "type": "string",
        "maxLength": 500,
        "allOf": path_rules(),
        "description": description
    })
}

pub(crate) fn sha(description: &str) -> Value {
    json!({ "type": "string", "pattern": SHA, "description": description })
}

pub(crate) fn text(least: u64, most: u64, description: &str) -> Value {
    let mut schema = json!({ "type": "string", "maxLength": most });
    if least > 0 {
        schema["minLength"] = json!(least);
    }
    schema["description"] = json!(description);
    schema
}

/// Returns the schema of a time in RFC 3339.
pub(crate) fn time(description: &str) -> Value {
    json!({
        "type": "string",
        "maxLength": 40,
        "pattern": TIME,
        "description": format!("{description}, like 2025-10-12T15:49:21Z")
    })
}

pub(crate) fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

pub(crate) fn one_of(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

pub(crate) fn page() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 100, "description": "1 if absent" })
}

pub(crate) fn per_page() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 100, "description": "30 if absent" })
}

pub(crate) fn line_number(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MAX_NUMBER, "description": description })
}

/// Returns the schema of a query for code. A query cannot name another repository.
pub(crate) fn code_query() -> Value {
    json!({
        "type": "string",
        "maxLength": 256,
        "minLength": 1,
        "not": { "pattern": "(^|[^a-zA-Z0-9_])([rR][eE][pP][oO]|[oO][rR][gG]|[uU][sS][eE][rR]|[oO][wW][nN][eE][rR]):" },
        "description": "Words that all must occur; no repo:, org:, user: or owner:"
    })
}

pub(crate) fn number() -> Value {
    json!({
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_NUMBER,
        "description": "Number of the pull request"
    })
}

/// Returns the schema of a number that an issue or a pull request has.
pub(crate) fn issue_number(description: &str) -> Value {
    line_number(description)
}

/// Returns the schema of an id that a backend has given.
pub(crate) fn id(description: &str) -> Value {
    line_number(description)
}

/// Returns the schema of a query for issues. A query cannot name another repository.
pub(crate) fn issue_query() -> Value {
    code_query()
}

/// Returns the schema of a date with a time.
pub(crate) fn moment(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}

/// Returns the schema of one name.
pub(crate) fn name(description: &str) -> Value {
    text(1, 100, description)
}

/// Returns the schema of a list of names.
pub(crate) fn names(least: u64, description: &str) -> Value {
    let mut schema = json!({
        "type": "array",
        "maxItems": 20,
        "items": { "type": "string", "maxLength": 100, "minLength": 1 }
    });
    if least > 0 {
        schema["minItems"] = json!(least);
    }
    schema["description"] = json!(description);
    schema
}

/// Returns the schema of a tool's arguments: these members and no others.
pub(crate) fn arguments(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// Returns the schema of [`arguments`] in which `branch` and `ref` exclude each other.
pub(crate) fn arguments_at(required: &[&str], properties: Value) -> Value {
    let mut schema = arguments(required, properties);
    schema["not"] = json!({ "required": ["branch", "ref"] });
    schema
}

/// Returns the schema of a value that may be null. Clients that map schemas onto smaller dialects drop a
/// list of types.
pub(crate) fn nullable(kind: &str) -> Value {
    json!({ "anyOf": [{ "type": kind }, { "type": "null" }] })
}

/// Returns the schema of an answer. Members are required unless `optional` names them.
pub(crate) fn answer(properties: Value, optional: &[&str]) -> Value {
    let names = properties
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys());
    let required: Vec<_> = names
        .filter(|name| !optional.contains(&name.as_str()))
        .collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_schema::Schema;
    use proptest::prelude::*;

    fn admits(schema: &Value, text: &str) -> bool {
        Schema::new(schema.clone())
            .unwrap()
            .check(&json!(text))
            .is_ok()
    }

    /// Implements the rules for branches in Rust, for comparison.
    fn is_branch(text: &str) -> bool {
        let known = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
        let part =
            |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
        (1..=100).contains(&text.chars().count())
            && text.chars().all(known)
            && text.split('/').all(part)
            && !text.contains("..")
            && !text.starts_with('-')
            && !text.ends_with('.')
    }

    /// Implements the rules for paths in Rust, for comparison.
    fn is_path(text: &str) -> bool {
        let part = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git")
        };
        (1..=500).contains(&text.chars().count())
            && !text.contains('\0')
            && text.split('/').all(part)
    }

    fn is_repo(text: &str) -> bool {
        crate::RepoName::parse(text).is_some()
    }

    #[test]
    fn examples_of_each_rule() {
        for (text, wanted) in [
            ("main", true),
            ("feature/a.b", true),
            ("a.lock", false),
            ("lock", true),
            (".lock", false),
            ("a.lock/b", false),
            ("a.locks", true),
            ("a..b", false),
            ("a.", false),
            ("-a", false),
            ("a/-b", true),
            ("/a", false),
            ("a//b", false),
            ("a/.b", false),
        ] {
            assert_eq!(is_branch(text), wanted, "{text}");
            assert_eq!(admits(&branch(), text), wanted, "{text}");
            assert_eq!(admits(&head(), &format!("octo:{text}")), wanted, "{text}");
        }
        assert!(!admits(&head(), &format!("octo:{}", "a".repeat(101))));
        assert!(admits(&head(), &format!("octo:{}", "a".repeat(100))));
        for (text, wanted) in [
            ("a..b", true),
            ("...", true),
            ("a/../b", false),
            ("./a", false),
            ("/a", false),
            ("a/", false),
            (".git/config", false),
            ("x/.GIT", false),
            (".gitignore", true),
            (".github/x", true),
            ("git", true),
            ("a#?% b", true),
            ("a\0b", false),
            ("line\nbreak", true),
        ] {
            assert_eq!(is_path(text), wanted, "{text:?}");
            assert_eq!(admits(&path(""), text), wanted, "{text:?}");
            assert_eq!(admits(&directory(), text), wanted, "{text:?}");
        }
        assert!(admits(&directory(), ""));
    }

    proptest! {
        #[test]
        fn patterns_say_what_the_rules_say(
            branches in "[abk.lock/:-]{1,12}",
            paths in "[agit./\\x00\\n]{1,12}",
            repos in "[a./]{1,8}",
        ) {
            prop_assert_eq!(admits(&branch(), &branches), is_branch(&branches));
            prop_assert_eq!(admits(&path(""), &paths), is_path(&paths));
            prop_assert_eq!(admits(&repo(), &repos), is_repo(&repos));
        }
    }
}
