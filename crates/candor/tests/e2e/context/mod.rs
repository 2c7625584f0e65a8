//! The program `context` and its server on stdio, compared byte
//! for byte.

mod arguments;
mod at_once;
mod builders;
mod changes;
mod commands;
mod errors;
mod few_files;
mod fixture;
mod hostile;
mod killed;
mod making;
mod official;
mod output;
mod permissions;
mod repeatable;
mod reports;
mod root;
mod sameness;
mod server;
mod tools;
mod usage;
mod wrong_arguments;
