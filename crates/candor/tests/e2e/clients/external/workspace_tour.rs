//! The tour of the workspace guide through the Node and Python clients: a new module in a new directory, a
//! rename, a formatter that changes files, tests that start a server, and a workflow file that is refused.

use super::runner::Runner;
use super::{Client, PYTHON, TYPESCRIPT_SDK, is_skipped};
use crate::clients::target::Target;
use crate::fixture::CANDOR;
use crate::workspace::fixture::WorkspaceFixture;
use crate::workspace::kernel::lacks_sandbox;
use serde_json::{Value, json};
use std::path::PathBuf;

const MANIFEST: &str = "[package]\nname = \"tour\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"tour\"\nversion = \"0.1.0\"\n";
const LIBRARY: &str = "pub mod old_name;\n";
const MODULE: &str = "pub fn greet(name:&str)->String{format!(\"Hello, {name}!\")}\n";
const TEST: &str = "use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn greets_over_a_socket() {
    let server = TcpListener::bind(\"127.0.0.1:0\").unwrap();
    let address = server.local_addr().unwrap();
    let client = std::thread::spawn(move || {
        let mut text = String::new();
        TcpStream::connect(address).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    let greeting = tour::greeting::greet(tour::new_name::NAME);
    server.accept().unwrap().0.write_all(greeting.as_bytes()).unwrap();
    assert_eq!(client.join().unwrap(), \"Hello, world!\");
}
";

/// Contains a crate, and an approved plan for the tour.
fn crate_with_plan() -> WorkspaceFixture {
    let fixture = WorkspaceFixture::new();
    fixture.write("Cargo.toml", MANIFEST);
    fixture.write("Cargo.lock", LOCK);
    fixture.write("src/lib.rs", LIBRARY);
    fixture.write("src/old_name.rs", "pub const NAME: &str = \"world\";\n");
    #[allow(
        clippy::disallowed_methods,
        reason = "a test finds the toolchain that runs it"
    )]
    let variable = |name: &str| std::env::var(name).ok();
    let home = variable("HOME").unwrap_or_default();
    let toolchain = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")].map(|(name, below)| {
        let path = variable(name).unwrap_or_else(|| format!("{home}/{below}"));
        format!("{name}={path}")
    });
    fixture.allow_phase(json!({
        "allow": ["**"],
        "commands": [["cargo", "fmt"], ["cargo", "test", "**"]],
        "writable": ["src", "tests"],
        "env": toolchain,
    }));
    fixture
}

/// Calls a tool that must succeed. Returns its structured content.
fn call(runner: &mut Runner, tool: &str, arguments: &Value) -> Value {
    let mut line = try_call(runner, tool, arguments);
    assert_eq!(line["is_error"], false, "{tool}: {line}");
    line["structured"].take()
}

fn try_call(runner: &mut Runner, tool: &str, arguments: &Value) -> Value {
    let request = json!({ "call": { "name": tool, "arguments": arguments } });
    let line = runner.ask(&request).unwrap();
    serde_json::from_str(&line).unwrap()
}

impl Client {
    fn take_tour(&self) {
        if is_skipped() || lacks_sandbox() {
            return;
        }
        let fixture = crate_with_plan();
        let beside = |name: &str| fixture.path_beside(name).display().to_string();
        let args = [
            "workspace",
            "serve",
            "--role",
            "executor",
            "--root",
            &fixture.root_text(),
            "--config-dir",
            &beside("config"),
            "--state-dir",
            &beside("state"),
            "--build-dir",
            &beside("build"),
        ];
        let target = Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: args.map(String::from).to_vec(),
        };
        let mut runner = Runner::start(self.language, self.script, &target, self.eras[0]);
        let connected: Value = serde_json::from_str(&runner.next_step().unwrap()).unwrap();
        let instructions = connected["instructions"].as_str().unwrap();
        assert!(instructions.contains("begin_session"), "{instructions}");
        let listed = runner.next_step().unwrap();
        assert!(listed.contains("\"run_command\""), "{listed}");

        let session = call(&mut runner, "begin_session", &json!({}));
        assert_eq!(session["workspace_root"], fixture.root_text());
        let module = json!({ "path": "src/greeting/mod.rs", "content": MODULE });
        let written = call(&mut runner, "write_file", &module);
        assert_eq!(written["made_dirs"], json!(["src/greeting"]));
        let moved = json!({
            "from": "src/old_name.rs",
            "to": "src/new_name.rs",
            "previous_hash": fixture.hash("src/old_name.rs"),
        });
        call(&mut runner, "move_file", &moved);
        let changes = json!({ "changes": [
            { "path": "src/lib.rs", "content": "pub mod new_name;\npub mod greeting;\n" },
            { "path": "tests/socket.rs", "content": TEST },
        ] });
        call(&mut runner, "apply_changes", &changes);

        let formatted = call(
            &mut runner,
            "run_command",
            &json!({ "argv": ["cargo", "fmt"] }),
        );
        assert_eq!(formatted["exit_code"], 0, "{formatted}");
        let changed = formatted["changes"].as_array().unwrap();
        assert!(
            changed
                .iter()
                .any(|one| one["path"] == "src/greeting/mod.rs"),
            "{formatted}"
        );
        assert!(
            fixture
                .read("src/greeting/mod.rs")
                .contains("pub fn greet(name: &str) -> String {\n")
        );

        let tests = json!({ "argv": ["cargo", "test", "--offline"], "timeout_s": 600 });
        let tested = call(&mut runner, "run_command", &tests);
        assert_eq!(tested["exit_code"], 0, "{tested}");
        let output = tested["output"].as_str().unwrap();
        assert!(output.contains("greets_over_a_socket ... ok"), "{output}");
        assert!(!fixture.path("target").exists());

        let workflow = json!({ "path": ".github/workflows/x.yml", "content": "on: push\n" });
        let refused = try_call(&mut runner, "write_file", &workflow);
        let envelope: Value =
            serde_json::from_str(refused["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(envelope["error_code"], "PLAN_SCOPE_VIOLATION");
        assert_eq!(envelope["cause"]["executed"], true);
        runner.finish();
        fixture.verify();
    }
}

#[test]
fn python_client_takes_the_tour_of_a_workspace() {
    PYTHON.take_tour();
}

#[test]
fn typescript_sdk_takes_the_tour_of_a_workspace() {
    TYPESCRIPT_SDK.take_tour();
}
