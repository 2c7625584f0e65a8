//! The backend `local` on real git repositories.

mod branch_protection;
mod branches;
mod commits;
mod concurrency;
mod crashes;
mod hostile_repositories;
pub(crate) mod import_and_statuses;
mod merges;
mod pulls;
mod reads;
mod revisions;
mod search;
