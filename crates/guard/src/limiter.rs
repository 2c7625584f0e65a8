//! A rate limiter: an exact sliding window for every key, over a bounded number of keys.
//!
//! "20 a minute" is meant literally: in no stretch of sixty seconds do more than twenty pass. A
//! token bucket of the same size lets nearly twice as many through in the minute after a pause,
//! which is why the passes of the last period are kept instead of a bucket's level.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// At most `count` passes in any stretch of time of length `period`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// The number of passes.
    pub count: NonZeroU32,
    /// In how much time; the stretch includes its beginning and not its end.
    pub period: Duration,
}

impl Quota {
    /// Returns a quota of `count` in any second.
    pub const fn per_second(count: NonZeroU32) -> Quota {
        let period = Duration::from_secs(1);
        Quota { count, period }
    }

    /// Returns a quota of `count` in any minute.
    pub const fn per_minute(count: NonZeroU32) -> Quota {
        let period = Duration::from_secs(60);
        Quota { count, period }
    }
}

/// The quota is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitExceeded {
    /// The time until the same key can pass, unless another key is admitted before it.
    pub after: Duration,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limited for {:?}", self.after)
    }
}

impl Error for LimitExceeded {}

/// A limiter with one quota for every key.
///
/// Refused attempts do not count. Keys are stored as keyed 64-bit hashes, so neither long keys nor
/// secret ones stay in memory; if two keys ever have the same hash, they share one quota.
///
/// At most `max_keys` keys are stored at a time: those that passed within the last period. While
/// there are that many, a new key is refused until one of them is dropped; no stored key is evicted
/// early. So a flood of made-up keys can neither fill the memory nor give a key its quota twice; it
/// can keep new keys waiting, for one period at a time. A key costs at most about `32 * count +
/// 150` bytes.
#[derive(Debug)]
pub struct Limiter {
    quota: Quota,
    max_keys: NonZeroUsize,
    hasher: RandomState,
    windows: Mutex<Windows>,
}

impl Limiter {
    /// Creates a limiter without keys.
    pub fn new(quota: Quota, max_keys: NonZeroUsize) -> Limiter {
        Limiter {
            quota,
            max_keys,
            hasher: RandomState::new(),
            windows: Mutex::default(),
        }
    }

    /// Admits the key and counts it, or returns how long it has to wait and counts nothing.
    pub fn check<K: Hash + ?Sized>(&self, key: &K) -> Result<(), LimitExceeded> {
        let key = self.hasher.hash_one(key);
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: the windows rely on times that never go back.
        windows.check(self.quota, self.max_keys.get(), key, Instant::now())
    }

    /// Returns an error if the key would not pass now. Counts nothing, for callers who count a call only
    /// if several limiters let it pass.
    pub fn peek<K: Hash + ?Sized>(&self, key: &K) -> Result<(), LimitExceeded> {
        let key = self.hasher.hash_one(key);
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.peek(self.quota, self.max_keys.get(), key, Instant::now())
    }

    /// Takes back the last pass of a key, whose call turned out to have done nothing.
    pub fn give_back<K: Hash + ?Sized>(&self, key: &K) {
        let key = self.hasher.hash_one(key);
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.give_back(key);
    }

    /// Returns the number of stored keys, never more than the bound.
    pub fn keys(&self) -> usize {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.keys.len()
    }
}

/// The passes of the last period, by key, and the keys in the order in which they fall idle.
#[derive(Debug, Default)]
struct Windows {
    keys: BTreeMap<u64, Window>,
    by_last_pass: BTreeMap<u64, u64>,
    passes: u64,
}

#[derive(Debug, Default)]
struct Window {
    passes: VecDeque<Instant>,
    /// The number of its last pass, its key in `by_last_pass`.
    last: u64,
}

impl Windows {
    fn check(
        &mut self,
        quota: Quota,
        max_keys: usize,
        key: u64,
        now: Instant,
    ) -> Result<(), LimitExceeded> {
        self.peek(quota, max_keys, key, now)?;
        self.admit(key, now);
        Ok(())
    }

    fn peek(
        &mut self,
        quota: Quota,
        max_keys: usize,
        key: u64,
        now: Instant,
    ) -> Result<(), LimitExceeded> {
        let until_room = self.forget_idle(quota, now);
        let full = self.keys.len() >= max_keys;
        match (self.keys.get_mut(&key), until_room) {
            (Some(window), _) => window.check(quota, now),
            (None, Some(after)) if full => Err(LimitExceeded { after }),
            (None, _) => Ok(()),
        }
    }

    /// Drops every key without a pass in the last period. Returns the time until the next one is
    /// dropped.
    fn forget_idle(&mut self, quota: Quota, now: Instant) -> Option<Duration> {
        loop {
            let oldest = self.by_last_pass.first_entry()?;
            let last = self.keys.get(oldest.get()).and_then(|w| w.passes.back());
            match last.and_then(|last| left_of(quota.period, *last, now)) {
                Some(left) => return Some(left),
                None => {
                    let key = oldest.remove();
                    self.keys.remove(&key);
                }
            }
        }
    }

    fn give_back(&mut self, key: u64) {
        let Some(window) = self.keys.get_mut(&key) else {
            return;
        };
        window.passes.pop_back();
        if window.passes.is_empty() {
            self.by_last_pass.remove(&window.last);
            self.keys.remove(&key);
        }
    }

    fn admit(&mut self, key: u64, now: Instant) {
        self.passes += 1;
        let window = self.keys.entry(key).or_default();
        self.by_last_pass.remove(&window.last);
        window.last = self.passes;
        window.passes.push_back(now);
        self.by_last_pass.insert(self.passes, key);
    }
}

impl Window {
    fn check(&mut self, quota: Quota, now: Instant) -> Result<(), LimitExceeded> {
        while let Some(first) = self.passes.front() {
            match left_of(quota.period, *first, now) {
                None => self.passes.pop_front(),
                Some(_) if self.passes.len() < quota.count.get() as usize => break,
                Some(after) => return Err(LimitExceeded { after }),
            };
        }
        Ok(())
    }
}

/// Returns the rest of the period that began with a pass; `None` once it is over.
fn left_of(period: Duration, pass: Instant, now: Instant) -> Option<Duration> {
    let left = period.saturating_sub(now.saturating_duration_since(pass));
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);

    fn limiter(count: u32, max_keys: usize) -> Limiter {
        Limiter::new(
            Quota::per_minute(NonZeroU32::new(count).unwrap()),
            NonZeroUsize::new(max_keys).unwrap(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn quota_holds_in_any_minute() {
        let limiter = limiter(20, 10);
        let mut passed = 0;
        for _ in 0..600 {
            passed += u32::from(limiter.check("owner/repo").is_ok());
            advance(SECOND / 10).await;
        }
        assert_eq!(passed, 20);
        assert_eq!(limiter.check("owner/repo"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn wait_is_exact_and_refused_attempts_do_not_count() {
        let limiter = limiter(2, 10);
        assert_eq!(limiter.check("a"), Ok(()));
        advance(10 * SECOND).await;
        assert_eq!(limiter.check("a"), Ok(()));
        for waited in 0..50 {
            let after = (50 - waited) * SECOND;
            assert_eq!(limiter.check("a"), Err(LimitExceeded { after }));
            advance(SECOND).await;
        }
        assert_eq!(limiter.check("a"), Ok(()));
        let after = 10 * SECOND;
        assert_eq!(limiter.check("a"), Err(LimitExceeded { after }));
    }

    #[tokio::test(start_paused = true)]
    async fn peek_returns_the_result_of_check_and_counts_nothing() {
        let limiter = limiter(1, 1);
        for _ in 0..3 {
            assert_eq!(limiter.peek("a"), Ok(()));
        }
        assert_eq!(limiter.keys(), 0);
        assert_eq!(limiter.check("a"), Ok(()));
        advance(10 * SECOND).await;
        let after = 50 * SECOND;
        for key in ["a", "b"] {
            assert_eq!(limiter.peek(key), Err(LimitExceeded { after }));
        }
        advance(after).await;
        assert_eq!(limiter.peek("b"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_have_separate_quotas() {
        let limiter = limiter(1, 10);
        assert_eq!(limiter.check("a"), Ok(()));
        assert!(limiter.check("a").is_err());
        assert_eq!(limiter.check("b"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn many_keys_take_bounded_memory_and_lift_no_limit() {
        let limiter = limiter(1, 100);
        assert_eq!(limiter.check("victim"), Ok(()));
        let passed = (0..100_000).filter(|n| limiter.check(n).is_ok()).count();
        assert_eq!((passed, limiter.keys()), (99, 100));
        assert!(limiter.check("victim").is_err());

        advance(59 * SECOND).await;
        let after = SECOND;
        assert_eq!(limiter.check("newcomer"), Err(LimitExceeded { after }));
        assert_eq!(limiter.check("victim"), Err(LimitExceeded { after }));
        advance(SECOND).await;
        assert_eq!(limiter.check("newcomer"), Ok(()));
        assert_eq!(limiter.keys(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn known_key_passes_while_new_keys_wait() {
        let limiter = limiter(2, 2);
        assert_eq!(limiter.check("a"), Ok(()));
        assert_eq!(limiter.check("b"), Ok(()));
        assert!(limiter.check("c").is_err());
        assert_eq!(limiter.check("a"), Ok(()));
    }

    #[test]
    fn threads_share_one_quota() {
        let limiter = limiter(50, 4);
        let tries = || (0..100).filter(|_| limiter.check("key").is_ok()).count();
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(tries)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(passed, 50);
    }

    #[test]
    fn period_beyond_the_clock_does_not_panic() {
        let quota = Quota {
            count: NonZeroU32::MIN,
            period: Duration::MAX,
        };
        let limiter = Limiter::new(quota, NonZeroUsize::MIN);
        assert_eq!(limiter.check("a"), Ok(()));
        assert!(limiter.check("a").is_err());
    }

    /// Computes the limiter's answer from the list of all passes and nothing else.
    fn oracle(
        passes: &[(u64, Instant)],
        quota: Quota,
        max_keys: usize,
        key: u64,
        now: Instant,
    ) -> Result<(), LimitExceeded> {
        let recent = |of: u64| {
            let recent = passes
                .iter()
                .filter(move |(k, at)| *k == of && now - *at < quota.period);
            recent.map(|(_, at)| *at).collect::<Vec<_>>()
        };
        let mine = recent(key);
        let recent_keys: Vec<_> = (0..8).map(recent).filter(|r| !r.is_empty()).collect();
        let waits_for = match mine.is_empty() {
            true if recent_keys.len() < max_keys => return Ok(()),
            true => recent_keys
                .iter()
                .map(|r| *r.last().unwrap())
                .min()
                .unwrap(),
            false if mine.len() < quota.count.get() as usize => return Ok(()),
            false => mine[0],
        };
        let after = waits_for + quota.period - now;
        Err(LimitExceeded { after })
    }

    proptest! {
        #[test]
        fn limiter_agrees_with_the_oracle(
            count in 1u32..5,
            max_keys in 1usize..6,
            steps in prop::collection::vec((0u64..8, 0u64..400), 1..200),
        ) {
            let count = NonZeroU32::new(count).unwrap();
            let quota = Quota { count, period: SECOND };
            let (mut windows, mut passes) = (Windows::default(), Vec::new());
            let mut now = Instant::now();
            for (key, wait) in steps {
                now += Duration::from_millis(wait);
                let outcome = windows.check(quota, max_keys, key, now);
                prop_assert_eq!(outcome, oracle(&passes, quota, max_keys, key, now));
                prop_assert!(windows.keys.len() <= max_keys);
                prop_assert_eq!(windows.keys.len(), windows.by_last_pass.len());
                if outcome.is_ok() {
                    passes.push((key, now));
                }
            }
            for (key, begin) in &passes {
                let within = passes.iter().filter(|(k, at)| {
                    k == key && *at >= *begin && *at < *begin + quota.period
                });
                prop_assert!(within.count() <= quota.count.get() as usize);
            }
        }
    }
}
