//! What durable code asks of a disk, and the real one.
//!
//! Code that must survive a crash writes through [`Disk`], so that the very same code runs on the
//! real disk and on a simulated one that loses whatever was not synced.

mod disk;
mod names;
mod real;

pub use disk::{Disk, DiskFile, Open};
pub use names::names;
pub use real::{RealDisk, RealFile};
