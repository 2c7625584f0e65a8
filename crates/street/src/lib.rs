//! The path of a call, from a tool's name to an answer: one trait for servers, one function that
//! answers. It depends on no transport and on no server.

mod answer;
mod call;
mod call_record;
mod caller_token;
mod clock;
mod dispatcher;
mod effect_mark;
mod failure_form;
mod header_argument;
mod metrics;
mod progress;
mod random;
mod reply;
mod resources;
mod server;
mod tool;

pub use call::{Call, CallTarget, ClientInfo, Era, HeldUntilWritten, Peer};
pub use call_record::{CallOutcome, CallRecord};
pub use caller_token::{CallerToken, MAX_CALLER_TOKEN_BYTES};
pub use candor_json::{IndexedText, JsonKind, JsonRef, JsonTree};
pub use clock::Clock;
pub use dispatcher::{Dispatcher, PendingCall};
pub use effect_mark::{CallStopped, EffectMark};
pub use failure_form::FailureForm;
pub use header_argument::{HeaderArgument, HeaderMarkError};
pub use metrics::{METRIC_NAMES, MetricsHub};
pub use progress::{Progress, ProgressSink};
pub use random::Random;
pub use reply::{Pending, Reply, reply, reply_text};
pub use resources::{
    Resource, ResourceContent, ResourceData, ResourceFailure, ResourceMethod, ResourcePage,
    ResourceTemplate, Resources, unknown_cursor,
};
pub use server::{Permit, Server};
pub use tokio_util::sync::CancellationToken;
pub use tool::{Annotations, CallContext, Tool, ToolError, ToolNames, Tools};
