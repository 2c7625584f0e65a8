//! Lanes: changes that need the same key, order or SKU wait here in turn and hold no connection.
//!
//! A lane admits as many holders as it has room for, usually one. Its queue serves clients in turn,
//! so that a client with many changes delays another one by one change only. A waiter may carry a
//! passenger, which the holder of the lane can take over.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The most changes that wait at once.
pub const MAX_WAITING_CHANGES: usize = 4096;

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
    /// The room in the lane of the connections.
    connections: usize,
}

struct LaneTable<T> {
    lanes: BTreeMap<LaneName, Lane<T>>,
    waiting: usize,
    next_number: u64,
}

struct Lane<T> {
    holders: usize,
    queue: FairQueue<T>,
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
}

impl<T> FairQueue<T> {
    const fn new() -> FairQueue<T> {
        FairQueue {
            turns: VecDeque::new(),
            by_client: BTreeMap::new(),
        }
    }

    fn push(&mut self, client: &str, number: u64, waiter: Waiter<T>) {
        if !self.by_client.contains_key(client) {
            self.turns.push_back(client.to_owned());
        }
        let waiters = self.by_client.entry(client.to_owned()).or_default();
        waiters.insert(number, waiter);
    }

    /// Removes the next waiter that `is_wanted` accepts. Its client's next turn comes after all
    /// others.
    fn pop(&mut self, is_wanted: impl Fn(&Waiter<T>) -> bool) -> Option<Waiter<T>> {
        for turn in 0..self.turns.len() {
            let client = self.turns.get(turn)?;
            let waiters = self.by_client.get(client)?;
            let wanted = waiters.iter().find(|(_, waiter)| is_wanted(waiter));
            let Some(number) = wanted.map(|(number, _)| *number) else {
                continue;
            };
            let client = self.turns.remove(turn)?;
            let waiters = self.by_client.get_mut(&client)?;
            let waiter = waiters.remove(&number);
            match waiters.is_empty() {
                true => drop(self.by_client.remove(&client)),
                false => self.turns.push_back(client),
            }
            return waiter;
        }
        None
    }

    /// Removes one waiter. Returns `None` if it was served already.
    fn remove(&mut self, client: &str, number: u64) -> Option<Waiter<T>> {
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
}

impl<T> Lanes<T> {
    pub(super) fn new(connections: NonZeroUsize) -> Lanes<T> {
        Lanes {
            table: Mutex::new(LaneTable {
                lanes: BTreeMap::new(),
                waiting: 0,
                next_number: 0,
            }),
            connections: connections.get(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LaneTable<T>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    const fn room(&self, name: &LaneName) -> usize {
        match name {
            LaneName::Connections => self.connections,
            _ => 1,
        }
    }

    /// Enters a lane for this client, or waits in it. A future that is dropped leaves the queue.
    pub(super) async fn enter(
        self: &Arc<Self>,
        name: LaneName,
        client: &str,
        passenger: Option<T>,
    ) -> Result<Admission<T>, LanesFull> {
        let (mut waiting, number) = {
            let mut table = self.lock();
            let LaneTable {
                lanes,
                waiting,
                next_number,
            } = &mut *table;
            let lane = lanes.entry(name.clone()).or_insert_with(|| Lane {
                holders: 0,
                queue: FairQueue::new(),
            });
            if lane.holders < self.room(&name) && lane.queue.is_empty() {
                lane.holders += 1;
                drop(table);
                return Ok(Admission::Admitted(self.pass(name), passenger));
            }
            if *waiting >= MAX_WAITING_CHANGES {
                return Err(LanesFull);
            }
            let (wake, waiting_for) = oneshot::channel();
            let number = *next_number;
            *next_number += 1;
            *waiting += 1;
            let waiter = Waiter { wake, passenger };
            lane.queue.push(client, number, waiter);
            (waiting_for, number)
        };
        let _place = QueuePlace {
            lanes: self,
            name: &name,
            client,
            number,
        };
        // The sender is dropped only after an admission was sent.
        (&mut waiting).await.map_err(|_| LanesFull)
    }

    fn pass(self: &Arc<Self>, name: LaneName) -> LanePass<T> {
        LanePass {
            lanes: Arc::clone(self),
            name: Some(name),
        }
    }

    /// Takes over the passengers of up to `most` waiters of a lane, clients in turn.
    pub(super) fn take_over(&self, name: &LaneName, most: usize) -> Vec<T> {
        let mut taken = Vec::new();
        // Dropped after the lock: a passenger may hold lanes itself.
        let mut left = Vec::new();
        let mut table = self.lock();
        let LaneTable { lanes, waiting, .. } = &mut *table;
        let Some(lane) = lanes.get_mut(name) else {
            return taken;
        };
        while taken.len() < most {
            let Some(waiter) = lane.queue.pop(|waiter| waiter.passenger.is_some()) else {
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
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Admits the next waiter after a holder has left.
    fn release(self: &Arc<Self>, name: LaneName) {
        loop {
            let next = {
                let mut table = self.lock();
                let LaneTable { lanes, waiting, .. } = &mut *table;
                let Some(lane) = lanes.get_mut(&name) else {
                    return;
                };
                match lane.queue.pop(|_| true) {
                    Some(waiter) => {
                        *waiting -= 1;
                        waiter
                    }
                    None => {
                        lane.holders -= 1;
                        if lane.holders == 0 {
                            lanes.remove(&name);
                        }
                        return;
                    }
                }
            };
            let admission = Admission::Admitted(self.pass(name.clone()), next.passenger);
            match next.wake.send(admission) {
                Ok(()) => return,
                // The waiter has left: its place goes to the next one.
                Err(Admission::Admitted(mut pass, _)) => pass.name = None,
                Err(Admission::TakenOver) => {}
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
    number: u64,
}

impl<T> Drop for QueuePlace<'_, T> {
    fn drop(&mut self) {
        let mut table = self.lanes.lock();
        let LaneTable { lanes, waiting, .. } = &mut *table;
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
            self.lanes.release(name);
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

    fn admitted(admission: Result<Admission<u32>, LanesFull>) -> LanePass<u32> {
        match admission {
            Ok(Admission::Admitted(pass, _)) => pass,
            _ => panic!("not admitted"),
        }
    }

    #[tokio::test]
    async fn lanes_of_different_names_do_not_wait_for_each_other() {
        let lanes = lanes(1);
        let first = admitted(lanes.enter(sku("A"), "c", None).await);
        let second = admitted(lanes.enter(sku("B"), "c", None).await);
        assert!(lanes.enter(sku("A"), "c", None).now_or_never().is_none());
        assert_eq!(lanes.waiting(), 0);
        drop((first, second));
        assert!(lanes.lock().lanes.is_empty());
    }

    #[tokio::test]
    async fn connections_have_room_for_several() {
        let lanes = lanes(2);
        let passes = [
            admitted(lanes.enter(LaneName::Connections, "c", None).await),
            admitted(lanes.enter(LaneName::Connections, "c", None).await),
        ];
        let mut third = pin!(lanes.enter(LaneName::Connections, "c", None));
        assert!(third.as_mut().now_or_never().is_none());
        drop(passes);
        drop(admitted(third.await));
        assert!(lanes.lock().lanes.is_empty());
    }

    #[tokio::test]
    async fn clients_are_served_in_turn() {
        let lanes = lanes(1);
        let first = admitted(lanes.enter(sku("A"), "busy", None).await);
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
                let pass = admitted(lanes.enter(sku("A"), client, None).await);
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
        let holder = admitted(lanes.enter(sku("A"), "c", None).await);
        let mut waits: Vec<_> = [("x", Some(1)), ("x", Some(2)), ("y", None), ("y", Some(3))]
            .into_iter()
            .map(|(client, passenger)| Box::pin(lanes.enter(sku("A"), client, passenger)))
            .collect();
        for wait in &mut waits {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        assert_eq!(lanes.take_over(&sku("A"), 2), [1, 3]);
        assert!(lanes.take_over(&sku("B"), 2).is_empty());
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
        let holder = admitted(lanes.enter(sku("A"), "c", None).await);
        let mut leaves = Box::pin(lanes.enter(sku("A"), "c", Some(1)));
        let mut stays = Box::pin(lanes.enter(sku("A"), "c", Some(2)));
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
        let _holder = admitted(lanes.enter(sku("A"), "c", None).await);
        let mut waits = Vec::new();
        for _ in 0..MAX_WAITING_CHANGES {
            let mut wait = Box::pin(lanes.enter(sku("A"), "c", None));
            assert!(wait.as_mut().now_or_never().is_none());
            waits.push(wait);
        }
        assert!(matches!(
            lanes.enter(sku("A"), "c", None).await,
            Err(LanesFull)
        ));
        waits.pop();
        assert!(lanes.enter(sku("A"), "c", None).now_or_never().is_none());
    }
}
