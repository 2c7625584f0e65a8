//! The server and its tools on a stub backend.

mod allow_list;
mod argument_rules;
mod bounds;
mod change_rules;
mod contents;
mod deadlines;
mod failure_forms;
mod failure_lines;
mod file_contents;
mod foreign_messages;
mod mergeability;
mod merges;
mod outputs;
mod paging;
mod pull_changes;
mod schema_agreement;
pub(crate) mod schema_keywords;
mod specification_examples;
mod tool_list;
mod unknown_tool;
mod violation_entries;
mod violations;
mod write_limits;
mod write_log;
mod write_permission;
