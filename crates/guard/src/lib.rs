//! Guards a call against a system that may be slow, busy or down.
//!
//! Four mechanisms, each in a separate file with its own error type. They are independent, except
//! that a retry asks a deadline how long it may wait; the caller puts them in order: limiter,
//! breaker, deadline, retry, then the work itself.

pub mod breaker;
pub mod deadline;
pub mod limiter;
pub mod retry;

pub use breaker::{Breaker, BreakerChange, BreakerState};
pub use deadline::Deadline;
pub use limiter::{LimitExceeded, Limiter, Quota};
pub use retry::Retrier;
