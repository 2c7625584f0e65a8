//! `--failures`: the form of failures, as it is typed.

use clap::ValueEnum;

/// The form of failures in dialects that have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum FailureFormArg {
    /// JSON-RPC errors for clients of the handshake era, results for newer clients.
    #[default]
    Auto,
    /// Always JSON-RPC errors.
    Jsonrpc,
    /// Always results with `isError`.
    Result,
}

impl From<FailureFormArg> for candor_street::FailureForm {
    fn from(typed: FailureFormArg) -> Self {
        match typed {
            FailureFormArg::Auto => candor_street::FailureForm::Auto,
            FailureFormArg::Jsonrpc => candor_street::FailureForm::Jsonrpc,
            FailureFormArg::Result => candor_street::FailureForm::Result,
        }
    }
}
