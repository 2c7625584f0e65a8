//! The backend `local` on real git repositories.

mod auto_merges;
mod branch_protection;
mod branches;
mod cached_reads;
mod changes;
mod code_search;
mod commits;
mod comparisons;
mod concurrency;
mod conflicts;
mod crashes;
mod damage;
mod discussion;
mod formats;
mod history_order;
mod hostile_repositories;
pub(crate) mod import_and_statuses;
mod import_files;
mod issues;
mod job_logs;
mod merges;
mod pulls;
mod reads;
mod repositories_and_releases;
mod revisions;
mod search;
mod writers_beside_git;
