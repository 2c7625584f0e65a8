//! The clients of a server: their names, tokens, scopes, tools and limits.

mod calls_in_flight;
mod clients_file;
mod directory;
mod rate_limits;
mod token;

pub(crate) use calls_in_flight::CallsInFlight;
pub use clients_file::{
    Client, ClientsFile, ClientsFileError, MAX_CLIENTS, MAX_CLIENTS_FILE, MAX_TOKENS,
};
pub use directory::ClientDirectory;
pub(crate) use rate_limits::{RateLimits, RateQuotas};
pub use token::TokenHash;
