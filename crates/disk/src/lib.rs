//! The disk operations that durable code uses, and their implementation on the real disk.
//!
//! Code that must survive a crash writes through [`Disk`], so that the same code runs on the real
//! disk and on a simulated one that loses unsynced data.

mod disk;
mod names;
mod real;

pub use disk::{Disk, DiskFile, FileStamp, FileStatus, Open};
pub use names::names;
pub use real::{RealDisk, RealFile};
