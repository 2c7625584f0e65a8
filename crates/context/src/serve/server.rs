//! The MCP server: three tools, read-only, whose text is what the command line prints.

use crate::cache::Cache;
use crate::dialect::Context;
use crate::failure::Failure;
use crate::faults;
use crate::files::location::Location;
use crate::query::request::{Budget, MAX_BUDGET, Query};
use crate::query::response::one_line;
use crate::serve::cache_list::list_caches;
use crate::serve::open_caches::{ChangeDetection, OpenCaches};
use candor_fault::Fault;
use candor_street::{CallContext, Clock, Reply, Server, Tool, Tools, reply_text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many calls are worked on at once; the others wait their turn.
pub const MAX_AT_WORK: usize = 8;

/// The server of one root.
pub struct ContextServer {
    tools: Tools<Self>,
    shelf: Arc<OpenCaches>,
    work: Arc<Semaphore>,
}

impl ContextServer {
    /// A server for the caches below a root.
    pub fn new(
        location: Location,
        clock: Arc<dyn Clock>,
        noticing: ChangeDetection,
    ) -> ContextServer {
        let tools = Tools::new("candor-context", env!("CARGO_PKG_VERSION"))
            .with(resolve())
            .with(list())
            .with(inspect());
        ContextServer {
            tools,
            shelf: OpenCaches::new(location, clock, noticing),
            work: Arc::new(Semaphore::new(MAX_AT_WORK)),
        }
    }

    /// With the tool for passages too.
    pub fn with_passages(mut self) -> ContextServer {
        self.tools = self.tools.with(passages());
        self
    }

    /// Does blocking work on a thread for it, and answers with its text.
    async fn blocking(
        &self,
        work: impl FnOnce(&Arc<OpenCaches>) -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> Result<Reply, Fault<Context>> {
        let permit = Arc::clone(&self.work).acquire_owned().await;
        let shelf = Arc::clone(&self.shelf);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&shelf)
        });
        let bytes = match done.await {
            Ok(done) => done.map_err(|failure| failure.fault())?,
            // The boundary turns it into this dialect's internal error.
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Failure::Bug("work was cut off").fault()),
            },
        };
        replied(bytes)
    }

    /// The answer to a query that takes little and waits for nothing: going to another thread for
    /// it and coming back would take as long as the work.
    fn resolved_at_once(&self, cache: &str, query: &Query, budget: Budget) -> Option<Vec<u8>> {
        let _permit = self.work.try_acquire().ok()?;
        let cache = self.shelf.ready(cache)?;
        cache.resolve_at_once(query, budget)?.compact().ok()
    }
}

fn replied(bytes: Vec<u8>) -> Result<Reply, Fault<Context>> {
    match String::from_utf8(bytes) {
        Ok(text) => reply_text(text),
        Err(_) => Err(Failure::Bug("an answer is not UTF-8").fault()),
    }
}

impl Server for ContextServer {
    type Dialect = Context;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn complete(&self, fault: Fault<Context>, cx: &CallContext) -> Fault<Context> {
        faults::in_order(fault, cx.call.arguments.as_deref())
    }

    fn note(&self, entry: &candor_street::CallRecord<'_, Context>) {
        if let candor_street::CallOutcome::Failed(fault) = &entry.outcome {
            tracing::info!(code = %fault.row().code, cause = ?fault.cause(), "a call failed");
        }
    }
}

#[derive(Deserialize)]
struct QueryArguments {
    cache: String,
    query: String,
    budget: serde_json::Number,
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn budget() -> Value {
    json!({
        "type": "integer",
        "minimum": 0,
        "maximum": MAX_BUDGET,
        "description": "Maximum token budget"
    })
}

const CACHE: &str = "Path or identifier of a built context cache";
const QUERY: &str = "Natural-language query";

fn asking() -> Value {
    json!({
        "type": "object",
        "properties": { "cache": text(CACHE), "query": text(QUERY), "budget": budget() },
        "required": ["cache", "query", "budget"],
        "additionalProperties": false
    })
}

impl QueryArguments {
    fn read(&self) -> Result<(Query, Budget), Fault<Context>> {
        let query = Query::new(&self.query).map_err(|failure| failure.fault())?;
        let budget = Budget::from_number(&self.budget)
            .ok_or_else(|| Failure::Bug("a budget that the schema admits").fault())?;
        Ok((query, budget))
    }
}

fn resolve() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, asked: QueryArguments, _| async move {
        let (query, budget) = asked.read()?;
        if let Some(bytes) = server.resolved_at_once(&asked.cache, &query, budget) {
            return replied(bytes);
        }
        let work = move |shelf: &Arc<OpenCaches>| {
            let answer = shelf.ask(&asked.cache, |cache| cache.resolve(&query, budget))?;
            answer.compact()
        };
        server.blocking(work).await
    };
    Tool::read_only(
        "context.resolve",
        "Resolve a natural-language query against a pre-built context cache and return a deterministic, explainable set of documents within a token budget.",
        asking(),
        run,
    )
}

fn passages() -> Tool<ContextServer> {
    let run = |server: Arc<ContextServer>, asked: QueryArguments, _| async move {
        let (query, budget) = asked.read()?;
        let work = move |shelf: &Arc<OpenCaches>| {
            let clock = shelf.clock();
            let ask = |cache: &Cache| cache.passages(&query, budget, clock);
            one_line(&shelf.ask(&asked.cache, ask)?)
        };
        server.blocking(work).await
    };
    Tool::read_only(
        "context.passages",
        "Find the passages of a context cache that answer a query best (BM25), within a token budget. Not for whole documents: use context.resolve.",
        asking(),
        run,
    )
}

#[derive(Deserialize)]
struct NoArguments {}

fn list() -> Tool<ContextServer> {
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let run = |server: Arc<ContextServer>, _: NoArguments, _| async move {
        let work = |shelf: &Arc<OpenCaches>| one_line(&list_caches(shelf.location())?);
        server.blocking(work).await
    };
    Tool::read_only(
        "context.list_caches",
        "List the caches directly below the root. Not for looking into one: use context.inspect_cache.",
        schema,
        run,
    )
}

#[derive(Deserialize)]
struct InspectArguments {
    cache: String,
}

fn inspect() -> Tool<ContextServer> {
    let schema = json!({
        "type": "object",
        "properties": { "cache": text(CACHE) },
        "required": ["cache"],
        "additionalProperties": false
    });
    let run = |server: Arc<ContextServer>, asked: InspectArguments, _| async move {
        let work = move |shelf: &Arc<OpenCaches>| one_line(&shelf.inspect(&asked.cache)?);
        server.blocking(work).await
    };
    Tool::read_only(
        "context.inspect_cache",
        "Say what a cache is (version, documents, bytes) and whether it is valid. Not for its contents: use context.resolve.",
        schema,
        run,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use tokio::time::{Duration, timeout};

    #[tokio::test]
    async fn calls_beyond_the_limit_wait() {
        let root = tempfile::tempdir().unwrap();
        let location = Location::below(root.path()).unwrap();
        let clock = Arc::new(|| candor_fault::Timestamp::MAX);
        let server = ContextServer::new(location, clock, ChangeDetection::Watch);
        let all = Arc::clone(&server.work).acquire_many_owned(MAX_AT_WORK as u32);
        let all = all.await.unwrap();
        let mut call = pin!(server.blocking(|_| Ok(b"done".to_vec())));
        let early = timeout(Duration::from_millis(20), &mut call).await;
        assert!(early.is_err(), "a call went ahead of its turn");
        drop(all);
        assert!(call.await.is_ok());
    }
}
