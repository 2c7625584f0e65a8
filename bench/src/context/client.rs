//! The requests to `context serve`, and its start.

use super::command::{BUDGET, ContextProgram};
use crate::process::BenchProgram;
use crate::tool_client::{ToolClient, ToolRequest};
use serde_json::json;
use std::ffi::OsString;
use std::io;
use std::path::Path;

impl ToolRequest {
    /// Returns a query of a cache below the root.
    pub(crate) fn resolve(cache: &str, query: &str) -> Self {
        ToolRequest::resolve_within(cache, query, BUDGET)
    }

    /// Returns a query with this budget.
    pub(crate) fn resolve_within(cache: &str, query: &str, budget: u64) -> Self {
        let arguments = json!({ "cache": cache, "query": query, "budget": budget });
        ToolRequest::new("context.resolve", &arguments, &[r#"{\"documents\":["#])
    }

    /// Returns a search in all served caches.
    pub(crate) fn search(query: &str) -> Self {
        let arguments = json!({ "query": query, "budget": BUDGET });
        let texts = &["### ", "No passage matches."];
        ToolRequest::new("context_search", &arguments, texts)
    }

    /// Returns a request for these lines of a document.
    pub(crate) fn lines(id: &str, from: usize, to: usize) -> Self {
        let arguments = json!({ "id": id, "lines": [from, to] });
        ToolRequest::new("context_get", &arguments, &["### "])
    }
}

impl ContextProgram {
    /// Starts a server of version 0 for the caches below a root.
    pub(crate) fn serve_root(&self, root: &Path, more: &[&str]) -> io::Result<ToolClient> {
        let arguments: [OsString; 3] = ["serve".into(), "--root".into(), root.into()];
        let more = more.iter().map(OsString::from);
        self.serve(arguments.into_iter().chain(more).collect())
    }

    /// Starts a server of version 1 for a cache, or for the caches in a directory.
    pub(crate) fn serve_path(&self, path: &Path) -> io::Result<ToolClient> {
        self.serve(vec!["serve".into(), path.into()])
    }

    fn serve(&self, arguments: Vec<OsString>) -> io::Result<ToolClient> {
        let program = BenchProgram {
            name: "context",
            file: self.file.clone(),
            arguments,
            bare: false,
        };
        ToolClient::connect(program.start()?)
    }
}
