//! MCP over HTTP: admission, request bodies, responses, connections.

mod admission;
mod body;
mod endpoint;
mod events;
mod listen;
mod respond;
mod timed_stream;

pub use admission::{Admission, AdmissionToken};
pub use body::{MAX_BODY, MAX_HELD};
pub use endpoint::{Endpoint, PROGRESS_QUEUE};
pub use listen::{
    HEADER_TIMEOUT, HttpPaths, IDLE_TIMEOUT, MAX_CONNECTIONS, PATIENCE, router, serve,
};
