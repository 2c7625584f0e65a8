//! `cargo xtask codegen --openapi FILE`: extracts from GitHub's description of its API the operations that
//! the backend uses. The tests check every request against this extract.

use crate::problem::{Problem, ProblemContext};
use crate::repo::Repo;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

/// The release of `@octokit/openapi` that the committed file is made from.
const RELEASE: &str = "23.0.2";

/// The path of the extract, relative to the root.
const TARGET: &str = "crates/forge/tests/forge/github/openapi.json";

/// The maximum depth of nested references.
const MAX_DEPTH: usize = 24;

/// Members for people or client generators, which are dropped.
const NOISE: [&str; 8] = [
    "description",
    "example",
    "examples",
    "title",
    "deprecated",
    "externalDocs",
    "discriminator",
    "summary",
];

/// Every operation that the backend uses.
const OPERATIONS: &[(&str, &str)] = &[
    ("get", "/search/repositories"),
    ("get", "/search/code"),
    ("get", "/repos/{owner}/{repo}"),
    ("get", "/repos/{owner}/{repo}/readme"),
    ("get", "/repos/{owner}/{repo}/contents/{path}"),
    ("put", "/repos/{owner}/{repo}/contents/{path}"),
    ("get", "/repos/{owner}/{repo}/commits"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/status"),
    ("get", "/repos/{owner}/{repo}/commits/{ref}/check-runs"),
    ("get", "/repos/{owner}/{repo}/compare/{basehead}"),
    ("get", "/repos/{owner}/{repo}/branches"),
    ("get", "/repos/{owner}/{repo}/branches/{branch}"),
    ("get", "/repos/{owner}/{repo}/pulls"),
    ("post", "/repos/{owner}/{repo}/pulls"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("patch", "/repos/{owner}/{repo}/pulls/{pull_number}"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    ("post", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/comments"),
    (
        "post",
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
    ),
    ("get", "/repos/{owner}/{repo}/pulls/comments/{comment_id}"),
    (
        "post",
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
    ),
    ("get", "/repos/{owner}/{repo}/issues"),
    ("post", "/repos/{owner}/{repo}/issues"),
    ("get", "/repos/{owner}/{repo}/issues/{issue_number}"),
    ("patch", "/repos/{owner}/{repo}/issues/{issue_number}"),
    (
        "get",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    (
        "post",
        "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    ),
    ("get", "/search/issues"),
    ("get", "/repos/{owner}/{repo}/pulls/{pull_number}/files"),
    ("put", "/repos/{owner}/{repo}/pulls/{pull_number}/merge"),
    (
        "put",
        "/repos/{owner}/{repo}/pulls/{pull_number}/update-branch",
    ),
    ("get", "/repos/{owner}/{repo}/git/ref/{ref}"),
    ("post", "/repos/{owner}/{repo}/git/refs"),
    ("patch", "/repos/{owner}/{repo}/git/refs/{ref}"),
    ("delete", "/repos/{owner}/{repo}/git/refs/{ref}"),
    ("get", "/repos/{owner}/{repo}/git/commits/{commit_sha}"),
    ("post", "/repos/{owner}/{repo}/git/commits"),
    ("get", "/repos/{owner}/{repo}/git/trees/{tree_sha}"),
    ("post", "/repos/{owner}/{repo}/git/trees"),
    ("post", "/repos/{owner}/{repo}/git/blobs"),
    ("get", "/repos/{owner}/{repo}/git/blobs/{file_sha}"),
    ("post", "/app/installations/{installation_id}/access_tokens"),
    ("get", "/repos/{owner}/{repo}/installation"),
    ("get", "/orgs/{org}/installation"),
    ("get", "/users/{username}/installation"),
    ("get", "/repos/{owner}/{repo}/actions/jobs/{job_id}"),
    ("get", "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs"),
    ("get", "/repos/{owner}/{repo}/actions/runs"),
    ("get", "/repos/{owner}/{repo}/actions/runs/{run_id}"),
    (
        "post",
        "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
    ),
    ("get", "/repos/{owner}/{repo}/tags"),
    ("post", "/repos/{owner}/{repo}/git/tags"),
    ("get", "/repos/{owner}/{repo}/releases"),
    ("post", "/repos/{owner}/{repo}/releases"),
    ("get", "/repos/{owner}/{repo}/releases/tags/{tag}"),
    ("get", "/user"),
    ("post", "/user/repos"),
    ("post", "/orgs/{org}/repos"),
];

/// Writes the extract of `generated/api.github.com.json` of the release, or compares it.
pub(crate) fn run(repo: &Repo, from: &Path, check: bool) -> Result<(), Problem> {
    release(from)?;
    let whole = read(from)?;
    let mut text = extract(&whole)?;
    text.push('\n');
    let target = repo.root.join(TARGET);
    if !check {
        return fs::write(&target, text).context(|| format!("cannot write {TARGET}"));
    }
    match fs::read_to_string(&target) {
        Ok(committed) if committed == text => Ok(()),
        _ => Err(Problem::new(format!("{TARGET} differs")).hint(
            "to write it again, run this and commit it:\n  cargo xtask codegen --openapi FILE",
        )),
    }
}

/// Refuses a file of another release, which would change the extract by accident.
fn release(from: &Path) -> Result<(), Problem> {
    let package = from.parent().and_then(Path::parent);
    let package = package.unwrap_or(Path::new(".")).join("package.json");
    let found = read(&package)?;
    match found["version"].as_str() {
        Some(RELEASE) => Ok(()),
        other => Err(Problem::new(format!(
            "{} is from release {other:?}, not from {RELEASE}",
            from.display()
        ))
        .hint(format!(
            "unpack the package, and use its file generated/api.github.com.json:\n  npm pack @octokit/openapi@{RELEASE}"
        ))),
    }
}

fn read(path: &Path) -> Result<Value, Problem> {
    let text = fs::read_to_string(path).context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).context(|| format!("{} is not JSON", path.display()))
}

fn extract(whole: &Value) -> Result<String, Problem> {
    let operations = OPERATIONS
        .iter()
        .map(|(method, path)| operation(whole, method, path))
        .collect::<Result<Vec<_>, _>>()?;
    let file = json!({
        "source": format!("@octokit/openapi {RELEASE}, api.github.com (MIT)"),
        "operations": operations,
    });
    serde_json::to_string_pretty(&file).context(|| "cannot write JSON".to_owned())
}

fn operation(whole: &Value, method: &str, path: &str) -> Result<Value, Problem> {
    let found = &whole["paths"][path][method];
    if !found.is_object() {
        return Err(Problem::new(format!(
            "the description does not contain {method} {path}"
        )));
    }
    let parameters = found["parameters"].as_array().into_iter().flatten();
    let parameters = parameters.map(|parameter| {
        let parameter = followed(whole, parameter);
        json!({
            "name": parameter["name"],
            "in": parameter["in"],
            "required": parameter["required"].as_bool().unwrap_or(false),
            "multi": parameter["x-multi-segment"].as_bool().unwrap_or(false),
            "schema": plain(whole, &parameter["schema"], MAX_DEPTH),
        })
    });
    let mut operation = json!({
        "method": method.to_uppercase(),
        "path": path,
        "parameters": parameters.collect::<Vec<_>>(),
    });
    let body = &found["requestBody"]["content"]["application/json"]["schema"];
    if body.is_object() {
        operation["body"] = plain(whole, body, MAX_DEPTH);
    }
    if let Some(examples) = examples(whole, found) {
        operation["examples"] = examples;
    }
    Ok(operation)
}

fn followed<'a>(whole: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"]
        .as_str()
        .and_then(|text| text.strip_prefix('#'));
    let target = pointer.and_then(|pointer| whole.pointer(pointer));
    target.unwrap_or(value)
}

/// Returns a schema with its references resolved, as JSON Schema, without texts for people
/// read.
fn plain(whole: &Value, schema: &Value, depth: usize) -> Value {
    let schema = followed(whole, schema);
    match schema {
        Value::Object(members) if depth > 0 => {
            let mut kept = Map::new();
            for (key, value) in members {
                let named = key == "properties";
                if key.starts_with("x-") || NOISE.contains(&key.as_str()) || key == "nullable" {
                    continue;
                }
                let value = match (named, value) {
                    // Here the keys are names that a body may have, not words of a schema.
                    (true, Value::Object(properties)) => properties
                        .iter()
                        .map(|(name, one)| (name.clone(), plain(whole, one, depth - 1)))
                        .collect(),
                    _ => plain(whole, value, depth - 1),
                };
                kept.insert(key.clone(), value);
            }
            if members.get("nullable") == Some(&Value::Bool(true)) && kept.contains_key("type") {
                let kind = kept["type"].clone();
                kept.insert("type".to_owned(), json!([kind, "null"]));
            }
            Value::Object(kept)
        }
        Value::Object(_) => json!({}),
        Value::Array(items) => items
            .iter()
            .map(|item| plain(whole, item, depth.saturating_sub(1)))
            .collect(),
        other => other.clone(),
    }
}

/// Returns the examples of successful responses, without unused addresses.
fn examples(whole: &Value, operation: &Value) -> Option<Value> {
    let responses = operation["responses"].as_object()?;
    let success = responses
        .iter()
        .find(|(status, _)| status.starts_with('2'))?;
    let content = followed(whole, success.1)["content"].as_object()?;
    // The description of a directory has a media type of its own.
    let by_type = ["application/vnd.github.object", "application/json"];
    let media = by_type.iter().find_map(|name| content.get(*name))?;
    let examples = media["examples"].as_object()?;
    let examples = examples.iter().map(|(name, one)| {
        let value = &followed(whole, one)["value"];
        (name.clone(), quiet(value))
    });
    Some(Value::Object(examples.collect()))
}

/// Drops the API's own addresses, of which every object has a dozen.
fn quiet(value: &Value) -> Value {
    let useful = |key: &str| {
        let address = key.ends_with("_url") || key == "url" || key == "_links";
        let used = ["html_url", "target_url", "git_url", "documentation_url"];
        !address || used.contains(&key)
    };
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| useful(key))
            .map(|(key, one)| (key.clone(), quiet(one)))
            .collect(),
        Value::Array(items) => items.iter().map(quiet).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_texts_dropped() {
        let whole = json!({ "components": { "schemas": { "name": {
            "type": "string", "nullable": true, "description": "Words.", "x-internal": 1,
        } } } });
        let schema = json!({ "type": "object", "properties": {
            "title": { "$ref": "#/components/schemas/name" },
            "description": { "type": "string", "example": "a" },
        } });
        assert_eq!(
            plain(&whole, &schema, MAX_DEPTH),
            json!({ "type": "object", "properties": {
                "title": { "type": ["string", "null"] },
                "description": { "type": "string" },
            } })
        );
    }

    #[test]
    fn references_that_lead_into_themselves_end() {
        let whole = json!({ "a": { "items": { "$ref": "#/a" } } });
        let made = plain(&whole, &json!({ "$ref": "#/a" }), MAX_DEPTH);
        assert!(made.to_string().len() < 1000);
    }

    #[test]
    fn addresses_of_the_api_are_left_out_of_examples() {
        let value =
            json!([{ "url": "a", "html_url": "b", "owner": { "events_url": "c", "id": 1 } }]);
        assert_eq!(
            quiet(&value),
            json!([{ "html_url": "b", "owner": { "id": 1 } }])
        );
    }
}
