//! Directories and files: found below a root, read through handles, and stamped to detect changes.

pub(crate) mod dir_handle;
pub(crate) mod disk_steps;
pub(crate) mod file_stamp;
pub(crate) mod location;
