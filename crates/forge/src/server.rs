//! The server: permissions, limits, the log of writes, and the tools.

use crate::allow_list::AllowList;
use crate::attempts::Attempts;
use crate::dialect::{Github, is_full_disk};
use crate::failure_line::{LineArguments, line};
use crate::foreign_names::{tool_hint, with_hints};
use crate::forge::{BackendContext, Forge};
use crate::notes::ForgeNotes;
use crate::token_digest::token_digest;
use crate::write_log::{self, WriteLog};
use crate::{DenialReason, Failure, RepoName, ToolSelection, tools};
use candor_fault::Dialect as _;
use candor_fault::{Cause, Effect, Fault, Form, Receipt, Refusal};
use candor_guard::{Deadline, Limiter, Quota};
use candor_street::{
    CallContext, CallRecord, Clock, Era, FailureForm, JsonRef, Permit, Server, Tool, Tools,
};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The deadline of a reading call.
pub const READ_DEADLINE: Duration = Duration::from_secs(30);

/// The deadline of a writing call.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(60);

/// The backend's deadline is earlier by this, so that its own failure is reported.
const MARGIN: Duration = Duration::from_secs(1);

/// The number of repositories whose writes are counted at a time.
pub const MAX_LIMITED_REPOS: usize = 4096;

/// The default maximum of entries of a tree.
pub const TREE_ENTRIES: usize = 5_000;

/// The largest maximum of entries that an owner can set.
pub const MAX_TREE_ENTRIES: usize = 100_000;

/// The default limit of writes per minute and repository.
pub const WRITES_A_MINUTE: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// True if tools may write.
    pub allow_writes: bool,
    pub repos: AllowList,
    pub failures: FailureForm,
    /// The tools that the server offers.
    pub tools: ToolSelection,
    /// The maximum of entries of a tree.
    pub max_entries: usize,
    /// The limit of writes per minute and repository.
    pub writes_a_minute: NonZeroU32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            allow_writes: false,
            repos: AllowList::default(),
            failures: FailureForm::default(),
            tools: ToolSelection::default(),
            max_entries: TREE_ENTRIES,
            writes_a_minute: WRITES_A_MINUTE,
        }
    }
}

/// Receives the line of a failure. It must not block.
pub type LineSink = Arc<dyn Fn(String) + Send + Sync>;

/// The GitHub tools on one backend.
pub struct ForgeServer {
    tools: Tools<Self>,
    pub(crate) forge: Arc<dyn Forge>,
    pub(crate) config: Config,
    limiter: Limiter,
    attempts: Attempts,
    lines: LineSink,
    clock: Arc<dyn Clock>,
}

impl ForgeServer {
    /// Creates a server that cannot write, because it has no log of writes.
    pub fn new(
        forge: Arc<dyn Forge>,
        config: Config,
        lines: LineSink,
        clock: Arc<dyn Clock>,
    ) -> ForgeServer {
        let tools = Tools::new("candor-github", env!("CARGO_PKG_VERSION"));
        let quota = Quota::per_minute(config.writes_a_minute);
        let most = NonZeroUsize::new(MAX_LIMITED_REPOS).unwrap_or(NonZeroUsize::MIN);
        ForgeServer {
            tools: tools::selected(&config.tools).fold(tools, Tools::with),
            forge,
            config,
            limiter: Limiter::new(quota, most),
            attempts: Attempts::default(),
            lines,
            clock,
        }
    }

    /// Adds a log of writes. The configuration decides whether tools may write.
    pub fn with_write_log(mut self, log: Arc<dyn WriteLog>) -> ForgeServer {
        self.forge.record_own_writes(Arc::clone(&log));
        self.attempts.log = Some(log);
        self
    }

    pub(crate) fn backend_context(
        &self,
        writes: bool,
        cx: &CallContext<ForgeNotes>,
    ) -> BackendContext {
        let limit = if writes {
            WRITE_DEADLINE
        } else {
            READ_DEADLINE
        };
        let arguments = cx.notes.line_arguments.get();
        BackendContext {
            deadline: Deadline::after(limit - MARGIN),
            mark: cx.mark.clone(),
            caller: cx.call.peer.token.clone(),
            repo: arguments.and_then(|arguments| arguments.repo().cloned()),
        }
    }

    /// Records the attempt to write. An attempt that cannot be recorded is not made.
    async fn attempt(
        &self,
        cx: &CallContext<ForgeNotes>,
        tool: &'static str,
        arguments: JsonRef<'_>,
    ) -> Result<(), Fault<Github>> {
        let at = self.clock.now();
        let shown = write_log::summary(arguments);
        let line = write_log::attempt(at, tool, &cx.call.peer, &cx.call.client, &shown);
        let effect = Effect::None;
        let recorded = self.attempts.record(&cx.notes.attempt, line).await;
        recorded.map_err(|cause| match is_full_disk(&cause) {
            true => Failure::DiskFull(cause).fault(effect),
            false => Github::adopt(Refusal::Unrecorded { cause, effect }),
        })
    }

    /// Returns true if a tool takes the argument.
    fn has_argument(&self, tool: &str, argument: &str) -> bool {
        let tool = self.tools.get(tool);
        let schema = tool.and_then(|tool| tool.input_schema().ok());
        let schema: Option<Value> =
            schema.and_then(|schema| serde_json::from_str(schema.text()).ok());
        schema.is_some_and(|schema| schema["properties"].get(argument).is_some())
    }

    fn policy(
        &self,
        cx: &CallContext<ForgeNotes>,
        tool: &Tool<Self>,
        repo: &RepoName,
        fork: Option<RepoName>,
    ) -> Result<(), Failure> {
        let touched = [Some(repo), fork.as_ref()].into_iter().flatten();
        let mut others = touched.filter(|touched| !self.config.repos.allows(touched));
        if let Some(other) = others.next() {
            return Err(Failure::Denied(DenialReason::Repository(other.clone())));
        }
        if tool.writes() {
            let key = limited_key(cx, repo);
            let limited = self.limiter.check(&key);
            limited.map_err(|limited| Failure::Limited(limited.after))?;
            let mut counted = cx
                .notes
                .counted
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *counted = Some(key);
        }
        Ok(())
    }
}

/// Returns the key of the limit that counts a write: the repository, for each caller apart if callers have
/// tokens of their own.
fn limited_key(cx: &CallContext<ForgeNotes>, repo: &RepoName) -> String {
    match &cx.call.peer.token {
        Some(token) => format!("{} {}", token_digest(token.secret()), repo.folded()),
        None => repo.folded(),
    }
}

/// Notes what the line of a failure contains of the arguments, and returns it.
fn note_arguments<'a>(
    cx: &'a CallContext<ForgeNotes>,
    arguments: JsonRef<'_>,
) -> &'a LineArguments {
    let noted = &cx.notes.line_arguments;
    noted.get_or_init(|| LineArguments::read(arguments))
}

fn text<'a>(arguments: JsonRef<'a>, name: &str) -> Option<Cow<'a, str>> {
    arguments.get(name)?.as_str()
}

/// Returns the fork in `owner:branch`: a pull request copies its commits.
fn fork(repo: &RepoName, arguments: JsonRef<'_>) -> Option<RepoName> {
    let head = text(arguments, "head")?;
    let (owner, _) = head.split_once(':')?;
    repo.of(owner)
}

impl fmt::Debug for ForgeServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ForgeServer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Server for ForgeServer {
    type Dialect = Github;
    type Notes = ForgeNotes;

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn unknown_tool_advice(&self, name: &str) -> Option<String> {
        tool_hint(name, |tool| self.tools.get(tool).is_some())
    }

    fn form(&self, era: Era) -> Form {
        self.config.failures.form(era)
    }

    fn gate(&self, cx: &CallContext<ForgeNotes>, tool: &Tool<Self>) -> Result<(), Fault<Github>> {
        let may_write = cx.call.peer.may_write;
        let denied = match (tool.writes(), self.config.allow_writes, may_write) {
            (false, _, _) | (true, true, true) => return Ok(()),
            (true, false, _) => DenialReason::WritesOff,
            (true, true, false) => DenialReason::WriteToken,
        };
        Err(Failure::Denied(denied).fault(Effect::None))
    }

    fn deadline(&self, tool: &Tool<Self>) -> Option<Duration> {
        Some(if tool.writes() {
            WRITE_DEADLINE
        } else {
            READ_DEADLINE
        })
    }

    async fn guard(
        &self,
        cx: &CallContext<ForgeNotes>,
        tool: &Tool<Self>,
        arguments: JsonRef<'_>,
    ) -> Result<Permit, Fault<Github>> {
        if let Some(repo) = note_arguments(cx, arguments).repo() {
            self.policy(cx, tool, repo, fork(repo, arguments))
                .map_err(|failure| failure.fault(Effect::None))?;
        }
        if tool.writes() {
            self.attempt(cx, tool.name(), arguments).await?;
        }
        Ok(Permit::default())
    }

    fn complete_refusal(
        &self,
        fault: Fault<Github>,
        cx: &CallContext<ForgeNotes>,
        arguments: JsonRef<'_>,
    ) -> Fault<Github> {
        note_arguments(cx, arguments);
        let has_argument = |name: &str| self.has_argument(&cx.call.name, name);
        match with_hints(fault.violations(), arguments, has_argument) {
            Some(violations) => fault.with_violations(violations),
            None => fault,
        }
    }

    async fn record(
        &self,
        entry: &CallRecord<'_, Github, ForgeNotes>,
    ) -> Result<Option<Receipt>, Cause> {
        let Some(notes) = entry.notes else {
            return Ok(None);
        };
        // A write that did nothing does not count.
        let counted = notes
            .counted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let (Some(key), Effect::None) = (counted, entry.effect) {
            self.limiter.give_back(&key);
        }
        let Some(of) = notes.attempt.number().await else {
            return Ok(None);
        };
        let ended = write_log::WriteOutcome::of(entry);
        self.attempts.append(ended.line(of)).await?;
        Ok(None)
    }

    /// The line of a failure is the server's own.
    const LOGS_FAILURES: bool = true;

    fn note(&self, entry: &CallRecord<'_, Github, ForgeNotes>) {
        // Only an answer has a line, not the outcome of a write that ends after it.
        let is_answer = entry.notes.is_none_or(|notes| notes.attempt.mark_ended());
        let arguments = entry.notes.and_then(|notes| notes.line_arguments.get());
        if let Some(line) = line(entry, arguments).filter(|_| is_answer) {
            (self.lines)(line);
        }
    }
}
