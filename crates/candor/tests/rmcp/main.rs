//! The Rust client, `rmcp`, against the playground, the order tools and the example server. It makes the calls that
//! `tests/clients` has the Node and Python clients make, and needs nothing but Rust.

// A helper of a test may fail it.
#![allow(clippy::expect_used, clippy::panic)]

#[path = "../clients/cases.rs"]
mod cases;
mod client;
mod orders;
#[path = "../clients/report.rs"]
mod report;
#[path = "../clients/server.rs"]
mod server;
mod weather;

use cases::{Case, Form};
use report::{Era, Expected, HANDSHAKE, STATELESS};
use serde_json::Value;
use server::{Listening, Target};

const ERAS: &[Era] = &[
    // Left alone it uses the handshake.
    Era::new(None, HANDSHAKE),
    Era::new(Some(client::DISCOVER), STATELESS),
    Era::new(Some(client::AUTO), STATELESS),
];

/// Only members that the specification knows are kept: the orders dialect's top-level `error` is gone,
/// and is read from `structuredContent`.
fn quirks(_: &Case, outcome: &mut Value) {
    if let Some(Value::Object(extra)) = outcome.get_mut("extra") {
        extra.shift_remove("error");
    }
}

async fn plays(target: &Target, era: Era, cases: &[Case], form: Form) {
    let expected = Expected {
        session: format!("rmcp, {era:?}, {target:?}"),
        server: ("candor-playground", env!("CARGO_PKG_VERSION")),
        era,
        tools: cases::PLAYGROUND,
        cases,
        form,
        quirks,
    };
    expected.judge(client::run(target, era, cases).await);
}

#[tokio::test]
async fn sees_every_failure_over_stdio() {
    for era in ERAS {
        let target = Target::playground(&[]);
        plays(&target, *era, &cases::playground(), era.own_form()).await;
    }
}

#[tokio::test]
async fn sees_every_failure_over_http() {
    let listening = Listening::playground(&[]);
    for era in ERAS {
        let target = listening.target();
        plays(&target, *era, &cases::playground(), era.own_form()).await;
    }
}

#[tokio::test]
async fn sees_the_form_that_is_not_its_eras_own() {
    for (form, name) in [(Form::Result, "result"), (Form::Error, "jsonrpc")] {
        let flags = ["--failures", name];
        let listening = Listening::playground(&flags);
        for era in ERAS.iter().filter(|era| era.own_form() != form) {
            for target in [Target::playground(&flags), listening.target()] {
                plays(&target, *era, &cases::github(), form).await;
            }
        }
    }
}
