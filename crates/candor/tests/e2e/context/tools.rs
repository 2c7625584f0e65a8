//! The tools of the server: their list in both eras, and their answers.

use crate::context::fixture::{ContextFixture, error_object};
use crate::context::server::{ContextServer, ToolText, arguments, quoted};
use crate::requests::{META, call, stateless_call};
use insta::assert_snapshot;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The sentence of the specification.
const SENTENCE: &str = "Resolve a natural-language query against a pre-built context cache and return a deterministic, explainable set of documents within a token budget.";

#[test]
fn exactly_three_tools_are_listed() {
    let fixture = ContextFixture::empty();
    let mut server = fixture.serve(&[]);
    let list = server.ask(LIST);
    assert!(list.len() <= 3 * 1024, "{}", list.len());
    let value: serde_json::Value = serde_json::from_str(&list).unwrap();
    let tools = value["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "context.inspect_cache",
            "context.list_caches",
            "context.resolve"
        ]
    );
    assert_eq!(tools[2]["description"], SENTENCE);
    assert_snapshot!(list, @r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"context.inspect_cache","description":"Say what a cache is (version, documents, bytes) and whether it is valid. Not for its contents: use context.resolve.","inputSchema":{"type":"object","properties":{"cache":{"type":"string","description":"Path or identifier of a built context cache"}},"required":["cache"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},{"name":"context.list_caches","description":"List the caches directly below the root. Not for looking into one: use context.inspect_cache.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},{"name":"context.resolve","description":"Resolve a natural-language query against a pre-built context cache and return a deterministic, explainable set of documents within a token budget.","inputSchema":{"type":"object","properties":{"cache":{"type":"string","description":"Path or identifier of a built context cache"},"query":{"type":"string","description":"Natural-language query"},"budget":{"type":"integer","minimum":0,"maximum":9007199254740991,"description":"Maximum token budget"}},"required":["cache","query","budget"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]}}"#);
}

#[test]
fn tool_list_is_the_same_in_both_eras() {
    let fixture = ContextFixture::empty();
    let mut server = fixture.serve(&[]);
    let list = server.ask(LIST);
    let stateless = server.ask(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{META}}}}}"#
    ));
    let tools = |list: &str| {
        serde_json::from_str::<serde_json::Value>(list).unwrap()["result"]["tools"].clone()
    };
    assert_eq!(tools(&stateless), tools(&list));
}

#[test]
fn server_info_is_the_same_in_both_eras() {
    let fixture = ContextFixture::empty();
    let mut server = fixture.serve(&[]);
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        server.ask(initialize),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"candor-context","version":"{version}"}}}}}}"#
        )
    );
    let discover = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{{"_meta":{META}}}}}"#
    );
    assert_eq!(
        server.ask(discover),
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{{"tools":{{}}}},"ttlMs":60000,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"candor-context","version":"{version}"}}}}}}}}"#
        )
    );
}

/// The published server of this format speaks the revision 2024-11-05.
#[test]
fn client_of_the_published_server_finds_its_three_tools() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        server.ask(initialize),
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2024-11-05","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"candor-context","version":"{version}"}}}}}}"#
        )
    );
    server
        .stdio()
        .send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // The list is the next answer: the notification has none.
    let list = server.ask(LIST);
    for name in ["resolve", "list_caches", "inspect_cache"] {
        assert!(
            list.contains(&format!(r#"{{"name":"context.{name}","#)),
            "{list}"
        );
    }
    assert_eq!(list.matches(r#""inputSchema""#).count(), 3);
    let text = server.call("context.list_caches", "{}").unwrap();
    assert_eq!(
        text,
        r#"{"caches":[{"path":"cache","has_manifest":true},{"path":"docs","has_manifest":false}]}"#
    );
    // Resources and instructions belong to version 1.
    let read = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#);
    assert!(read.contains(r#""code":-32601"#), "{read}");
}

/// The new era adds only `resultType`.
#[test]
fn result_contains_only_a_text() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    for (tool, call_arguments) in [
        ("context.resolve", arguments("cache", "fox", "9")),
        ("context.resolve", arguments("nowhere", "fox", "9")),
        ("context.resolve", arguments("docs", "fox", "9")),
        ("context.list_caches", String::from("{}")),
        (
            "context.inspect_cache",
            String::from(r#"{"cache":"cache"}"#),
        ),
        (
            "context.inspect_cache",
            String::from(r#"{"cache":"nowhere"}"#),
        ),
    ] {
        // The driver checks the result of the older era.
        let outcome = server.call(tool, &call_arguments);
        let (text, is_error) = match &outcome {
            ToolText::Text(text) => (text, ""),
            ToolText::Failed(text) => (text, r#","isError":true"#),
        };
        assert_eq!(
            server.ask(stateless_call("7", tool, &call_arguments)),
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"result":{{"resultType":"complete","content":[{{"type":"text","text":{}}}]{is_error}}}}}"#,
                quoted(text)
            )
        );
    }
}

#[test]
fn tool_names_with_an_underscore_work() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    for (tool, call_arguments) in [
        ("resolve", arguments("cache", "fox", "9")),
        ("resolve", arguments("nowhere", "fox", "9")),
        ("list_caches", String::from("{}")),
        ("inspect_cache", String::from(r#"{"cache":"cache"}"#)),
    ] {
        let dotted = server.call(&format!("context.{tool}"), &call_arguments);
        assert_eq!(
            server.call(&format!("context_{tool}"), &call_arguments),
            dotted,
            "{tool}"
        );
    }
}

/// Clients that refuse dots in names get the names with `_`. Calls may use both.
#[test]
fn tools_are_listed_with_underscores_on_request() {
    let fixture = ContextFixture::with_cache();
    let mut dotted = fixture.serve(&["--passages"]);
    let mut plain = fixture.serve(&["--passages", "--tool-names", "underscore"]);
    let mut own = fixture.serve(&["--passages", "--tool-names", "own"]);
    let list = dotted.ask(LIST);
    assert_eq!(own.ask(LIST), list);
    let expected = list.replace("\"name\":\"context.", "\"name\":\"context_");
    assert_eq!(plain.ask(LIST), expected);
    assert_eq!(expected.matches("context_").count(), 4);
    let question = arguments("cache", "fox", "9");
    let answer = dotted.call("context.resolve", &question);
    for tool in ["context.resolve", "context_resolve"] {
        assert_eq!(plain.call(tool, &question), answer);
    }
    let refused = fixture.run_err(1, &["serve", "--root", ".", "--tool-names", "plain"]);
    assert!(
        refused.contains("[possible values: own, underscore]"),
        "{refused}"
    );
}

#[test]
fn unknown_tool_is_an_error_of_the_protocol() {
    let fixture = ContextFixture::with_cache();
    let mut server = fixture.serve(&[]);
    for tool in [
        "context.build",
        "resolve",
        "context.passages",
        "Context.Resolve",
        "",
    ] {
        assert_eq!(
            server.ask(call("1", tool, "{}")),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"Unknown tool: {tool}"}}}}"#
            )
        );
    }
}

fn listed(server: &mut ContextServer) -> String {
    server.call("context.list_caches", "{}").unwrap()
}

#[test]
fn caches_are_listed_in_byte_order() {
    let fixture = ContextFixture::empty();
    let mut server = fixture.serve(&[]);
    assert_eq!(listed(&mut server), "{\"caches\":[]}");
    for name in [
        "b",
        "a",
        "Z",
        "é",
        "with space",
        "a.b",
        ".hidden",
        "deep/cache",
    ] {
        fixture.write(format!("{name}/manifest.json"), "whatever it says");
    }
    fs::create_dir(fixture.path("no-manifest")).unwrap();
    fs::create_dir_all(fixture.path("odd/manifest.json")).unwrap();
    fs::create_dir_all(fixture.path("linked")).unwrap();
    symlink("../a/manifest.json", fixture.path("linked/manifest.json")).unwrap();
    symlink("a", fixture.path("link")).unwrap();
    symlink("/", fixture.path("out")).unwrap();
    fixture.write("file", "");
    fs::create_dir(
        fixture
            .root()
            .join(std::ffi::OsStr::from_bytes(b"no\xffname")),
    )
    .unwrap();
    assert_eq!(
        listed(&mut server),
        concat!(
            r#"{"caches":[{"path":"Z","has_manifest":true},{"path":"a","has_manifest":true},"#,
            r#"{"path":"a.b","has_manifest":true},{"path":"b","has_manifest":true},"#,
            r#"{"path":"deep","has_manifest":false},{"path":"linked","has_manifest":false},"#,
            r#"{"path":"no-manifest","has_manifest":false},{"path":"odd","has_manifest":false},"#,
            r#"{"path":"with space","has_manifest":true},{"path":"é","has_manifest":true}]}"#
        )
    );
    // Without arguments at all it is the same call.
    let bare =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.list_caches"}}"#;
    let call_arguments = server.ask(call("1", "context.list_caches", "{}"));
    assert_eq!(server.ask(bare), call_arguments);
}

/// Every listed name can be inspected.
#[test]
fn listed_caches_can_be_inspected() {
    let fixture = ContextFixture::with_cache();
    fixture.build("docs", "with space");
    let mut server = fixture.serve(&[]);
    let listed: serde_json::Value = serde_json::from_str(&listed(&mut server)).unwrap();
    let mut reports = Vec::new();
    for cache in listed["caches"].as_array().unwrap() {
        let call_arguments = format!(r#"{{"cache":{}}}"#, cache["path"]);
        reports.push(
            server
                .call("context.inspect_cache", &call_arguments)
                .unwrap(),
        );
    }
    assert_snapshot!(reports.join("\n"), @r#"
    {"cache_version":"sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8","document_count":4,"total_bytes":689,"valid":true}
    {"cache_version":"","document_count":0,"total_bytes":0,"valid":false}
    {"cache_version":"sha256:e1b85a4507c04a5a782c40de12183ff521919c65c6652198dd6b2fbec33099c8","document_count":4,"total_bytes":689,"valid":true}
    "#);
}

#[test]
fn removed_root_is_missing_or_cannot_be_read() {
    let fixture = ContextFixture::with_cache();
    fs::create_dir(fixture.path("root")).unwrap();
    fs::rename(fixture.path("cache"), fixture.path("root/cache")).unwrap();
    let mut server = ContextServer::start(fixture.command(&["serve", "--root", "root"]));
    server.resolve("cache", "fox", "9").unwrap();
    // The server holds the directory, not its name.
    fs::rename(fixture.path("root"), fixture.path("moved")).unwrap();
    server.resolve("cache", "fox", "9").unwrap();
    fs::remove_dir_all(fixture.path("moved")).unwrap();
    assert_eq!(
        server.resolve("cache", "fox", "9").text(),
        error_object("cache_missing")
    );
}
