//! The tools of version 1 and the commands search, get and list: the same bytes, and every failure.

use crate::context::fixture::{ContextFixture, run_command, unprivileged_context};
use crate::context::server::{ContextServer, quoted};
use crate::fixture::LIMIT;
use crate::requests::{call, stateless_call};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// Two caches, `caches/guide` and `caches/reference`.
fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write(
        "docs/Merge.md",
        "---\ntitle: Merging\n---\n\n# Merge\n\nMerge a branch with `git merge`.\n\n## Undo\n\nRevert a merged branch.\r\nThe last line",
    );
    fixture.write("docs/rest/api.md", "# API\n\nMerge by a request.\n");
    fixture.write("docs/rest/empty.md", "");
    fixture.write("other/merge.md", "Another text about merges.\n");
    fs::create_dir(fixture.path("caches")).unwrap();
    fixture.build("docs", "caches/guide");
    fixture.build("other", "caches/reference");
    fixture
}

pub(crate) fn serve(fixture: &ContextFixture, paths: &[&str]) -> ContextServer {
    let mut command = fixture.command(&["serve"]);
    command.args(paths);
    ContextServer::start(command)
}

/// Makes a call and returns its result.
pub(crate) fn ask(server: &mut ContextServer, tool: &str, arguments: &Value) -> Value {
    let answer = server.ask(call("1", tool, arguments.to_string()));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["result"].clone()
}

/// Makes a call that must fail. Returns the sentence before the object.
pub(crate) fn fail(server: &mut ContextServer, tool: &str, arguments: Value) -> String {
    let result = ask(server, tool, &arguments);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let (sentence, object) = text.rsplit_once('\n').unwrap();
    let object: Value = serde_json::from_str(object).unwrap();
    assert_eq!(object, result["structuredContent"]);
    format!("{}: {sentence}", object["error"]["code"].as_str().unwrap())
}

#[test]
fn three_tools_are_listed() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let list = server.ask(LIST);
    assert!(list.len() < 6 * 1024, "{}", list.len());
    assert_eq!(server.ask(LIST), list);
    assert_eq!(serve(&fixture, &["caches/guide"]).ask(LIST), list);
    let value: Value = serde_json::from_str(&list).unwrap();
    for tool in value["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert!(jsonschema::meta::is_valid(&tool["outputSchema"]));
    }
    assert_snapshot!(list, @r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"context_get","description":"Read a document or a part of it, within a token budget. If `next` is not null, call again with range set to it to read on.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"Id of a document"},"cache":{"type":"string","description":"Name of its cache; needed if several have the id"},"lines":{"type":"array","items":{"type":"integer","minimum":1,"maximum":9007199254740991},"minItems":2,"maxItems":2,"description":"First and last line, from 1"},"range":{"type":"array","items":{"type":"integer","minimum":0,"maximum":9007199254740991},"minItems":2,"maxItems":2,"description":"First byte and byte after the last; not with lines"},"version":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$","description":"Version that an earlier answer has; another one is refused"},"budget":{"type":"integer","minimum":1,"maximum":9007199254740991,"default":4000,"description":"Most tokens of the answer"}},"required":["id"],"additionalProperties":false},"outputSchema":{"type":"object","anyOf":[{"required":["cache","cache_version","id","version","source","title","lines","range","total_lines","total_bytes","content","tokens","tokenizer","next"]},{"required":["error"],"properties":{"error":{"type":"object","required":["code","message","fault","violations"]}}}]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},{"name":"context_list","description":"List the caches, or the folders and documents of one cache, one level at a time. To find something by its content, use context_search.","inputSchema":{"type":"object","properties":{"cache":{"type":"string","description":"Name of a cache; the caches are listed if absent"},"under":{"type":"string","pattern":"^$|/$","default":"","description":"Folder, with / at its end"},"after":{"type":"string","description":"`next` of the page before"},"limit":{"type":"integer","minimum":1,"maximum":1000,"default":200}},"required":[],"additionalProperties":false},"outputSchema":{"type":"object","anyOf":[{"required":[]},{"required":["error"],"properties":{"error":{"type":"object","required":["code","message","fault","violations"]}}}]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},{"name":"context_search","description":"Find the passages of the documents that answer a query best, within a token budget. Start here. To read more of a document, use context_get with its id, version and lines.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Words or a question; synonyms help"},"budget":{"type":"integer","minimum":0,"maximum":9007199254740991,"default":4000,"description":"Most tokens of the answer"},"caches":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":16,"uniqueItems":true,"description":"Names of caches; all if absent"}},"required":["query"],"additionalProperties":false},"outputSchema":{"type":"object","anyOf":[{"required":["passages","selection"]},{"required":["error"],"properties":{"error":{"type":"object","required":["code","message","fault","violations"]}}}]},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]}}"#);
}

#[test]
fn every_answer_fits_its_output_schema() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let list: Value = serde_json::from_str(&server.ask(LIST)).unwrap();
    let schema_of = |name: &str| {
        let tools = list["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        jsonschema::validator_for(&tool["outputSchema"]).unwrap()
    };
    for (tool, arguments) in [
        ("context_search", json!({ "query": "merge" })),
        (
            "context_search",
            json!({ "query": "zebra", "caches": ["guide"] }),
        ),
        ("context_search", json!({ "query": 7 })),
        ("context_get", json!({ "id": "rest/api.md" })),
        ("context_get", json!({ "id": "rest/empty.md" })),
        ("context_get", json!({ "id": "nothing" })),
        ("context_list", json!({})),
        ("context_list", json!({ "cache": "guide" })),
        ("context_list", json!({ "cache": "nothing" })),
    ] {
        let result = ask(&mut server, tool, &arguments);
        let structured = &result["structuredContent"];
        assert!(schema_of(tool).is_valid(structured), "{tool} {structured}");
        // The new era adds only `resultType`.
        let stateless = server.ask(stateless_call("1", tool, arguments.to_string()));
        let mut stateless: Value = serde_json::from_str(&stateless).unwrap();
        let members = stateless["result"].as_object_mut().unwrap();
        assert_eq!(members.shift_remove("resultType").unwrap(), "complete");
        assert_eq!(stateless["result"], result);
    }
}

/// The text of a tool is the Markdown of the command, and the structured content its JSON.
#[test]
fn tools_and_commands_give_the_same_bytes() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let mut alone = serve(&fixture, &["caches/guide"]);
    let check = |server: &mut ContextServer, tool, arguments: Value, command: &[&str]| {
        let line = server.ask(call("1", tool, arguments.to_string()));
        let run = |format: &str| fixture.run_ok(&[command, &["--format", format]].concat());
        let structured = run("json");
        let structured = structured.strip_suffix('\n').unwrap();
        let text = match tool {
            "context_list" => structured.to_owned(),
            _ => run("markdown"),
        };
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{}}}],"structuredContent":{structured}}}}}"#,
            quoted(&text)
        );
        assert_eq!(line, expected, "{tool} {arguments}");
        let pretty: Value = serde_json::from_str(&run("pretty")).unwrap();
        assert_eq!(pretty.to_string(), structured);
    };
    let all: &[&str] = &["--cache", "caches"];
    let guide: &[&str] = &["--cache", "caches/guide"];
    let with = |arguments: &[&'static str], cache: &[&'static str]| [arguments, cache].concat();
    check(
        &mut server,
        "context_search",
        json!({ "query": "merge" }),
        &with(&["search", "merge"], all),
    );
    check(
        &mut alone,
        "context_search",
        json!({ "query": "undo revert", "budget": 4e1 }),
        &with(
            &["search", "--query", "undo revert", "--budget", "4e1"],
            guide,
        ),
    );
    check(
        &mut alone,
        "context_search",
        json!({ "query": "zebra" }),
        &with(&["search", "zebra"], guide),
    );
    check(
        &mut alone,
        "context_get",
        json!({ "id": "merge.md", "lines": [7, 9.0], "budget": 5 }),
        &with(
            &["get", "--id", "merge.md", "--lines", "7-9", "--budget", "5"],
            guide,
        ),
    );
    check(
        &mut server,
        "context_get",
        json!({ "id": "rest/api.md" }),
        &with(&["get", "--id", "rest/api.md"], all),
    );
    check(
        &mut alone,
        "context_get",
        json!({ "id": "rest/empty.md" }),
        &with(&["get", "--id", "rest/empty.md"], guide),
    );
    check(
        &mut server,
        "context_list",
        json!({}),
        &with(&["list"], all),
    );
    for under in ["", "rest/"] {
        check(
            &mut server,
            "context_list",
            json!({ "cache": "guide", "under": under, "limit": 1 }),
            &with(&["list", "--under", under, "--limit", "1"], guide),
        );
    }
}

#[test]
fn forms_of_output_are_those_of_the_docs() {
    let fixture = fixture();
    let run = |arguments: &[&str]| fixture.run_ok(arguments);
    let search = ["search", "merged branches", "--cache", "caches", "--format"];
    let with = |format| [&search[..], &[format]].concat();
    assert_snapshot!(run(&with("markdown")), @r"
    ### guide/merge.md:1-12
    Merging > Merge

    ---
    title: Merging
    ---

    # Merge

    Merge a branch with `git merge`.

    ## Undo

    Revert a merged branch.
    The last line

    ### guide/rest/api.md:1-3
    API

    # API

    Merge by a request.

    ### reference/merge.md:1-1

    Another text about merges.

    3 of 3 passages, 43 of 4000 tokens
    ");
    assert_snapshot!(run(&with("text")), @r"
    ---
    title: Merging
    ---

    # Merge

    Merge a branch with `git merge`.

    ## Undo

    Revert a merged branch.
    The last line

    # API

    Merge by a request.

    Another text about merges.
    ");
    assert_snapshot!(run(&with("paths")), @r"
    guide/merge.md:1-12
    guide/rest/api.md:1-3
    reference/merge.md:1-1
    ");
    let get = [
        "get",
        "--id",
        "merge.md",
        "--cache",
        "caches/guide",
        "--format",
    ];
    let with = |format, budget| [&get[..], &[format, "--budget", budget]].concat();
    assert_snapshot!(run(&with("markdown", "8")), @r"
    ### merge.md:1-5

    ---
    title: Merging
    ---

    # Merge

    lines 1-5 of 12, 8 of 8 tokens; to read on: range [32,114]
    ");
    assert_snapshot!(run(&with("paths", "8")), @"merge.md:1-5");
    // Exactly the bytes.
    assert_eq!(
        run(&with("text", "1000")).as_bytes(),
        fixture.read("docs/Merge.md")
    );
    assert_snapshot!(run(&["list", "--cache", "caches", "--format", "paths"]), @r"
    guide
    reference
    ");
    assert_snapshot!(run(&["list", "--cache", "caches/guide", "--format", "paths"]), @r"
    merge.md
    rest/
    ");
    let under = [
        "list",
        "--cache",
        "caches/guide",
        "--under",
        "rest/",
        "--format",
        "paths",
    ];
    assert_snapshot!(run(&under), @r"
    rest/api.md
    rest/empty.md
    ");
}

/// A first use needs no path at all.
#[test]
fn default_cache_is_in_the_working_directory() {
    let fixture = fixture();
    fixture.build("docs", ".context");
    let found = fixture.run_ok(&["search", "undo", "--format", "paths"]);
    assert_eq!(found, "merge.md:1-12\n");
    fixture.run_ok(&["get", "--id", "merge.md"]);
    fixture.run_ok(&["list"]);
    let mut server = serve(&fixture, &[]);
    let caches = ask(&mut server, "context_list", &json!({}));
    assert_eq!(
        caches["structuredContent"]["caches"][0]["cache"],
        ".context"
    );
}

/// A directory with sources has its cache in `.context`, which is hidden and the only one.
#[test]
fn default_cache_of_a_directory_is_found() {
    let fixture = fixture();
    fs::create_dir(fixture.path("project")).unwrap();
    fixture.build("docs", "project/.context");
    let mut server = serve(&fixture, &["project"]);
    let mut served = || {
        let list = ask(&mut server, "context_list", &json!({}));
        let caches = list["structuredContent"]["caches"].as_array().unwrap();
        let name = |cache: &Value| cache["cache"].as_str().unwrap().to_owned();
        caches.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(served(), [".context"]);
    let search = ["search", "undo", "--format", "paths", "--cache", "project"];
    assert_eq!(fixture.run_ok(&search), "merge.md:1-12\n");
    // Visible caches of a directory are meant before it.
    fixture.build("other", "project/notes");
    assert_eq!(served(), ["notes"]);
    assert_eq!(
        fixture.run_ok(&["list", "--cache", "project", "--format", "paths"]),
        "merge.md\n"
    );
}

#[test]
fn reading_on_by_next_gives_every_byte() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let whole = fixture.read("docs/Merge.md");
    for budget in [1, 2, 3, 7, 20, 1000] {
        let mut arguments = json!({ "id": "merge.md", "cache": "guide", "budget": budget });
        let mut read = String::new();
        loop {
            let result = ask(&mut server, "context_get", &arguments);
            let answer = &result["structuredContent"];
            read += answer["content"].as_str().unwrap();
            assert!(answer["tokens"].as_u64().unwrap() <= budget);
            if answer["next"].is_null() {
                break;
            }
            arguments["range"] = answer["next"].clone();
            arguments["version"] = answer["version"].clone();
        }
        assert_eq!(read.as_bytes(), whole, "{budget}");
    }
}

#[test]
fn wrong_arguments_are_reported_all_at_once() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let mut fail = |tool: &str, arguments: Value| fail(&mut server, tool, arguments);
    let total_lines = "total_lines is 12";
    assert_snapshot!(fail("context_search", json!({ "budget": -1, "caches": [], "cache": "x" })), @"invalid_arguments: `query` is required; `cache` is not an argument of this tool; `budget` must be at least 0, and was -1; `caches` must be an array of at least 1 item, and was []; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.");
    assert_snapshot!(fail("context_search", json!({ "query": "a\u{0}b" })), @r#"invalid_arguments: `query` must be text of at most 65536 bytes without NUL, and was "a\u0000b"; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    assert_snapshot!(fail("context_search", json!({ "query": "x".repeat(65_537), "budget": 0.5 })), @r#"invalid_arguments: `budget` must be an integer, and was 0.5; `query` must be text of at most 65536 bytes without NUL, and was {"omitted":"string","bytes":65539}; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    assert_snapshot!(fail("context_search", json!({ "query": "x", "caches": ["guide", "guide"] })), @r#"invalid_arguments: `caches` must be an array in which no item comes twice, and was ["guide","guide"]; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    assert_snapshot!(fail("context_get", json!({ "id": "merge.md", "lines": [1, 2], "range": [0, 1], "budget": 0 })), @"invalid_arguments: `budget` must be at least 1, and was 0; `range` must be absent if 'lines' is given, and was [0,1]; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.");
    assert_snapshot!(fail("context_get", json!({ "id": "merge.md" })), @"invalid_arguments: `cache` is required (the id is in the caches `guide`, `reference`); nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.");
    let told = fail(
        "context_get",
        json!({ "id": "merge.md", "cache": "guide", "lines": [13, 13] }),
    );
    assert!(
        told.contains(total_lines) && told.starts_with("invalid_arguments: "),
        "{told}"
    );
    assert_snapshot!(fail("context_get", json!({ "id": "merge.md", "cache": "guide", "lines": [3, 2] })), @"invalid_arguments: `lines` must be the first line and then the last, such as [2,3], and was [3,2]; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema.");
    for range in [
        json!([0, 1000]),
        json!([5, 4]),
        json!([9_007_199_254_740_991u64, 9_007_199_254_740_991u64]),
    ] {
        let told = fail(
            "context_get",
            json!({ "id": "merge.md", "cache": "guide", "range": range }),
        );
        assert!(told.contains("total_bytes is 114"), "{told}");
    }
    assert_snapshot!(fail("context_get", json!({ "id": "merge.md", "version": "sha256:1" })), @r#"invalid_arguments: `version` must be text that matches ^sha256:[0-9a-f]{64}$, and was "sha256:1"; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    assert_snapshot!(fail("context_list", json!({ "under": "rest", "limit": 1001 })), @r#"invalid_arguments: `under` must be text that matches ^$|/$, and was "rest" (did you mean 'rest/'?); `limit` must be at most 1000, and was 1001; `cache` is required (without 'cache' the caches are listed); nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    assert_snapshot!(fail("context_list", json!({ "cache": "guide", "under": "rest/", "after": "merge.md" })), @r#"invalid_arguments: `after` must be text that starts with 'under', and was "merge.md"; nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
}

#[test]
fn missing_names_are_reported_with_near_ones() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let mut fail = |tool: &str, arguments: Value| fail(&mut server, tool, arguments);
    assert_snapshot!(fail("context_search", json!({ "query": "x", "caches": ["guides"] })), @"cache_missing: There is no cache `guides`; the nearest is `guide`; the caches are `guide`, `reference`; nothing was changed; do not retry unchanged: Use a name that context_list returns, or build the cache with `context build`.");
    assert_snapshot!(fail("context_list", json!({ "cache": "nothing" })), @"cache_missing: There is no cache `nothing`; the caches are `guide`, `reference`; nothing was changed; do not retry unchanged: Use a name that context_list returns, or build the cache with `context build`.");
    assert_snapshot!(fail("context_get", json!({ "id": "API.md" })), @"document_missing: No cache has a document `API.md`; near: `rest/api.md` in `guide`; nothing was changed; do not retry unchanged: Use an id that context_search or context_list returns.");
    assert_snapshot!(fail("context_get", json!({ "id": "guide/merge.md:7-9", "cache": "guide" })), @"document_missing: The cache `guide` has no document `guide/merge.md:7-9`; near: `merge.md`; nothing was changed; do not retry unchanged: Use an id that context_search or context_list returns.");
    assert_snapshot!(fail("context_list", json!({ "cache": "guide", "under": "merge.md/" })), @"document_missing: The cache `guide` has no document under `merge.md/`; nothing was changed; do not retry unchanged: Use an id that context_search or context_list returns.");
    let version = format!("sha256:{}", "0".repeat(64));
    assert_snapshot!(fail("context_get", json!({ "id": "merge.md", "cache": "guide", "version": version })), @"version_changed: The document `merge.md` of the cache `guide` has the version sha256:4d6c95a1a9060c3f8175fee00e1b3a20d2fcce279737e07a2a0961c010b03545 now, not sha256:0000000000000000000000000000000000000000000000000000000000000000; nothing was changed; do not retry unchanged: Search or read the document again, without the old version.");
}

/// A broken cache fails the calls that ask it, by name; the others go on.
#[test]
fn broken_cache_is_named_and_the_others_go_on() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    ask(&mut server, "context_search", &json!({ "query": "merge" }));
    fixture.edit(
        fixture.document("caches/guide", "merge.md"),
        "branch",
        "BRANCH",
    );
    assert_snapshot!(fail(&mut server, "context_search", json!({ "query": "merge" })), @"cache_invalid: The cache `guide` cannot be read: the cache is invalid: documents/4d6c95a1a906.json: the content does not hash to its version; nothing was changed; do not retry unchanged: Name the other caches in the call; `context verify` shows what is wrong with this one, and a new build repairs it.");
    for (tool, arguments) in [
        ("context_get", json!({ "id": "rest/api.md" })),
        (
            "context_get",
            json!({ "id": "rest/api.md", "cache": "guide" }),
        ),
        ("context_list", json!({ "cache": "guide" })),
    ] {
        let told = fail(&mut server, tool, arguments);
        assert!(
            told.starts_with("cache_invalid: The cache `guide` "),
            "{told}"
        );
    }
    let found = ask(
        &mut server,
        "context_search",
        &json!({ "query": "merge", "caches": ["reference"] }),
    );
    assert_eq!(
        found["structuredContent"]["selection"]["passages_selected"],
        1
    );
    let caches = ask(&mut server, "context_list", &json!({}));
    let caches = &caches["structuredContent"]["caches"];
    assert_eq!(
        caches[0],
        json!({
            "cache": "guide", "cache_version": null, "document_count": null, "tokens": null,
            "tokenizer": null, "fresh": null, "updated_at": null, "problem": "cache_invalid"
        })
    );
    assert_eq!(caches[1]["document_count"], 1);
    assert_eq!(caches[1].get("problem"), None);
}

#[test]
fn unreadable_cache_is_an_io_error() {
    let other_user = unprivileged_context();
    let fixture = fixture();
    let serve = other_user.run_instead(&fixture.command(&["serve", "caches"]));
    let mut server = ContextServer::start(serve);
    for file in ["caches/guide/manifest.json", "caches/guide"] {
        fixture.set_mode(file, 0o000);
        let told = fail(&mut server, "context_search", json!({ "query": "merge" }));
        assert!(
            told.starts_with("io_error: The cache `guide` cannot be read: "),
            "{told}"
        );
        let command = fixture.command(&["search", "merge", "--cache", "caches/guide"]);
        let output = run_command(other_user.run_instead(&command));
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (6, ""),
            "{}",
            output.stderr
        );
        fixture.set_mode(file, 0o755);
    }
}

#[test]
fn oversized_answer_is_refused() {
    let fixture = ContextFixture::empty();
    // Every byte takes six in JSON.
    fixture.write("docs/a.md", "\u{1}".repeat(11_200_000));
    fixture.build("docs", "cache");
    let mut server = serve(&fixture, &["cache"]);
    let told = fail(
        &mut server,
        "context_get",
        json!({ "id": "a.md", "budget": 4_000_000 }),
    );
    assert!(told.starts_with("answer_too_large: "), "{told}");
    let get = [
        "get", "--id", "a.md", "--cache", "cache", "--budget", "4000000",
    ];
    fixture.run_err(3, &get);
    let part = ask(
        &mut server,
        "context_get",
        &json!({ "id": "a.md", "budget": 1000 }),
    );
    assert_eq!(part["structuredContent"]["next"], json!([4000, 11_200_000]));
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let fixture = fixture();
    let fails = |code: i32, arguments: &[&str]| {
        let stderr = fixture.run_err(code, arguments);
        stderr.replace(fixture.root().to_str().unwrap(), "FOLDER")
    };
    let cache: &[&str] = &["--cache", "caches/guide"];
    let with = |arguments: &[&'static str]| [arguments, cache].concat();
    assert_snapshot!(fails(1, &with(&["get", "--id", "merge.md", "--lines", "99-99"])), @r"
    error: The arguments are not right
      lines: must be lines of the document, but they begin behind the last line; total_lines is 12
    hint: correct the arguments; --help describes them
    ");
    assert_snapshot!(fails(1, &with(&["get", "--id", "merge.md", "--lines", "2-1"])), @r"
    error: The arguments are not right
      lines: must be the first line and then the last, but 2 comes after 1
    hint: correct the arguments; --help describes them
    ");
    fails(1, &with(&["get", "--id", "merge.md", "--lines", "0-1"]));
    fails(1, &with(&["get", "--id", "merge.md", "--range", "0-1000"]));
    fails(
        1,
        &with(&[
            "get", "--id", "merge.md", "--range", "0-1", "--lines", "1-1",
        ]),
    );
    fails(1, &with(&["get", "--id", "merge.md", "--lines", "1"]));
    fails(1, &["get", "--id", "merge.md", "--cache", "caches"]);
    fails(1, &with(&["list", "--under", "rest"]));
    fails(1, &with(&["list", "--limit", "1001"]));
    fails(1, &["list", "--cache", "caches", "--under", "rest/"]);
    fails(1, &with(&["search"]));
    fails(1, &with(&["search", "x", "--query", "y"]));
    fails(1, &with(&["list", "--format", "markdown"]));
    let long = "x".repeat(65_537);
    fails(2, &[&["search", long.as_str()], cache].concat());
    assert_snapshot!(fails(3, &with(&["search", "x", "--budget", "-1"])), @r"
    error: The arguments are not right
      budget: must be a whole number from 0 to 9007199254740991
    hint: correct the arguments; --help describes them
    ");
    fails(3, &with(&["get", "--id", "merge.md", "--budget", "0"]));
    assert_snapshot!(fails(4, &["search", "x"]), @r"
    error: there is no cache at `[root]/.context`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/.context
    ");
    fails(4, &["get", "--id", "x", "--cache", "nowhere"]);
    fails(5, &["search", "x", "--cache", "docs"]);
    assert_snapshot!(fails(8, &with(&["get", "--id", "merg.md"])), @r"
    error: The cache `guide` has no document `merg.md`; near: `merge.md`
    hint: to read the nearest document, run:
      candor context get --id merge.md --cache [root]/caches/guide
    ");
    fails(8, &with(&["list", "--under", "nothing/"]));
    let version = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    fails(8, &with(&["get", "--id", "merge.md", "--version", version]));
    let object = fails(
        8,
        &with(&["get", "--id", "merg.md", "--error-format", "json"]),
    );
    let object: Value = serde_json::from_str(&object).unwrap();
    let mut server = serve(&fixture, &["caches/guide"]);
    let result = ask(&mut server, "context_get", &json!({ "id": "merg.md" }));
    assert_eq!(object, result["structuredContent"]);
}

#[test]
fn command_reports_an_unsealed_cache_once() {
    let fixture = fixture();
    fixture.copy_unsealed("caches/reference", "it's a copy");
    let read = fixture.run(&[
        "search",
        "merge",
        "--format",
        "paths",
        "--cache",
        "it's a copy",
    ]);
    assert_eq!((read.code, read.stdout.as_str()), (0, "merge.md:1-1\n"));
    assert_snapshot!(read.stderr, @r"
    note: the cache is not sealed in its present location, so every document was hashed; to make this fast, run:
      candor context seal --cache '[root]/it'\''s a copy'
    ");
}

#[test]
fn server_names_an_unsealed_cache() {
    let fixture = fixture();
    fixture.copy_unsealed("caches/reference", "copy");
    let mut server = serve(&fixture, &["copy"]);
    ask(&mut server, "context_search", &json!({ "query": "merge" }));
    let process = server.stdio().process();
    let line = process.stderr_line("not sealed", LIMIT).unwrap();
    let (_, message) = line.split_once("WARN ").unwrap();
    assert_snapshot!(fixture.without_root(message.trim_end()), @"the cache `[root]/copy` is not sealed where it is; `candor context seal` makes it fast to open");
    server.end();
}

/// A cache that appears later is found, so a server without one starts.
#[test]
fn search_without_a_cache_answers_that_there_is_none() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["docs"]);
    let result = ask(&mut server, "context_search", &json!({ "query": "merge" }));
    assert_eq!(
        result["content"][0]["text"],
        "There is no cache yet.\n0 of 0 passages, 0 of 4000 tokens\n"
    );
}

#[test]
fn wrong_paths_are_refused_at_the_start() {
    let fixture = fixture();
    let fails = |code: i32, arguments: &[&str]| {
        let stderr = fixture.run_err(code, arguments);
        stderr.replace(fixture.root().to_str().unwrap(), "FOLDER")
    };
    assert_snapshot!(fails(4, &["serve", "nowhere"]), @r"
    error: there is no cache at `[root]/nowhere`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/nowhere
    ");
    assert_snapshot!(fails(4, &["serve"]), @r"
    error: there is no cache at `[root]/.context`: No such file or directory (os error 2)
    hint: check the path, or build the cache:
      candor context build --sources DIR --cache [root]/.context
    ");
    fixture.build("docs", "guide");
    assert_snapshot!(fails(1, &["serve", "caches", "guide"]), @r"
    error: two caches are called `guide`: [root]/caches/guide and [root]/guide
    hint: leave one of them out, or rename its directory
    ");
    fails(1, &["serve", "caches", "--root", "."]);
    fails(1, &["serve", "caches", "--passages"]);
    fails(1, &["serve", "--passages"]);
    fails(1, &["serve", "caches", "--tool-names", "underscore"]);
    for number in 0..63 {
        fixture.write(format!("caches/c{number:02}/manifest.json"), "{}");
    }
    assert_snapshot!(fails(1, &["serve", "caches"]), @r"
    error: there are 65 caches; at most 64 are served
    hint: name fewer paths
    ");
    fs::remove_dir_all(fixture.path("caches/c00")).unwrap();
    let mut server = serve(&fixture, &["caches"]);
    let caches = ask(&mut server, "context_list", &json!({}));
    let caches = caches["structuredContent"]["caches"].as_array().unwrap();
    assert_eq!(caches.len(), 64);
    assert_eq!(caches[63]["cache"], "reference");
    server.end();
}

/// A read-only file, an overlong name, a link out: nothing of it is reachable by a name.
#[test]
fn names_are_not_paths() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    for name in [
        "../caches/guide",
        "./guide",
        "guide/",
        "/etc",
        "",
        ".",
        "caches/guide",
    ] {
        let told = fail(&mut server, "context_list", json!({ "cache": name }));
        assert!(told.starts_with("cache_missing: "), "{name}: {told}");
    }
    for id in [
        "../../docs/Merge.md",
        "/etc/passwd",
        "documents/../manifest.json",
        "",
    ] {
        let told = fail(
            &mut server,
            "context_get",
            json!({ "id": id, "cache": "guide" }),
        );
        assert!(told.starts_with("document_missing: "), "{id}: {told}");
    }
    // With a root the commands reach nothing outside it.
    let outside = [
        "search",
        "x",
        "--root",
        "caches/guide",
        "--cache",
        "../reference",
    ];
    fixture.run_err(4, &outside);
    fixture.run_ok(&["search", "merge", "--root", "caches", "--cache", "guide"]);
}
