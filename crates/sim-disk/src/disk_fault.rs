//! The faults that a test can inject into an operation.

use crate::journal::DiskOperation;

/// A fault of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskFault {
    /// The process dies during the operation; nothing later reaches the disk.
    Crash,
    /// The operation fails with EIO. Any prefix of a write, or any part of a sync, may have
    /// happened.
    Eio,
    /// The operation fails with ENOSPC once, without effect. Any part of a sync may have happened.
    Enospc,
    /// The disk is full until the process ends: no write gets more space than its file already has.
    Full,
    /// A write writes fewer bytes than given, and returns that number.
    Short,
}

impl DiskFault {
    pub const ALL: [DiskFault; 5] = [
        DiskFault::Crash,
        DiskFault::Eio,
        DiskFault::Enospc,
        DiskFault::Full,
        DiskFault::Short,
    ];

    /// Returns true if the fault can happen at this operation.
    pub fn can_happen_at(self, operation: &DiskOperation) -> bool {
        use DiskOperation::{RemoveDir, Reserve, SetLen, SetMode, Unlink};
        match self {
            // A crash during a read is the same as a crash at the next operation that writes.
            DiskFault::Crash => !operation.only_reads(),
            DiskFault::Eio => true,
            DiskFault::Enospc => match operation {
                Unlink { .. } | RemoveDir { .. } | SetLen { .. } | SetMode { .. } => false,
                other => !other.only_reads(),
            },
            DiskFault::Full => operation.writes() || matches!(operation, Reserve { .. }),
            DiskFault::Short => match operation {
                DiskOperation::Write { len, .. } | DiskOperation::Append { len, .. } => *len > 1,
                _ => false,
            },
        }
    }

    /// Returns true if the fault has random effects while the process continues.
    pub(crate) fn is_random(self) -> bool {
        matches!(self, DiskFault::Eio | DiskFault::Enospc | DiskFault::Short)
    }
}
