//! Shared by tests and benchmarks: drivers for processes, stdio and HTTP, scripted HTTP servers,
//! PostgreSQL servers, users without rights, small disks, refused system calls, a key of an app, and
//! skipped tests. Depends on no crate of ours.

mod app_key;
mod depth;
mod http;
mod http_message;
#[cfg(feature = "postgres")]
pub mod postgres;
mod process;
mod reached_codes;
mod refused_calls;
mod renamed;
#[cfg(feature = "scripted-http")]
pub mod scripted_http;
mod skip;
mod small_disk;
mod stdio;
pub mod user;

pub use app_key::{APP_KEY_PKCS1, APP_KEY_PKCS8};
pub use depth::is_long;
pub use http::{Connection, Http};
pub use http_message::RawResponse;
pub use process::{Exit, Process, ProcessOutput};
pub use reached_codes::{ReachedCodes, failing_codes};
pub use refused_calls::{refuse_call, with_matching_calls_refused, with_refused_call};
pub use renamed::renamed;
pub use skip::{skip, skip_for_kernel};
pub use small_disk::on_small_disk;
pub use stdio::Stdio;
