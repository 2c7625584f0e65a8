//! The MCP server: read-only tools that run on a limited number of threads.

use crate::cache::Cache;
use crate::dialect::Context;
use crate::failure::Failure;
use crate::faults;
use crate::files::location::Location;
use crate::query::request::{Query, TokenBudget};
use crate::query::selection::DocumentMatch;
use crate::serve::answer_room::{AnswerRoom, AnswerSpace, MAX_WAITING_ANSWERS, rendering_bytes};
use crate::serve::open_caches::{ChangeDetection, OpenCaches};
use crate::serve::tools;
use candor_fault::Fault;
use candor_street::{CallContext, Clock, JsonRef, Reply, Server, ToolNames, Tools, reply_text};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most calls that are worked on at once. Further calls wait.
pub const MAX_AT_WORK: usize = 8;

/// The MCP server for the caches below one root.
pub struct ContextServer {
    tools: Tools<Self>,
    caches: Arc<OpenCaches>,
    work: Arc<Semaphore>,
    room: AnswerRoom,
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
            room: AnswerRoom::new(MAX_WAITING_ANSWERS),
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
        cx: &CallContext,
        work: impl Fn(&Arc<OpenCaches>, &AnswerSpace) -> Result<Vec<u8>, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<Reply, Fault<Context>> {
        let caches = Arc::clone(&self.caches);
        let run = move |space: &AnswerSpace| -> Result<Vec<u8>, Failure> {
            let bytes = work(&caches, space)?;
            space.settle(encoded_bytes(&bytes))?;
            Ok(bytes)
        };
        let done = self.room.run(&self.work, cx, run).await;
        let done = done.unwrap_or(Err(Failure::Bug("work was cut off")));
        reply_bytes(done.map_err(|failure| failure.fault())?)
    }

    /// Resolves a query on the calling thread as far as that takes little time and no waiting: a
    /// change of threads would take as long as a small response.
    pub(super) fn resolve_quickly(
        &self,
        cx: &CallContext,
        path: &str,
        query: &Query,
        budget: TokenBudget,
    ) -> Quick {
        let Ok(_permit) = self.work.try_acquire() else {
            return Quick::Nothing;
        };
        let Some(cache) = self.caches.ready(path) else {
            return Quick::Nothing;
        };
        let Some(selection) = cache.select_quickly(query, budget) else {
            return Quick::Nothing;
        };
        let space = self.room.space();
        if cache.reads_quickly(&selection)
            && let Ok(least) = cache.check_size(query, &selection)
            && space
                .claim(least.max(cache.stored_bytes(&selection)))
                .is_ok()
            && let Ok(response) = cache.read_selection(query, budget, &selection)
            && let Ok(bytes) = response.to_line()
        {
            space.hold_until_written(cx);
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
    space: &AnswerSpace,
) -> Result<Vec<u8>, Failure> {
    let resolve = |cache: &Cache| {
        let selected = match selection {
            Some(selection) if std::ptr::eq(Arc::as_ptr(&selection.cache), cache) => {
                Cow::Borrowed(&selection.documents)
            }
            _ => Cow::Owned(cache.index().select(query, budget)?),
        };
        let least = cache.check_size(query, &selected)?;
        let bytes = rendering_bytes(least.max(cache.stored_bytes(&selected)), 0);
        space.claim(bytes).map_err(Failure::from)?;
        cache.read_selection(query, budget, &selected)
    };
    caches.query(path, resolve)?.to_line()
}

/// Returns the size of a line of JSON as the text of an answer, where it is escaped once more.
fn encoded_bytes(line: &[u8]) -> u64 {
    let is_escaped = |byte: &&u8| matches!(byte, b'"' | b'\\');
    (line.len() + line.iter().filter(is_escaped).count()) as u64
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
        arguments: JsonRef<'_>,
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
        let cx = candor_call_fixtures::context();
        let mut call = pin!(server.run_blocking(&cx, |_, _| Ok(b"done".to_vec())));
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
        let (cx, space) = (candor_call_fixtures::context(), AnswerSpace::unlimited());
        let request = (&query, budget);
        let expected = resolve(&server.caches, "cache", request, None, &space).unwrap();
        let cache = server.caches.ready("cache").unwrap();
        let before = cache.index().selections();
        let quick = server.resolve_quickly(&cx, "cache", &query, budget);
        let Quick::Selection(selection) = quick else {
            panic!("a large response is not read on the calling thread");
        };
        let selected = Some(&selection);
        let bytes = resolve(&server.caches, "cache", request, selected, &space).unwrap();
        assert_eq!(bytes, expected);
        assert_eq!(cache.index().selections() - before, 1);
        let read = || cache.read_selection(&query, budget, &selection.documents);
        let (one, other) = (read().unwrap(), read().unwrap());
        assert!(one.shares_documents_with(&other));
    }
}
