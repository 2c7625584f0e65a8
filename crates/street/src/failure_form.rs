//! The form of failures, if a dialect has two.

use crate::Era;
use candor_fault::Form;

/// The form of failures, if a dialect has two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureForm {
    /// JSON-RPC errors for clients of the handshake era, results for the newer one.
    #[default]
    Auto,
    /// Always JSON-RPC errors.
    Jsonrpc,
    /// Always results with `isError`.
    Result,
}

impl FailureForm {
    /// The form of a failure in this era.
    pub fn form(self, era: Era) -> Form {
        match (self, era) {
            (FailureForm::Jsonrpc, _) | (FailureForm::Auto, Era::Handshake) => Form::Protocol,
            (FailureForm::Result, _) | (FailureForm::Auto, Era::Stateless) => Form::Result,
        }
    }
}
