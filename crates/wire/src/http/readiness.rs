//! `GET /ready`: whether the servers of this process can do their work now.

use super::admission::Admission;
use super::respond;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodRouter, any};
use candor_fault::to_json;
use futures_util::future::{BoxFuture, join_all};
use hyper::{Request, StatusCode};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The time for which an answer is repeated, so that nobody can load a database with this path.
pub const READINESS_TTL: Duration = Duration::from_secs(1);

/// The most time that the checks of all servers together may take.
pub const READINESS_TIMEOUT: Duration = Duration::from_millis(900);

/// The state of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    pub is_ready: bool,
    /// The JSON object that describes the state.
    pub description: String,
}

/// Checks one server.
pub type ReadinessCheck = Box<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// The checks of all servers, with the names of the servers and the last result.
#[derive(Default)]
pub(super) struct ReadinessChecks {
    checks: Vec<(String, ReadinessCheck)>,
    last: Mutex<Option<(Instant, Readiness)>>,
}

impl ReadinessChecks {
    pub(super) fn add(&mut self, server: &str, check: ReadinessCheck) {
        self.checks.push((server.to_owned(), check));
    }

    /// Returns the state of all servers, at most [`READINESS_TTL`] old.
    async fn state(&self) -> Readiness {
        // Requests that arrive during a check wait for its result.
        let mut last = self.last.lock().await;
        if let Some((at, readiness)) = &*last
            && at.elapsed() < READINESS_TTL
        {
            return readiness.clone();
        }
        let readiness = self.check().await;
        *last = Some((Instant::now(), readiness.clone()));
        readiness
    }

    async fn check(&self) -> Readiness {
        let run = async |(name, check): &(String, ReadinessCheck)| {
            let state = tokio::time::timeout(READINESS_TIMEOUT, check()).await;
            (name.clone(), state.unwrap_or_else(|_| too_slow()))
        };
        let states = join_all(self.checks.iter().map(run)).await;
        let is_ready = states.iter().all(|(_, state)| state.is_ready);
        let status = match is_ready {
            true => "ready",
            false => "not_ready",
        };
        let mut description = format!(r#"{{"status":"{status}","servers":{{"#);
        for (index, (name, state)) in states.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(
                description,
                "{comma}{}:{}",
                to_json(name),
                state.description
            );
        }
        description.push_str("}}\n");
        Readiness {
            is_ready,
            description,
        }
    }
}

fn too_slow() -> Readiness {
    Readiness {
        is_ready: false,
        description: r#"{"status":"not_ready","reason":"unreachable"}"#.into(),
    }
}

/// Returns the route of `/ready`, which needs no token and takes no place among the requests in work.
pub(super) fn route(admission: Arc<Admission>, checks: ReadinessChecks) -> MethodRouter {
    let checks = Arc::new(checks);
    any(move |request: Request<Body>| {
        let allowed = admission.check_host_and_origin(request.headers());
        let refused = allowed.err().map(|fault| respond::refusal(&fault));
        let checks = Arc::clone(&checks);
        async move {
            match refused {
                Some(refusal) => refusal.map(Body::new),
                None => answer(checks.state().await),
            }
        }
    })
}

fn answer(state: Readiness) -> Response {
    let mut response = respond::text("application/json", state.description).map(Body::new);
    if !state.is_ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn state(is_ready: bool) -> Readiness {
        let description = format!(r#"{{"ready":{is_ready}}}"#);
        Readiness {
            is_ready,
            description,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_server_that_is_not_ready_is_enough() {
        let mut checks = ReadinessChecks::default();
        let description = |state: Readiness| (state.is_ready, state.description);
        assert_eq!(
            description(checks.check().await),
            (true, "{\"status\":\"ready\",\"servers\":{}}\n".into())
        );
        checks.add("a", Box::new(|| Box::pin(async { state(true) })));
        checks.add("b", Box::new(|| Box::pin(async { state(false) })));
        checks.add("c", Box::new(|| Box::pin(std::future::pending())));
        let expected = r#"{"status":"not_ready","servers":{"a":{"ready":true},"b":{"ready":false},"c":{"status":"not_ready","reason":"unreachable"}}}"#;
        assert_eq!(
            description(checks.check().await),
            (false, format!("{expected}\n"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn result_is_repeated_for_a_second() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let mut checks = ReadinessChecks::default();
        checks.add(
            "a",
            Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Box::pin(async { state(true) })
            }),
        );
        for _ in 0..100 {
            assert!(checks.state().await.is_ready);
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
        tokio::time::advance(READINESS_TTL).await;
        checks.state().await;
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
