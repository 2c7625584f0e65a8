//! MCP over HTTP: admission, request bodies, responses, connections.

mod admission;
mod body;
mod connection;
mod connection_stream;
mod connection_table;
mod endpoint;
mod events;
mod listen;
mod readiness;
mod request_limits;
mod respond;

pub use admission::{Admission, AdmissionToken, ClientTokens, KnownClient};
pub use body::{BODY_STALL, BODY_TIMEOUT, MAX_BODY, MAX_HELD};
pub use connection_table::{MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, MIN_EVICTION_AGE};
pub use endpoint::{Endpoint, PROGRESS_QUEUE};
pub use events::HANGUP_GRACE;
pub use listen::{
    BACKLOG, HEAD_TIMEOUT, HttpPaths, IDLE_TIMEOUT, MAX_FIELDS, MAX_HEAD, MAX_TARGET, PATIENCE,
    UNREAD_TIMEOUT, bind, router, serve,
};
pub use readiness::{READINESS_TIMEOUT, READINESS_TTL, Readiness, ReadinessCheck};
pub use request_limits::{MAX_REQUESTS, REQUEST_WAIT};
