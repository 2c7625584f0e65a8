//! Calls of tools that do not exist: the answer names the tool that was probably meant.

use crate::context::fixture::ContextFixture;
use crate::fixture::CANDOR;
use crate::github::fixture::GithubFixture;
use crate::orders::fixture::OrdersFixture;
use crate::requests::{Transport, call, mask_times};
use crate::wire::fixture::{http, stdio};
use crate::workspace::fixture::{EXECUTOR, WorkspaceFixture};
use candor_testkit::Stdio;
use insta::assert_snapshot;
use serde_json::json;

/// Returns the answers to calls of `names`, one on each line.
fn answers(server: &mut Stdio, names: &[&str]) -> String {
    let answer = |name: &&str| mask_times(&server.ask(call(1, name, "{}")));
    let answers: Vec<_> = names.iter().map(answer).collect();
    answers.join("\n")
}

#[test]
fn playground_names_the_similar_tool() {
    let names = ["ehco", "E-C.H_o", "echoecho", "fali", "zzz", "", "a\\nb"];
    assert_snapshot!(answers(&mut stdio(&[]), &names));
}

#[test]
fn both_eras_and_transports_name_the_similar_tool() {
    let error = r#""error":{"code":-32602,"message":"Unknown tool: ehco","data":{"tool":"ehco","hint":"did you mean 'echo'?"}}}"#;
    let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{error}"#);
    let mut line = stdio(&[]);
    let mut post = http(&[]);
    for transport in [&mut line as &mut dyn Transport, &mut post] {
        assert_eq!(transport.send_message(&call(1, "ehco", "{}")), expected);
        assert_eq!(transport.send_stateless("ehco", &json!({})), expected);
    }
}

#[test]
fn orders_name_the_similar_tool() {
    let fixture = OrdersFixture::sqlite();
    let mut server = fixture.stdio(&[]);
    let names = ["getorders", "GET_ORDERS", "get.orders", "list-everything"];
    assert_snapshot!(answers(&mut server, &names));
}

#[test]
fn workspace_names_the_similar_tool() {
    let fixture = WorkspaceFixture::new();
    let mut server = Stdio::start(fixture.command(EXECUTOR, &[]));
    let names = ["readfile", "read.file", "Read-File", "make_coffee"];
    assert_snapshot!(answers(&mut server, &names));
}

/// The dialect of these tools has a hint of its own.
#[test]
fn github_names_the_similar_tool_in_its_own_form() {
    let fixture = GithubFixture::new();
    let names = ["raedfile", "make_coffee"];
    assert_snapshot!(answers(&mut fixture.stdio(&[]), &names));
}

/// Version 0 of the context tools is frozen.
#[test]
fn context_names_no_tool() {
    let fixture = ContextFixture::with_cache();
    let mut server = Stdio::start(fixture.serve_command(&[]));
    assert_snapshot!(answers(&mut server, &["context.resolv", "Context.Resolve"]), @r#"
    {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: context.resolv"}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: Context.Resolve"}}
    "#);
}

/// A name that is longer than every tool's name is not compared, and is cut in the answer.
#[test]
fn long_name_has_no_hint() {
    let mut server = Stdio::spawn(CANDOR, &["playground"]);
    let long = "echo".repeat(1_000_000);
    let answer = server.ask(call(1, &long, "{}"));
    let shown = &long[..63];
    assert_eq!(
        answer,
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"Unknown tool: {shown}…"}}}}"#
        )
    );
}
