//! The GitHub tools: commands, servers on the local forge, and
//! what git and the next process find afterwards.

mod at_once;
mod codes;
mod commands;
mod data_dir;
mod fixture;
mod forms;
mod help;
mod hostile;
mod killed;
mod lines;
mod requests;
mod secrets;
mod seed;
mod unread;
mod write_log;
