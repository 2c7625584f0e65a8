//! The calls that each client has in flight, with one bound for every client.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the running calls of each client.
#[derive(Debug, Clone)]
pub(crate) struct CallsInFlight {
    max_calls: NonZeroUsize,
    by_client: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl CallsInFlight {
    pub(crate) fn new(max_calls: NonZeroUsize) -> CallsInFlight {
        CallsInFlight {
            max_calls,
            by_client: Arc::default(),
        }
    }

    /// Counts a call until the returned value is dropped. Returns `None` if the client has too many.
    pub(crate) fn begin(&self, client: &str) -> Option<CallInFlight> {
        let mut by_client = self
            .by_client
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match by_client.get_mut(client) {
            Some(calls) if *calls >= self.max_calls.get() => return None,
            Some(calls) => *calls += 1,
            None => {
                by_client.insert(client.to_owned(), 1);
            }
        }
        drop(by_client);
        Some(CallInFlight {
            calls: self.clone(),
            client: client.to_owned(),
        })
    }
}

/// A call that is counted.
#[derive(Debug)]
pub(crate) struct CallInFlight {
    calls: CallsInFlight,
    client: String,
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        let by_client = self.calls.by_client.lock();
        let mut by_client = by_client.unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = by_client.get_mut(&self.client) {
            *calls = calls.saturating_sub(1);
            if *calls == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_bound() {
        let calls = CallsInFlight::new(NonZeroUsize::new(2).unwrap());
        let first = calls.begin("a");
        let second = calls.begin("a");
        assert!(first.is_some() && second.is_some());
        assert!(calls.begin("a").is_none());
        assert!(calls.begin("b").is_some());
        drop(first);
        assert!(calls.begin("a").is_some());
        drop(second);
        assert!(calls.by_client.lock().unwrap().is_empty());
    }
}
