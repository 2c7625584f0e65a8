//! Clients with tokens of their own: scopes, tools, rotation, revocation, and the commands that manage them.

use crate::fixture::{CANDOR, LIMIT, candor, run_err};
use crate::orders::fixture::OrdersFixture;
use crate::orders::order_system::FakeOrderSystem;
use crate::orders::requests::{check_failure, order};
use crate::requests::{call, parse, request};
use candor_testkit::{Exit, Http, Process, RawResponse};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// Runs `candor orders clients …` on the file `clients.json` of the fixture.
pub(super) fn clients(fixture: &OrdersFixture, words: &[&str]) -> String {
    let mut command = candor(&["orders", "clients"]);
    command.args(words).args(["--clients", "clients.json"]);
    command.current_dir(fixture.root());
    let ended = Process::run(command, LIMIT);
    assert_eq!(ended.exit, Exit::Code(0), "{}", ended.stderr);
    String::from_utf8(ended.stdout).unwrap()
}

/// Creates a client and returns its token.
pub(super) fn add(fixture: &OrdersFixture, words: &[&str]) -> String {
    let words: Vec<_> = ["add"].iter().chain(words).copied().collect();
    clients(fixture, &words).trim_end().to_owned()
}

fn serve(fixture: &OrdersFixture) -> Http {
    let file = fixture.path("clients.json").display().to_string();
    fixture.http(&["--clients", &file])
}

fn post(server: &Http, token: &str, message: &str) -> RawResponse {
    let authorization = format!("Bearer {token}");
    server.post(message, &[("Authorization", &authorization)])
}

fn listed(server: &Http, token: &str) -> Vec<String> {
    let answer = parse(&post(server, token, &request(1, "tools/list", "{}")).text());
    let tools = answer["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// Sends a request until its status is the expected one: a server looks at its file every second.
pub(super) fn wait_for_status(server: &Http, token: &str, status: u16) {
    let started = Instant::now();
    while post(server, token, &request(1, "ping", "{}")).status != status {
        assert!(started.elapsed() < LIMIT, "the file is read again");
    }
}

#[test]
fn client_sees_and_calls_its_own_tools_only() {
    let fixture = OrdersFixture::sqlite();
    let reader = add(&fixture, &["reader"]);
    let bot = add(
        &fixture,
        &[
            "bot",
            "--scopes",
            "read,write",
            "--tools",
            "get-orders,create-sales-order",
        ],
    );
    let server = serve(&fixture);
    assert_eq!(listed(&server, &bot), ["create-sales-order", "get-orders"]);
    let reading = listed(&server, &reader);
    assert_eq!(reading.len(), 7);
    assert!(reading.iter().all(|tool| tool.starts_with("get-")));

    let create = call(1, "create-sales-order", order("k", "TEA", 1));
    let cancel = json!({ "orderId": "ord_1", "idempotencyKey": "k" });
    let refusals = [
        post(&server, &reader, &create).text(),
        post(&server, &bot, &call(1, "cancel-order", cancel)).text(),
        post(&server, &bot, &call(1, "get-customers", "{}")).text(),
    ];
    refusals.iter().for_each(|refusal| {
        check_failure(refusal);
    });
    assert_snapshot!(refusals.join("\n"));
    let created = parse(&post(&server, &bot, &create).text());
    assert_eq!(created["result"].get("isError"), None, "{created}");
    for unknown in ["", "x", &bot[1..]] {
        assert_eq!(post(&server, unknown, &create).status, 401);
    }
    assert_eq!(server.get("/health", &[]).status, 200);
    assert_eq!(server.get("/metrics", &[]).status, 401);
}

#[test]
fn list_of_one_client_is_not_shared_with_others() {
    let fixture = OrdersFixture::sqlite();
    let reader = add(&fixture, &["reader"]);
    let server = serve(&fixture);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list = request(1, "tools/list", json!({ "_meta": meta }));
    let authorization = format!("Bearer {reader}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
    ];
    let answer = parse(&server.post(list, &headers).text());
    assert_eq!(answer["result"]["cacheScope"], "private", "{answer}");
}

#[test]
fn rotated_token_keeps_the_keys_of_its_client() {
    let fixture = OrdersFixture::sqlite();
    let old = add(&fixture, &["bot", "--scopes", "write"]);
    let other = add(&fixture, &["other", "--scopes", "write"]);
    let mut server = serve(&fixture);
    let create = call(1, "create-sales-order", order("k", "TEA", 1));
    let first = post(&server, &old, &create).text();
    let new = clients(&fixture, &["rotate", "bot"]).trim_end().to_owned();
    wait_for_status(&server, &new, 200);
    assert_eq!(post(&server, &old, &create).text(), first);
    assert_eq!(post(&server, &new, &create).text(), first);
    assert_ne!(post(&server, &other, &create).text(), first);

    assert_eq!(
        clients(&fixture, &["revoke", "bot", "--old-tokens"]),
        "bot: 1 old tokens revoked\n"
    );
    wait_for_status(&server, &old, 401);
    assert_eq!(post(&server, &new, &create).text(), first);
    fs::write(fixture.path("clients.json"), "{").unwrap();
    wait_for_status(&server, &new, 200);
    fs::remove_file(fixture.path("clients.json")).unwrap();
    assert_eq!(post(&server, &new, &create).text(), first);

    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = server.process().whole_stderr(LIMIT);
    for token in [old, new, other] {
        assert!(!log.contains(&token), "{log}");
    }
}

#[test]
fn commands_manage_the_file() {
    let fixture = OrdersFixture::empty();
    let token = add(&fixture, &["reader"]);
    assert_eq!(token.len(), 43);
    add(
        &fixture,
        &[
            "bot",
            "--scopes",
            "write",
            "--tools",
            "get-orders,update-order",
            "--calls-per-minute",
            "30",
        ],
    );
    let file = fixture.path("clients.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!fs::read_to_string(&file).unwrap().contains(&token));
    let listed = clients(&fixture, &["list"]) + &clients(&fixture, &["list", "--json"]);
    let revoked = clients(&fixture, &["revoke", "reader"]);
    let left = clients(&fixture, &["list"]);
    assert_snapshot!(format!("{listed}\n{revoked}{left}"));
    let files: Vec<_> = fs::read_dir(fixture.root()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

#[test]
fn mistakes_about_clients_are_explained() {
    let fixture = OrdersFixture::empty();
    add(&fixture, &["bot"]);
    fixture.write(
        "bad.json",
        r#"{"version":1,"clients":[{"name":"Bot","tokens":[],"scopes":["read"]}]}"#,
    );
    fixture.write("typo.json", "{\"version\":1,\n\"client\":[]}");
    fixture.write("token", "secret");
    let good = "clients.json";
    let error_of = |words: &[&str]| {
        let mut command = candor(&["orders"]);
        command.args(words).current_dir(fixture.root());
        let error = run_err(command);
        format!(
            "$ candor orders {}\n{}",
            words.join(" "),
            fixture.normalize(&error)
        )
    };
    let serve = [
        "serve",
        "--http",
        "--port",
        "0",
        "--database",
        "o.db",
        "--clients",
    ];
    let serving = |more: &[&str]| {
        let words: Vec<_> = serve.iter().chain(more).copied().collect();
        error_of(&words)
    };
    let messages = [
        error_of(&["clients", "add", "bot", "--clients", good]),
        error_of(&["clients", "add", "Bot", "--clients", good]),
        error_of(&[
            "clients",
            "add",
            "x",
            "--tools",
            "get-order",
            "--clients",
            good,
        ]),
        error_of(&[
            "clients",
            "add",
            "x",
            "--tools",
            "update-order",
            "--clients",
            good,
        ]),
        error_of(&["clients", "rotate", "nobody", "--clients", good]),
        error_of(&["clients", "revoke", "nobody", "--clients", good]),
        error_of(&["clients", "list", "--clients", "none.json"]),
        error_of(&["clients", "add", "x", "--clients", "none/clients.json"]),
        error_of(&["serve", "--clients", good]),
        serving(&[good, "--bearer-file", "token"]),
        serving(&["none.json"]),
        serving(&["bad.json"]),
        serving(&["typo.json"]),
    ];
    assert_snapshot!(messages.join("\n"));
}

#[test]
fn tenant_and_trace_of_a_call_reach_the_order_system() {
    let fixture = OrdersFixture::empty();
    let page = r#"{"orders":[],"nextCursor":null}"#;
    let system = FakeOrderSystem::start(&["get-orders"], move |_| (200, "", page.to_owned()));
    let (tenant, plain) = (
        add(&fixture, &["tenant-bot", "--tenant", "acme"]),
        add(&fixture, &["plain-bot"]),
    );
    let (url, file) = (system.url(), fixture.path("clients.json"));
    let file = file.to_str().unwrap();
    let backend = ["--adapter", "http", "--backend", &url, "--clients", file];
    let arguments = [&["orders", "serve", "--http", "--port", "0"][..], &backend].concat();
    let server = Http::spawn(CANDOR, &arguments);
    let position = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (token, trace) in [(&tenant, position), (&plain, "not a position")] {
        let authorization = format!("Bearer {token}");
        let headers = [
            ("Authorization", authorization.as_str()),
            ("traceparent", trace),
        ];
        let answer = parse(&server.post(call(1, "get-orders", "{}"), &headers).text());
        assert_eq!(answer["result"].get("isError"), None, "{answer}");
    }
    let sent = system.received();
    let headers = |index: usize| {
        ["candor-client", "candor-tenant", "traceparent"]
            .map(|name| sent[index].header(name).unwrap_or("absent").to_owned())
    };
    assert_eq!(headers(0), ["tenant-bot", "acme", position]);
    assert_eq!(headers(1), ["plain-bot", "absent", "absent"]);
}
