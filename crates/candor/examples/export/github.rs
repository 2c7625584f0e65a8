//! The reference of the GitHub tools: every tool with its schema, real answers of the sample
//! repository at a fixed time, and its failures.

use candor_fault::{Answer, Timestamp};
use candor_forge::local::{Identity, LocalForge, init};
use candor_forge::{Config, Forge, ForgeServer, WriteLog};
use candor_street::{
    Call, CallNotes, CancellationToken, ClientInfo, Dispatcher, Era, MetricsHub, Peer, Progress,
    Server,
};
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What stands above the generated part of the page.
pub(super) const MARK: &str = "<!-- From here on made by `cargo xtask codegen`. -->\n";

/// The instant of every example.
const NOW: i64 = 1_767_225_600;

/// A tool with what it can fail with beside wrong arguments, and examples in the order in which they
/// are run.
struct About {
    tool: &'static str,
    failures: &'static str,
    examples: Vec<Value>,
}

fn about(tool: &'static str, failures: &'static str, examples: Vec<Value>) -> About {
    About {
        tool,
        failures,
        examples,
    }
}

const READING: &str = "−32001 (allow-list; 401, 403), −32002, −32004, −32603";
const OF_CONTENT: &str = "−32001 (allow-list; 401, 403), −32002 (repository, revision, path), −32003 (another kind of thing, too large, ambiguous SHA), −32004, −32603 (empty repository among others)";
const WRITING: &str = "−32001 (no write permission, allow-list; 401, 403), −32002, −32003, −32004 (GitHub's limit; this server's, 20 writes a minute and repository), −32603 (says whether anything happened)";

/// All tools, in an order in which their examples can be run one after the other.
fn tools(head: &str) -> Vec<About> {
    let repo = "sample/hello";
    let branch = "docs/typo";
    vec![
        about(
            "search",
            "−32001 (401, 403), −32003 (a query that GitHub refuses), −32004, −32603",
            vec![json!({ "query": "hello" }), json!({})],
        ),
        about(
            "fetch",
            READING,
            vec![json!({ "repo": repo }), json!({ "repo": "sample/none" })],
        ),
        about(
            "list_directory",
            OF_CONTENT,
            vec![
                json!({ "repo": repo, "path": "" }),
                json!({ "repo": repo, "path": "README.md" }),
            ],
        ),
        about(
            "read_file",
            OF_CONTENT,
            vec![
                json!({ "repo": repo, "path": "README.md" }),
                json!({ "repo": repo, "path": "../secret" }),
            ],
        ),
        about(
            "get_tree",
            OF_CONTENT,
            vec![
                json!({ "repo": repo }),
                json!({ "repo": repo, "branch": "main", "ref": "main" }),
            ],
        ),
        about(
            "get_commits",
            OF_CONTENT,
            vec![
                json!({ "repo": repo, "per_page": 1 }),
                json!({ "repo": repo, "branch": "nowhere" }),
            ],
        ),
        about(
            "get_branches",
            READING,
            vec![
                json!({ "repo": repo }),
                json!({ "repo": repo, "per_page": 0 }),
            ],
        ),
        about(
            "list_pull_requests",
            READING,
            vec![
                json!({ "repo": repo, "per_page": 1 }),
                json!({ "repo": repo, "state": "opened" }),
            ],
        ),
        about(
            "get_pr_mergeability",
            READING,
            vec![
                json!({ "repo": repo, "prNumber": 1 }),
                json!({ "repo": repo, "prNumber": 99 }),
            ],
        ),
        about(
            "get_checks_for_sha",
            OF_CONTENT,
            vec![
                json!({ "repo": repo, "sha": head }),
                json!({ "repo": repo, "sha": "main" }),
            ],
        ),
        about(
            "create_branch",
            WRITING,
            vec![
                json!({ "repo": repo, "name": branch }),
                json!({ "repo": repo, "name": branch }),
            ],
        ),
        about(
            "commit_files",
            WRITING,
            vec![
                json!({ "repo": repo, "branch": branch, "message": "Fix a typo", "files": [{ "path": "docs/guide.md", "content": "# Guide\n\nSay hello.\n" }] }),
                json!({ "repo": repo, "branch": branch, "message": "Twice", "files": [{ "path": "a", "content": "" }, { "path": "a", "content": "?", "encoding": "base64" }] }),
            ],
        ),
        about(
            "create_pull_request",
            WRITING,
            vec![
                json!({ "repo": repo, "title": "Fix a typo", "head": branch, "base": "main" }),
                json!({ "repo": repo, "title": "Fix a typo", "head": branch, "base": "main" }),
            ],
        ),
        about(
            "update_pull_request",
            WRITING,
            vec![
                json!({ "repo": repo, "prNumber": 4, "body": "Found while reading." }),
                json!({ "repo": repo, "prNumber": 4 }),
            ],
        ),
        about(
            "get_pull_request",
            READING,
            vec![
                json!({ "repo": repo, "prNumber": 4 }),
                json!({ "repo": repo, "prNumber": "4" }),
            ],
        ),
        about(
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
struct Nowhere;

impl WriteLog for Nowhere {
    fn append(&self, members: Map<String, Value>) -> io::Result<u64> {
        Ok(members.len() as u64)
    }
}

fn clock() -> Timestamp {
    Timestamp::from_second(NOW).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn desk(dir: &Path) -> Result<Arc<Dispatcher<ForgeServer>>, Box<dyn std::error::Error>> {
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
    let server = server.recording(Arc::new(Nowhere));
    Ok(Dispatcher::new(
        server,
        Arc::new(clock),
        &MetricsHub::default(),
    )?)
}

/// What a call is answered, as the member of the message.
async fn answered(desk: &Arc<Dispatcher<ForgeServer>>, tool: &str, arguments: &Value) -> String {
    let call = Call {
        name: tool.to_owned(),
        arguments: Some(arguments.to_string()),
        era: Era::Handshake,
        id: String::from("1"),
        peer: Peer {
            may_write: true,
            ..Peer::default()
        },
        client: ClientInfo::default(),
        progress: Progress::default(),
        kept: CallNotes::default(),
    };
    let answer = match desk.begin(call, CancellationToken::new()) {
        Ok(answer) => answer,
        Err(waiting) => {
            let (send, receive) = oneshot::channel();
            waiting.deliver(|answer| async {
                let _ = send.send(answer);
            });
            match receive.await {
                Ok(answer) => answer,
                Err(_) => return String::from("no answer"),
            }
        }
    };
    match answer {
        Answer::Error(body) => body.json(),
        Answer::Result(text) => structured(&text),
    }
}

/// The object of a result; the text block has the same.
fn structured(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    result["structuredContent"].to_string()
}

/// The generated part of the page.
pub(super) fn reference() -> Result<String, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(page(&folder.path().join("forge")))
}

async fn page(dir: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let desk = desk(dir).await?;
    let listed: Vec<Value> = serde_json::from_str(desk.list())?;
    let first = answered(
        &desk,
        "get_pr_mergeability",
        &json!({ "repo": "sample/hello", "prNumber": 1 }),
    )
    .await;
    let first: Value = serde_json::from_str(&first)?;
    let head = first["head_sha"].as_str().unwrap_or_default();
    let mut page = format!("{MARK}\n## The tools\n");
    for about in tools(head) {
        let tool = listed
            .iter()
            .find(|one| one["name"] == about.tool)
            .ok_or(about.tool)?;
        page += &format!(
            "\n### `{}`\n\n{}\n\n```json\n{}\n```\n",
            about.tool,
            tool["description"].as_str().unwrap_or_default(),
            tool["inputSchema"],
        );
        for arguments in about.examples {
            let answer = answered(&desk, about.tool, &arguments).await;
            page += &format!("\n```json\n{arguments}\n```\n```json\n{answer}\n```\n");
        }
        page += &format!("\nFails with −32602 and {}.\n", about.failures);
    }
    assert_eq!(desk.server().tools().all().len(), listed.len());
    Ok(page)
}
