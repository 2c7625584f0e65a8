//! What can be made to go wrong at an operation.

use crate::journal::DiskOperation;

/// What goes wrong at one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskFault {
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

impl DiskFault {
    /// Every kind.
    pub const ALL: [DiskFault; 5] = [
        DiskFault::Crash,
        DiskFault::Eio,
        DiskFault::Enospc,
        DiskFault::Full,
        DiskFault::Short,
    ];

    /// Whether it can happen at such an operation.
    pub fn can_happen_at(self, operation: &DiskOperation) -> bool {
        use DiskOperation::{Reserve, SetLen, SetMode, Unlink};
        match self {
            // A crash while looking is the crash at the next operation that does something.
            DiskFault::Crash => !operation.only_looks(),
            DiskFault::Eio => true,
            DiskFault::Enospc => match operation {
                Unlink { .. } | SetLen { .. } | SetMode { .. } => false,
                other => !other.only_looks(),
            },
            DiskFault::Full => operation.writes() || matches!(operation, Reserve { .. }),
            DiskFault::Short => match operation {
                DiskOperation::Write { len, .. } | DiskOperation::Append { len, .. } => *len > 1,
                _ => false,
            },
        }
    }

    /// Whether it has effects that are left to chance while the process goes on.
    pub(crate) fn has_chance(self) -> bool {
        matches!(self, DiskFault::Eio | DiskFault::Enospc | DiskFault::Short)
    }
}
