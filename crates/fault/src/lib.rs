//! The core of failures: what a failure is, which codes there are, and how a dialect encodes them.
//!
//! Everything here is pure: no I/O, no async, no clock. A [`Fault`] is built from a registered code
//! and always answers five questions: class, code, retry, effect and remedy. A [`Dialect`] encodes
//! it as the bytes of an answer. The dialects of the servers are in the crates of the servers; here
//! are the two that every server shares: plain JSON-RPC errors, and the neutral dialect `candor/1`.
//!
//! A code of another dialect cannot be raised:
//! ```compile_fail,E0308
//! use candor_fault::{codes, dialects::Wire, Fault};
//! fn limited() -> Fault<Wire> {
//!     codes::candor::Limited.fault()
//! }
//! ```
//! unless the dialect declares that it includes the codes of the other one:
//! ```compile_fail,E0277
//! use candor_fault::{codes, dialects::Wire, Fault};
//! fn limited() -> Fault<Wire> {
//!     codes::candor::Limited.in_dialect::<Wire>().fault()
//! }
//! ```
//! An answer that the table leaves open cannot be left out:
//! ```compile_fail,E0061
//! use candor_fault::{codes, dialects::Wire, Fault};
//! fn stopping() -> Fault<Wire> {
//!     codes::wire::InternalError.fault()
//! }
//! ```
//! An answer that the table fixes cannot be given again:
//! ```compile_fail,E0061
//! use candor_fault::{codes, dialects::Wire, Effect, Fault};
//! fn broken() -> Fault<Wire> {
//!     codes::wire::ParseError.fault(Effect::None)
//! }
//! ```
//! Text from elsewhere cannot become a message by accident:
//! ```compile_fail,E0277
//! use candor_fault::{codes, dialects::Wire, Fault};
//! fn broken(upstream: String) -> Fault<Wire> {
//!     codes::wire::ParseError.fault().with_message(upstream)
//! }
//! ```

mod answer;
mod answers;
mod any_fault;
mod byte_search;
mod cause;
mod client_text;
mod code_row;
pub mod codes;
mod core_registries;
mod dialect;
pub mod dialects;
mod fault;
mod json;
mod quoted_json;
mod registry;
mod rendered_parts;
pub mod schemas;
mod sentence;
mod tool_result;
mod truncate;
mod violation;

pub use answer::{Answer, CallFacts, ErrorBody, Form, Receipt, ResultText, ToolOutput};
pub use answers::{Class, Effect, FiveAnswers, Retry};
pub use any_fault::{AnyFault, ReplayAnswers};
pub use cause::{Cause, MAX_CAUSE_BYTES, MAX_CAUSE_DEPTH};
pub use client_text::{ClientText, MAX_QUOTE_CHARS, escape_invisible, escape_invisible_into};
pub use code_row::{Code, CodeRow, CodeValue, Reason, RowValue};
pub use core_registries::{CANDOR_REGISTRY, WIRE_REGISTRY};
pub use dialect::{Dialect, IncludesCodesOf, Refusal};
pub use fault::{Fault, Fixed, PerFault, Raise};
pub use jiff::Timestamp;
pub use json::{iso_millis, to_json, to_json_with_capacity, to_raw_json};
#[doc(hidden)]
pub use registry::without_stop;
pub use registry::{
    ErrorPage, OpenAnswers, PageExample, Registry, SchemaFile, argument_below_one, missing_argument,
};
pub use sentence::sentence;
pub use tool_result::{ResultMeta, ToolResult};
pub use truncate::{CUT, truncate_json};
pub use violation::{
    ArgumentPath, MAX_NAME_CHARS, MAX_VALUE_BYTES, MAX_VIOLATIONS, PathStep, RuleParams,
    ValueExcerpt, Violation, ViolationKind, Violations, excerpt, excerpt_of, excerpt_of_compact,
};
