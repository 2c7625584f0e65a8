//! A bounded HTTP client for one server: connections, TLS, base URLs, body limits and typed errors.
//!
//! The client does not follow redirects, does not retry, does not read proxy settings and does not
//! interpret a status. Deadlines of whole exchanges belong to the caller: a dropped future closes its
//! connection.

mod base_url;
mod bearer_token;
mod body;
mod client;
mod download_url;
mod error;
mod public_address;

pub use base_url::{BaseUrl, PlainHttp};
pub use bearer_token::BearerToken;
pub use body::{BodyLimit, BodyTail, BoundedBody, ResponseBody};
pub use bytes::Bytes;
pub use client::{ClientOptions, HttpClient, Sending};
pub use download_url::{DownloadRefusal, DownloadUrl};
pub use error::{ErrorSource, ExchangeError, HttpSetupError};
pub use hyper::{Method, Response, StatusCode, header};
