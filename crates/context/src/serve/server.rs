//! The MCP server: read-only tools that run on a limited number of threads.

use crate::cache::Cache;
use crate::dialect::Context;
use crate::failure::Failure;
use crate::faults;
use crate::files::location::Location;
use crate::query::request::{Query, TokenBudget};
use crate::query::selection::DocumentMatch;
use crate::serve::open_caches::{ChangeDetection, OpenCaches};
use crate::serve::tools;
use candor_fault::Fault;
use candor_street::{CallContext, Clock, Reply, Server, ToolNames, Tools, reply_text};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most calls that are worked on at once. Further calls wait.
pub const MAX_AT_WORK: usize = 8;

/// The MCP server for the caches below one root.
pub struct ContextServer {
    tools: Tools<Self>,
    caches: Arc<OpenCaches>,
    work: Arc<Semaphore>,
}

impl ContextServer {
    pub fn new(
        location: Location,
        clock: Arc<dyn Clock>,
        detection: ChangeDetection,
    ) -> ContextServer {
        let tools = Tools::new("candor-context", env!("CARGO_PKG_VERSION"))
            .with(tools::resolve())
            .with(tools::list_caches())
            .with(tools::inspect_cache());
        ContextServer {
            tools,
            caches: OpenCaches::new(location, clock, detection),
            work: Arc::new(Semaphore::new(MAX_AT_WORK)),
        }
    }

    /// Adds the tool `context.passages`.
    pub fn with_passages(mut self) -> ContextServer {
        self.tools = self.tools.with(tools::passages());
        self
    }

    /// Lists the tools with names of another style.
    pub fn with_tool_names(mut self, names: ToolNames) -> ContextServer {
        self.tools = self.tools.with_name_style(names);
        self
    }

    /// Runs blocking work on a thread of its own and replies with the bytes that it returns.
    pub(super) async fn run_blocking(
        &self,
        work: impl FnOnce(&Arc<OpenCaches>) -> Result<Vec<u8>, Failure> + Send + 'static,
    ) -> Result<Reply, Fault<Context>> {
        let permit = Arc::clone(&self.work).acquire_owned().await;
        let caches = Arc::clone(&self.caches);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&caches)
        });
        let bytes = match done.await {
            Ok(done) => done.map_err(|failure| failure.fault())?,
            // The dispatcher turns a panic into the dialect's internal error.
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Failure::Bug("work was cut off").fault()),
            },
        };
        reply_bytes(bytes)
    }

    /// Resolves a query on the calling thread as far as that takes little time and no waiting: a
    /// change of threads would take as long as a small response.
    pub(super) fn resolve_quickly(&self, path: &str, query: &Query, budget: TokenBudget) -> Quick {
        let Ok(_permit) = self.work.try_acquire() else {
            return Quick::Nothing;
        };
        let Some(cache) = self.caches.ready(path) else {
            return Quick::Nothing;
        };
        let Some(selection) = cache.select_quickly(query, budget) else {
            return Quick::Nothing;
        };
        if cache.reads_quickly(&selection)
            && let Ok(response) = cache.read_selection(query, budget, &selection)
            && let Ok(bytes) = response.to_line()
        {
            return Quick::Response(bytes);
        }
        Quick::Selection(Selection {
            cache,
            documents: selection,
        })
    }
}

/// The part of a query that was done on the calling thread.
pub(super) enum Quick {
    /// All of it.
    Response(Vec<u8>),
    /// The selection. Its documents are not read yet.
    Selection(Selection),
    Nothing,
}

/// Documents that were selected from a cache.
pub(super) struct Selection {
    cache: Arc<Cache>,
    documents: Vec<DocumentMatch>,
}

/// Resolves a query. Uses the selection if the cache is still the one that it was made from.
pub(super) fn resolve(
    caches: &Arc<OpenCaches>,
    path: &str,
    (query, budget): (&Query, TokenBudget),
    selection: Option<&Selection>,
) -> Result<Vec<u8>, Failure> {
    let resolve = |cache: &Cache| match selection {
        Some(selection) if std::ptr::eq(Arc::as_ptr(&selection.cache), cache) => {
            cache.read_selection(query, budget, &selection.documents)
        }
        _ => cache.resolve(query, budget),
    };
    caches.query(path, resolve)?.to_line()
}

/// Returns the bytes of a response as the text of a tool.
pub(super) fn reply_bytes(bytes: Vec<u8>) -> Result<Reply, Fault<Context>> {
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

    fn complete_refusal(
        &self,
        fault: Fault<Context>,
        _: &CallContext,
        arguments: &Value,
    ) -> Fault<Context> {
        faults::prefer_query_failure(fault, arguments)
    }

    fn note(&self, entry: &candor_street::CallRecord<'_, Context>) {
        if let candor_street::CallOutcome::Failed(fault) = &entry.outcome {
            tracing::info!(code = %fault.row().code, cause = ?fault.cause(), "a call failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, SourceFilter};
    use candor_fault::Timestamp;
    use std::path::Path;
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
        let mut call = pin!(server.run_blocking(|_| Ok(b"done".to_vec())));
        let early = timeout(Duration::from_millis(20), &mut call).await;
        assert!(early.is_err(), "a call went ahead of its turn");
        drop(all);
        assert!(call.await.is_ok());
    }

    /// Builds a cache of so many documents that they are not read on the calling thread.
    fn build_large_cache(root: &Path) {
        let sources = root.join("sources");
        std::fs::create_dir(&sources).unwrap();
        for number in 0..100 {
            std::fs::write(sources.join(format!("{number}.md")), "one two").unwrap();
        }
        let build = Build {
            location: &Location::Anywhere,
            sources: &sources,
            cache: &root.join("cache"),
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: false,
            tokenizer: crate::Tokenizer::Bytes4,
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
            now: &|| Timestamp::MAX,
            random: 7,
            progress: &(),
        };
        build.run().unwrap();
    }

    #[test]
    fn large_response_is_selected_once_and_shares_documents() {
        let root = tempfile::tempdir().unwrap();
        build_large_cache(root.path());
        let location = Location::below(root.path()).unwrap();
        let clock = Arc::new(|| Timestamp::MAX);
        let server = ContextServer::new(location, clock, ChangeDetection::Watch);
        let (query, budget) = (Query::new("one").unwrap(), TokenBudget::new(1000).unwrap());
        let expected = resolve(&server.caches, "cache", (&query, budget), None).unwrap();
        let cache = server.caches.ready("cache").unwrap();
        let before = cache.index().selections();
        let Quick::Selection(selection) = server.resolve_quickly("cache", &query, budget) else {
            panic!("a large response is not read on the calling thread");
        };
        let request = (&query, budget);
        let bytes = resolve(&server.caches, "cache", request, Some(&selection)).unwrap();
        assert_eq!(bytes, expected);
        assert_eq!(cache.index().selections() - before, 1);
        let read = || cache.read_selection(&query, budget, &selection.documents);
        let (one, other) = (read().unwrap(), read().unwrap());
        assert!(one.shares_documents_with(&other));
    }
}
