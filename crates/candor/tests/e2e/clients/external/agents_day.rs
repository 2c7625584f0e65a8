//! A day of an agent through the Node and Python clients: it looks around, searches, reads on to the end,
//! mends a wrong id from the answer alone, and reads a resource.
//!
//! A snapshot contains every request and every line of the client's report, byte for byte. Only the version
//! of the server is masked.

use super::runner::Runner;
use super::{Client, INSPECTOR, PYTHON, TYPESCRIPT_CLIENT, TYPESCRIPT_SDK, is_skipped};
use crate::clients::report::Era;
use crate::clients::target::Target;
use crate::context::agents_day::{GUIDE, caches};
use crate::fixture::CANDOR;
use serde_json::{Value, json};
use std::path::PathBuf;

/// One day: a session and its transcript.
struct Day {
    runner: Runner,
    transcript: String,
}

impl Day {
    fn begin(client: &Client, target: &Target, era: Era) -> Self {
        let mut day = Day {
            runner: Runner::start(client.language, client.script, target, era),
            transcript: String::new(),
        };
        // The connection, with the instructions, and the list of the tools.
        for _ in 0..2 {
            let line = day.runner.next_step();
            day.record(line);
        }
        day
    }

    /// Appends a line of the report to the transcript and returns it as JSON.
    fn record(&mut self, line: Option<String>) -> Value {
        let line = line.unwrap_or_else(|| panic!("no report after\n{}", self.transcript));
        let version = concat!("\"version\":\"", env!("CARGO_PKG_VERSION"), "\"");
        let masked = line.replace(version, "\"version\":\"VERSION\"");
        self.transcript += &format!("< {masked}\n");
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.transcript += &format!("> {request}\n");
        let line = self.runner.ask(request);
        self.record(line)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(&json!({ "call": { "name": tool, "arguments": arguments } }))
    }

    /// Writes into the transcript what the agent does next.
    fn note(&mut self, intention: &str) {
        self.transcript += &format!("\n# {intention}\n");
    }

    /// Closes the session and returns the transcript.
    fn end(mut self) -> String {
        self.transcript += "\n";
        for line in self.runner.finish() {
            self.transcript += &format!("< {line}\n");
        }
        self.transcript
    }
}

/// Takes every later argument from an earlier answer.
fn live_through(mut day: Day) -> String {
    day.note("List the caches, then the documents of the first.");
    let caches = day.call("context_list", &json!({}));
    let cache = &caches["structured"]["caches"][0]["cache"];
    day.call("context_list", &json!({ "cache": cache }));

    day.note("Search with synonyms.");
    let query = json!({ "query": "undo revert roll back a merge", "budget": 60 });
    let found = day.call("context_search", &query);
    let passage = &found["structured"]["passages"][0];

    day.note("Read its document from the beginning to the end.");
    let mut arguments = json!({
        "id": passage["id"],
        "cache": passage["cache"],
        "version": passage["version"],
        "budget": 12
    });
    let mut content = String::new();
    loop {
        let part = day.call("context_get", &arguments);
        content += part["structured"]["content"].as_str().unwrap();
        let next = &part["structured"]["next"];
        if next.is_null() {
            break;
        }
        arguments["range"] = next.clone();
    }
    assert_eq!(content, GUIDE);

    day.note("Mend a wrong id by the text of the failure.");
    let failed = day.call("context_get", &json!({ "id": "docs/Merging.md" }));
    assert_eq!(failed["is_error"], true);
    let text = failed["content"][0]["text"].as_str().unwrap();
    let (_, near) = text.split_once("near: `").unwrap();
    let (id, _) = near.split_once('`').unwrap();
    let mended = day.call("context_get", &json!({ "id": id }));
    assert_eq!(mended["structured"]["content"], GUIDE);

    day.note("Read the same document as a resource.");
    let listed = day.ask(&json!({ "resources": {} }));
    let resources = listed["resources"].as_array().unwrap();
    let resource = resources.iter().find(|one| one["name"] == *id).unwrap();
    let read = day.ask(&json!({ "read": { "uri": resource["uri"] } }));
    assert_eq!(read["contents"][0]["text"], GUIDE);
    day.end()
}

impl Client {
    /// Checks the day in each revision that this client uses.
    fn check_day(&self) {
        if is_skipped() {
            return;
        }
        let fixture = caches();
        let target = Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: vec![
                "context".to_owned(),
                "serve".to_owned(),
                fixture.path("caches").to_str().unwrap().to_owned(),
            ],
        };
        let name = self.script.split('.').next().unwrap();
        let mut seen = Vec::new();
        for era in self.eras {
            if seen.contains(&era.negotiated) {
                continue;
            }
            seen.push(era.negotiated);
            let day = live_through(Day::begin(self, &target, *era));
            insta::assert_snapshot!(format!("{name}_{}", era.negotiated), day);
        }
    }
}

#[test]
fn python_client_reads_documents_for_a_day() {
    PYTHON.check_day();
}

#[test]
fn typescript_sdk_reads_documents_for_a_day() {
    TYPESCRIPT_SDK.check_day();
}

#[test]
fn typescript_client_reads_documents_for_a_day() {
    TYPESCRIPT_CLIENT.check_day();
}

#[test]
fn inspector_reads_documents_for_a_day() {
    INSPECTOR.check_day();
}
