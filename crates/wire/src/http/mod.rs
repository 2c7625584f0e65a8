//! MCP over HTTP: who may come in, what is read, and how the answer leaves.

mod admission;
mod body;
mod endpoint;
mod events;
mod listen;
mod pace;
mod respond;

pub use admission::{Admission, AdmissionToken};
pub use body::{MAX_BODY, MAX_HELD};
pub use endpoint::{Endpoint, PROGRESS_QUEUE};
pub use listen::{
    HEADER_TIMEOUT, HttpPaths, IDLE_TIMEOUT, MAX_CONNECTIONS, PATIENCE, router, serve,
};
