//! The Node and Python clients, which `cargo xtask test` installs.
//!
//! A member that a client drops or changes is declared here as a quirk of that client, with its consequence for
//! users. `rust_sdk` makes the same calls with the Rust client.

mod agents_day;
pub(super) mod github_loop;
mod idle_peers;
mod runner;
mod schema_portability;
mod support_desk;
mod workspace_tour;

use super::cases::{self, Case, Form};
use super::report::{Era, Expected, HANDSHAKE, STATELESS};
use super::target::{HttpServer, OrderStore, Target};
use crate::context::fixture::ContextFixture;
use crate::fixture::CANDOR;
use runner::Language;
use serde_json::{Value, json};
use std::path::PathBuf;

/// One client.
struct Client {
    language: Language,
    script: &'static str,
    eras: &'static [Era],
    quirks: fn(&Case, &mut Value),
}

const PYTHON: Client = Client {
    language: Language::Python,
    script: "python_mcp.py",
    eras: &[
        // By default it sends `server/discover`, and stays in the new era.
        Era::new(None, STATELESS),
        Era::new(Some("handshake"), HANDSHAKE),
        Era {
            // With a fixed revision it sends no `server/discover`, and so does not get the server's name.
            has_server_info: false,
            ..Era::new(Some(STATELESS), STATELESS)
        },
    ],
    quirks: |_, outcome| {
        // It keeps only members of the specification: the orders dialect's top-level `error` is dropped,
        // and is read from `structuredContent`.
        drop_extra(outcome, "error");
    },
};

const TYPESCRIPT_SDK: Client = Client {
    language: Language::JavaScript,
    script: "ts_sdk.mjs",
    eras: &[Era::new(None, HANDSHAKE)],
    quirks: |_, outcome| {
        // It puts the code before the message.
        if outcome["outcome"] == "error" {
            let (code, message) = (&outcome["code"], text(&outcome["message"]));
            outcome["message"] = json!(format!("MCP error {code}: {message}"));
        }
    },
};

const TYPESCRIPT_CLIENT: Client = Client {
    language: Language::JavaScript,
    script: "ts_client.mjs",
    eras: &[
        Era::new(None, HANDSHAKE),
        Era::new(Some("handshake"), HANDSHAKE),
        Era::new(Some(STATELESS), STATELESS),
    ],
    quirks: |_, outcome| {
        // Read by the client, and not passed on.
        drop_extra(outcome, "resultType");
    },
};

const INSPECTOR: Client = Client {
    language: Language::JavaScript,
    script: "inspector.mjs",
    eras: &[
        Era::new(Some("handshake"), HANDSHAKE),
        Era::new(Some(STATELESS), STATELESS),
    ],
    quirks: |case, outcome| {
        drop_extra(outcome, "resultType");
        if case.name == "ecko" {
            // It looks the tool up in the list first, and does not call a tool that is not listed.
            let message = "Tool 'ecko' not found on server.";
            *outcome = json!({
                "outcome": "refused",
                "reason": format!("tool_not_found: {message}"),
                "envelope": { "code": "tool_not_found", "message": message },
                "exit": 5
            });
        }
        if outcome["outcome"] == "error" {
            // Of a JSON-RPC error only the message is shown: `--failures result` is for such clients.
            let message = outcome["message"].clone();
            outcome["code"] = Value::Null;
            outcome["data"] = Value::Null;
            outcome["envelope"] = json!({ "code": "error", "message": message });
            outcome["exit"] = json!(1);
        }
    },
};

/// Returns true, and records that the test is skipped, if the clients are not installed.
fn is_skipped() -> bool {
    let is_skipped = !runner::is_installed();
    if is_skipped {
        candor_testkit::skip("the MCP clients are not installed: `cargo xtask test` installs them");
    }
    is_skipped
}

fn drop_extra(outcome: &mut Value, member: &str) {
    if let Some(Value::Object(extra)) = outcome.get_mut("extra") {
        extra.shift_remove(member);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Client {
    /// Every dialect, in every era of this client.
    fn check_every_failure(&self) {
        let listening = HttpServer::playground(&[]);
        for era in self.eras {
            for target in [Target::playground(&[]), listening.target()] {
                self.run_playground(&target, *era, &cases::playground(), era.own_form());
            }
        }
    }

    /// Checks the dialect with two forms, in each era with the form that is not its default.
    fn check_the_other_form(&self) {
        let forced = [(Form::Result, "result"), (Form::Error, "jsonrpc")];
        for (form, name) in forced {
            let flags = ["--failures", name];
            let listening = HttpServer::playground(&flags);
            let eras = self.eras.iter().filter(|era| era.own_form() != form);
            for era in eras {
                for target in [Target::playground(&flags), listening.target()] {
                    self.run_playground(&target, *era, &cases::github(), form);
                }
            }
        }
    }

    fn run_playground(&self, target: &Target, era: Era, cases: &[Case], form: Form) {
        let server = ("candor-playground", env!("CARGO_PKG_VERSION"));
        self.drive(target, era, server, cases::PLAYGROUND, cases, form);
    }

    /// The order tools, whose answers have to fit the `outputSchema` that each publishes.
    fn check_orders(&self) {
        let store = OrderStore::new();
        let listening = store.listening();
        let server = ("candor-orders", env!("CARGO_PKG_VERSION"));
        let cases = cases::order_tools();
        for era in self.eras {
            for target in [store.target(), listening.target()] {
                let form = era.own_form();
                self.drive(&target, *era, server, cases::ORDERS, &cases, form);
            }
        }
    }

    /// Version 0 of the context server, which clients of the published servers are configured for.
    fn check_context_v0(&self) {
        let fixture = ContextFixture::with_cache();
        let root = fixture.root().to_str().expect("the root is UTF-8");
        let target = Target::Stdio {
            program: PathBuf::from(CANDOR),
            args: ["context", "serve", "--root", root]
                .map(String::from)
                .into(),
        };
        let server = ("candor-context", env!("CARGO_PKG_VERSION"));
        let cases = cases::context_v0(&fixture);
        for era in self.eras {
            let form = Form::Result;
            self.drive(&target, *era, server, cases::CONTEXT_V0, &cases, form);
        }
    }

    /// The example server, whose failures have to fit the `outputSchema` that it publishes.
    fn check_weather(&self) {
        let (target, server) = (Target::weather(), ("weather", "1.0.0"));
        for era in self.eras {
            self.drive(
                &target,
                *era,
                server,
                cases::WEATHER,
                &cases::weather(),
                Form::Result,
            );
        }
    }

    fn drive(
        &self,
        target: &Target,
        era: Era,
        server: (&str, &str),
        tools: &[&str],
        cases: &[Case],
        form: Form,
    ) {
        let expected = Expected {
            session: format!("{}, {era:?}, {target:?}", self.script),
            server,
            era,
            tools,
            cases,
            form,
            quirks: self.quirks,
        };
        expected.check(runner::run(self.language, self.script, target, era, cases));
    }

    fn check_everything(&self) {
        if is_skipped() {
            return;
        }
        self.check_every_failure();
        self.check_the_other_form();
        self.check_orders();
        self.check_context_v0();
        self.check_weather();
    }
}

#[test]
fn python_client_sees_every_answer() {
    PYTHON.check_everything();
}

#[test]
fn typescript_sdk_sees_every_answer() {
    TYPESCRIPT_SDK.check_everything();
}

#[test]
fn typescript_client_sees_every_answer() {
    TYPESCRIPT_CLIENT.check_everything();
}

#[test]
fn inspector_sees_every_answer() {
    INSPECTOR.check_everything();
}
