//! Rules of the policy, and files that are not read, through the tools.

use super::fixture::WorkspaceFixture;
use serde_json::json;

#[test]
fn p17_declared_test_modules_are_tests() {
    let fixture = WorkspaceFixture::new();
    fixture.write("src/lib.rs", "#[cfg(test)]\nmod tests;\nmod work;\n");
    fixture.allow_phase(json!({ "allow": ["src/**"], "policy": { "profiles": ["rust-strict"] } }));
    let mut client = fixture.executor(&[]);
    let test = "#[test]\nfn t() {}\nfn helper() { f().unwrap() }\n";
    client.call_ok(
        "write_file",
        json!({ "path": "src/tests.rs", "content": test }),
    );
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/work.rs", "content": test }),
    );
    assert_eq!(failed.code(), "RUST_POLICY_VIOLATION");
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/more.rs", "content": test }),
    );
    assert_eq!(failed.code(), "RUST_POLICY_VIOLATION");
    // The declaration may come with the same call, before or after the file.
    let module = json!({ "path": "src/more.rs", "content": test });
    let declared = json!({ "path": "src/lib.rs", "edits": [{ "old": "mod work;", "new": "mod work;\n#[cfg(test)]\nmod more;" }] });
    client.call_ok("apply_changes", json!({ "changes": [module, declared] }));
    // And it may be taken away by the same call.
    let module =
        json!({ "path": "src/more.rs", "content": format!("{test}fn g() {{ h().unwrap() }}\n") });
    let undeclared = json!({ "path": "src/lib.rs", "edits": [{ "old": "#[cfg(test)]\nmod more;", "new": "mod more;" }] });
    let failed = client.call_err("apply_changes", json!({ "changes": [module, undeclared] }));
    assert_eq!(failed.code(), "RUST_POLICY_VIOLATION");
}

#[test]
fn p17_secrets_in_other_forms_are_refused() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&[]);
    // The token in UTF-16 behind its byte order mark.
    let content = "//5nAGgAcABfAGEAMQBCADIAYQAxAEIAMgBhADEAQgAyAGEAMQBCADIAYQAxAEIAMgBhADEAQgAyAGEAMQBCADIAYQAxAEIAMgBhADEAQgAyAA==";
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/t.txt", "content": content, "encoding": "base64" }),
    );
    assert_eq!(failed.code(), "POLICY_VIOLATION");
    let failed = client.call_err(
        "write_file",
        json!({ "path": "src/t.txt", "content": "postgres://u:s3cr3tpw@db/x\n" }),
    );
    assert_eq!(failed.code(), "POLICY_VIOLATION");
    assert_eq!(failed.cause()["findings"][0]["rule"], "url-credentials");
    assert!(!failed.text.contains("s3cr3tpw"));
    client.call_ok(
        "write_file",
        json!({ "path": "src/t.txt", "content": "postgres://u:s3cr3tpw@localhost/x\n" }),
    );
}

#[test]
fn p17_more_files_are_not_read() {
    let fixture = WorkspaceFixture::with_plan();
    let mut client = fixture.executor(&["--lock-after", "1000"]);
    for path in [
        ".ssh/config",
        "home/.ssh/known_hosts",
        ".gnupg/pubring.kbx",
        "a.tfstate",
        "a.tfstate.backup",
        "secrets.json",
        "conf/secrets.yaml",
        "secrets.yml",
        "secrets.toml",
    ] {
        fixture.write(path, "x");
        let failed = client.call_err("read_file", json!({ "path": path }));
        assert_eq!(failed.code(), "UNAUTHORIZED_ACTION", "{path}");
    }
    for path in ["ssh/config", "secrets.rs", "a.tf", "src/secrets.md"] {
        fixture.write(path, "x");
        client.call_ok("read_file", json!({ "path": path }));
    }
}

#[test]
fn p17_dubious_plans_have_lints() {
    let fixture = WorkspaceFixture::new();
    let mut client = fixture.planner(&[]);
    let plan = super::fixture::plan(json!({
        "allow": ["\u{455}rc/**"],
        "verify": [["true"]],
        "env": ["LD_PRELOAD=x", "PATH=./evil"],
        "policy": { "exceptions": [{ "rule": "secret-token", "path": "**", "reason": "r" }] },
    }));
    let linted = client.call_ok("lint_plan", json!({ "plan": plan }));
    let rules: Vec<_> = linted["lints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lint| lint["rule"].as_str().unwrap())
        .collect();
    assert_eq!(
        rules,
        ["homoglyph", "env_loader", "env_ignored", "broad_exception"]
    );
    assert_eq!(linted["valid"], true);
}
