//! Documents as resources, and the instructions of version 1.

use crate::context::fixture::ContextFixture;
use crate::context::server::ContextServer;
use crate::requests::META;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/Merge.md", "# Merge\n\nMerge a branch.\n");
    fixture.write("docs/rest/ä b?.md", "no heading\n");
    fs::create_dir(fixture.path("caches")).unwrap();
    fixture.build("docs", "caches/my docs");
    fixture
}

fn serve(fixture: &ContextFixture) -> ContextServer {
    ContextServer::start(fixture.command(&["serve", "caches"]))
}

fn ask(server: &mut ContextServer, method: &str, params: &Value) -> Value {
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    serde_json::from_str(&server.ask(line.to_string())).unwrap()
}

/// Asks in the stateless era.
fn ask_stateless(server: &mut ContextServer, method: &str, mut params: Value) -> Value {
    params["_meta"] = serde_json::from_str(META).unwrap();
    ask(server, method, &params)
}

#[test]
fn instructions_name_tools_and_caches() {
    let fixture = fixture();
    let mut server = serve(&fixture);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let answer = ask(&mut server, "initialize", &hello);
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    assert!(instructions.len() <= 1_200);
    assert_snapshot!(instructions, @r#"
    Use context_search first: it finds the passages that answer a question, best first. A query may hold synonyms ("undo revert roll back"), because words are compared, not meanings. Use context_get to read a document or the lines around a passage: give its id, cache, version and lines. If `next` is not null, there is more: call context_get again with `range` set to it. Use context_list to see which caches, folders and documents there are.
    Caches: my docs (2 documents).
    "#);
    assert_eq!(
        answer["result"]["capabilities"],
        json!({ "tools": {}, "resources": {} })
    );
    let discovered = ask_stateless(&mut server, "server/discover", json!({}));
    assert_eq!(discovered["result"]["instructions"], instructions);
    // A cache that appears later is in the next answer.
    fixture.build("docs", "caches/more");
    let answer = ask(&mut server, "initialize", &hello);
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    assert!(
        instructions.ends_with("Caches: more (2 documents), my docs (2 documents)."),
        "{instructions}"
    );
    // Version 0 has none.
    let answer = ask(&mut fixture.serve(&[]), "initialize", &hello);
    assert_eq!(answer["result"].get("instructions"), None);
    assert_eq!(answer["result"]["capabilities"], json!({ "tools": {} }));
}

#[test]
fn resources_are_read_whole() {
    let fixture = fixture();
    let large = "x".repeat(1024 * 1024);
    fixture.write("large/fits.txt", &large);
    fixture.write("large/more.md", format!("{large}x"));
    fixture.run_ok(&[
        "build",
        "--sources",
        "large",
        "--cache",
        "caches/large",
        "--include",
        "*.md",
        "--include",
        "*.txt",
    ]);
    let mut server = serve(&fixture);
    let uri = "context://my%20docs/rest/%C3%A4%20b%3F.md";
    let answer = ask(&mut server, "resources/read", &json!({ "uri": uri }));
    assert_snapshot!(answer["result"], @r#"{"contents":[{"uri":"context://my%20docs/rest/%C3%A4%20b%3F.md","mimeType":"text/markdown","text":"no heading\n"}]}"#);
    let answer = ask_stateless(&mut server, "resources/read", json!({ "uri": uri }));
    assert_snapshot!(answer["result"], @r#"{"resultType":"complete","contents":[{"uri":"context://my%20docs/rest/%C3%A4%20b%3F.md","mimeType":"text/markdown","text":"no heading\n"}],"ttlMs":5000,"cacheScope":"private"}"#);
    let answer = ask(
        &mut server,
        "resources/read",
        &json!({ "uri": "context://large/fits.txt" }),
    );
    assert_eq!(answer["result"]["contents"][0]["text"], large);
    assert_eq!(answer["result"]["contents"][0]["mimeType"], "text/plain");
    let answer = ask(
        &mut server,
        "resources/read",
        &json!({ "uri": "context://large/more.md" }),
    );
    assert_snapshot!(answer["error"], @r#"{"code":-32602,"message":"Invalid params: the resource is too large to be read whole","data":{"uri":"context://large/more.md","bytes":1048577,"hint":"read it in parts with context_get"}}"#);
    for uri in [
        "context://nothing/a.md",
        "context://large/nothing.md",
        "file:///etc/passwd",
        "context://large/../my%20docs/merge.md",
        "",
    ] {
        let answer = ask(&mut server, "resources/read", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
        let answer = ask_stateless(&mut server, "resources/read", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32602, "{uri}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
    }
    let templates = ask(&mut server, "resources/templates/list", &json!({}));
    assert_snapshot!(templates["result"], @r#"{"resourceTemplates":[{"uriTemplate":"context://{cache}/{+id}","name":"document","description":"A document of a cache, whole. For a part of it use context_get."}]}"#);
    // A broken cache.
    fixture.edit(
        fixture.document("caches/my docs", "merge.md"),
        "branch",
        "BRANCH",
    );
    let answer = ask(
        &mut server,
        "resources/read",
        &json!({ "uri": "context://my%20docs/merge.md" }),
    );
    assert_snapshot!(answer["error"], @r#"{"code":-32603,"message":"Internal error: the resources could not be read","data":{"uri":"context://my%20docs/merge.md","code":"cache_invalid"}}"#);
    let answer = ask(&mut server, "resources/list", &json!({}));
    assert_eq!(answer["error"]["code"], -32603);
    assert_eq!(answer["error"]["data"]["code"], "cache_invalid");
}

#[test]
fn resources_are_listed_in_pages() {
    let fixture = fixture();
    let mut server = serve(&fixture);
    let answer = ask(&mut server, "resources/list", &json!({}));
    assert_snapshot!(answer["result"], @r#"{"resources":[{"uri":"context://my%20docs/merge.md","name":"merge.md","title":"Merge","mimeType":"text/markdown","size":25},{"uri":"context://my%20docs/rest/%C3%A4%20b%3F.md","name":"rest/ä b?.md","mimeType":"text/markdown","size":11}]}"#);
    let answer = ask_stateless(&mut server, "resources/list", json!({}));
    assert!(answer["result"]["ttlMs"].is_u64() && answer["result"]["cacheScope"].is_string());
    // Two full pages and one document, over two caches.
    for number in 0..998 {
        fixture.write(format!("many/{number:03}.md"), "x");
    }
    fixture.build("many", "caches/many");
    fixture.write("last/z.md", "z");
    fixture.build("last", "caches/z");
    let mut uris = Vec::new();
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let answer = ask(&mut server, "resources/list", &params);
        let resources = answer["result"]["resources"].as_array().unwrap();
        pages.push(resources.len());
        uris.extend(
            resources
                .iter()
                .map(|one| one["uri"].as_str().unwrap().to_owned()),
        );
        match &answer["result"]["nextCursor"] {
            Value::Null => break,
            cursor => params["cursor"] = cursor.clone(),
        }
    }
    assert_eq!(pages, [500, 500, 1]);
    assert_eq!(uris.iter().collect::<BTreeSet<_>>().len(), 1001);
    assert_eq!(uris[1000], "context://z/z.md");
    for cursor in [
        "",
        "1",
        "0123456789abcdef.context://many/000.md",
        "context://many/000.md",
    ] {
        let answer = ask(&mut server, "resources/list", &json!({ "cursor": cursor }));
        assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
    }
}
