//! The inspector's check of published schemas: whatever a client may have trouble with is named.

use super::is_skipped;
use super::runner::{Language, required_variable};
use crate::fixture::CANDOR;
use crate::github::fixture::GithubFixture;
use std::path::Path;
use std::process::Command;

#[test]
fn inspector_finds_no_fault_with_the_schemas_of_github() {
    if is_skipped() {
        return;
    }
    let forge = GithubFixture::new();
    let storage = tempfile::tempdir().unwrap();
    let clients = required_variable("CANDOR_CLIENTS");
    let listed = Command::new(Language::JavaScript.interpreter())
        .arg(Path::new(&clients).join("node_modules/.bin/mcp-inspector"))
        .args(["--cli", "--format", "json", "--method", "tools/list"])
        .args(["--strict", "--transport", "stdio", "--", CANDOR])
        .args(["github", "serve", "--toolsets", "all", "--data-dir"])
        .arg(forge.text("data"))
        .env("MCP_STORAGE_DIR", storage.path())
        .env("MCP_CLIENT_CONFIG_PATH", storage.path().join("client.json"))
        .env("MCP_INSPECTOR_SECRET_STORE", "memory")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&listed.stderr);
    assert!(listed.status.success(), "{printed}");
    let list = String::from_utf8_lossy(&listed.stdout);
    assert!(list.contains("get_pull_request_comments"), "{list}");
    // It counts what it found, or describes each of them.
    for word in ["Schema portability", "Warning: tool", "Error: tool"] {
        assert!(!printed.contains(word), "{printed}");
    }
}
