//! `list_plans`, `read_plan` and `wait_for_approval`, and which plan a call goes by.

use super::ToolContext;
use super::commands::build_dir_of;
use super::writing::PlanChoice;
use crate::approval::{
    self, ApprovalFile, ApprovalQuery, NotApproved, RevocationError, ValidApproval,
};
use crate::command::{FoundBuildDir, remove_ended};
use crate::config::Config;
use crate::dialect::Workspace;
use crate::failure::{BrokenInvariant, Failure, PlanFailure};
use crate::fields::{arguments, number, plan_hash};
use crate::notes::{ApprovedBy, CallNotes};
use crate::path::Root;
use crate::plan::store::{self, FindError, LoadError, PlanDamage, StoredPlan};
use crate::plan::{Globs, Phase, PlanHash, PlanNames, PlanRef, phase};
use crate::policy::PolicyRule;
use crate::protected::is_write_protected;
use crate::server::WorkspaceServer;
use crate::session::Session;
use crate::shell_word::quoted;
use candor_disk::RealDisk;
use candor_fault::Fault;
use candor_schema::Int;
use candor_street::{CallContext, Reply, Tool, reply};
use rustix::fs::{AtFlags, OFlags};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The maximum time to wait for an approval, in seconds.
pub const MAX_WAIT_S: i64 = 600;

const WAIT_S: i64 = 60;

/// The interval between checks.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The maximum number of plans in one answer.
const MAX_PAGE: i64 = store::MAX_LISTED_PLANS as i64;

/// The number of digits of a hash in commands for a person.
const SHORT: usize = 12;

#[derive(Deserialize)]
struct ListPlans {
    after: Option<String>,
    limit: Option<Int<1, MAX_PAGE>>,
}

#[derive(Deserialize)]
struct ReadPlan {
    plan_hash: String,
}

#[derive(Deserialize)]
struct WaitForApproval {
    plan_hash: String,
    timeout_s: Option<Int<0, MAX_WAIT_S>>,
}

pub(super) fn tools() -> Vec<Tool<WorkspaceServer>> {
    vec![
        Tool::read_only(
            "list_plans",
            "The plans of the workspace: approved ones first, then the newest.",
            arguments(
                &[],
                json!({
                    "after": plan_hash("Go on after this plan, which next_after has"),
                    "limit": number(1, MAX_PAGE, "How many; 256 if absent")
                }),
            ),
            |server: Arc<WorkspaceServer>, asked: ListPlans, cx: CallContext<CallNotes>| {
                super::answer(server, cx, move |work| list(work, &asked))
            },
        ),
        Tool::read_only(
            "read_plan",
            "One plan: what it says, and whether it is approved.",
            arguments(
                &["plan_hash"],
                json!({ "plan_hash": plan_hash("Its hash, or 8 digits or more of it") }),
            ),
            |server: Arc<WorkspaceServer>, asked: ReadPlan, cx: CallContext<CallNotes>| {
                super::answer(server, cx, move |work| read(work, &asked))
            },
        ),
        Tool::read_only(
            "wait_for_approval",
            "Wait until a person has approved a plan. The answer says whether that happened in time.",
            arguments(
                &["plan_hash"],
                json!({
                    "plan_hash": plan_hash("Its hash, or 8 digits or more of it"),
                    "timeout_s": number(0, MAX_WAIT_S, "How long; 60 if absent")
                }),
            ),
            wait,
        ),
    ]
}

/// Returns true if a path of a plan is protected.
pub(super) fn protected(path: &[u8]) -> bool {
    is_write_protected(Path::new(std::ffi::OsStr::from_bytes(path)))
}

/// True if a plan is approved, and by whom.
#[derive(Serialize)]
struct ApprovalStatus {
    approved: bool,
    approver: Option<String>,
    key_id: Option<String>,
    not_after: Option<String>,
    why: Option<String>,
    command: Option<String>,
}

fn standing(work: &ToolContext, hash: &PlanHash) -> Result<ApprovalStatus, Failure> {
    Ok(match approved(work, &*names(work)?, hash)? {
        Ok(approved) => ApprovalStatus {
            approved: true,
            approver: Some(approved.approver),
            key_id: Some(approved.key_id.to_string()),
            not_after: Some(approved.not_after.to_string()),
            why: None,
            command: None,
        },
        Err(why) => ApprovalStatus {
            approved: false,
            approver: None,
            key_id: None,
            not_after: None,
            why: Some(why.to_string()),
            command: Some(command(work, hash)),
        },
    })
}

/// Checks whether a plan is approved now. A broken state directory is a separate failure.
fn approved(
    work: &ToolContext,
    names: &PlanNames,
    hash: &PlanHash,
) -> Result<Result<ValidApproval, NotApproved>, Failure> {
    approved_in(&work.server, &work.session, names, hash)
}

/// Removes the build directories whose approvals have ended.
pub(super) fn remove_ended_builds(
    server: &WorkspaceServer,
    session: &Session,
) -> Result<(), Failure> {
    let of_root = build_dir_of(&server.config.checks.build, session);
    let names = session
        .plan_cache
        .names(&session.root, server.clock.now())?;
    let is_valid = |found: &FoundBuildDir| {
        let hash = PlanHash::read(&found.plan);
        hash.is_some_and(|hash| found.is_needed(approved_in(server, session, &names, &hash)))
    };
    remove_ended(&of_root, is_valid)?;
    Ok(())
}

fn approved_in(
    server: &WorkspaceServer,
    session: &Session,
    names: &PlanNames,
    hash: &PlanHash,
) -> Result<Result<ValidApproval, NotApproved>, Failure> {
    let approvals = session
        .plan_cache
        .approvals(&session.root.disk(), names, hash)?;
    let broken = |error: RevocationError| BrokenInvariant::State(error.to_string());
    let mut revocations = approval::load_revocations(&session.state).map_err(broken)?;
    if approvals.iter().any(ApprovalFile::is_without_root) {
        let shared = RealDisk::at(&server.config.state)?;
        let shared = approval::load_revocations(&shared).map_err(broken)?;
        revocations = revocations.with_shared(shared);
    }
    Ok(approval::check(&ApprovalQuery {
        plan: hash,
        root: &session.root.path().to_string_lossy(),
        repository: &|| session.repository.root_commits(),
        now: server.clock.now(),
        signers: &server.config.signers,
        approvals: &approvals,
        revocations: &revocations,
    }))
}

/// Returns the command with which a person approves a plan.
fn command(work: &ToolContext, hash: &PlanHash) -> String {
    for_person(work, &format!("approve {}", &hash.as_str()[..SHORT]))
}

/// Returns a command for a person, about this workspace.
fn for_person(work: &ToolContext, what: &str) -> String {
    person_command(&work.server.config, &work.session.root, what)
}

/// Returns a command for a person, about a workspace.
pub(super) fn person_command(config: &Config, root: &Root, what: &str) -> String {
    let root = quoted(&root.path().display().to_string());
    let flags = config.person_flags.iter();
    let flags: String = flags.map(|flag| format!(" {}", quoted(flag))).collect();
    format!("candor workspace {what} --root {root}{flags}")
}

/// Returns the names in the directory of plans.
pub(super) fn names(work: &ToolContext) -> Result<Arc<PlanNames>, Failure> {
    let ToolContext {
        server, session, ..
    } = work;
    Ok(session
        .plan_cache
        .names(&session.root, server.clock.now())?)
}

fn list(work: &ToolContext, asked: &ListPlans) -> Result<Value, Failure> {
    let names = names(work)?;
    let order = listing_order(work, &names)?;
    let from = match &asked.after {
        None => 0,
        Some(after) => {
            let after = find(work, after)?;
            let position = order.iter().position(|hash| *hash == after);
            position.map(|position| position + 1).ok_or_else(|| {
                let asked = after.as_str().to_owned();
                Failure::from(PlanFailure::Missing { asked })
            })?
        }
    };
    let limit = asked.limit.map_or(MAX_PAGE, Int::get) as usize;
    let page: Vec<_> = order.iter().skip(from).take(limit).collect();
    let omitted = order.len() - from - page.len();
    let next_after = page.last().filter(|_| omitted > 0);
    let mut plans = Vec::new();
    let mut damaged = Vec::new();
    if from == 0 {
        let misnamed = names.misnamed().take(limit);
        damaged.extend(misnamed.map(|name| (name.to_owned(), PlanDamage::Name)));
    }
    for hash in &page {
        match store::load(&work.session.root.disk(), hash, &protected) {
            Ok(stored) => plans.push(json!({
                "plan_hash": stored.hash.as_str(),
                "title": stored.plan.title,
                "phases": stored.plan.phases.iter().map(|phase| phase.id.as_str()).collect::<Vec<_>>(),
                "approval": standing(work, &stored.hash)?,
            })),
            Err(LoadError::Missing) => {}
            Err(LoadError::Damaged(damage)) => damaged.push((format!("{hash}.toml"), damage)),
            Err(LoadError::Io(error)) => {
                let damage = PlanDamage::Unreadable(error.to_string());
                damaged.push((format!("{hash}.toml"), damage));
            }
        }
    }
    let damaged = damaged
        .iter()
        .map(|(name, damage)| json!({ "name": name, "why": damage.to_string() }));
    Ok(json!({
        "plans": plans,
        "damaged": damaged.collect::<Vec<_>>(),
        "next_after": next_after.map(|hash| hash.as_str()),
        "omitted": omitted,
    }))
}

/// Returns the plans as they are listed: approved ones first, then the newest.
fn listing_order(work: &ToolContext, names: &PlanNames) -> Result<Vec<PlanHash>, Failure> {
    let mut is_approved = BTreeSet::new();
    for hash in names.with_approvals() {
        if approved(work, names, &hash)?.is_ok() {
            is_approved.insert(hash);
        }
    }
    let dir = Path::new(store::PLANS_DIR);
    let dir = work.session.root.open_dir(dir, OFlags::PATH).ok();
    // In seconds and nanoseconds; a file that is gone meanwhile is the oldest.
    let changed = |hash: &PlanHash| {
        let name = format!("{hash}.toml");
        let stat = rustix::fs::statat(dir.as_ref()?, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.ok().map(|stat| (stat.st_mtime, stat.st_mtime_nsec))
    };
    let mut order: Vec<_> = names
        .plans()
        .map(|hash| (!is_approved.contains(&hash), Reverse(changed(&hash)), hash))
        .collect();
    order.sort_unstable();
    Ok(order.into_iter().map(|(_, _, hash)| hash).collect())
}

fn read(work: &ToolContext, asked: &ReadPlan) -> Result<Value, Failure> {
    let stored = load(work, &find(work, &asked.plan_hash)?)?;
    work.cx
        .notes
        .update(|notes| notes.plan_hash = Some(stored.hash.as_str().to_owned()));
    Ok(json!({
        "plan_hash": stored.hash.as_str(),
        "plan": stored.plan,
        "content": stored.text,
        "approval": standing(work, &stored.hash)?,
    }))
}

async fn wait(
    server: Arc<WorkspaceServer>,
    asked: WaitForApproval,
    cx: CallContext<CallNotes>,
) -> Result<Reply, Fault<Workspace>> {
    let seconds = asked.timeout_s.map_or(WAIT_S, Int::get) as u64;
    let until = Instant::now() + Duration::from_secs(seconds);
    let hash = Arc::new(asked.plan_hash);
    let approved = Arc::new(AtomicBool::new(false));
    loop {
        let seen = Arc::clone(&approved);
        let (server, cx, hash) = (Arc::clone(&server), cx.clone(), Arc::clone(&hash));
        let looked = super::run(server, cx, move |work| {
            let stored = load(work, &find(work, &hash)?)?;
            let found = stored.hash.as_str().to_owned();
            work.cx
                .notes
                .update(|notes| notes.plan_hash = Some(found.clone()));
            let standing = standing(work, &stored.hash)?;
            seen.store(standing.approved, Ordering::Release);
            Ok(reply(&json!({ "plan_hash": found, "approval": standing }))?)
        });
        let reply = looked.await?;
        if approved.load(Ordering::Acquire) || Instant::now() >= until {
            return Ok(reply);
        }
        tokio::time::sleep_until((Instant::now() + LOOK_AGAIN).min(until)).await;
    }
}

fn find(work: &ToolContext, asked: &str) -> Result<PlanHash, Failure> {
    let missing = || PlanFailure::Missing {
        asked: asked.to_owned(),
    };
    if let Some(hash) = PlanHash::read(asked) {
        return Ok(hash);
    }
    let reference = PlanRef::read(asked).ok_or_else(missing)?;
    match names(work)?.find(&reference) {
        Ok(hash) => Ok(hash),
        Err(FindError::Missing) => Err(missing().into()),
        Err(FindError::Ambiguous(hashes)) => Err(PlanFailure::Ambiguous {
            hashes: hashes.iter().map(|hash| hash.as_str().to_owned()).collect(),
        }
        .into()),
        Err(FindError::Io(error)) => Err(error.into()),
    }
}

fn load(work: &ToolContext, hash: &PlanHash) -> Result<StoredPlan, Failure> {
    let plan_cache = &work.session.plan_cache;
    match plan_cache.plan(&work.session.root.disk(), hash, &protected) {
        Ok(stored) => Ok(stored),
        Err(LoadError::Missing) => Err(PlanFailure::Missing {
            asked: hash.as_str().to_owned(),
        }
        .into()),
        Err(LoadError::Damaged(damage)) => Err(PlanFailure::Damaged {
            hash: hash.as_str().to_owned(),
            damage,
        }
        .into()),
        Err(LoadError::Io(error)) => Err(error.into()),
    }
}

/// The plan that a call goes by.
pub(super) struct ChosenPlan {
    stored: StoredPlan,
    phase: usize,
    approval: ValidApproval,
}

impl ChosenPlan {
    pub(super) fn phase(&self) -> &Phase {
        &self.stored.plan.phases[self.phase]
    }

    /// Returns the id of the approval.
    pub(super) fn approval_id(&self) -> &str {
        &self.approval.id
    }

    pub(super) fn plan_hash(&self) -> &str {
        self.stored.hash.as_str()
    }

    /// Returns plan and phase as answers name them.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "plan_hash": self.stored.hash.as_str(),
            "phase_id": self.phase().id.as_str(),
            "approver": self.approval.approver,
        })
    }

    pub(super) fn is_rust_strict(&self) -> bool {
        let profiles = &self.phase().policy.profiles;
        profiles.iter().any(|profile| profile == "rust-strict")
    }

    /// Returns the rules that the plan excepts this file from.
    pub(super) fn exceptions(&self, path: &str) -> Vec<PolicyRule> {
        let all = self.phase().policy.exceptions.iter();
        let fitting = all.filter(|exception| {
            let globs = Globs::new(std::slice::from_ref(&exception.path));
            globs.is_ok_and(|globs| globs.matches(path.as_bytes()))
        });
        fitting
            .filter_map(|exception| PolicyRule::named(&exception.rule))
            .collect()
    }
}

/// Chooses the approved plan and its phase: those that the call names, or the only ones.
pub(super) fn choose(work: &ToolContext, by: &PlanChoice) -> Result<ChosenPlan, Failure> {
    let (stored, approval) = match &by.plan_hash {
        Some(asked) => {
            let stored = load(work, &find(work, asked)?)?;
            let found = stored.hash.as_str().to_owned();
            work.cx.notes.update(|notes| notes.plan_hash = Some(found));
            let approval = approved(work, &*names(work)?, &stored.hash)?;
            let approval = approval.map_err(|why| not_approved(work, &stored.hash, &why))?;
            (stored, approval)
        }
        None => only(work)?,
    };
    work.cx
        .notes
        .update(|notes| notes.plan_hash = Some(stored.hash.as_str().to_owned()));
    let by_whom = ApprovedBy {
        approver: approval.approver.clone(),
        key_id: approval.key_id.to_string(),
    };
    work.cx.notes.update(|notes| notes.approval = Some(by_whom));
    let index = match (&by.phase_id, stored.plan.phases.as_slice()) {
        (Some(id), phases) => {
            let id = phase(&stored.plan, id)?.id.clone();
            phases
                .iter()
                .position(|phase| phase.id == id)
                .unwrap_or_default()
        }
        (None, [_]) => 0,
        (None, phases) => {
            return Err(PlanFailure::Unnamed {
                member: "phase_id",
                among: phases
                    .iter()
                    .map(|phase| phase.id.as_str().to_owned())
                    .collect(),
            }
            .into());
        }
    };
    let id = stored.plan.phases[index].id.as_str().to_owned();
    work.cx.notes.update(|notes| notes.phase_id = Some(id));
    Ok(ChosenPlan {
        stored,
        phase: index,
        approval,
    })
}

fn not_approved(work: &ToolContext, hash: &PlanHash, why: &NotApproved) -> Failure {
    PlanFailure::NotApproved {
        hash: Some(hash.as_str().to_owned()),
        why: why.to_string(),
        command: command(work, hash),
    }
    .into()
}

/// Returns the approved plan if there is only one. It is found through the approvals, never through the
/// drafts.
fn only(work: &ToolContext) -> Result<(StoredPlan, ValidApproval), Failure> {
    let names = names(work)?;
    let mut ready = Vec::new();
    for hash in names.with_approvals() {
        if let Ok(approval) = approved(work, &names, &hash)? {
            ready.push((hash, approval));
        }
    }
    if ready.len() > 1 {
        let among = ready.iter().take(store::MAX_LISTED_PLANS);
        return Err(PlanFailure::Unnamed {
            member: "plan_hash",
            among: among.map(|(hash, _)| hash.as_str().to_owned()).collect(),
        }
        .into());
    }
    if let Some((hash, approval)) = ready.pop() {
        return Ok((load(work, &hash)?, approval));
    }
    let mut plans = names.plans();
    match (plans.next(), plans.count()) {
        (None, _) => Err(PlanFailure::None.into()),
        (Some(hash), 0) => Err(match approved(work, &names, &hash)? {
            Err(why) => not_approved(work, &hash, &why),
            // It was approved between the two looks; the same call succeeds now.
            Ok(_) => not_approved(work, &hash, &NotApproved::Draft),
        }),
        (Some(_), more) => Err(PlanFailure::NotApproved {
            hash: None,
            why: format!("none of {} plans is", more + 1),
            command: for_person(work, "review"),
        }
        .into()),
    }
}
