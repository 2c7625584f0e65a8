//! Tools that tests and benchmarks share; no part of what is released.

mod http;
mod http_message;
#[cfg(feature = "postgres")]
pub mod postgres;
mod process;
mod reached;
mod stdio;

pub use http::{Connection, Http};
pub use http_message::Response;
pub use process::{Ended, Exit, Process};
pub use reached::{Reached, failing_codes};
pub use stdio::Stdio;
