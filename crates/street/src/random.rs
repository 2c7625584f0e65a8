//! Randomness, injected: tests choose it.

use std::sync::Arc;

/// Returns 64 evenly distributed bits at each call.
pub type Random = Arc<dyn Fn() -> u64 + Send + Sync>;
