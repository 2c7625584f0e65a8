//! The state of the server for `/ready`: its order system, and the breakers in front of it.

use crate::NotReady;
use candor_guard::BreakerState;
use serde_json::{Value, json};

/// The state of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerReadiness {
    /// The name of the adapter.
    pub adapter: &'static str,
    /// The result of the check of the order system.
    pub checked: Result<(), NotReady>,
    /// The breaker of queries.
    pub queries: BreakerState,
    /// The breaker of changes.
    pub changes: BreakerState,
}

impl ServerReadiness {
    /// Returns the reason why calls would fail now, if they would.
    fn reason(&self) -> Option<&'static str> {
        match self.checked {
            Err(NotReady::Unreachable) => Some("unreachable"),
            Err(NotReady::Format) => Some("format"),
            Err(NotReady::Capabilities) => Some("capabilities"),
            Ok(()) => {
                let is_open = [self.queries, self.changes].contains(&BreakerState::Open);
                is_open.then_some("breaker_open")
            }
        }
    }

    pub fn is_ready(&self) -> bool {
        self.reason().is_none()
    }

    /// Returns the JSON object of this server in the answer of `/ready`.
    pub fn description(&self) -> Value {
        let breakers = json!({ "queries": word(self.queries), "changes": word(self.changes) });
        match self.reason() {
            None => json!({ "status": "ready", "adapter": self.adapter, "breakers": breakers }),
            Some(reason) => json!({
                "status": "not_ready", "reason": reason, "adapter": self.adapter, "breakers": breakers
            }),
        }
    }
}

const fn word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_reason_is_shown() {
        let mut state = ServerReadiness {
            adapter: "sql",
            checked: Ok(()),
            queries: BreakerState::Closed,
            changes: BreakerState::HalfOpen,
        };
        let shown = |state: ServerReadiness| state.description().to_string();
        assert_eq!(
            shown(state),
            r#"{"status":"ready","adapter":"sql","breakers":{"queries":"closed","changes":"half_open"}}"#
        );
        state.changes = BreakerState::Open;
        for (checked, reason) in [
            (Ok(()), "breaker_open"),
            (Err(NotReady::Unreachable), "unreachable"),
            (Err(NotReady::Format), "format"),
            (Err(NotReady::Capabilities), "capabilities"),
        ] {
            state.checked = checked;
            let start = format!(r#"{{"status":"not_ready","reason":"{reason}","adapter":"sql","#);
            assert!(shown(state).starts_with(&start), "{}", shown(state));
            assert!(!state.is_ready());
        }
    }
}
