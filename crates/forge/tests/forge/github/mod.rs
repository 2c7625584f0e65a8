//! The backend `github` against a scripted server that plays recorded or documented answers of GitHub.
//! Every request is checked against the published OpenAPI description.

mod commits;
mod enterprise;
mod error_responses;
mod network;
pub(crate) mod openapi;
mod pull_updates;
mod pulls;
mod reads;
pub(crate) mod recorded_answers;
mod redirects;
mod response_cache;
mod token_secrecy;
