//! The GitHub tools: commands, servers on the local forge, and the state that they leave.

mod codes;
mod commands;
mod concurrent_writes;
mod data_dir;
pub(crate) mod fixture;
mod forms;
mod help;
mod hostile;
mod killed;
mod log_lines;
mod requests;
mod secrets;
mod specification;
mod unread_stderr;
mod write_log;
