//! The Rust client, `rmcp`: the calls that `external` makes with the Node and Python clients, without another
//! toolchain.

mod github_loop;
mod orders;
mod session;
mod weather;

use super::cases::{self, Case, Form};
use super::report::{Era, Expected, HANDSHAKE, STATELESS};
use super::target::{HttpServer, Target};
use serde_json::Value;

const ERAS: &[Era] = &[
    // By default it uses the handshake.
    Era::new(None, HANDSHAKE),
    Era::new(Some(session::DISCOVER), STATELESS),
    Era::new(Some(session::AUTO), STATELESS),
];

/// The client keeps only members of the specification: the orders dialect's top-level `error` is dropped,
/// and is read from `structuredContent`.
fn quirks(_: &Case, outcome: &mut Value) {
    if let Some(Value::Object(extra)) = outcome.get_mut("extra") {
        extra.shift_remove("error");
    }
}

async fn run_playground(target: &Target, era: Era, cases: &[Case], form: Form) {
    let expected = Expected {
        session: format!("rmcp, {era:?}, {target:?}"),
        server: ("candor-playground", env!("CARGO_PKG_VERSION")),
        era,
        tools: cases::PLAYGROUND,
        cases,
        form,
        quirks,
    };
    expected.check(session::run(target, era, cases).await);
}

#[tokio::test]
async fn every_failure_is_seen_over_stdio() {
    for era in ERAS {
        let target = Target::playground(&[]);
        run_playground(&target, *era, &cases::playground(), era.own_form()).await;
    }
}

#[tokio::test]
async fn every_failure_is_seen_over_http() {
    let listening = HttpServer::playground(&[]);
    for era in ERAS {
        let target = listening.target();
        run_playground(&target, *era, &cases::playground(), era.own_form()).await;
    }
}

#[tokio::test]
async fn failures_are_seen_in_the_other_form_too() {
    for (form, name) in [(Form::Result, "result"), (Form::Error, "jsonrpc")] {
        let flags = ["--failures", name];
        let listening = HttpServer::playground(&flags);
        for era in ERAS.iter().filter(|era| era.own_form() != form) {
            for target in [Target::playground(&flags), listening.target()] {
                run_playground(&target, *era, &cases::github(), form).await;
            }
        }
    }
}
