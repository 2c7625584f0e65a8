//! Group commit: changes that are ready at the same time share a transaction and its commit.
//!
//! Each change of a group runs in its own savepoint, and is answered after the commit. The first
//! change leads the group; it holds its lanes and takes over the changes that wait in them. A group
//! runs on a task of its own to its end, so that a call which leaves cannot tear it.

use super::change::{self, ChangeContext, ChangeResult};
use super::connection::DbConnection;
use super::dialect::SqlDialect;
use super::errors::TransactionError;
use super::ids::IdGenerator;
use super::keys::{self, ClaimResult, KeyClaim, KeyClock, KeyOutcome, SettledKey};
use super::lanes::{Admission, LaneName, LanePass, Lanes, LanesFull};
use super::pending_change::{ChangeTicket, PendingChange};
use super::store::Store;
use crate::adapter::Request;
use crate::failure::{Failure, FinalFailure, WaitedFor};
use crate::model::UtcTime;
use candor_fault::Cause;
use candor_guard::Deadline;
use candor_street::{Clock, MetricsHub};
use futures_util::FutureExt as _;
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{timeout, timeout_at};

/// The most tries of a transaction that conflicts with others.
const TRIES: u32 = 5;

/// The number of changes after which some old keys are deleted.
const FORGET_EVERY: u64 = 128;

/// The wait of a client that finds all places in the lanes taken.
const FULL_WAIT: Duration = Duration::from_secs(1);

/// The changes of a group that are made before it is cut short for other clients, so that a client
/// with many changes does not delay them by a whole group.
const SHARE: usize = 8;

/// The most changes of other clients that a leader takes over when its group was cut short. They are
/// fewer than [`SHARE`], so that it comes to an end.
const TAKEN_OVER: usize = SHARE / 2;

/// A change with the lanes that it holds.
#[derive(Debug)]
pub(super) struct LaneMember {
    change: PendingChange,
    passes: Vec<LanePass<LaneMember>>,
}

/// Makes the changes of a server.
pub(super) struct ChangeRunner {
    pub(super) store: Store,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: IdGenerator,
    pub(super) keep_keys: Duration,
    /// Takes times from the database instead of `clock`.
    pub(super) database_clock: bool,
    pub(super) lanes: Arc<Lanes<LaneMember>>,
    /// The most changes of a group.
    pub(super) group: usize,
    pub(super) changes: AtomicU64,
    /// The number of changes that wait or are being made.
    pub(super) open: AtomicUsize,
    /// The metrics of the server, once it has started.
    pub(super) metrics: OnceLock<MetricsHub>,
}

/// The part of a member in its group.
enum MemberRun {
    /// The change was made, or refused in a way that is stored.
    Settled {
        at: UtcTime,
        outcome: KeyOutcome,
        record: String,
        order: Option<String>,
    },
    /// The key had this outcome already.
    Replayed(KeyOutcome),
    /// Nothing is stored.
    Unsettled(Failure),
}

impl MemberRun {
    /// Returns true if the change has an effect on orders, made now or before.
    const fn has_effect(&self) -> bool {
        matches!(
            self,
            MemberRun::Settled {
                outcome: KeyOutcome::Done(_),
                ..
            } | MemberRun::Replayed(KeyOutcome::Done(_))
        )
    }

    fn answer(self) -> Result<KeyOutcome, Failure> {
        match self {
            MemberRun::Settled { outcome, .. } | MemberRun::Replayed(outcome) => Ok(outcome),
            MemberRun::Unsettled(failure) => Err(failure),
        }
    }
}

/// The end of a group's transaction.
enum GroupEnd {
    /// Committed, if there was anything to commit.
    Committed(Vec<MemberRun>),
    /// Rolled back: some members came too late.
    Late,
    /// Rolled back: there was too little stock for all.
    TooLittleStock,
    /// Rolled back after a conflict with another transaction.
    Conflict(Failure),
    /// Failed as a whole. If the commit was sent, its effect is unknown.
    Failed(Failure),
}

impl ChangeRunner {
    /// Makes a change: waits for its lanes, then leads a group or joins one.
    pub(super) async fn run(
        self: &Arc<Self>,
        (change, ticket): (PendingChange, ChangeTicket),
        deadline: Deadline,
    ) -> Result<KeyOutcome, Failure> {
        let _open = OpenChange::new(&self.open);
        if let Some(leader) = self.enter(change).await? {
            let runner = Arc::clone(self);
            tokio::spawn(async move { runner.lead(leader).await });
        }
        ticket.answer(deadline).await
    }

    /// Enters all lanes of a change: those of its key and its order, then those of its SKUs in
    /// ascending order. A file has one writer, so its changes have one lane. Returns the change if
    /// it leads a group, and `None` if a group took it over.
    async fn enter(&self, change: PendingChange) -> Result<Option<LaneMember>, Failure> {
        let mut member = LaneMember {
            change,
            passes: Vec::new(),
        };
        let mut lanes = match self.store.dialect {
            SqlDialect::Sqlite => vec![LaneName::Connections],
            SqlDialect::Postgres => own_lanes(&member.change),
        };
        if self.store.dialect == SqlDialect::Postgres {
            let request = &member.change.request;
            let named = change::named_skus(request);
            let skus = match change::uses_lines(request) {
                // Read in the lane of the order, where no change of this server adds a line.
                Some(order) => {
                    for name in lanes.drain(..) {
                        let pass = self.wait_in(name, &member).await?;
                        member.passes.push(pass);
                    }
                    change::skus_of_lines(&self.store, order, named).await?
                }
                None => named,
            };
            lanes.extend(skus.into_iter().map(LaneName::Sku));
        }
        let last = lanes.pop();
        for name in lanes {
            let pass = self.wait_in(name, &member).await?;
            member.passes.push(pass);
        }
        match last {
            Some(name) => self.enter_last(name, member).await,
            None => Ok(Some(member)),
        }
    }

    /// Enters a lane, and waits in it for its turn.
    async fn wait_in(
        &self,
        name: LaneName,
        member: &LaneMember,
    ) -> Result<LanePass<LaneMember>, Failure> {
        let PendingChange { key, deadline, .. } = &member.change;
        let entering = (key.client.as_str(), names(&member.passes));
        let entered = self.lanes.enter(name, entering, None);
        match in_lane(*deadline, entered).await? {
            Admission::Admitted(pass, _) => Ok(pass),
            Admission::TakenOver => Err(Failure::Limited(FULL_WAIT, None)),
        }
    }

    /// Enters the last lane of a change. While it waits, the group of the holder may take it over.
    async fn enter_last(
        &self,
        name: LaneName,
        member: LaneMember,
    ) -> Result<Option<LaneMember>, Failure> {
        let (client, deadline) = (member.change.key.client.clone(), member.change.deadline);
        let held = names(&member.passes);
        let (waits, passenger) = match self.joins_groups(&member.change.request) {
            true => (None, Some(member)),
            false => (Some(member), None),
        };
        let entered = self.lanes.enter(name, (&client, held), passenger);
        match in_lane(deadline, entered).await? {
            Admission::Admitted(pass, passenger) => {
                let member = passenger.or(waits).map(|mut member| {
                    member.passes.push(pass);
                    member
                });
                Ok(member)
            }
            Admission::TakenOver => Ok(None),
        }
    }

    /// Returns true if the change may share a transaction. On PostgreSQL a change that locks stock
    /// before its last statement has a transaction of its own.
    fn joins_groups(&self, request: &Request) -> bool {
        let is_alone =
            self.store.dialect == SqlDialect::Postgres && change::locks_stock_early(request);
        self.group > 1 && !is_alone
    }

    /// Leads a group to its end: the given change, and those that wait in its lanes.
    async fn lead(&self, mut leader: LaneMember) {
        let mut passes = std::mem::take(&mut leader.passes);
        if self.store.dialect == SqlDialect::Postgres {
            let entering = (leader.change.key.client.as_str(), names(&passes));
            let connection = self.lanes.enter(LaneName::Connections, entering, None);
            match connection.await {
                Ok(Admission::Admitted(pass, _)) => passes.push(pass),
                Ok(Admission::TakenOver) | Err(LanesFull) => {
                    return leader.change.answer(Err(Failure::Limited(FULL_WAIT, None)));
                }
            }
        }
        let mut members = Vec::with_capacity(1);
        if self.joins_groups(&leader.change.request) {
            for name in passes.iter().filter_map(LanePass::name) {
                let room = self.group.saturating_sub(1 + members.len());
                members.extend(self.lanes.take_over(name, room, None));
            }
        }
        members.insert(0, leader);
        let changes = members.into_iter().map(|mut member| {
            passes.append(&mut member.passes);
            member.change
        });
        let mut changes: Vec<_> = changes.collect();
        while !changes.is_empty() {
            let (group, same_keys) = split_by_key(changes);
            let lanes = names(&passes);
            let rest = self.run_group(group, &lanes).await;
            changes = match rest.first() {
                Some(next) => self.take_over_others(&lanes, &next.key.client, &mut passes),
                None => Vec::new(),
            };
            changes.extend(rest);
            changes.extend(same_keys);
        }
        drop(passes);
    }

    /// Takes over changes of clients other than this one, with their lanes.
    fn take_over_others(
        &self,
        lanes: &[LaneName],
        client: &str,
        passes: &mut Vec<LanePass<LaneMember>>,
    ) -> Vec<PendingChange> {
        let mut changes = Vec::new();
        for name in lanes {
            let room = TAKEN_OVER - changes.len();
            for mut member in self.lanes.take_over(name, room, Some(client)) {
                passes.append(&mut member.passes);
                changes.push(member.change);
            }
        }
        changes
    }

    /// Makes the changes of a group in one transaction. If that is not possible, one after another.
    /// Returns the changes that are left because other clients wait in these lanes.
    async fn run_group(
        &self,
        mut changes: Vec<PendingChange>,
        lanes: &[LaneName],
    ) -> Vec<PendingChange> {
        loop {
            changes = in_time(changes);
            if changes.is_empty() {
                return changes;
            }
            match self.run_together(&changes, lanes, false).await {
                None => return Vec::new(),
                Some(GroupEnd::Late) => {}
                Some(GroupEnd::Committed(runs)) => {
                    let rest = changes.split_off(runs.len());
                    answer_all(changes, runs);
                    return rest;
                }
                Some(GroupEnd::Failed(failure)) => {
                    for change in changes {
                        change.answer(Err(failure.clone()));
                    }
                    return Vec::new();
                }
                Some(GroupEnd::TooLittleStock | GroupEnd::Conflict(_)) => {
                    for change in changes {
                        self.run_alone(change).await;
                    }
                    return Vec::new();
                }
            }
        }
    }

    /// Makes one change after a conflict. It locks the stock before it reads it.
    async fn run_alone(&self, change: PendingChange) {
        let mut changes = vec![change];
        let mut tries = 1;
        loop {
            changes = in_time(changes);
            if changes.is_empty() {
                return;
            }
            let failure = match self.run_together(&changes, &[], true).await {
                None => return,
                Some(GroupEnd::Late) => continue,
                Some(GroupEnd::Committed(runs)) => return answer_all(changes, runs),
                Some(GroupEnd::Failed(failure)) => failure,
                Some(GroupEnd::TooLittleStock) => {
                    let cause = Box::new(Cause::from("locked stock has changed"));
                    Failure::Internal("the stock of a SKU is inconsistent", cause)
                }
                Some(GroupEnd::Conflict(_)) if tries < TRIES => {
                    tries += 1;
                    continue;
                }
                Some(GroupEnd::Conflict(failure)) => failure,
            };
            return changes
                .into_iter()
                .for_each(|change| change.answer(Err(failure.clone())));
        }
    }

    /// Runs one transaction with all changes, or with the first of them if other clients wait.
    /// Returns `None` if nobody waits for them any more.
    async fn run_together(
        &self,
        changes: &[PendingChange],
        lanes: &[LaneName],
        locks_stock: bool,
    ) -> Option<GroupEnd> {
        let all_left = async {
            for change in changes {
                change.stage.left().await;
            }
        };
        let remaining = changes.iter().map(|change| change.deadline.remaining());
        let lock_wait = remaining.min().unwrap_or_default() / 2;
        let mut end = pin!(self.transact((changes, lanes), lock_wait, locks_stock));
        tokio::select! {
            biased;
            end = &mut end => Some(end),
            () = all_left => {
                // The database may still wait for a lock. Until it has stopped, the lanes are
                // held: another transaction would only wait for the same lock. Nothing is
                // committed. A database that does not answer is left alone.
                let _ = timeout(lock_wait, end).await;
                None
            }
        }
    }

    async fn transact(
        &self,
        changes: (&[PendingChange], &[LaneName]),
        lock_wait: Duration,
        locks_stock: bool,
    ) -> GroupEnd {
        match self.try_transact(changes, lock_wait, locks_stock).await {
            Ok(end) => end,
            Err(TransactionError::Again(failure)) => GroupEnd::Conflict(failure),
            Err(TransactionError::Failed(failure)) => GroupEnd::Failed(failure),
        }
    }

    async fn try_transact(
        &self,
        (changes, lanes): (&[PendingChange], &[LaneName]),
        lock_wait: Duration,
        locks_stock: bool,
    ) -> Result<GroupEnd, TransactionError> {
        let mut session = self.store.begin_write(lock_wait).await?;
        session.locks_stock = locks_stock;
        let mut runs = Vec::with_capacity(changes.len());
        for change in changes {
            if runs.len() >= SHARE && self.others_wait(changes, lanes) {
                break;
            }
            let run = match changes.len() {
                1 => self.run_single(&mut session, change, lock_wait).await?,
                _ => self.run_in_savepoint(&mut session, change).await?,
            };
            runs.push(run);
        }
        let changes = changes.get(..runs.len()).unwrap_or(changes);
        if !self.settle(&mut session, changes, &runs).await? {
            session.roll_back().await;
            return Ok(GroupEnd::Committed(runs));
        }
        if !session.write_stock().await? {
            session.roll_back().await;
            return Ok(GroupEnd::TooLittleStock);
        }
        if !changes.iter().all(PendingChange::is_in_time) || !begin_commits(changes) {
            session.roll_back().await;
            return Ok(GroupEnd::Late);
        }
        let committed = session.commit().await;
        if let Err(TransactionError::Again(_)) = committed {
            changes.iter().for_each(PendingChange::undo_commit);
        }
        committed?;
        for (change, run) in changes.iter().zip(&runs) {
            match run.has_effect() {
                true => change.mark.done(),
                false => change.mark.undone(),
            }
        }
        self.count_commit(&runs);
        self.delete_old_keys(&runs);
        Ok(GroupEnd::Committed(runs))
    }

    /// Returns true if the changes belong to several clients, or if changes of another client wait in
    /// these lanes.
    fn others_wait(&self, changes: &[PendingChange], lanes: &[LaneName]) -> bool {
        let Some(first) = changes.first().map(|change| &change.key.client) else {
            return false;
        };
        let mut clients = changes.iter().map(|change| &change.key.client);
        clients.any(|client| client != first) || self.lanes.others_wait(lanes, first)
    }

    /// Runs the only change of a transaction, which needs no savepoint.
    async fn run_single(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
        lock_wait: Duration,
    ) -> Result<MemberRun, TransactionError> {
        let run = self.make(session, change).await?;
        let is_refused = !matches!(
            run,
            MemberRun::Settled {
                outcome: KeyOutcome::Done(_),
                ..
            }
        );
        if is_refused && session.has_written() {
            // The refusal is stored without the writes that came before it.
            session.restart(lock_wait).await?;
            return self.store_refusal(session, change, run).await;
        }
        Ok(run)
    }

    /// Runs a change of a group. If it fails, the others are left as they are.
    async fn run_in_savepoint(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
    ) -> Result<MemberRun, TransactionError> {
        session.set_savepoint().await?;
        let mut tries = 1;
        loop {
            let ended = self.make(session, change).await;
            let run = match ended {
                Ok(
                    run @ (MemberRun::Replayed(_)
                    | MemberRun::Settled {
                        outcome: KeyOutcome::Done(_),
                        ..
                    }),
                ) => return Ok(run),
                Ok(run @ MemberRun::Settled { .. }) if !session.has_written() => return Ok(run),
                Ok(run) => run,
                // The connection is gone, and the whole group with it.
                Err(ended) if ended.is_unavailable() => return Err(ended),
                Err(TransactionError::Again(_)) if tries < TRIES => {
                    tries += 1;
                    session.roll_back_to_savepoint().await?;
                    continue;
                }
                Err(ended) => MemberRun::Unsettled(ended.into()),
            };
            session.roll_back_to_savepoint().await?;
            return self.store_refusal(session, change, run).await;
        }
    }

    /// Claims the key again after everything was undone, so that a refusal can be stored with it.
    async fn store_refusal(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
        run: MemberRun,
    ) -> Result<MemberRun, TransactionError> {
        let MemberRun::Settled {
            outcome,
            record,
            order,
            ..
        } = run
        else {
            return Ok(run);
        };
        Ok(match self.claim(session, change).await? {
            ClaimResult::Stored(outcome) => MemberRun::Replayed(outcome),
            ClaimResult::Claimed(at) => MemberRun::Settled {
                at,
                outcome,
                record,
                order,
            },
        })
    }

    async fn claim(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
    ) -> Result<ClaimResult, TransactionError> {
        let clock = match self.database_clock {
            true => KeyClock::Database,
            false => KeyClock::Server(self.clock.now().into()),
        };
        let claim = KeyClaim::of(change);
        let following = || change::first_queries(&change.request);
        let age = (clock, self.keep_keys);
        claim.acquire(session, age, following).await
    }

    /// Claims the key, and makes or refuses the change. A panic is a failure of this change alone.
    async fn make(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
    ) -> Result<MemberRun, TransactionError> {
        let made = AssertUnwindSafe(self.claim_and_make(session, change));
        made.catch_unwind().await.unwrap_or_else(|panic| {
            let cause = Box::new(Cause::Data(panic_message(&*panic).into()));
            Err(Failure::Internal("a change panicked", cause).into())
        })
    }

    async fn claim_and_make(
        &self,
        session: &mut DbConnection,
        change: &PendingChange,
    ) -> Result<MemberRun, TransactionError> {
        let at = match self.claim(session, change).await? {
            ClaimResult::Claimed(at) => at,
            ClaimResult::Stored(outcome) => return Ok(MemberRun::Replayed(outcome)),
        };
        let context = ChangeContext {
            session,
            currency: self.store.currency,
            ids: &self.ids,
            at,
        };
        let (outcome, order) = match change::make(context, &change.request).await {
            Ok(ChangeResult { entity, order }) => (KeyOutcome::Done(entity), Some(order)),
            Err(TransactionError::Failed(Failure::Final(failure, cause))) => match *failure {
                // Wrong arguments leave neither a key nor a record.
                FinalFailure::Violation(_) => {
                    return Ok(MemberRun::Unsettled(Failure::Final(failure, cause)));
                }
                FinalFailure::Refusal(_) => (
                    KeyOutcome::Failed(*failure),
                    change::about(&change.request).map(str::to_owned),
                ),
            },
            Err(ended) => return Err(ended),
        };
        Ok(MemberRun::Settled {
            at,
            outcome,
            record: self.ids.next("rec", at),
            order,
        })
    }

    /// Stores the outcomes of all keys, and a record of each. Returns false if there is nothing to
    /// store.
    async fn settle(
        &self,
        session: &mut DbConnection,
        changes: &[PendingChange],
        runs: &[MemberRun],
    ) -> Result<bool, TransactionError> {
        let settled: Vec<_> = changes
            .iter()
            .zip(runs)
            .filter_map(|(change, run)| match run {
                MemberRun::Settled {
                    at,
                    outcome,
                    record,
                    order,
                } => Some(SettledKey {
                    claim: KeyClaim::of(change),
                    at: *at,
                    outcome,
                    record,
                    order: order.as_deref(),
                }),
                MemberRun::Replayed(_) | MemberRun::Unsettled(_) => None,
            })
            .collect();
        keys::settle(session, &settled).await?;
        Ok(!settled.is_empty())
    }

    /// Counts the changes of a commit.
    fn count_commit(&self, runs: &[MemberRun]) {
        let settled = runs
            .iter()
            .filter(|run| matches!(run, MemberRun::Settled { .. }))
            .count();
        if let Some(metrics) = self.metrics.get() {
            metrics.count_commit_group(u32::try_from(settled).unwrap_or(u32::MAX));
        }
    }

    /// Deletes old keys now and then, in the background.
    fn delete_old_keys(&self, runs: &[MemberRun]) {
        let settled = runs.iter().filter_map(|run| match run {
            MemberRun::Settled { at, .. } => Some(*at),
            MemberRun::Replayed(_) | MemberRun::Unsettled(_) => None,
        });
        let is_due = |_: &UtcTime| {
            let number = self.changes.fetch_add(1, Ordering::Relaxed);
            number.is_multiple_of(FORGET_EVERY)
        };
        // All are counted, and at most one starts the deletion.
        let Some(now) = settled.filter(is_due).last() else {
            return;
        };
        let keep = i64::try_from(self.keep_keys.as_micros()).unwrap_or(i64::MAX);
        let oldest_key = UtcTime::of_micros(now.micros().saturating_sub(keep));
        let store = self.store.clone();
        tokio::spawn(async move {
            let deleted = async {
                let mut session = store.begin_write(FULL_WAIT).await?;
                let deleted = keys::delete_before(&mut session, oldest_key).await?;
                session.commit().await?;
                Ok::<_, TransactionError>(deleted)
            };
            match deleted.await {
                Ok(keys) => tracing::debug!(keys, "old idempotency keys were forgotten"),
                // They do no harm; the next run deletes them.
                Err(_) => tracing::debug!("old idempotency keys could not be forgotten"),
            }
        });
    }
}

/// Returns the lanes of a change's key and of its order, in the order in which they are entered.
fn own_lanes(change: &PendingChange) -> Vec<LaneName> {
    let key = LaneName::Key {
        client: change.key.client.clone(),
        tool: change.request.operation().name(),
        key: change.key.key.clone(),
    };
    let order = change::about(&change.request);
    let order = order.map(|id| LaneName::Order(id.to_owned()));
    [key].into_iter().chain(order).collect()
}

fn names(passes: &[LanePass<LaneMember>]) -> Vec<LaneName> {
    let names = passes.iter().filter_map(LanePass::name);
    names.cloned().collect()
}

/// Waits in a lane until the deadline.
async fn in_lane(
    deadline: Deadline,
    entered: impl Future<Output = Result<Admission<LaneMember>, LanesFull>>,
) -> Result<Admission<LaneMember>, Failure> {
    match timeout_at(deadline.instant(), entered).await {
        Ok(Ok(admission)) => Ok(admission),
        Ok(Err(LanesFull)) => Err(Failure::Limited(FULL_WAIT, None)),
        Err(_) => Err(Failure::Waited(WaitedFor::Lane)),
    }
}

/// A change that is counted as open until this value is dropped.
struct OpenChange<'a>(&'a AtomicUsize);

impl OpenChange<'_> {
    fn new(open: &AtomicUsize) -> OpenChange<'_> {
        open.fetch_add(1, Ordering::Relaxed);
        OpenChange(open)
    }
}

impl Drop for OpenChange<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Separates the first change of each key from the others, which find its outcome after its commit.
fn split_by_key(changes: Vec<PendingChange>) -> (Vec<PendingChange>, Vec<PendingChange>) {
    let mut keys = BTreeSet::new();
    changes.into_iter().partition(|change| {
        let (client, key) = (change.key.client.clone(), change.key.key.clone());
        keys.insert((client, change.request.operation(), key))
    })
}

/// Starts the changes that are in time, and answers the others.
fn in_time(changes: Vec<PendingChange>) -> Vec<PendingChange> {
    let (in_time, late): (Vec<_>, Vec<_>) = changes.into_iter().partition(PendingChange::start);
    for change in late {
        change.answer(Err(Failure::Waited(WaitedFor::Lane)));
    }
    in_time
}

/// Marks all changes as committed from now on, refused ones too: if the commit is lost, nobody knows
/// the outcome of any. If one of them came too late, none is marked.
fn begin_commits(changes: &[PendingChange]) -> bool {
    let begun = changes.iter();
    let begun = begun.take_while(|change| change.begin_commit()).count();
    if begun < changes.len() {
        let begun = changes.iter().take(begun);
        begun.for_each(PendingChange::undo_commit);
    }
    begun == changes.len()
}

fn answer_all(changes: Vec<PendingChange>, runs: Vec<MemberRun>) {
    for (change, run) in changes.into_iter().zip(runs) {
        change.answer(run.answer());
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| String::from("without a message"))
}
