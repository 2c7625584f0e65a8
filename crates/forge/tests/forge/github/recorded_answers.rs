//! Recorded exchanges, and the answers that GitHub's documentation describes.

use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

/// A recorded answer.
pub(crate) struct Recorded(Value);

impl Recorded {
    /// The exchange of this number in a file of recordings.
    pub(crate) fn of(file: &str, number: usize) -> Recorded {
        let all: Value = serde_json::from_str(file).unwrap();
        Recorded(all[number].clone())
    }

    pub(crate) fn body(&self) -> &Value {
        &self.0["body"]
    }

    /// To be played by a server at this address.
    pub(crate) fn respond(&self, url: &str) -> ScriptedResponse {
        let headers = self.0["headers"].as_object().unwrap().iter();
        let headers = headers.map(|(name, value)| {
            let value = value.as_str().unwrap();
            (name.as_str(), value.replace("https://api.github.com", url))
        });
        let headers: Vec<(&str, String)> = headers.collect();
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let status = self.0["status"].as_u64().unwrap();
        let status = u16::try_from(status).unwrap();
        match status {
            204 => ScriptedResponse::new(status, &headers, b""),
            _ => ScriptedResponse::new(status, &headers, self.body().to_string().as_bytes()),
        }
    }
}

pub(crate) const REPOSITORY: &str = include_str!("fixtures/repository.json");
pub(crate) const RENAMED: &str = include_str!("fixtures/renamed.json");
pub(crate) const REFS: &str = include_str!("fixtures/refs.json");
pub(crate) const STATUS: &str = include_str!("fixtures/status.json");
pub(crate) const INVALID: &str = include_str!("fixtures/invalid.json");

/// A refusal in the form of all of them.
pub(crate) fn refusal(message: &str, page: &str) -> Vec<u8> {
    let body = json!({
        "message": message,
        "documentation_url": format!("https://docs.github.com/rest/{page}"),
    });
    body.to_string().into_bytes()
}

/// A pull request with some members replaced.
pub(crate) fn pull(members: Value) -> Value {
    let path = "/repos/{owner}/{repo}/pulls/{pull_number}";
    with(crate::github::openapi::example("GET", path), members)
}

/// An object with some members replaced.
pub(crate) fn with(mut object: Value, members: Value) -> Value {
    for (name, value) in members.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}
