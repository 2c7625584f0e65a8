//! The notes of a call that are kept until it is recorded and its line is written.

use crate::attempts::WriteAttempt;
use crate::failure_line::LineArguments;
use std::sync::{Mutex, OnceLock};

/// The notes of one call.
#[derive(Default)]
pub struct ForgeNotes {
    pub(crate) attempt: WriteAttempt,
    /// The key of the limit that counts the call.
    pub(crate) counted: Mutex<Option<String>>,
    /// The arguments that the line of a failure contains, once the arguments were parsed.
    pub(crate) line_arguments: OnceLock<LineArguments>,
}
