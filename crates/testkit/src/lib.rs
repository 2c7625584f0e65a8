//! Tools that tests share; a dev-dependency only.

pub mod properties;
pub mod sim_disk;
