//! What can go wrong, and how each dialect says it.
//!
//! Everything here is pure: no I/O, no async, no clock. A [`Fault`] is built from a registered code
//! and always answers five questions: class, code, retry, effect and remedy. A [`Dialect`] turns
//! it into the bytes of an answer.
//!
//! A code of another dialect cannot be raised:
//! ```compile_fail,E0308
//! use candor_fault::{codes, dialects::Context, Fault};
//! fn missing() -> Fault<Context> {
//!     codes::github::NotFound.fault()
//! }
//! ```
//! and an answer that the table leaves open cannot be left out:
//! ```compile_fail,E0061
//! use candor_fault::{codes, dialects::Orders, Fault};
//! fn timed_out() -> Fault<Orders> {
//!     codes::orders::Timeout.fault()
//! }
//! ```
//! nor can an answer that the table has fixed be given again:
//! ```compile_fail,E0061
//! use candor_fault::{codes, dialects::Context, Effect, Fault};
//! fn missing() -> Fault<Context> {
//!     codes::context::CacheMissing.fault(Effect::None)
//! }
//! ```
//! and text from elsewhere cannot become a message by accident:
//! ```compile_fail,E0277
//! use candor_fault::{codes, dialects::Context, Fault};
//! fn missing(upstream: String) -> Fault<Context> {
//!     codes::context::CacheMissing.fault().with_message(upstream)
//! }
//! ```

mod answer;
mod answers;
mod bound;
mod cause;
mod client_text;
pub mod codes;
mod dialect;
pub mod dialects;
pub mod export;
mod fault;
mod json;
mod registry;
pub mod schemas;
mod sentence;
pub mod system_error;
mod violation;

pub use answer::{Answer, CallFacts, ErrorBody, Form, Receipt, ToolOutput};
pub use answers::{Class, Effect, FiveAnswers, Retry};
pub use bound::CUT;
pub use cause::{CAUSE_MAX_BYTES, CAUSE_MAX_DEPTH, Cause};
pub use client_text::{ClientText, SHOWN_QUOTE_CHARS, escape_visible};
pub use dialect::{Dialect, Refusal};
pub use fault::{Fault, Fixed, PerFault, Raise};
pub use jiff::Timestamp;
pub use json::{iso_millis, to_json};
#[doc(hidden)]
pub use registry::without_stop;
pub use registry::{Code, CodeRow, CodeValue, Reason, RowValue};
pub use sentence::sentence;
pub use violation::{
    ArgumentPath, NAME_MAX_CHARS, PathStep, VALUE_MAX_BYTES, VIOLATIONS_MAX, Violation,
    ViolationKind, Violations, excerpt,
};
