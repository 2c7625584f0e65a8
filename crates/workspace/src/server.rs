//! The server: permissions, records, locks and tools.

use crate::audit_line::{self, Actor};
use crate::config::{Config, UnlockPolicy};
use crate::dialect::{Workspace, WorkspaceFacts};
use crate::failure::{BrokenInvariant, Failure};
use crate::lock::{self, Lock};
use crate::notes::{CallNotes, Notes, Penalty, PlanClaim, Unrecorded};
use crate::pace::Pace;
use crate::role::Role;
use crate::session::{self, Session};
use crate::state::{self, REFUSALS};
use crate::{faults, instructions, tools};
use candor_audit::{AppendError, Log};
use candor_fault::{Cause, Fault, Receipt, iso_millis};
use candor_street::{
    Call, CallContext, CallOutcome, CallRecord, Clock, JsonRef, Permit, Server, Tool, Tools,
};
use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The workspace tools for one role.
pub struct WorkspaceServer {
    tools: Tools<Self>,
    pub(crate) config: Config,
    pub(crate) actor: Actor,
    pub(crate) clock: Arc<dyn Clock>,
    session: RwLock<Option<Arc<Session>>>,
    /// One session begins at a time.
    pub(crate) beginning: tokio::sync::Mutex<()>,
    /// The log of refusals before a session begins.
    refusals: Log,
    pace: Pace,
}

impl WorkspaceServer {
    /// Creates a server that is ready to begin a session. Fails if a record in the state directory
    /// does not verify, or if the list of tools disagrees with the roles.
    pub fn new(config: Config, clock: Arc<dyn Clock>) -> Result<Self, Fault<Workspace>> {
        let actor = Actor {
            role: Some(config.role),
            os_user: config.os_user.clone(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let unusable = |error: &dyn fmt::Display| {
            faults::bootstrap_failure(&format!("the state directory cannot be used: {error}"))
        };
        let state = state::open(&config.state).map_err(|error| unusable(&error))?;
        let verified =
            candor_audit::verify(state.clone(), REFUSALS).map_err(|error| unusable(&error))?;
        match verified.flaw {
            None | Some(candor_audit::LogFlaw::Torn(_)) => {}
            Some(flaw) => {
                return Err(faults::self_audit_failure(&format!(
                    "the log {REFUSALS} in the state directory does not verify: line {} is the first that is wrong",
                    flaw.seq()
                )));
            }
        }
        let refusals =
            session::open_log(state, REFUSALS, &actor, &clock, &config, Vec::new(), None);
        let refusals = refusals.map_err(|error| unusable(&error))?;
        let empty = Tools::new("candor-workspace", env!("CARGO_PKG_VERSION"));
        let tools = tools::all(config.role).into_iter().fold(empty, Tools::with);
        if let Some(why) = tools::disagreement(&tools, config.role) {
            return Err(faults::self_audit_failure(&why));
        }
        Ok(WorkspaceServer {
            tools,
            pace: Pace::new(config.max_rate),
            config,
            actor,
            clock,
            session: RwLock::new(None),
            beginning: tokio::sync::Mutex::new(()),
            refusals,
        })
    }

    /// Returns the session, if it has begun.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        let session = self.session.read();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_session(&self, session: Option<Arc<Session>>) {
        let own = self.session.write();
        *own.unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// Converts a failure to a fault and notes its penalty.
    pub(crate) fn raise(&self, notes: &CallNotes, failure: &Failure) -> Fault<Workspace> {
        notes.update(|notes| notes.penalty = failure.penalty());
        failure.fault()
    }

    fn admit(&self, tool: &Tool<Self>) -> Result<(), Failure> {
        if tool.name() == tools::BEGIN_SESSION {
            return Ok(());
        }
        let session = self.session().ok_or(Failure::NoSession)?;
        if !tools::works_when_the_log_is_full(tool.name())
            && let Some(bytes) = session.full_log(self.config.log_max)
        {
            return Err(Failure::LogFull {
                bytes,
                max: self.config.log_max,
            });
        }
        if !tool.is_listed() {
            return Err(Failure::OtherRole {
                tool: tool.name(),
                role: self.config.role,
                locked: session.unsettled_journal().is_some()
                    || session.lock(self.config.role)?.is_some(),
            });
        }
        if !tools::works_when_locked(tool.name()) {
            if let Some(unsettled) = session.unsettled_journal() {
                return Err(Failure::JournalLocked(Box::new(unsettled.lock)));
            }
            if let Some(lock) = session.lock(self.config.role)? {
                return Err(Failure::Locked(Box::new(lock)));
            }
        }
        match session.root.unchanged() {
            Ok(true) => Ok(()),
            Ok(false) => Err(BrokenInvariant::Root.into()),
            Err(error) => Err(error.into()),
        }
    }

    fn claim(&self, arguments: JsonRef<'_>) -> Result<(), Failure> {
        let claimed = arguments.get_or_null("role").as_str();
        match claimed.filter(|claimed| Role::parse(claimed) != Some(self.config.role)) {
            None => Ok(()),
            Some(claimed) => Err(Failure::RoleClaim {
                claimed: claimed.into_owned(),
                role: self.config.role,
            }),
        }
    }

    /// Locks the session if this failure reaches the limit. The lock names its line.
    fn punish(
        &self,
        session: &Session,
        entry: &CallRecord<'_, Workspace, CallNotes>,
        seq: u64,
    ) -> Result<(), Cause> {
        let CallOutcome::Failed(fault) = &entry.outcome else {
            return Ok(());
        };
        let penalty = match entry.notes.map(|notes| notes.read().penalty) {
            _ if faults::is_invariant(fault) => Penalty::LockForPerson,
            None => Penalty::None,
            Some(penalty) => penalty,
        };
        let strikes = match penalty {
            Penalty::None => return Ok(()),
            Penalty::Strike => session.strike(),
            Penalty::Lock | Penalty::LockForPerson => u32::MAX,
        };
        if strikes < self.config.lock_after.get() {
            return Ok(());
        }
        let lock = Lock {
            v: 1,
            error_code: fault.row().code.text().to_owned(),
            human_message: fault.message().to_owned(),
            seq,
            timestamp: iso_millis(entry.at),
            person: penalty == Penalty::LockForPerson || self.config.unlock == UnlockPolicy::Person,
        };
        session.note_lock();
        lock::put(&session.state, self.config.role, &lock).map_err(Cause::from)
    }
}

impl fmt::Debug for WorkspaceServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WorkspaceServer")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The log has reached the size above which nothing is recorded.
#[derive(Debug)]
struct FullLog(u64);

impl fmt::Display for FullLog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the log has more than {} bytes", self.0)
    }
}

impl std::error::Error for FullLog {}

/// Returns the plan and the phase in the arguments, if they are well-formed.
fn plan_claim(arguments: JsonRef<'_>) -> PlanClaim {
    let text = |name: &str| arguments.get(name)?.as_str().map(Cow::into_owned);
    PlanClaim {
        plan_hash: text("plan_hash").filter(|hash| crate::plan::PlanRef::read(hash).is_some()),
        phase_id: text("phase_id").filter(|id| crate::plan::PhaseId::try_from(id.clone()).is_ok()),
    }
}

/// Parses the arguments of a call that was refused before its arguments were parsed.
fn unchecked_claim(call: &Call) -> PlanClaim {
    plan_claim(call.argument_values())
}

impl Server for WorkspaceServer {
    type Dialect = Workspace;
    type Notes = CallNotes;

    fn tools(&self) -> &Tools<Self> {
        &self.tools
    }

    fn instructions(&self) -> Option<String> {
        Some(instructions::for_agent(&self.config))
    }

    fn gate(&self, cx: &CallContext<CallNotes>, tool: &Tool<Self>) -> Result<(), Fault<Workspace>> {
        self.admit(tool)
            .map_err(|failure| self.raise(&cx.notes, &failure))
    }

    async fn guard(
        &self,
        cx: &CallContext<CallNotes>,
        _tool: &Tool<Self>,
        arguments: JsonRef<'_>,
    ) -> Result<Permit, Fault<Workspace>> {
        let claim = plan_claim(arguments);
        cx.notes.update(|notes| {
            notes.claim = Some(claim);
            notes.paced = true;
        });
        self.pace.wait().await;
        self.claim(arguments)
            .map_err(|failure| self.raise(&cx.notes, &failure))?;
        Ok(Permit::default())
    }

    fn complete_refusal(
        &self,
        fault: Fault<Workspace>,
        cx: &CallContext<CallNotes>,
        arguments: JsonRef<'_>,
    ) -> Fault<Workspace> {
        let claim = plan_claim(arguments);
        cx.notes.update(|notes| notes.claim = Some(claim));
        fault
    }

    fn complete(&self, fault: Fault<Workspace>, cx: &CallContext<CallNotes>) -> Fault<Workspace> {
        let Notes {
            plan_hash,
            phase_id,
            unrecorded,
            claim,
            ..
        } = cx.notes.read();
        let fault = match unrecorded {
            Unrecorded::Busy if faults::is_unrecorded(&fault) => faults::log_was_busy(&fault),
            _ => fault,
        };
        let claim = claim.unwrap_or_else(|| unchecked_claim(&cx.call));
        let session = self.session();
        let stack = self.config.debug_stack.then(Backtrace::force_capture);
        let known = WorkspaceFacts {
            role: Some(self.config.role.wire_name().to_owned()),
            session_id: session.as_ref().map(|session| session.id.clone()),
            workspace_root: session.map(|session| session.root.path().display().to_string()),
            phase_id: phase_id.or(claim.phase_id),
            plan_hash: plan_hash.or(claim.plan_hash),
            stack_trace: stack.map(|stack| stack.to_string()),
            ..WorkspaceFacts::default()
        };
        let fault = fault.with_facts(|facts| facts.fill(known));
        fault.redacted(&|text| match candor_secrets::redact(text) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(hidden) => Some(hidden),
        })
    }

    async fn record(
        &self,
        entry: &CallRecord<'_, Workspace, CallNotes>,
    ) -> Result<Option<Receipt>, Cause> {
        let kept = entry.notes.map(CallNotes::read).unwrap_or_default();
        if !kept.paced {
            self.pace.wait().await;
        }
        let session = self.session();
        if let Some(session) = &session
            && !entry.tool.is_some_and(tools::works_when_the_log_is_full)
            && session.full_log(self.config.log_max).is_some()
        {
            if let Some(notes) = entry.notes {
                notes.update(|notes| notes.unrecorded = Unrecorded::Certainly);
            }
            return Err(Cause::error("AuditLog", &FullLog(self.config.log_max)));
        }
        let id = session.as_ref().map(|session| session.id.as_str());
        let line = audit_line::call_line(&self.actor, id, entry, &kept);
        let log = session
            .as_ref()
            .map_or(&self.refusals, |session| &session.log);
        let appended = log.append(line).await.map_err(|error| {
            let unrecorded = match error {
                AppendError::Locked => Unrecorded::Busy,
                AppendError::Unsure(_) | AppendError::Closed => Unrecorded::Perhaps,
                _ => Unrecorded::Certainly,
            };
            if let Some(notes) = entry.notes {
                notes.update(|notes| notes.unrecorded = unrecorded);
            }
            Cause::error("AuditLog", &error)
        });
        if let Some(session) = &session {
            if let Ok(receipt) = &appended {
                session.note_line(*receipt);
            }
            // A failure counts even if it could not be recorded.
            let seq = appended.as_ref().map_or(0, |receipt| receipt.seq);
            self.punish(session, entry, seq)?;
        }
        let receipt = appended?;
        Ok(Some(Receipt {
            seq: receipt.seq,
            hash: receipt.hash.to_string(),
        }))
    }

    fn close(&self) {
        if let Some(session) = self.session() {
            session.close();
        }
    }
}
