//! Tools that tests share; a dev-dependency only.

pub mod sim_disk;
