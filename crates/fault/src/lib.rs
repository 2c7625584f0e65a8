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
//!     codes::context::CacheMissing.fault().saying(upstream)
//! }
//! ```

mod answer;
mod answers;
mod bound;
mod cause;
pub mod codes;
mod dialect;
pub mod dialects;
pub mod export;
mod fault;
mod json;
mod registry;
pub mod schemas;
mod sentence;
mod shown;
pub mod system_error;
mod violation;

pub use answer::{Answer, CallFacts, ErrorBody, Form, Output, Receipt};
pub use answers::{Class, Effect, FiveAnswers, Retry};
pub use bound::CUT;
pub use cause::{CAUSE_MAX_BYTES, CAUSE_MAX_DEPTH, Cause};
pub use dialect::{Dialect, Refusal};
pub use fault::{Asked, Fault, Fixed, Raise};
pub use jiff::Timestamp;
pub use json::{iso_millis, to_json};
#[doc(hidden)]
pub use registry::without_stop;
pub use registry::{Code, CodeValue, Reason, Row, Ruled};
pub use sentence::sentence;
pub use shown::{SHOWN_QUOTE_CHARS, Shown, escape_visible};
pub use violation::{
    Kind, NAME_MAX_CHARS, Path, Step, VALUE_MAX_BYTES, VIOLATIONS_MAX, Violation, Violations,
    excerpt,
};
