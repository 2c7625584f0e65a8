//! `--failures`: which form failures take, as it is typed.

use clap::ValueEnum;

/// Which form failures take where a dialect has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Failures {
    /// JSON-RPC errors for clients of the handshake era, results for the newer one.
    #[default]
    Auto,
    /// Always JSON-RPC errors.
    Jsonrpc,
    /// Always results with `isError`.
    Result,
}

impl From<Failures> for candor_street::Failures {
    fn from(typed: Failures) -> Self {
        match typed {
            Failures::Auto => candor_street::Failures::Auto,
            Failures::Jsonrpc => candor_street::Failures::Jsonrpc,
            Failures::Result => candor_street::Failures::Result,
        }
    }
}
