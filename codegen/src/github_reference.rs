//! The reference in `docs/github.md`: every tool with its schema, answers of the sample repository at
//! a fixed time, and its failures.

use candor_call_fixtures::{answer, call};
use candor_fault::{Answer, Timestamp};
use candor_forge::local::{Identity, LocalForge, init};
use candor_forge::{Config, Forge, ForgeServer, WriteLog};
use candor_street::{Dispatcher, MetricsHub, Server};
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The line above the generated part of the page.
const MARK: &str = "<!-- From here on made by `cargo xtask codegen`. -->\n";

/// The instant of every example.
const NOW: i64 = 1_767_225_600;

/// The documentation of a tool: its failures beside wrong arguments, and examples in the order in
/// which they are run.
struct ToolSection {
    tool: &'static str,
    failures: &'static str,
    examples: Vec<Value>,
}

fn section(tool: &'static str, failures: &'static str, examples: Vec<Value>) -> ToolSection {
    ToolSection {
        tool,
        failures,
        examples,
    }
}

const READ_FAILURES: &str = "−32001 (allow-list; 401, 403), −32002, −32004, −32603";
const CONTENT_FAILURES: &str = "−32001 (allow-list; 401, 403), −32002 (repository, revision, path), −32003 (another kind of thing, too large, ambiguous SHA), −32004, −32603 (empty repository among others)";
const WRITE_FAILURES: &str = "−32001 (no write permission, allow-list; 401, 403), −32002, −32003, −32004 (GitHub's limit; this server's, 20 writes a minute and repository), −32603 (says whether anything happened)";

/// All tools, in an order in which their examples can be run one after the other.
fn tools(head: &str) -> Vec<ToolSection> {
    let repo = "sample/hello";
    let branch = "docs/typo";
    vec![
        section(
            "search",
            "−32001 (401, 403), −32003 (a query that GitHub refuses), −32004, −32603",
            vec![json!({ "query": "hello" }), json!({})],
        ),
        section(
            "fetch",
            READ_FAILURES,
            vec![json!({ "repo": repo }), json!({ "repo": "sample/none" })],
        ),
        section(
            "list_directory",
            CONTENT_FAILURES,
            vec![
                json!({ "repo": repo, "path": "" }),
                json!({ "repo": repo, "path": "README.md" }),
            ],
        ),
        section(
            "read_file",
            CONTENT_FAILURES,
            vec![
                json!({ "repo": repo, "path": "README.md" }),
                json!({ "repo": repo, "path": "../secret" }),
            ],
        ),
        section(
            "get_tree",
            CONTENT_FAILURES,
            vec![
                json!({ "repo": repo }),
                json!({ "repo": repo, "branch": "main", "ref": "main" }),
            ],
        ),
        section(
            "get_commits",
            CONTENT_FAILURES,
            vec![
                json!({ "repo": repo, "per_page": 1 }),
                json!({ "repo": repo, "branch": "nowhere" }),
            ],
        ),
        section(
            "get_branches",
            READ_FAILURES,
            vec![
                json!({ "repo": repo }),
                json!({ "repo": repo, "per_page": 0 }),
            ],
        ),
        section(
            "list_pull_requests",
            READ_FAILURES,
            vec![
                json!({ "repo": repo, "per_page": 1 }),
                json!({ "repo": repo, "state": "opened" }),
            ],
        ),
        section(
            "get_pr_mergeability",
            READ_FAILURES,
            vec![
                json!({ "repo": repo, "prNumber": 1 }),
                json!({ "repo": repo, "prNumber": 99 }),
            ],
        ),
        section(
            "get_checks_for_sha",
            CONTENT_FAILURES,
            vec![
                json!({ "repo": repo, "sha": head }),
                json!({ "repo": repo, "sha": "main" }),
            ],
        ),
        section(
            "create_branch",
            WRITE_FAILURES,
            vec![
                json!({ "repo": repo, "name": branch }),
                json!({ "repo": repo, "name": branch }),
            ],
        ),
        section(
            "commit_files",
            WRITE_FAILURES,
            vec![
                json!({ "repo": repo, "branch": branch, "message": "Fix a typo", "files": [{ "path": "docs/guide.md", "content": "# Guide\n\nSay hello.\n" }] }),
                json!({ "repo": repo, "branch": branch, "message": "Twice", "files": [{ "path": "a", "content": "" }, { "path": "a", "content": "?", "encoding": "base64" }] }),
            ],
        ),
        section(
            "create_pull_request",
            WRITE_FAILURES,
            vec![
                json!({ "repo": repo, "title": "Fix a typo", "head": branch, "base": "main" }),
                json!({ "repo": repo, "title": "Fix a typo", "head": branch, "base": "main" }),
            ],
        ),
        section(
            "update_pull_request",
            WRITE_FAILURES,
            vec![
                json!({ "repo": repo, "prNumber": 4, "body": "Found while reading." }),
                json!({ "repo": repo, "prNumber": 4 }),
            ],
        ),
        section(
            "get_pull_request",
            READ_FAILURES,
            vec![
                json!({ "repo": repo, "prNumber": 4 }),
                json!({ "repo": repo, "prNumber": "4" }),
            ],
        ),
        section(
            "merge_pull_request",
            "as above, and −32005 (conflict, draft, closed, merged, blocked, required checks, still undecided), −32006 (the head is another one)",
            vec![
                json!({ "repo": repo, "prNumber": 4, "merge_method": "squash", "delete_branch": true }),
                json!({ "repo": repo, "prNumber": 2 }),
                json!({ "repo": repo, "prNumber": 1, "sha": "0123456" }),
            ],
        ),
    ]
}

/// A log of writes that keeps nothing.
struct DiscardingLog;

impl WriteLog for DiscardingLog {
    fn append(&self, members: Map<String, Value>) -> io::Result<u64> {
        Ok(members.len() as u64)
    }
}

fn clock() -> Timestamp {
    Timestamp::from_second(NOW).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn dispatcher(
    dir: &Path,
) -> Result<Arc<Dispatcher<ForgeServer>>, Box<dyn std::error::Error>> {
    init(dir).await?;
    let identity = Identity {
        name: String::from("Candor"),
        email: String::from("candor@localhost"),
    };
    let forge: Arc<dyn Forge> = Arc::new(LocalForge::open(dir, Arc::new(clock), identity).await?);
    let config = Config {
        allow_writes: true,
        extended: true,
        ..Config::default()
    };
    let server = ForgeServer::new(forge, config, Arc::new(|_| ()), Arc::new(clock));
    let server = server.with_write_log(Arc::new(DiscardingLog));
    Ok(Dispatcher::new(
        server,
        Arc::new(clock),
        &MetricsHub::default(),
    )?)
}

/// Calls a tool and returns the `error` member, or the object of the result.
async fn call_tool(
    dispatcher: &Arc<Dispatcher<ForgeServer>>,
    tool: &str,
    arguments: &Value,
) -> String {
    match answer(dispatcher, call(tool, arguments)).await {
        Answer::Error(body) => body.json(),
        Answer::Result(text) => structured_content(&text),
    }
}

/// Returns the object of a result; the text block has the same.
fn structured_content(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    result["structuredContent"].to_string()
}

/// Returns the generated part of the page.
fn reference() -> Result<String, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(tool_sections(&folder.path().join("forge")))
}

async fn tool_sections(dir: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let dispatcher = dispatcher(dir).await?;
    let listed: Vec<Value> = serde_json::from_str(dispatcher.list())?;
    let first = call_tool(
        &dispatcher,
        "get_pr_mergeability",
        &json!({ "repo": "sample/hello", "prNumber": 1 }),
    )
    .await;
    let first: Value = serde_json::from_str(&first)?;
    let head = first["head_sha"].as_str().unwrap_or_default();
    let mut page = format!("{MARK}\n## The tools\n");
    for section in tools(head) {
        let tool = listed
            .iter()
            .find(|one| one["name"] == section.tool)
            .ok_or(section.tool)?;
        page += &format!(
            "\n### `{}`\n\n{}\n\n```json\n{}\n```\n",
            section.tool,
            tool["description"].as_str().unwrap_or_default(),
            tool["inputSchema"],
        );
        for arguments in section.examples {
            let answer = call_tool(&dispatcher, section.tool, &arguments).await;
            page += &format!("\n```json\n{arguments}\n```\n```json\n{answer}\n```\n");
        }
        page += &format!("\nFails with −32602 and {}.\n", section.failures);
    }
    assert_eq!(dispatcher.server().tools().all().len(), listed.len());
    Ok(page)
}

/// Returns the content of `docs/github.md`: the part that people wrote, and the reference.
pub(crate) fn page(root: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let page = std::fs::read_to_string(root.join("docs/github.md"))?;
    let (written, _) = page.split_once(MARK).ok_or("the mark is missing")?;
    Ok(format!("{written}{}", reference()?))
}
