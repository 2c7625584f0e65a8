//! The GitHub tools: commands, servers on the local forge, and the state that they leave.

mod authentication;
mod codes;
mod commands;
mod concurrent_writes;
mod damage;
mod data_dir;
mod discussion;
pub(crate) mod fixture;
mod forms;
mod full_disk;
mod help;
mod hostile;
mod killed;
mod log_lines;
mod requests;
mod secrets;
mod specification;
mod unread_stderr;
mod upstream;
mod walkthrough;
mod write_log;
