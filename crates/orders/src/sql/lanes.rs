//! Lanes: changes that need the same key, order or SKU wait here in turn and hold no connection.
//!
//! A lane admits as many holders as it has room for, usually one. Its queue serves clients in turn,
//! so that a client with many changes delays another one by one change only. The holder of a lane may
//! wait in another one; then it gets the turn of a client that waits for it, if that comes sooner. A
//! waiter may carry a passenger, which the holder of the lane can take over.
//!
//! The connections have room for several. While other clients make changes too, one client does not
//! take them all: its transactions would slow those of the others down, even if these had a
//! connection at once.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The most changes that wait at once.
pub const MAX_WAITING_CHANGES: usize = 4096;

/// The part of the connections that a client has beside those that the other clients use or wait for,
/// while they make changes too: one of this many.
pub(super) const SHARE_OF_CONNECTIONS: usize = 4;

/// The time for which a client counts after its last change.
const COUNTS_FOR: Duration = Duration::from_secs(5);

/// The name of a lane. Lanes are entered in ascending order, so that no two changes wait for each
/// other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LaneName {
    Key {
        client: String,
        tool: &'static str,
        key: String,
    },
    Order(String),
    Sku(String),
    /// The connections that write.
    Connections,
}

/// The lanes of a server with passengers of type `T`.
pub(super) struct Lanes<T> {
    table: Mutex<LaneTable<T>>,
}

struct LaneTable<T> {
    lanes: BTreeMap<LaneName, Lane<T>>,
    waiting: usize,
    next_number: u64,
    /// The room in the lane of the connections.
    connections: usize,
    /// The client with the latest change, and the one with the latest change before its ones.
    latest: [Option<(String, Instant)>; 2],
}

struct Lane<T> {
    holders: usize,
    /// The number of holders with the turn of each client.
    held_by: BTreeMap<String, usize>,
    queue: FairQueue<T>,
    /// The lane in which the only holder of this one waits.
    holder_waits: Option<HolderWait>,
}

/// The place of a change that holds a lane and waits in another one.
#[derive(Clone)]
struct HolderWait {
    lane: LaneName,
    client: String,
    number: u64,
}

struct Waiter<T> {
    wake: oneshot::Sender<Admission<T>>,
    passenger: Option<T>,
}

/// The end of a wait.
pub(super) enum Admission<T> {
    /// The lane is held; the passenger is returned.
    Admitted(LanePass<T>, Option<T>),
    /// The holder of the lane took the passenger over.
    TakenOver,
}

/// Too many changes wait already.
#[derive(Debug)]
pub(super) struct LanesFull;

/// A queue that serves clients in turn, and each client in the order of arrival.
struct FairQueue<T> {
    turns: VecDeque<String>,
    by_client: BTreeMap<String, BTreeMap<u64, Waiter<T>>>,
    /// The waiters that have the turn of another client than their own.
    moved: BTreeMap<u64, String>,
}

impl<T> FairQueue<T> {
    const fn new() -> FairQueue<T> {
        FairQueue {
            turns: VecDeque::new(),
            by_client: BTreeMap::new(),
            moved: BTreeMap::new(),
        }
    }

    /// Returns the number of waiters that have the turns of a client.
    fn waiters_of(&self, client: &str) -> usize {
        self.by_client.get(client).map_or(0, BTreeMap::len)
    }

    fn push(&mut self, client: &str, number: u64, waiter: Waiter<T>) {
        if !self.by_client.contains_key(client) {
            self.turns.push_back(client.to_owned());
        }
        let waiters = self.by_client.entry(client.to_owned()).or_default();
        waiters.insert(number, waiter);
    }

    /// Removes the next waiter that `is_wanted` accepts, of the clients that `may_enter` accepts.
    /// Its client's next turn comes after all others. Returns it with that client.
    fn pop(
        &mut self,
        may_enter: impl Fn(&str) -> bool,
        is_wanted: impl Fn(&Waiter<T>) -> bool,
    ) -> Option<(String, Waiter<T>)> {
        for turn in 0..self.turns.len() {
            let client = self.turns.get(turn)?;
            if !may_enter(client) {
                continue;
            }
            let waiters = self.by_client.get(client)?;
            let wanted = waiters.iter().find(|(_, waiter)| is_wanted(waiter));
            let Some(number) = wanted.map(|(number, _)| *number) else {
                continue;
            };
            let client = self.turns.remove(turn)?;
            let waiters = self.by_client.get_mut(&client)?;
            let waiter = waiters.remove(&number)?;
            match waiters.is_empty() {
                true => drop(self.by_client.remove(&client)),
                false => self.turns.push_back(client.clone()),
            }
            self.moved.remove(&number);
            return Some((client, waiter));
        }
        None
    }

    /// Removes one waiter. Returns `None` if it was served already.
    fn remove(&mut self, client: &str, number: u64) -> Option<Waiter<T>> {
        let moved = self.moved.remove(&number);
        let client = moved.as_deref().unwrap_or(client);
        let waiters = self.by_client.get_mut(client)?;
        let waiter = waiters.remove(&number);
        if waiters.is_empty() {
            self.by_client.remove(client);
            self.turns.retain(|turn| turn != client);
        }
        waiter
    }

    fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    fn len(&self) -> usize {
        self.by_client.values().map(BTreeMap::len).sum()
    }

    /// Returns the client whose turn a waiter has.
    fn turn_of<'a>(&'a self, own: &'a str, number: u64) -> &'a str {
        self.moved.get(&number).map_or(own, String::as_str)
    }

    /// Gives a waiter the turn of another client, if that comes sooner than its own. If its own
    /// client `is_limited`, any other turn does.
    fn hasten(&mut self, (own, number): (&str, u64), client: &str, is_limited: bool) {
        let now = self.turn_of(own, number);
        let Some(waiters) = self.by_client.get(now).filter(|_| now != client) else {
            return;
        };
        let earlier = waiters.range(..number).count();
        if waiters.contains_key(&number)
            && (is_limited || self.waiters_of(client) < earlier)
            && let Some(waiter) = self.remove(own, number)
        {
            self.push(client, number, waiter);
            self.moved.insert(number, client.to_owned());
        }
    }
}

impl<T> LaneTable<T> {
    /// Adds a waiter to a lane. If others wait for the lanes that it holds, it gets the turn of the
    /// one that comes soonest.
    fn wait(&mut self, place: &QueuePlace<'_, T>, waiter: Waiter<T>) {
        let held = place.held.iter().filter_map(|name| self.lanes.get(name));
        let waiting = held.flat_map(|lane| lane.queue.by_client.keys().cloned());
        let waiting: Vec<_> = waiting.collect();
        let Some(lane) = self.lanes.get_mut(place.name) else {
            return;
        };
        lane.queue.push(place.client, place.number, waiter);
        for client in waiting {
            self.hasten(place.name, (place.client, place.number), &client);
        }
        for name in &place.held {
            if let Some(lane) = self.lanes.get_mut(name) {
                lane.holder_waits = Some(HolderWait {
                    lane: place.name.clone(),
                    client: place.client.to_owned(),
                    number: place.number,
                });
            }
        }
        self.hasten_holders(place.name, place.client);
    }

    /// Hastens the holder of a lane for a client that waits in it, and the holder of the lane in
    /// which that one waits. Lanes are entered in ascending order, so this ends.
    fn hasten_holders(&mut self, name: &LaneName, client: &str) {
        let mut next = self
            .lanes
            .get(name)
            .and_then(|lane| lane.holder_waits.clone());
        while let Some(wait) = next {
            self.hasten(&wait.lane, (&wait.client, wait.number), client);
            let lane = self.lanes.get(&wait.lane);
            next = lane.and_then(|lane| lane.holder_waits.clone());
        }
    }

    /// Hastens one waiter of a lane.
    fn hasten(&mut self, name: &LaneName, (own, number): (&str, u64), client: &str) {
        let now = Instant::now();
        let is_limited = self.lanes.get(name).is_some_and(|lane| {
            let turn = lane.queue.turn_of(own, number);
            self.shares(name, turn, now) && !lane.has_share(turn, self.connections)
        });
        if let Some(lane) = self.lanes.get_mut(name) {
            lane.queue.hasten((own, number), client, is_limited);
        }
    }

    const fn room(&self, name: &LaneName) -> usize {
        match name {
            LaneName::Connections => self.connections,
            _ => 1,
        }
    }

    /// Notes that a client makes a change now.
    fn note_change(&mut self, client: &str, now: Instant) {
        let [last, before] = &mut self.latest;
        match last {
            Some((name, at)) if name == client => *at = now,
            _ => *before = last.replace((client.to_owned(), now)),
        }
    }

    /// Returns true if a client shares a lane with another one, which made a change lately.
    fn shares(&self, name: &LaneName, client: &str, now: Instant) -> bool {
        if *name != LaneName::Connections {
            return false;
        }
        let mut latest = self.latest.iter().flatten();
        let other = latest.find(|(name, _)| name != client);
        other.is_some_and(|(_, at)| now.duration_since(*at) < COUNTS_FOR)
    }

    /// Counts a holder of a lane if a client may enter it before everybody who waits in it.
    fn enter_at_once(&mut self, name: &LaneName, client: &str) -> bool {
        let now = Instant::now();
        self.note_change(client, now);
        let is_free = self.lanes.get(name).is_none_or(|lane| {
            let mut waiting = lane.queue.turns.iter();
            let may_enter = |client: &str| self.may_enter((name, lane), client, now);
            may_enter(client) && !waiting.any(|client| may_enter(client))
        });
        let lane = self.lanes.entry(name.clone()).or_insert_with(Lane::new);
        if is_free {
            lane.hold(client);
        }
        is_free
    }

    /// Removes the next waiter of a lane that may enter it, and counts it as a holder.
    fn next_holder(&mut self, name: &LaneName) -> Option<(String, Waiter<T>)> {
        let now = Instant::now();
        let lane = self.lanes.get(name)?;
        if lane.holders == 0 && lane.queue.is_empty() {
            self.lanes.remove(name);
            return None;
        }
        let mut waiting = lane.queue.turns.iter();
        let next = waiting.find(|client| self.may_enter((name, lane), client, now));
        let next = next?.clone();
        let lane = self.lanes.get_mut(name)?;
        let (client, waiter) = lane.queue.pop(|client| client == next, |_| true)?;
        self.waiting -= 1;
        lane.hold(&client);
        Some((client, waiter))
    }

    /// Returns true if a client may enter a lane now, whoever waits in it.
    fn may_enter(&self, (name, lane): (&LaneName, &Lane<T>), client: &str, now: Instant) -> bool {
        let room = self.room(name);
        lane.holders < room && (!self.shares(name, client, now) || lane.has_share(client, room))
    }

    /// Counts a holder of a lane no longer.
    fn leave(&mut self, name: &LaneName, client: &str) {
        let Some(lane) = self.lanes.get_mut(name) else {
            return;
        };
        lane.holders -= 1;
        if let Some(held) = lane.held_by.get_mut(client) {
            *held -= 1;
            if *held == 0 {
                lane.held_by.remove(client);
            }
        }
        if lane.holders == 0 && lane.queue.is_empty() {
            self.lanes.remove(name);
        }
    }
}

impl<T> Lane<T> {
    const fn new() -> Lane<T> {
        Lane {
            holders: 0,
            held_by: BTreeMap::new(),
            queue: FairQueue::new(),
            holder_waits: None,
        }
    }

    fn hold(&mut self, client: &str) {
        self.holders += 1;
        *self.held_by.entry(client.to_owned()).or_default() += 1;
    }

    /// Returns true if a client that shares the lane may hold one more place in it: as many as the
    /// others hold or wait for, and some more. One is always among them, so a client that waits is
    /// admitted when it leaves a place, or when the lane is no longer full.
    fn has_share(&self, client: &str, room: usize) -> bool {
        let held = self.held_by.get(client).copied().unwrap_or_default();
        let wanted = self.holders + self.queue.len();
        let by_others = wanted - held - self.queue.waiters_of(client);
        held < by_others + (room / SHARE_OF_CONNECTIONS).max(1)
    }
}

impl<T> Lanes<T> {
    pub(super) fn new(connections: NonZeroUsize) -> Lanes<T> {
        Lanes {
            table: Mutex::new(LaneTable {
                lanes: BTreeMap::new(),
                waiting: 0,
                next_number: 0,
                connections: connections.get(),
                latest: [None, None],
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LaneTable<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a lane for this client, or waits in it. `held` are the lanes that it holds already. A
    /// future that is dropped leaves the queue.
    pub(super) async fn enter(
        self: &Arc<Self>,
        name: LaneName,
        (client, held): (&str, Vec<LaneName>),
        passenger: Option<T>,
    ) -> Result<Admission<T>, LanesFull> {
        let (mut waiting, _place) = {
            let mut table = self.lock();
            if table.enter_at_once(&name, client) {
                drop(table);
                let pass = self.pass(name, client.to_owned());
                return Ok(Admission::Admitted(pass, passenger));
            }
            if table.waiting >= MAX_WAITING_CHANGES {
                return Err(LanesFull);
            }
            let (wake, waiting_for) = oneshot::channel();
            let number = table.next_number;
            table.next_number += 1;
            table.waiting += 1;
            let place = QueuePlace {
                lanes: self,
                name: &name,
                client,
                held,
                number,
            };
            table.wait(&place, Waiter { wake, passenger });
            (waiting_for, place)
        };
        // The holder of this lane may have got the turn of this client for a connection.
        self.admit(&LaneName::Connections);
        // The sender is dropped only after an admission was sent.
        (&mut waiting).await.map_err(|_| LanesFull)
    }

    fn pass(self: &Arc<Self>, name: LaneName, client: String) -> LanePass<T> {
        LanePass {
            lanes: Arc::clone(self),
            name: Some(name),
            client,
        }
    }

    /// Returns true if passengers of clients other than this one wait in one of the lanes.
    pub(super) fn others_wait(&self, names: &[LaneName], client: &str) -> bool {
        let table = self.lock();
        let lanes = names.iter().filter_map(|name| table.lanes.get(name));
        let mut clients = lanes.flat_map(|lane| lane.queue.by_client.iter());
        clients.any(|(other, waiters)| {
            other != client && waiters.values().any(|waiter| waiter.passenger.is_some())
        })
    }

    /// Takes over the passengers of up to `most` waiters of a lane, clients in turn, without those
    /// of the client `except`.
    pub(super) fn take_over(&self, name: &LaneName, most: usize, except: Option<&str>) -> Vec<T> {
        let mut taken = Vec::new();
        // Dropped after the lock: a passenger may hold lanes itself.
        let mut left = Vec::new();
        let mut table = self.lock();
        let LaneTable { lanes, waiting, .. } = &mut *table;
        let Some(lane) = lanes.get_mut(name) else {
            return taken;
        };
        while taken.len() < most {
            let has_passenger = |waiter: &Waiter<T>| waiter.passenger.is_some();
            let may_enter = |client: &str| Some(client) != except;
            let Some((_, waiter)) = lane.queue.pop(may_enter, has_passenger) else {
                break;
            };
            *waiting -= 1;
            match waiter.wake.send(Admission::TakenOver) {
                Ok(()) => taken.extend(waiter.passenger),
                Err(_) => left.extend(waiter.passenger),
            }
        }
        drop(table);
        taken
    }

    /// Returns the number of changes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Admits the next waiters after a holder has left.
    fn release(self: &Arc<Self>, name: &LaneName, client: &str) {
        self.lock().leave(name, client);
        self.admit(name);
    }

    /// Admits the waiters of a lane that may enter it.
    fn admit(self: &Arc<Self>, name: &LaneName) {
        loop {
            let next = self.lock().next_holder(name);
            let Some((client, waiter)) = next else {
                return;
            };
            let pass = self.pass(name.clone(), client);
            let admission = Admission::Admitted(pass, waiter.passenger);
            // The waiter may have left: then its place goes to the next one.
            if let Err(Admission::Admitted(mut pass, _passenger)) = waiter.wake.send(admission) {
                pass.name = None;
                self.lock().leave(name, &pass.client);
            }
        }
    }
}

impl<T> fmt::Debug for Lanes<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.lock();
        write!(
            out,
            "Lanes({}, waiting {})",
            table.lanes.len(),
            table.waiting
        )
    }
}

/// The place of a waiter in its queue, left when this value is dropped.
struct QueuePlace<'a, T> {
    lanes: &'a Lanes<T>,
    name: &'a LaneName,
    client: &'a str,
    /// The lanes that the waiter holds.
    held: Vec<LaneName>,
    number: u64,
}

impl<T> Drop for QueuePlace<'_, T> {
    fn drop(&mut self) {
        let mut table = self.lanes.lock();
        let LaneTable { lanes, waiting, .. } = &mut *table;
        for name in &self.held {
            if let Some(lane) = lanes.get_mut(name) {
                lane.holder_waits.take_if(|wait| wait.number == self.number);
            }
        }
        let lane = lanes.get_mut(self.name);
        let left = lane.and_then(|lane| lane.queue.remove(self.client, self.number));
        *waiting -= usize::from(left.is_some());
        drop(table);
        drop(left);
    }
}

/// The right to be in a lane. The next waiter is admitted when it is dropped.
pub(super) struct LanePass<T> {
    lanes: Arc<Lanes<T>>,
    name: Option<LaneName>,
    /// The client whose turn it was.
    client: String,
}

impl<T> LanePass<T> {
    pub(super) const fn name(&self) -> Option<&LaneName> {
        self.name.as_ref()
    }
}

impl<T> fmt::Debug for LanePass<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LanePass({:?})", self.name)
    }
}

impl<T> Drop for LanePass<T> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.lanes.release(&name, &self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::pin::pin;

    fn lanes(connections: usize) -> Arc<Lanes<u32>> {
        Arc::new(Lanes::new(NonZeroUsize::new(connections).unwrap()))
    }

    fn sku(name: &str) -> LaneName {
        LaneName::Sku(name.to_owned())
    }

    /// A client that holds no lane.
    const fn alone(client: &str) -> (&str, Vec<LaneName>) {
        (client, Vec::new())
    }

    fn admitted(admission: Result<Admission<u32>, LanesFull>) -> LanePass<u32> {
        match admission {
            Ok(Admission::Admitted(pass, _)) => pass,
            _ => panic!("not admitted"),
        }
    }

    #[tokio::test]
    async fn lanes_of_different_names_do_not_wait_for_each_other() {
        let lanes = lanes(1);
        let first = admitted(lanes.enter(sku("A"), alone("c"), None).await);
        let second = admitted(lanes.enter(sku("B"), alone("c"), None).await);
        assert!(
            lanes
                .enter(sku("A"), alone("c"), None)
                .now_or_never()
                .is_none()
        );
        assert_eq!(lanes.waiting(), 0);
        drop((first, second));
        assert!(lanes.lock().lanes.is_empty());
    }

    #[tokio::test]
    async fn connections_have_room_for_several() {
        let lanes = lanes(2);
        let passes = [
            admitted(lanes.enter(LaneName::Connections, alone("c"), None).await),
            admitted(lanes.enter(LaneName::Connections, alone("c"), None).await),
        ];
        let mut third = pin!(lanes.enter(LaneName::Connections, alone("c"), None));
        assert!(third.as_mut().now_or_never().is_none());
        drop(passes);
        drop(admitted(third.await));
        assert!(lanes.lock().lanes.is_empty());
    }

    #[tokio::test]
    async fn clients_are_served_in_turn() {
        let lanes = lanes(1);
        let first = admitted(lanes.enter(sku("A"), alone("busy"), None).await);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (client, number) in [
            ("busy", 1),
            ("busy", 2),
            ("busy", 3),
            ("calm", 4),
            ("calm", 5),
        ] {
            let (lanes, order) = (Arc::clone(&lanes), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let pass = admitted(lanes.enter(sku("A"), alone(client), None).await);
                order.lock().unwrap().push(number);
                drop(pass);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(lanes.waiting(), 5);
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [1, 4, 2, 5, 3]);
        assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
    }

    #[tokio::test]
    async fn passengers_are_taken_over_in_turn() {
        let lanes = lanes(1);
        let holder = admitted(lanes.enter(sku("A"), alone("c"), None).await);
        let mut waits: Vec<_> = [("x", Some(1)), ("x", Some(2)), ("y", None), ("y", Some(3))]
            .into_iter()
            .map(|(client, passenger)| Box::pin(lanes.enter(sku("A"), alone(client), passenger)))
            .collect();
        for wait in &mut waits {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        let names = [sku("A"), sku("B")];
        assert!(lanes.others_wait(&names, "x") && lanes.others_wait(&names, "y"));
        assert!(!lanes.others_wait(&names[1..], "x"));
        assert_eq!(lanes.take_over(&sku("A"), 1, Some("y")), [1]);
        assert_eq!(lanes.take_over(&sku("A"), 1, Some("x")), [3]);
        assert!(!lanes.others_wait(&names, "x"));
        assert!(lanes.take_over(&sku("B"), 2, None).is_empty());
        assert!(matches!(waits.remove(0).await, Ok(Admission::TakenOver)));
        assert!(matches!(
            waits.pop().unwrap().await,
            Ok(Admission::TakenOver)
        ));
        drop(holder);
        assert_eq!(lanes.waiting(), 1);
    }

    #[tokio::test]
    async fn waiter_that_leaves_loses_its_place_only() {
        let lanes = lanes(1);
        let holder = admitted(lanes.enter(sku("A"), alone("c"), None).await);
        let mut leaves = Box::pin(lanes.enter(sku("A"), alone("c"), Some(1)));
        let mut stays = Box::pin(lanes.enter(sku("A"), alone("c"), Some(2)));
        assert!(leaves.as_mut().now_or_never().is_none());
        assert!(stays.as_mut().now_or_never().is_none());
        drop(leaves);
        assert_eq!(lanes.waiting(), 1);
        drop(holder);
        // Admitted, and gone before it noticed: the lane is free again.
        drop(stays);
        assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
    }

    #[tokio::test]
    async fn number_of_waiting_changes_is_bounded() {
        let lanes = lanes(1);
        let _holder = admitted(lanes.enter(sku("A"), alone("c"), None).await);
        let mut waits = Vec::new();
        for _ in 0..MAX_WAITING_CHANGES {
            let mut wait = Box::pin(lanes.enter(sku("A"), alone("c"), None));
            assert!(wait.as_mut().now_or_never().is_none());
            waits.push(wait);
        }
        assert!(matches!(
            lanes.enter(sku("A"), alone("c"), None).await,
            Err(LanesFull)
        ));
        waits.pop();
        assert!(
            lanes
                .enter(sku("A"), alone("c"), None)
                .now_or_never()
                .is_none()
        );
    }

    /// A busy client holds SKU A and waits for a connection behind many changes of its own. A calm
    /// one that waits for A lends it its turn.
    #[tokio::test]
    async fn holder_of_a_lane_gets_the_turn_of_a_client_that_waits_for_it() {
        for calm_is_first in [true, false] {
            let lanes = lanes(1);
            let connections = || LaneName::Connections;
            let running = admitted(lanes.enter(connections(), alone("busy"), None).await);
            let mut before: Vec<_> = (0..9)
                .map(|_| Box::pin(lanes.enter(connections(), alone("busy"), None)))
                .collect();
            for wait in &mut before {
                assert!(wait.as_mut().now_or_never().is_none());
            }
            let _held = admitted(lanes.enter(sku("A"), alone("busy"), None).await);
            let mut calm = Box::pin(lanes.enter(sku("A"), alone("calm"), None));
            let holder = ("busy", vec![sku("A")]);
            let mut holder = Box::pin(lanes.enter(connections(), holder, None));
            match calm_is_first {
                true => {
                    assert!(calm.as_mut().now_or_never().is_none());
                    assert!(holder.as_mut().now_or_never().is_none());
                }
                false => {
                    assert!(holder.as_mut().now_or_never().is_none());
                    assert!(calm.as_mut().now_or_never().is_none());
                }
            }
            // One of the busy client's turn comes first, then that of the calm one.
            drop(running);
            let first = admitted(before.remove(0).now_or_never().unwrap());
            assert!(holder.as_mut().now_or_never().is_none());
            drop(first);
            let second = admitted(holder.now_or_never().unwrap());
            assert!(calm.as_mut().now_or_never().is_none());
            drop((second, before, calm));
            assert_eq!(lanes.waiting(), 0);
            assert!(!lanes.lock().lanes.contains_key(&LaneName::Connections));
        }
    }

    /// While a calm client counts, a busy one has a quarter of the connections. It has all of them when
    /// the calm one has made no change for some time.
    #[tokio::test(start_paused = true)]
    async fn client_leaves_connections_for_others_while_these_count() {
        let lanes = lanes(8);
        let connection = |client| {
            let lanes = Arc::clone(&lanes);
            Box::pin(async move {
                let entered = lanes.enter(LaneName::Connections, alone(client), None);
                admitted(entered.await)
            })
        };
        drop(connection("calm").now_or_never().unwrap());
        let mut held: Vec<_> = (0..2)
            .map(|_| connection("busy").now_or_never().unwrap())
            .collect();
        let mut waits: Vec<_> = (0..9).map(|_| connection("busy")).collect();
        for wait in &mut waits {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        // The calm one passes those that wait, and each of its places gives the busy one another.
        let calm = connection("calm").now_or_never().unwrap();
        drop(held.pop());
        held.push(waits.remove(0).now_or_never().unwrap());
        held.push(waits.remove(0).now_or_never().unwrap());
        assert!(waits[0].as_mut().now_or_never().is_none());
        drop(calm);
        drop(held.pop());
        assert!(waits[0].as_mut().now_or_never().is_none());
        tokio::time::advance(COUNTS_FOR).await;
        drop(held.pop());
        for _ in 0..7 {
            held.push(waits.remove(0).now_or_never().unwrap());
        }
        assert!(waits.is_empty() && held.len() == 8);
        drop(held);
        assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
    }

    /// A busy client that may have no further connection holds SKU A. The calm one that waits for A
    /// lends it its turn at once, whether it is the first of the busy ones or not.
    #[tokio::test]
    async fn limited_holder_gets_the_turn_of_a_client_that_waits_for_it() {
        for earlier in [0, 3] {
            let lanes = lanes(4);
            let connections = || LaneName::Connections;
            drop(admitted(lanes.enter(sku("B"), alone("calm"), None).await));
            let running = admitted(lanes.enter(connections(), alone("busy"), None).await);
            let mut before: Vec<_> = (0..earlier)
                .map(|_| Box::pin(lanes.enter(connections(), alone("busy"), None)))
                .collect();
            for wait in &mut before {
                assert!(wait.as_mut().now_or_never().is_none());
            }
            let held = admitted(lanes.enter(sku("A"), alone("busy"), None).await);
            let holder = ("busy", vec![sku("A")]);
            let mut holder = Box::pin(lanes.enter(connections(), holder, None));
            assert!(holder.as_mut().now_or_never().is_none());
            let mut calm = Box::pin(lanes.enter(sku("A"), alone("calm"), None));
            assert!(calm.as_mut().now_or_never().is_none());
            let pass = admitted(holder.now_or_never().unwrap());
            drop((held, pass));
            drop(admitted(calm.now_or_never().unwrap()));
            drop((running, before));
            assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
        }
    }

    /// A hastened waiter that leaves has no place any more.
    #[tokio::test]
    async fn hastened_waiter_that_leaves_loses_its_place() {
        let lanes = lanes(1);
        let running = admitted(lanes.enter(sku("B"), alone("busy"), None).await);
        let mut other = Box::pin(lanes.enter(sku("B"), alone("busy"), None));
        assert!(other.as_mut().now_or_never().is_none());
        let held = admitted(lanes.enter(sku("A"), alone("busy"), None).await);
        let mut leaves = Box::pin(lanes.enter(sku("B"), ("busy", vec![sku("A")]), None));
        assert!(leaves.as_mut().now_or_never().is_none());
        let mut calm = Box::pin(lanes.enter(sku("A"), alone("calm"), None));
        assert!(calm.as_mut().now_or_never().is_none());
        drop(leaves);
        assert_eq!(lanes.waiting(), 2);
        drop(held);
        drop(admitted(calm.now_or_never().unwrap()));
        drop(running);
        drop(admitted(other.now_or_never().unwrap()));
        assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
    }

    /// A change with the lanes that it holds, as a passenger.
    struct Member {
        passes: Vec<LanePass<Member>>,
        done: oneshot::Sender<()>,
    }

    /// Enters random lanes in ascending order, then leads a group, like a change. Now and then it
    /// leaves at a random moment.
    async fn change(lanes: Arc<Lanes<Member>>, random: u64) {
        let client = format!("client-{}", random % 7);
        let leaves = random.is_multiple_of(5).then_some(random % 17);
        let (done, mut answered) = oneshot::channel();
        let work = async {
            let mut passes: Vec<LanePass<Member>> = Vec::new();
            let names = |passes: &[LanePass<Member>]| -> Vec<LaneName> {
                passes.iter().filter_map(LanePass::name).cloned().collect()
            };
            for number in (0..4).filter(|number| random >> (8 + number) & 1 == 1) {
                let entering = (client.as_str(), names(&passes));
                let entered = lanes.enter(sku(&number.to_string()), entering, None);
                match entered.await.unwrap() {
                    Admission::Admitted(pass, _) => passes.push(pass),
                    Admission::TakenOver => unreachable!(),
                }
            }
            let entering = (client.as_str(), names(&passes));
            let member = Member { passes, done };
            let entered = lanes.enter(sku("last"), entering, Some(member));
            let Ok(Admission::Admitted(pass, Some(mut member))) = entered.await else {
                let _ = (&mut answered).await;
                return;
            };
            member.passes.push(pass);
            let entering = (client.as_str(), names(&member.passes));
            let entered = lanes.enter(LaneName::Connections, entering, None);
            let _connection = entered.await.unwrap();
            let mut group = lanes.take_over(&sku("last"), 4, None);
            tokio::task::yield_now().await;
            group.push(member);
            for member in group {
                let _ = member.done.send(());
                drop(member.passes);
            }
        };
        match leaves {
            None => work.await,
            Some(turns) => {
                let leave = async {
                    for _ in 0..turns {
                        tokio::task::yield_now().await;
                    }
                };
                tokio::select! {
                    () = work => {}
                    () = leave => {}
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn every_waiter_is_served_whoever_leaves() {
        let lanes: Arc<Lanes<Member>> = Arc::new(Lanes::new(NonZeroUsize::new(2).unwrap()));
        let mut random = 20_261_118_u64;
        let mut changes = tokio::task::JoinSet::new();
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005);
            random = random.wrapping_add(1_442_695_040_888_963_407);
            changes.spawn(change(Arc::clone(&lanes), random >> 33));
            if changes.len() == 200 {
                changes.join_next().await.unwrap().unwrap();
            }
        }
        changes.join_all().await;
        assert!(lanes.lock().lanes.is_empty() && lanes.waiting() == 0);
    }
}
