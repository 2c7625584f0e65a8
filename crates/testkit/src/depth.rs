//! The length of drills in a test run.

/// Returns true if drills run with their full counts: `cargo xtask test --long` sets the variable.
pub fn is_long() -> bool {
    // The environment is how the test runner talks to its tests.
    #[allow(clippy::disallowed_methods)]
    std::env::var_os("CANDOR_LONG").is_some()
}
