//! JSON Schema 2020-12 of every failing answer, made from the registries.
//!
//! No schema refers to another place, so each one can be embedded anywhere as it is.

mod candor;
mod context;
mod github;
mod orders;
mod parts;
mod wire;
mod workspace;

pub use candor::{candor_failure, candor_result};
pub use context::{context_error, context_result};
pub use github::{github_error, github_result};
pub use orders::{orders_error, orders_failure, orders_response, orders_result};
pub use wire::wire_error;
pub use workspace::{workspace_envelope, workspace_result};

use crate::codes::candor::ROWS as CANDOR;
use crate::{CodeRow, schemas::parts::document};
use serde_json::Value;

/// Every schema with the name of its file, in the order of the documentation.
pub fn all() -> Vec<(String, Value)> {
    let core: Vec<&CodeRow> = CANDOR.iter().collect();
    vec![
        // The specification gives this one whole, its `$id` included.
        (String::from("context.error.schema.json"), context_error()),
        document(
            "context.result",
            "Context: a failing result",
            context_result(),
        ),
        document("github.error", "GitHub: a JSON-RPC error", github_error()),
        document("github.result", "GitHub: a failing result", github_result()),
        document(
            "workspace.envelope",
            "Workspace: the SystemError envelope",
            workspace_envelope(),
        ),
        document(
            "workspace.result",
            "Workspace: a failing result",
            workspace_result(),
        ),
        document("orders.error", "Orders: a JSON-RPC error", orders_error()),
        document(
            "orders.response",
            "Orders: an ErrorResponse",
            orders_response(),
        ),
        document(
            "orders.failure",
            "Orders: structuredContent of a failing result",
            orders_failure(),
        ),
        document("orders.result", "Orders: a failing result", orders_result()),
        document("wire.error", "Wire: a JSON-RPC error", wire_error()),
        document(
            "candor.failure",
            "candor/1: structuredContent of a failing result",
            candor_failure(&core),
        ),
        document(
            "candor.result",
            "candor/1: a failing result",
            candor_result(&core),
        ),
    ]
}
