//! GitHub's own description of the operations that are used: every request is held against it, and
//! its examples are played.

use candor_testkit::scripted_http::RecordedRequest;
use serde_json::{Value, json};
use std::sync::LazyLock;

static OPERATIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let file: Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
    file["operations"].as_array().unwrap().clone()
});

/// The first example of a success.
pub(crate) fn example(method: &str, path: &str) -> Value {
    let examples = examples(method, path);
    examples
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap()
        .clone()
}

/// All examples of a success, by their names.
pub(crate) fn examples(method: &str, path: &str) -> Value {
    let mut all = OPERATIONS.iter();
    let found = all.find(|one| one["method"] == method && one["path"] == path);
    found.unwrap()["examples"].clone()
}

/// Holds a request against the description.
pub(crate) fn assert_described(request: &RecordedRequest) {
    let (path, query) = match request.target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (request.target.as_str(), ""),
    };
    // Targets of redirects and GraphQL are not in the description.
    if path.starts_with("/repositories/") || path == "/graphql" {
        return;
    }
    let line = request.line();
    // Of two templates that fit, the one that leaves less open.
    let mut fitting: Vec<&Value> = OPERATIONS
        .iter()
        .filter(|one| one["method"] == request.method.as_str())
        .filter(|one| fits(one, path))
        .collect();
    fitting.sort_by_key(|one| std::cmp::Reverse(one["path"].as_str().unwrap().split('/').count()));
    let operation = *fitting.first().unwrap_or_else(|| panic!("unknown: {line}"));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap();
        let parameter = parameter(operation, "query", name);
        let parameter = parameter.unwrap_or_else(|| panic!("no parameter {name}: {line}"));
        assert_valid(
            &parameter["schema"],
            &typed(&parameter["schema"], value),
            &line,
        );
    }
    let body = &operation["body"];
    match body.is_object() {
        true => {
            // An optional body may be left out.
            let sent = match request.body.is_empty() {
                true => json!({}),
                false => request.json(),
            };
            assert_valid(body, &sent, &line);
            let known = body["properties"].as_object().unwrap();
            for name in sent.as_object().unwrap().keys() {
                assert!(known.contains_key(name), "no member {name}: {line}");
            }
        }
        false => assert!(request.body.is_empty(), "a body: {line}"),
    }
}

fn parameter<'a>(operation: &'a Value, place: &str, name: &str) -> Option<&'a Value> {
    let mut all = operation["parameters"].as_array()?.iter();
    all.find(|one| one["in"] == place && one["name"] == name)
}

/// Returns true if a path matches a template. Some parameters take several parts.
fn fits(operation: &Value, path: &str) -> bool {
    let template = operation["path"].as_str().unwrap();
    let template: Vec<&str> = template.split('/').skip(1).collect();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let multi = |place: &str| {
        let name = place.trim_matches(['{', '}']);
        parameter(operation, "path", name).is_some_and(|one| one["multi"] == true)
    };
    fn rest(template: &[&str], parts: &[&str], multi: &dyn Fn(&str) -> bool) -> bool {
        match (template, parts) {
            ([], []) => true,
            ([place, behind @ ..], [part, more @ ..]) => match place.starts_with('{') {
                false => place == part && rest(behind, more, multi),
                true => rest(behind, more, multi) || (multi(place) && rest(template, more, multi)),
            },
            _ => false,
        }
    }
    rest(&template, &parts, &multi)
}

/// A text of a query as its schema means it.
fn typed(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer") => json!(text.parse::<i64>().unwrap()),
        Some("boolean") => json!(text.parse::<bool>().unwrap()),
        _ => json!(text),
    }
}

fn assert_valid(schema: &Value, value: &Value, line: &str) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let wrong = validator.iter_errors(value).map(|error| error.to_string());
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{line}: {wrong:?}");
}

fn request(method: &str, target: &str, body: Value) -> RecordedRequest {
    RecordedRequest {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: Vec::new(),
        body: match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        },
    }
}

#[test]
fn described_request_passes() {
    for (method, target, body) in [
        ("GET", "/repos/a/b", json!(null)),
        ("GET", "/repos/a/b/contents/", json!(null)),
        ("GET", "/repos/a/b/contents/c/d.e?ref=f", json!(null)),
        (
            "GET",
            "/repos/a/b/commits/abc/status?per_page=100&page=2",
            json!(null),
        ),
        (
            "POST",
            "/repos/a/b/git/refs",
            json!({ "ref": "refs/heads/c", "sha": "d" }),
        ),
    ] {
        assert_described(&request(method, target, body));
    }
}

#[test]
fn undescribed_request_fails() {
    for (method, target, body) in [
        ("GET", "/repos/a/b/c", json!(null)),
        ("DELETE", "/repos/a/b", json!(null)),
        ("GET", "/repos/a/b/pulls?state=merged", json!(null)),
        ("GET", "/repos/a/b/pulls?colour=red", json!(null)),
        ("GET", "/repos/a/b/pulls?page=x", json!(null)),
        ("GET", "/repos/a/b", json!({})),
        (
            "POST",
            "/repos/a/b/git/refs",
            json!({ "ref": "refs/heads/c" }),
        ),
        (
            "POST",
            "/repos/a/b/git/refs",
            json!({ "ref": "refs/heads/c", "sha": "d", "e": 1 }),
        ),
    ] {
        let request = request(method, target, body);
        let passed = std::panic::catch_unwind(|| assert_described(&request));
        assert!(passed.is_err(), "{}", request.line());
    }
}
