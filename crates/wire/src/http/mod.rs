//! MCP over HTTP: who may come in, what is read, and how the answer leaves.

mod admit;
mod body;
mod endpoint;
mod events;
mod listen;
mod pace;
mod respond;

pub use admit::{Admission, Secret};
pub use body::{MAX_BODY, MAX_HELD};
pub use endpoint::{Endpoint, PROGRESS_QUEUE};
pub use listen::{HEADER_TIMEOUT, IDLE_TIMEOUT, MAX_CONNECTIONS, PATIENCE, Paths, router, serve};
