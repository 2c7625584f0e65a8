//! A key store in front of an order system that keeps no keys: each change is sent at most once
//! through this server.

mod store;

pub use store::KeyStoreError;

use super::{HttpAdapter, cause};
use crate::sql::fingerprint;
use crate::{
    Adapter, AdapterFuture, Corrections, Failure, OrderRefusal, ReadinessFuture, RefusalReason,
    Request, RequestContext, Response,
};
use candor_fault::{Cause, Effect};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;
use store::{KeyFile, KeyLookup, StoredKey, StoredOutcome};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// An order system with a key store in front of it. If the order system keeps keys itself, its keys
/// are used and the file is not.
#[derive(Debug)]
pub struct KeyStoreAdapter {
    inner: HttpAdapter,
    file: Arc<KeyFile>,
    calls: CallsByKey,
}

/// The locks of the keys whose calls are running.
#[derive(Debug, Default)]
struct CallsByKey(std::sync::Mutex<BTreeMap<StoredKey, Weak<Mutex<()>>>>);

impl CallsByKey {
    /// Returns the lock of a key, which every running call of the key shares.
    fn lock_of(&self, key: &StoredKey) -> Arc<Mutex<()>> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = calls.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        calls.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(Mutex::new(()));
        calls.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}

fn unusable(error: &sqlx::Error) -> Failure {
    Failure::Unavailable(None, Some(cause("KeyStoreError", error)))
}

impl KeyStoreAdapter {
    /// Opens the file, and creates it if it is missing. Final outcomes are kept for at least
    /// `keep`, changes without an outcome forever.
    pub async fn open(
        inner: HttpAdapter,
        path: &Path,
        keep: Duration,
    ) -> Result<KeyStoreAdapter, KeyStoreError> {
        Ok(KeyStoreAdapter {
            inner,
            file: Arc::new(KeyFile::open(path, keep).await?),
            calls: CallsByKey::default(),
        })
    }

    async fn change(
        &self,
        request: &Request,
        context: &RequestContext,
    ) -> Result<Response, Failure> {
        let offered = self.inner.offered(request).await?;
        let Some(key) = context.key.as_ref().filter(|_| !offered.keeps_keys) else {
            return self.inner.exchange(request, context).await;
        };
        let key = StoredKey::new(key, request.operation());
        let running = self.calls.lock_of(&key).lock_owned().await;
        let claimed = self.file.claim(&key, &fingerprint(request)).await;
        match claimed.map_err(|error| unusable(&error))? {
            KeyLookup::Claimed => self.send(request, context, (key, running)).await,
            KeyLookup::Reused => {
                let reused = OrderRefusal::from(RefusalReason::IdempotencyKeyReused);
                Err(reused.at("idempotencyKey").into())
            }
            KeyLookup::Open => self.recover(request, context, key).await,
            KeyLookup::Settled(outcome) => replay(outcome, context),
        }
    }

    /// Sends the change for the first time, and stores its outcome.
    async fn send(
        &self,
        request: &Request,
        context: &RequestContext,
        (key, running): (StoredKey, OwnedMutexGuard<()>),
    ) -> Result<Response, Failure> {
        let answered = self.inner.exchange(request, context).await;
        let outcome = match &answered {
            Ok(Response::One {
                entity,
                corrections,
            }) => Some(StoredOutcome::Done {
                cleaned: corrections.cleaned,
                entity: entity.clone(),
            }),
            Ok(Response::Page { .. }) => None,
            Err(failure) => failed_outcome(failure, context.mark.effect()),
        };
        let had_effect = answered.is_ok() || context.mark.effect() != Effect::None;
        let file = Arc::clone(&self.file);
        // A task of its own, because the call may be dropped at any time. Duplicates wait for it.
        let stored = tokio::spawn(async move {
            let _running = running;
            match outcome {
                Some(outcome) => file.settle(&key, &outcome).await,
                None if had_effect => Ok(()),
                None => file.release(&key).await,
            }
        });
        if let Ok(Err(error)) = stored.await {
            // The key stays open: the change is not sent again.
            let reason = error.to_string();
            tracing::warn!(reason, "the outcome of a change could not be stored");
        }
        answered
    }

    /// Answers a change that was sent before and whose answer was lost. It is never sent again. A
    /// new order can be found by its external id, if the order system supports that.
    async fn recover(
        &self,
        request: &Request,
        context: &RequestContext,
        key: StoredKey,
    ) -> Result<Response, Failure> {
        // The earlier request may have had an effect.
        context.mark.begins()?;
        context.mark.doubt();
        if !self.can_look_up(request) {
            return Err(RefusalReason::OutcomeUnknown.into());
        }
        let found = self.inner.find_created(request, context).await?;
        let (entity, cleaned) = match found {
            Ok(found) => found,
            Err(reason) => {
                let unknown = Failure::from(RefusalReason::OutcomeUnknown);
                return Err(match unknown {
                    Failure::Final(failure, _) => {
                        Failure::Final(failure, Some(Box::new(Cause::from(reason))))
                    }
                    other => other,
                });
            }
        };
        let outcome = StoredOutcome::Done { cleaned, entity };
        let stored = self.file.settle(&key, &outcome).await;
        stored.map_err(|error| unusable(&error))?;
        context.mark.done();
        replay(outcome, context)
    }

    fn can_look_up(&self, request: &Request) -> bool {
        let known = self.inner.known_capabilities();
        let has_id =
            matches!(request, Request::Create(create) if create.order.external_id.is_some());
        has_id && known.is_some_and(|known| known.can_look_up())
    }
}

/// Returns the outcome to store after a failure: none if the key stays free or open.
fn failed_outcome(failure: &Failure, effect: Effect) -> Option<StoredOutcome> {
    let Failure::Final(failure, _) = failure else {
        return None;
    };
    match &**failure {
        crate::FinalFailure::Violation(_) => None,
        crate::FinalFailure::Refusal(refusal) if refusal.reason.leaves_key_free() => None,
        _ => Some(StoredOutcome::Failed {
            unknown: effect != Effect::None,
            failure: (**failure).clone(),
        }),
    }
}

fn replay(outcome: StoredOutcome, context: &RequestContext) -> Result<Response, Failure> {
    match outcome {
        StoredOutcome::Done { entity, cleaned } => Ok(Response::One {
            entity,
            corrections: Corrections {
                cleaned,
                omitted: Vec::new(),
            },
        }),
        StoredOutcome::Failed { failure, unknown } => {
            if unknown {
                context.mark.begins()?;
            }
            Err(Failure::Final(Box::new(failure), None))
        }
    }
}

impl Adapter for KeyStoreAdapter {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn readiness(&self) -> ReadinessFuture<'_> {
        self.inner.readiness()
    }

    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a> {
        match request.operation().changes() {
            true => Box::pin(self.change(request, context)),
            false => self.inner.call(request, context),
        }
    }

    fn keeps_keys(&self) -> bool {
        true
    }

    fn may_repeat(&self, request: &Request) -> bool {
        self.inner.keeps_keys() || self.can_look_up(request)
    }
}
