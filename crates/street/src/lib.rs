//! The way of a call, from a found name to an answer: one trait for servers, one function that
//! answers. No transport is known here, and none of the servers.

mod answer;
mod call;
mod clock;
mod desk;
mod entry;
mod failures;
mod mark;
mod metrics;
mod progress;
mod reply;
mod server;
mod tool;

pub use call::{Call, Client, Era, Kept, Peer};
pub use clock::Clock;
pub use desk::{Desk, SetupError, Waiting};
pub use entry::{Entry, Outcome};
pub use failures::Failures;
pub use mark::{Mark, Stopped};
pub use metrics::{METRIC_NAMES, MetricsHub};
pub use progress::{Progress, ProgressSink};
pub use reply::{Pending, Reply, reply, reply_text};
pub use server::{Permit, Server};
pub use tokio_util::sync::CancellationToken;
pub use tool::{Annotations, Cx, Tool, ToolError, ToolNames, Tools};
