//! What can be made to go wrong at an operation.

use super::journal::Operation;

/// What goes wrong at one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process dies in the middle of it, and nothing it does afterwards reaches the disk.
    Crash,
    /// It fails with EIO. Of a write, any prefix may have happened; of a sync, any part.
    Eio,
    /// It fails with ENOSPC, once, and without effect; of a sync, any part may have happened.
    Enospc,
    /// The disk is full until the process ends: no write gets more room than its file already has.
    Full,
    /// A write writes fewer bytes than it was given, and says so.
    Short,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Fault; 5] = [
        Fault::Crash,
        Fault::Eio,
        Fault::Enospc,
        Fault::Full,
        Fault::Short,
    ];

    /// Whether it can happen at such an operation.
    pub fn can_happen_at(self, operation: &Operation) -> bool {
        use Operation::{Reserve, SetLen, SetMode, Unlink};
        match self {
            // A crash while looking is the crash at the next operation that does something.
            Fault::Crash => !operation.only_looks(),
            Fault::Eio => true,
            Fault::Enospc => match operation {
                Unlink { .. } | SetLen { .. } | SetMode { .. } => false,
                other => !other.only_looks(),
            },
            Fault::Full => operation.writes() || matches!(operation, Reserve { .. }),
            Fault::Short => match operation {
                Operation::Write { len, .. } | Operation::Append { len, .. } => *len > 1,
                _ => false,
            },
        }
    }

    /// Whether it has effects that are left to chance while the process goes on.
    pub(super) fn has_chance(self) -> bool {
        matches!(self, Fault::Eio | Fault::Enospc | Fault::Short)
    }
}
