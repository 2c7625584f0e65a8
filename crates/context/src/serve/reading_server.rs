//! The MCP server of version 1: searches caches, and reads and lists their documents.

use crate::dialect::v1::{ContextV1, ResourceFlaw};
use crate::read::catalogue::{Catalogue, NamedCache};
use crate::read::failure::ReadFailure;
use crate::serve::answer_room::{AnswerRoom, AnswerSpace, MAX_WAITING_ANSWERS};
use crate::serve::reading_tools;
use crate::serve::server::MAX_AT_WORK;
use crate::serve::source_follower::{FollowedCaches, SourceFollower, UpdateSettings};
use candor_fault::Fault;
use candor_street::{
    CallContext, CallOutcome, CallRecord, ResourceFailure, ResourceTemplate, Resources, Server,
    Tools,
};
use std::io;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most bytes of the instructions.
pub const MAX_INSTRUCTIONS: usize = 1_200;

/// The MCP server of version 1 for the caches of a catalogue.
pub struct ReadingServer {
    tools: Tools<Self>,
    catalogue: Arc<Catalogue>,
    work: Arc<Semaphore>,
    room: AnswerRoom,
    resources: Arc<Resources<Self>>,
}

impl ReadingServer {
    pub fn new(catalogue: Catalogue) -> ReadingServer {
        let tools = Tools::new("candor-context", env!("CARGO_PKG_VERSION"))
            .with(reading_tools::search())
            .with(reading_tools::get())
            .with(reading_tools::list());
        ReadingServer {
            tools,
            catalogue: Arc::new(catalogue),
            work: Arc::new(Semaphore::new(MAX_AT_WORK)),
            room: AnswerRoom::new(MAX_WAITING_ANSWERS),
            resources: Arc::new(resources()),
        }
    }

    /// Makes a server that also updates its caches after every change of their sources, on threads of
    /// their own. No call waits for an update.
    pub fn following(
        mut catalogue: Catalogue,
        settings: UpdateSettings,
    ) -> io::Result<(ReadingServer, SourceFollower)> {
        let followed = Arc::new(FollowedCaches::default());
        catalogue.followed = Some(Arc::clone(&followed));
        let server = ReadingServer::new(catalogue);
        let catalogue = Arc::clone(&server.catalogue);
        let follower = SourceFollower::start(catalogue, followed, settings)?;
        Ok((server, follower))
    }

    /// Runs blocking work on a thread of its own.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        cx: &CallContext,
        work: impl Fn(&Catalogue, &AnswerSpace) -> Result<T, ReadFailure> + Send + Sync + 'static,
    ) -> Result<T, Fault<ContextV1>> {
        let catalogue = Arc::clone(&self.catalogue);
        let run = move |space: &AnswerSpace| work(&catalogue, space);
        let done = self.room.run(&self.work, cx, run).await;
        let done = done.unwrap_or(Err(ReadFailure::Bug("work was cut off")));
        done.map_err(|failure| failure.fault())
    }
}

impl Server for ReadingServer {
    type Dialect = ContextV1;
    type Notes = ();

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn resources(&self) -> Option<&Arc<Resources<Self>>> {
        Some(&self.resources)
    }

    fn instructions(&self) -> Option<String> {
        Some(instructions(&self.catalogue.outline()))
    }

    fn note(&self, entry: &CallRecord<'_, ContextV1>) {
        if let CallOutcome::Failed(fault) = &entry.outcome {
            tracing::info!(code = %fault.row().code, cause = ?fault.cause(), "a call failed");
        }
    }
}

/// Declares the documents as resources.
fn resources() -> Resources<ReadingServer> {
    let list = |server: Arc<ReadingServer>, cursor: Option<String>, cx: CallContext| async move {
        let work = move |catalogue: &Catalogue, space: &AnswerSpace| {
            catalogue.resource_page(cursor.as_deref(), space)
        };
        server.run_blocking(&cx, work).await
    };
    let read = |server: Arc<ReadingServer>, uri: String, cx: CallContext| async move {
        let work =
            move |catalogue: &Catalogue, space: &AnswerSpace| catalogue.resource(&uri, space);
        server.run_blocking(&cx, work).await
    };
    Resources::new(list, read, resource_failure).with_template(ResourceTemplate {
        uri_template: "context://{cache}/{+id}",
        name: "document",
        description: "A document of a cache, whole. For a part of it use context_get.",
        mime_type: None,
    })
}

/// Returns the meaning of a failure to a client that lists or reads resources.
fn resource_failure(fault: &Fault<ContextV1>) -> ResourceFailure {
    match fault.facts().resource {
        Some(ResourceFlaw::NotFound) => ResourceFailure::NotFound,
        Some(ResourceFlaw::UnknownCursor) => ResourceFailure::UnknownCursor,
        Some(ResourceFlaw::TooLarge(bytes)) => ResourceFailure::TooLarge {
            bytes,
            hint: "read it in parts with context_get",
        },
        None => ResourceFailure::Failed,
    }
}

/// The fixed sentences of the instructions.
const HOW_TO_USE: &str = "\
Use context_search first: it finds the passages that answer a question, best first. A query may hold \
synonyms (\"undo revert roll back\"), because words are compared, not meanings. \
Use context_get to read a document or the lines around a passage: give its id, cache, version and lines. \
If `next` is not null, there is more: call context_get again with `range` set to it. \
Use context_list to see which caches, folders and documents there are.";

/// Returns the instructions: the fixed sentences, and the caches with their numbers of documents.
pub(crate) fn instructions(caches: &[(NamedCache, Option<u64>)]) -> String {
    let described: Vec<String> = caches
        .iter()
        .map(|(cache, documents)| match documents {
            Some(1) => format!("{} (1 document)", crate::failure::shown(&cache.name)),
            Some(many) => format!("{} ({many} documents)", crate::failure::shown(&cache.name)),
            None => crate::failure::shown(&cache.name),
        })
        .collect();
    let mut text = String::from(HOW_TO_USE);
    if described.is_empty() {
        text.push_str("\nThere is no cache yet.");
        return text;
    }
    text.push_str("\nCaches: ");
    let start = text.len();
    for (rest, one) in (1..=described.len()).rev().zip(&described) {
        let cut = format!(" and {rest} more.");
        // The end of the list must still fit after every name.
        if text.len() + ", ".len() + one.len() + cut.len() > MAX_INSTRUCTIONS {
            match text.len() > start {
                true => text.push_str(&cut),
                false => text.push_str(cut.trim_start()),
            }
            return text;
        }
        if text.len() > start {
            text.push_str(", ");
        }
        text.push_str(one);
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn caches(
        names: impl IntoIterator<Item = (String, Option<u64>)>,
    ) -> Vec<(NamedCache, Option<u64>)> {
        let named = |(name, documents)| {
            let path = PathBuf::from(&name);
            (NamedCache { name, path }, documents)
        };
        names.into_iter().map(named).collect()
    }

    #[test]
    fn instructions_name_every_cache_that_fits() {
        let few = instructions(&caches([
            (String::from("api"), Some(1)),
            (String::from("docs"), Some(3700)),
            (String::from("odd"), None),
        ]));
        assert!(
            few.ends_with("\nCaches: api (1 document), docs (3700 documents), odd."),
            "{few}"
        );
        assert!(instructions(&[]).ends_with("\nThere is no cache yet."));
    }

    #[test]
    fn instructions_are_bounded() {
        for length in 1..=300 {
            let many = caches((0..64).map(|n| (format!("{n:0length$}"), Some(4_000_000))));
            let text = instructions(&many);
            assert!(text.len() <= MAX_INSTRUCTIONS, "{}: {text}", text.len());
            assert!(
                text.ends_with(" more.") || text.ends_with("documents)."),
                "{text}"
            );
        }
    }
}
