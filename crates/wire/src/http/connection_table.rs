//! The table of open connections: the state of each, and which one is closed to make room for another.

use super::listen::{HEAD_TIMEOUT, IDLE_TIMEOUT};
use candor_street::MetricsHub;
use futures_util::task::AtomicWaker;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most open connections. A lower limit of open files lowers it.
pub const MAX_CONNECTIONS: usize = 4_096;

/// The most open connections of one address that is not loopback.
pub const MAX_CONNECTIONS_PER_ADDRESS: usize = 1_024;

/// The least age of an incomplete head or body that is evicted for a newcomer, and the least time in which a
/// peer has read nothing of its answer.
pub const MIN_EVICTION_AGE: Duration = Duration::from_secs(1);

/// Entries beyond the limit, for connections that are evicted but not closed yet.
const SPARE_ENTRIES: usize = 64;

/// The pause between two attempts to make room if no connection may be evicted.
const RETRY: Duration = Duration::from_millis(50);

/// The number of attempts to evict a connection whose state changes at the same moment.
const EVICTION_ATTEMPTS: usize = 16;

/// The state of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// The entry belongs to no connection.
    Free,
    /// No byte of a request has arrived since the last answer was written.
    Idle,
    /// The head of a request is incomplete.
    Head,
    /// The head is complete and the body is not.
    Body,
    /// A complete request is not answered yet, or its answer is not written yet.
    Busy,
    /// The answer is an open event stream.
    Stream,
    /// The connection must be closed: another one has taken its place.
    Evicted,
    /// The answer is ready, but the peer, which has never shown a valid token, does not read it.
    Unread,
}

impl ConnectionState {
    const ALL: [ConnectionState; 8] = [
        ConnectionState::Free,
        ConnectionState::Idle,
        ConnectionState::Head,
        ConnectionState::Body,
        ConnectionState::Busy,
        ConnectionState::Stream,
        ConnectionState::Evicted,
        ConnectionState::Unread,
    ];

    /// Returns the label of the metrics, or `None` if the connection is not open.
    fn label(self) -> Option<&'static str> {
        match self {
            ConnectionState::Free | ConnectionState::Evicted => None,
            ConnectionState::Idle => Some("idle"),
            ConnectionState::Head => Some("head"),
            ConnectionState::Body => Some("body"),
            ConnectionState::Busy => Some("busy"),
            ConnectionState::Stream => Some("stream"),
            ConnectionState::Unread => Some("unread"),
        }
    }
}

/// A state, whether the peer has shown a valid token, and the time in microseconds that the state is
/// ordered by: the last answer of an idle connection, the first byte of an incomplete request, the last byte
/// that the peer has read of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StateWord(u64);

impl StateWord {
    const FREE: StateWord = StateWord(0);

    fn new(state: ConnectionState, has_token: bool, since: u64) -> Self {
        StateWord(since << 4 | u64::from(has_token) << 3 | state as u64)
    }

    fn state(self) -> ConnectionState {
        ConnectionState::ALL
            .get((self.0 & 0b111) as usize)
            .copied()
            .unwrap_or(ConnectionState::Free)
    }

    fn has_token(self) -> bool {
        self.0 & 0b1000 != 0
    }

    fn since(self) -> u64 {
        self.0 >> 4
    }

    fn is_old(self, now: u64) -> bool {
        self.since() + micros(MIN_EVICTION_AGE) <= now
    }

    /// Returns the order of eviction, lowest first, or `None` if the connection may not be evicted.
    fn eviction_rank(self, now: u64) -> Option<(u8, u64)> {
        let class = match self.state() {
            ConnectionState::Idle if !self.has_token() => 0,
            ConnectionState::Head | ConnectionState::Body if self.is_old(now) => 1,
            ConnectionState::Unread if self.is_old(now) => 2,
            ConnectionState::Idle => 3,
            _ => return None,
        };
        Some((class, self.since()))
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

/// The open connections of one process.
///
/// A change of state is one atomic operation on the connection's own word. The words lie side by side, so
/// that a newcomer who needs room finds the connection to evict in one pass over 32 KiB.
pub(super) struct ConnectionTable {
    started: Instant,
    limit: usize,
    words: Box<[AtomicU64]>,
    details: Box<[EntryDetails]>,
    occupancy: Mutex<Occupancy>,
    released: Notify,
    is_closing: AtomicBool,
    metrics: MetricsHub,
}

/// The parts of an entry that other connections use.
#[derive(Default)]
struct EntryDetails {
    /// The bytes of an incomplete body that are held in memory.
    held: AtomicU64,
    waker: AtomicWaker,
}

/// The used and the free entries.
struct Occupancy {
    free: Vec<usize>,
    /// The connections that are not evicted.
    open: usize,
    /// The connections of each address that is not loopback.
    by_address: HashMap<IpAddr, usize>,
    addresses: Box<[Option<IpAddr>]>,
}

impl Occupancy {
    /// Counts the connection at `index` as closed.
    fn remove(&mut self, index: usize) {
        self.open -= 1;
        let Some(address) = self.addresses[index].take() else {
            return;
        };
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

/// The decision about a newcomer.
enum Room {
    Open(Arc<ConnectionEntry>),
    /// Its address has too many connections.
    Refused,
    /// No connection may be evicted now.
    Full,
}

impl ConnectionTable {
    /// Creates a table for at most `limit` connections.
    pub(super) fn new(limit: usize, metrics: MetricsHub) -> Arc<Self> {
        let limit = limit.clamp(1, MAX_CONNECTIONS);
        let size = limit + SPARE_ENTRIES;
        Arc::new(ConnectionTable {
            started: Instant::now(),
            limit,
            words: (0..size).map(|_| AtomicU64::default()).collect(),
            details: (0..size).map(|_| EntryDetails::default()).collect(),
            occupancy: Mutex::new(Occupancy {
                free: (0..size).rev().collect(),
                open: 0,
                by_address: HashMap::new(),
                addresses: vec![None; size].into(),
            }),
            released: Notify::new(),
            is_closing: AtomicBool::new(false),
            metrics,
        })
    }

    fn now(&self) -> u64 {
        // Never 0, which means that there is no time.
        micros(self.started.elapsed()) + 1
    }

    fn instant(&self, at: u64) -> Instant {
        self.started + Duration::from_micros(at)
    }

    fn occupancy(&self) -> MutexGuard<'_, Occupancy> {
        self.occupancy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn word(&self, index: usize) -> StateWord {
        StateWord(self.words[index].load(Ordering::Acquire))
    }

    /// Replaces a word. Returns false if it has changed meanwhile, which only an eviction can do.
    fn replace(&self, index: usize, old: StateWord, new: StateWord) -> bool {
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.words[index]
            .compare_exchange(old.0, new.0, order, failed)
            .is_ok()
    }

    /// Adds a connection, and evicts another one if there is no room. Waits as long as none may be evicted.
    /// Returns `None` if the newcomer's address has too many connections, none of which may be evicted.
    pub(super) async fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<Arc<ConnectionEntry>> {
        loop {
            match self.try_admit(peer) {
                Room::Open(entry) => return Some(entry),
                Room::Refused => return None,
                Room::Full => {}
            }
            // A connection may become idle without being released, so this looks again after a while.
            let _ = tokio::time::timeout(RETRY, self.released.notified()).await;
        }
    }

    fn try_admit(self: &Arc<Self>, peer: SocketAddr) -> Room {
        let mut occupancy = self.occupancy();
        let address = peer.ip().to_canonical();
        let counted = Some(address).filter(|address| !address.is_loopback());
        if let Some(address) = counted {
            let count = occupancy.by_address.get(&address).copied();
            let is_full = count.unwrap_or(0) >= MAX_CONNECTIONS_PER_ADDRESS;
            if is_full && !self.evict(&mut occupancy, Some(address)) {
                return Room::Refused;
            }
        }
        if occupancy.open >= self.limit && !self.evict(&mut occupancy, None) {
            return Room::Full;
        }
        let Some(index) = occupancy.free.pop() else {
            return Room::Full;
        };
        occupancy.open += 1;
        occupancy.addresses[index] = counted;
        if let Some(address) = counted {
            *occupancy.by_address.entry(address).or_default() += 1;
        }
        let idle = StateWord::new(ConnectionState::Idle, false, self.now());
        self.words[index].store(idle.0, Ordering::Release);
        Room::Open(Arc::new(ConnectionEntry {
            table: Arc::clone(self),
            index,
            peer,
            first_byte: AtomicU64::new(0),
            has_token: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            has_unread_body: AtomicBool::new(false),
            watches_input: AtomicBool::new(false),
            has_input_ended: AtomicBool::new(false),
        }))
    }

    /// Evicts one connection, if any may be evicted.
    pub(super) fn evict_any(&self) -> bool {
        self.evict(&mut self.occupancy(), None)
    }

    /// Evicts one connection, of one address if `address` is given. Returns false if none may be evicted.
    fn evict(&self, occupancy: &mut Occupancy, address: Option<IpAddr>) -> bool {
        for _ in 0..EVICTION_ATTEMPTS {
            let Some((index, word)) = self.find_evictable(occupancy, address) else {
                return false;
            };
            if self.evict_at(occupancy, index, word) {
                return true;
            }
        }
        false
    }

    fn find_evictable(
        &self,
        occupancy: &Occupancy,
        address: Option<IpAddr>,
    ) -> Option<(usize, StateWord)> {
        let now = self.now();
        let is_eligible =
            |index: &usize| address.is_none() || occupancy.addresses[*index] == address;
        let ranked = (0..self.words.len())
            .filter(is_eligible)
            .filter_map(|index| {
                let word = self.word(index);
                Some((word.eviction_rank(now)?, index, word))
            });
        ranked
            .min_by_key(|(rank, ..)| *rank)
            .map(|(_, index, word)| (index, word))
    }

    fn evict_at(&self, occupancy: &mut Occupancy, index: usize, word: StateWord) -> bool {
        let evicted = StateWord::new(ConnectionState::Evicted, word.has_token(), word.since());
        if !self.replace(index, word, evicted) {
            return false;
        }
        occupancy.remove(index);
        let state = word.state().label().unwrap_or_default();
        tracing::debug!(state, "a connection was closed to make room");
        self.metrics.count_eviction(state);
        self.details[index].waker.wake();
        true
    }

    /// Evicts incomplete bodies, the oldest first, until `bytes` bytes are released. Returns false if they
    /// do not hold as many.
    fn evict_bodies(&self, bytes: u64, except: usize) -> bool {
        let mut occupancy = self.occupancy();
        let mut bodies: Vec<_> = (0..self.words.len())
            .filter(|index| *index != except)
            .map(|index| (self.word(index), index))
            .filter(|(word, index)| word.state() == ConnectionState::Body && self.held(*index) > 0)
            .collect();
        bodies.sort_by_key(|(word, _)| word.since());
        let mut released = 0;
        for (word, index) in bodies {
            if released >= bytes {
                break;
            }
            let held = self.held(index);
            if self.evict_at(&mut occupancy, index, word) {
                released += held;
            }
        }
        released >= bytes
    }

    fn held(&self, index: usize) -> u64 {
        self.details[index].held.load(Ordering::Relaxed)
    }

    fn release(&self, index: usize) {
        let mut occupancy = self.occupancy();
        let was_evicted = self.word(index).state() == ConnectionState::Evicted;
        self.words[index].store(StateWord::FREE.0, Ordering::Release);
        self.details[index].held.store(0, Ordering::Relaxed);
        self.details[index].waker.take();
        if !was_evicted {
            occupancy.remove(index);
        }
        occupancy.free.push(index);
        drop(occupancy);
        self.released.notify_one();
    }

    /// Sets the gauge of open connections.
    pub(super) fn update_metrics(&self) {
        let states = ConnectionState::ALL.into_iter();
        for (state, label) in states.filter_map(|state| Some((state, state.label()?))) {
            let has_state = |index: &usize| self.word(*index).state() == state;
            let count = (0..self.words.len()).filter(has_state).count();
            self.metrics.set_connections(label, count as i64);
        }
    }

    /// Asks every connection to close once its request is answered.
    pub(super) fn start_closing(&self) {
        self.is_closing.store(true, Ordering::Release);
        for entry in &self.details {
            entry.waker.wake();
        }
    }

    /// Waits until no connection is left. Connections must no longer be admitted.
    pub(super) async fn wait_until_empty(&self) {
        while self.occupancy().free.len() < self.words.len() {
            self.released.notified().await;
        }
    }
}

/// The time of a first byte that has just arrived, before the clock is read. No connection is open for long enough to
/// reach it.
const JUST_NOW: u64 = u64::MAX;

/// The entry of one connection, released when it is dropped.
pub(super) struct ConnectionEntry {
    table: Arc<ConnectionTable>,
    index: usize,
    peer: SocketAddr,
    /// The time of the first byte of the request, [`JUST_NOW`], or 0 if no byte has arrived.
    first_byte: AtomicU64,
    has_token: AtomicBool,
    /// Set if the whole answer is with the HTTP library, and not necessarily written yet.
    is_answered: AtomicBool,
    has_unread_body: AtomicBool,
    watches_input: AtomicBool,
    has_input_ended: AtomicBool,
}

/// The end of the time that a peer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerDeadline {
    Idle(Instant),
    Head(Instant),
}

impl PeerDeadline {
    pub(super) fn instant(self) -> Instant {
        match self {
            PeerDeadline::Idle(instant) | PeerDeadline::Head(instant) => instant,
        }
    }
}

impl ConnectionEntry {
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn word(&self) -> StateWord {
        self.table.word(self.index)
    }

    pub(super) fn state(&self) -> ConnectionState {
        self.word().state()
    }

    fn make_word(&self, state: ConnectionState, since: u64) -> StateWord {
        StateWord::new(state, self.has_token.load(Ordering::Relaxed), since)
    }

    /// Sets the state, unless the connection is evicted. Returns false if it is.
    fn change(&self, state: ConnectionState, since: u64) -> bool {
        let old = self.word();
        old.state() != ConnectionState::Evicted
            && self
                .table
                .replace(self.index, old, self.make_word(state, since))
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.state() == ConnectionState::Evicted
    }

    pub(super) fn is_closing(&self) -> bool {
        self.table.is_closing.load(Ordering::Acquire)
    }

    /// Wakes the connection if it is evicted or has to close.
    pub(super) fn register(&self, waker: &Waker) {
        self.table.details[self.index].waker.register(waker);
    }

    /// Returns the end of the time that the peer has, if it is its turn.
    pub(super) fn deadline(&self) -> Option<PeerDeadline> {
        let word = self.word();
        let since = || self.table.instant(word.since());
        match word.state() {
            ConnectionState::Idle => Some(PeerDeadline::Idle(since() + IDLE_TIMEOUT)),
            ConnectionState::Head => Some(PeerDeadline::Head(since() + HEAD_TIMEOUT)),
            _ => None,
        }
    }

    /// Notes that bytes have arrived. Those of an idle connection begin a request, unless they are the
    /// rest of a body that nobody reads.
    pub(super) fn note_input(&self) {
        if self.first_byte.load(Ordering::Relaxed) == 0
            && self.state() == ConnectionState::Idle
            && !self.has_unread_body.load(Ordering::Relaxed)
        {
            self.first_byte.store(JUST_NOW, Ordering::Relaxed);
        }
    }

    /// Notes that no more bytes are there: a request that has begun has an incomplete head.
    pub(super) fn note_pause(&self) {
        let first_byte = self.first_byte.load(Ordering::Relaxed);
        if first_byte != 0 && self.state() == ConnectionState::Idle {
            self.change(ConnectionState::Head, self.first_byte_time());
        }
    }

    /// Returns the time of the first byte of the request. The clock is read only here, when the rest is
    /// waited for: most requests arrive in one piece.
    fn first_byte_time(&self) -> u64 {
        match self.first_byte.load(Ordering::Relaxed) {
            0 | JUST_NOW => {
                let now = self.table.now();
                self.first_byte.store(now, Ordering::Relaxed);
                now
            }
            first_byte => first_byte,
        }
    }

    /// Notes that a head is complete. Returns false if the connection is evicted: nothing may be run then.
    pub(super) fn begin_request(&self, has_body: bool) -> bool {
        self.has_unread_body.store(has_body, Ordering::Relaxed);
        self.change(ConnectionState::Busy, 0)
    }

    /// Notes that the body is not complete yet.
    pub(super) fn begin_body(&self) {
        self.change(ConnectionState::Body, self.first_byte_time());
    }

    /// Notes that the body is complete. Returns false if the connection is evicted: nothing may be run then.
    pub(super) fn end_body(&self) -> bool {
        self.has_unread_body.store(false, Ordering::Relaxed);
        if self.state() == ConnectionState::Busy {
            return true;
        }
        self.table.details[self.index]
            .held
            .store(0, Ordering::Relaxed);
        self.change(ConnectionState::Busy, 0)
    }

    /// Notes that the rest of the body is not waited for.
    pub(super) fn abandon_body(&self) {
        self.table.details[self.index]
            .held
            .store(0, Ordering::Relaxed);
        self.change(ConnectionState::Busy, 0);
    }

    /// Notes the bytes of an incomplete body that are held in memory.
    pub(super) fn set_held(&self, bytes: usize) {
        self.table.details[self.index]
            .held
            .store(bytes as u64, Ordering::Relaxed);
    }

    /// Evicts incomplete bodies of other connections that hold `bytes` bytes. Returns false if they hold
    /// fewer.
    pub(super) fn evict_other_bodies(&self, bytes: usize) -> bool {
        self.table.evict_bodies(bytes as u64, self.index)
    }

    pub(super) fn note_token(&self) {
        self.has_token.store(true, Ordering::Relaxed);
    }

    /// Notes that the answer is a stream of events.
    pub(super) fn begin_stream(&self) {
        self.change(ConnectionState::Stream, 0);
    }

    /// Notes that the whole answer is with the HTTP library.
    pub(super) fn end_answer(&self) {
        if self.state() == ConnectionState::Stream {
            self.change(ConnectionState::Busy, 0);
        }
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// Notes that the peer does not read its answer. A peer that has shown a token may take its time.
    pub(super) fn note_unread(&self) {
        if self.state() == ConnectionState::Busy
            && self.is_answered.load(Ordering::Relaxed)
            && !self.has_token.load(Ordering::Relaxed)
        {
            self.change(ConnectionState::Unread, self.table.now());
        }
    }

    /// Notes that the peer has read a part of its answer.
    pub(super) fn note_read(&self) {
        if self.state() == ConnectionState::Unread {
            self.change(ConnectionState::Busy, 0);
        }
    }

    /// Notes that the HTTP library has written everything it had.
    pub(super) fn note_flush(&self) {
        if self.is_answered.load(Ordering::Relaxed) {
            self.is_answered.store(false, Ordering::Relaxed);
            self.first_byte.store(0, Ordering::Relaxed);
            self.change(ConnectionState::Idle, self.table.now());
        }
    }

    /// Notes that only the last bytes of a refusal are to be written: this connection is the first to be
    /// evicted.
    pub(super) fn begin_lingering(&self) {
        self.has_token.store(false, Ordering::Relaxed);
        self.change(ConnectionState::Idle, 0);
    }

    pub(super) fn has_unread_body(&self) -> bool {
        self.has_unread_body.load(Ordering::Relaxed)
    }

    /// Notes that the peer sends nothing more.
    pub(super) fn end_input(&self) {
        self.has_input_ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_input_ended(&self) -> bool {
        self.has_input_ended.load(Ordering::Relaxed)
    }

    /// Asks the stream to look for the end of the input although no input is needed.
    pub(super) fn watch_input(&self, watch: bool) {
        self.watches_input.store(watch, Ordering::Relaxed);
    }

    pub(super) fn watches_input(&self) -> bool {
        self.watches_input.load(Ordering::Relaxed)
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.table.release(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::time::advance;

    fn table(limit: usize) -> Arc<ConnectionTable> {
        ConnectionTable::new(limit, MetricsHub::default())
    }

    fn local() -> SocketAddr {
        "127.0.0.1:1".parse().unwrap()
    }

    fn remote(last: u8) -> SocketAddr {
        SocketAddr::new([192, 0, 2, last].into(), 1)
    }

    fn open(table: &Arc<ConnectionTable>, peer: SocketAddr) -> Arc<ConnectionEntry> {
        match table.try_admit(peer) {
            Room::Open(entry) => entry,
            Room::Refused => panic!("refused"),
            Room::Full => panic!("full"),
        }
    }

    fn is_full(table: &Arc<ConnectionTable>) -> bool {
        matches!(table.try_admit(local()), Room::Full)
    }

    /// Opens a connection in the given state.
    async fn open_as(table: &Arc<ConnectionTable>, state: ConnectionState) -> Arc<ConnectionEntry> {
        let entry = open(table, local());
        if state == ConnectionState::Idle {
            return entry;
        }
        entry.note_input();
        entry.note_pause();
        match state {
            ConnectionState::Body => {
                assert!(entry.begin_request(true));
                entry.begin_body();
            }
            ConnectionState::Busy => assert!(entry.begin_request(false)),
            ConnectionState::Stream => {
                assert!(entry.begin_request(false));
                entry.begin_stream();
            }
            ConnectionState::Unread => {
                assert!(entry.begin_request(false));
                entry.end_answer();
                entry.note_unread();
            }
            _ => {}
        }
        assert_eq!(entry.state(), state);
        entry
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_evicted_in_order() {
        let table = table(7);
        let with_token = open(&table, local());
        with_token.note_token();
        assert!(with_token.begin_request(false));
        with_token.end_answer();
        with_token.note_flush();
        advance(Duration::from_secs(1)).await;
        let unread = open_as(&table, ConnectionState::Unread).await;
        advance(Duration::from_secs(1)).await;
        let head = open_as(&table, ConnectionState::Head).await;
        advance(Duration::from_secs(1)).await;
        let body = open_as(&table, ConnectionState::Body).await;
        advance(Duration::from_secs(1)).await;
        let first_idle = open(&table, local());
        advance(Duration::from_secs(1)).await;
        let second_idle = open(&table, local());
        let busy = open_as(&table, ConnectionState::Busy).await;
        let mut newcomers = Vec::new();
        let order = [
            &first_idle,
            &second_idle,
            &head,
            &body,
            &unread,
            &with_token,
        ];
        for evicted in order {
            assert!(!evicted.is_evicted());
            let newcomer = open_as(&table, ConnectionState::Stream).await;
            assert!(evicted.is_evicted());
            newcomers.push(newcomer);
        }
        assert!(is_full(&table) && !busy.is_evicted());
        assert!(newcomers.iter().all(|newcomer| !newcomer.is_evicted()));
        let text = table.metrics.text();
        for (state, count) in [("idle", 3), ("head", 1), ("body", 1), ("unread", 1)] {
            let line = format!("candor_connections_evicted_total{{state=\"{state}\"}} {count}\n");
            assert!(text.contains(&line), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn young_request_is_not_evicted() {
        let table = table(2);
        let head = open_as(&table, ConnectionState::Head).await;
        let body = open_as(&table, ConnectionState::Body).await;
        advance(MIN_EVICTION_AGE - Duration::from_micros(1)).await;
        assert!(is_full(&table));
        assert!(!head.is_evicted() && !body.is_evicted());
        advance(Duration::from_micros(1)).await;
        let _newcomer = open(&table, local());
        assert!(head.is_evicted() && !body.is_evicted());
    }

    #[tokio::test(start_paused = true)]
    async fn only_old_unread_answers_without_a_token_are_evicted() {
        let table = table(2);
        let running = open_as(&table, ConnectionState::Busy).await;
        // The call still runs, so there is nothing to read.
        running.note_unread();
        assert_eq!(running.state(), ConnectionState::Busy);
        let unread = open_as(&table, ConnectionState::Unread).await;
        advance(MIN_EVICTION_AGE - Duration::from_micros(1)).await;
        assert!(is_full(&table));
        // A part that is read begins the time again.
        unread.note_read();
        unread.note_unread();
        advance(Duration::from_micros(1)).await;
        assert!(is_full(&table));
        advance(MIN_EVICTION_AGE).await;
        let newcomer = open(&table, local());
        assert!(unread.is_evicted() && !running.is_evicted());
        newcomer.note_token();
        assert!(newcomer.begin_request(false));
        newcomer.end_answer();
        newcomer.note_unread();
        advance(MIN_EVICTION_AGE).await;
        assert!(is_full(&table) && !newcomer.is_evicted());
    }

    #[tokio::test(start_paused = true)]
    async fn evicted_connection_begins_no_request() {
        let table = table(1);
        let idle = open(&table, local());
        let newcomer = open(&table, local());
        assert!(!idle.begin_request(false));
        newcomer.note_input();
        newcomer.note_pause();
        assert!(newcomer.begin_request(true));
        newcomer.begin_body();
        advance(MIN_EVICTION_AGE).await;
        let _last = open(&table, local());
        assert!(!newcomer.end_body() && newcomer.is_evicted());
    }

    #[tokio::test(start_paused = true)]
    async fn newcomer_waits_until_a_connection_may_be_evicted() {
        let table = table(1);
        let busy = open_as(&table, ConnectionState::Busy).await;
        let (waiting, _) = tokio::join!(table.admit(local()), async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            busy.end_answer();
            busy.note_flush();
        });
        assert!(waiting.is_some() && busy.is_evicted());
        let waiting = waiting.unwrap();
        assert!(waiting.begin_request(false));
        let (next, ()) = tokio::join!(table.admit(local()), async {
            tokio::task::yield_now().await;
            drop(waiting);
        });
        assert!(next.is_some());
    }

    #[test]
    fn address_has_a_limit_of_its_own() {
        let table = table(MAX_CONNECTIONS);
        let mut own: Vec<_> = (0..MAX_CONNECTIONS_PER_ADDRESS)
            .map(|_| open(&table, remote(1)))
            .collect();
        assert!(own.iter().all(|entry| !entry.is_evicted()));
        let (other, loopback) = (open(&table, remote(2)), open(&table, local()));
        // One more evicts one of its own, although others are idle too.
        own.push(open(&table, remote(1)));
        assert!(own[0].is_evicted() && !own[1].is_evicted());
        assert!(!other.is_evicted() && !loopback.is_evicted());
        for entry in &own[1..] {
            assert!(entry.begin_request(false));
        }
        assert!(matches!(table.try_admit(remote(1)), Room::Refused));
        let mapped = SocketAddr::new("::ffff:192.0.2.1".parse().unwrap(), 1);
        assert!(matches!(table.try_admit(mapped), Room::Refused));
        own.pop();
        let _again = open(&table, remote(1));
        // Loopback addresses have no limit of their own.
        let _local: Vec<_> = (0..MAX_CONNECTIONS_PER_ADDRESS + 1)
            .map(|_| open(&table, local()))
            .collect();
        assert!(!loopback.is_evicted());
    }

    #[test]
    fn oldest_bodies_are_evicted_until_enough_is_released() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let table = table(8);
            let mut bodies = Vec::new();
            for held in [0, 5, 5, 5] {
                let body = open_as(&table, ConnectionState::Body).await;
                body.set_held(held);
                bodies.push(body);
                advance(Duration::from_millis(1)).await;
            }
            let asking = open_as(&table, ConnectionState::Body).await;
            asking.set_held(100);
            assert!(asking.evict_other_bodies(6));
            let evicted: Vec<_> = bodies.iter().map(|body| body.is_evicted()).collect();
            assert_eq!(evicted, [false, true, true, false]);
            assert!(!asking.evict_other_bodies(6) && !asking.is_evicted());
        });
    }

    #[test]
    fn limit_is_at_least_one_and_at_most_the_maximum() {
        assert_eq!(table(0).limit, 1);
        assert_eq!(table(usize::MAX).limit, MAX_CONNECTIONS);
    }

    proptest! {
        /// The word keeps its three parts apart.
        #[test]
        fn word_keeps_state_token_and_time(state in 0_usize..8, has_token: bool, since in 0_u64..1 << 60) {
            let state = ConnectionState::ALL[state];
            let word = StateWord::new(state, has_token, since);
            prop_assert_eq!((word.state(), word.has_token(), word.since()), (state, has_token, since));
        }

        /// Whatever connections do, the table counts the open ones, stays within its limit, and evicts in
        /// the order of the contract.
        #[test]
        fn table_agrees_with_a_plain_list(steps in proptest::collection::vec((0_u8..10, any::<usize>()), 1..200)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            runtime.block_on(check_steps(steps))?;
        }
    }

    /// A connection as the contract describes it: state, token, and the time that it is ordered by.
    struct PlainConnection {
        entry: Arc<ConnectionEntry>,
        state: ConnectionState,
        has_token: bool,
        since: u64,
    }

    fn find_victim(list: &[PlainConnection], now: u64) -> Option<usize> {
        let oldest = |wanted: &dyn Fn(&PlainConnection) -> bool| {
            let all = list.iter().enumerate().filter(|(_, one)| wanted(one));
            all.min_by_key(|(_, one)| one.since).map(|(index, _)| index)
        };
        let is_incomplete = |one: &PlainConnection| {
            matches!(one.state, ConnectionState::Head | ConnectionState::Body)
        };
        let is_unread = |one: &PlainConnection| one.state == ConnectionState::Unread;
        oldest(&|one| one.state == ConnectionState::Idle && !one.has_token)
            .or_else(|| oldest(&|one| is_incomplete(one) && now - one.since >= 1_000_000))
            .or_else(|| oldest(&|one| is_unread(one) && now - one.since >= 1_000_000))
            .or_else(|| oldest(&|one| one.state == ConnectionState::Idle))
    }

    async fn check_steps(steps: Vec<(u8, usize)>) -> Result<(), TestCaseError> {
        const LIMIT: usize = 5;
        let table = table(LIMIT);
        let mut list: Vec<PlainConnection> = Vec::new();
        for (step, which) in steps {
            advance(Duration::from_millis(300)).await;
            let now = table.now();
            let index = which % list.len().max(1);
            match step {
                0 | 1 => {
                    let victim = (list.len() >= LIMIT).then(|| find_victim(&list, now));
                    match (table.try_admit(local()), victim) {
                        (Room::Open(entry), victim) => {
                            if let Some(victim) = victim {
                                let victim = victim.expect("a connection may be evicted");
                                prop_assert!(list[victim].entry.is_evicted());
                                list.remove(victim);
                            }
                            list.push(PlainConnection {
                                entry,
                                state: ConnectionState::Idle,
                                has_token: false,
                                since: now,
                            });
                        }
                        (Room::Full, victim) => prop_assert_eq!(victim, Some(None)),
                        (Room::Refused, _) => prop_assert!(false, "loopback was refused"),
                    }
                    continue;
                }
                _ if list.is_empty() => continue,
                2 => drop(list.remove(index)),
                _ => {
                    let one = &mut list[index];
                    let (state, since) = match (step, one.state) {
                        (3, ConnectionState::Idle) => {
                            one.entry.note_input();
                            one.entry.note_pause();
                            (ConnectionState::Head, now)
                        }
                        (4, ConnectionState::Head) => {
                            prop_assert!(one.entry.begin_request(true));
                            one.entry.begin_body();
                            (ConnectionState::Body, one.since)
                        }
                        (5, ConnectionState::Body) => {
                            prop_assert!(one.entry.end_body());
                            (ConnectionState::Busy, 0)
                        }
                        (6, ConnectionState::Busy | ConnectionState::Unread) => {
                            one.entry.end_answer();
                            one.entry.note_flush();
                            (ConnectionState::Idle, now)
                        }
                        (7, ConnectionState::Busy) => {
                            one.entry.note_token();
                            one.has_token = true;
                            (ConnectionState::Busy, 0)
                        }
                        (8, ConnectionState::Busy) => {
                            one.entry.note_unread();
                            prop_assert_eq!(one.entry.state(), ConnectionState::Busy);
                            one.entry.end_answer();
                            one.entry.note_unread();
                            match one.has_token {
                                true => (ConnectionState::Busy, 0),
                                false => (ConnectionState::Unread, now),
                            }
                        }
                        (9, ConnectionState::Unread) => {
                            one.entry.note_read();
                            // The rest of the answer is written at once, and the next request begins.
                            one.entry.note_flush();
                            prop_assert!(one.entry.begin_request(false));
                            (ConnectionState::Busy, 0)
                        }
                        (_, state) => (state, one.since),
                    };
                    (one.state, one.since) = (state, since);
                }
            }
            for one in &list {
                prop_assert_eq!(one.entry.state(), one.state);
            }
            let open = table.occupancy().open;
            prop_assert!(open == list.len() && open <= LIMIT);
        }
        drop(list);
        prop_assert_eq!(table.occupancy().open, 0);
        prop_assert_eq!(table.occupancy().free.len(), LIMIT + SPARE_ENTRIES);
        Ok(())
    }
}
