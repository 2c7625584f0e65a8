//! The backend `github` against a scripted server that plays recorded or documented answers of GitHub.
//! Every request is checked against the published OpenAPI description.

mod app_tokens;
mod caller_tokens;
mod changes;
mod commits;
mod comparisons;
mod discussion;
mod enterprise;
mod error_responses;
mod issues;
mod job_logs;
mod network;
pub(crate) mod openapi;
mod pull_branches;
mod pull_updates;
mod pulls;
mod reads;
pub(crate) mod recorded_answers;
mod redirects;
mod repositories_and_releases;
mod response_cache;
mod token_secrecy;
mod workflow_runs;
