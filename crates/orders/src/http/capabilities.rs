//! What an order system says about itself: its protocol, its operations, whether it keeps keys.

use super::client::AdapterResponse;
use super::responses::{InvalidResponse, member, members};
use crate::OrderOperation;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

/// The version of the protocol that is spoken here.
pub const PROTOCOL: u64 = 1;

/// The route that tells capabilities.
pub(crate) const ROUTE: &str = "capabilities";

/// What an order system can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The operations that it offers; names that are not known here are left out.
    pub operations: BTreeSet<OrderOperation>,
    /// Whether the same key never makes the same change twice.
    pub keeps_keys: bool,
}

/// Why capabilities cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidCapabilities {
    /// They cannot be read.
    InvalidResponse(InvalidResponse),
    /// A member is of another type.
    Member(&'static str),
    /// The protocol is another one.
    Protocol(u64),
}

impl fmt::Display for InvalidCapabilities {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidCapabilities::InvalidResponse(error) => write!(out, "capabilities: {error}"),
            InvalidCapabilities::Member(name) => {
                write!(out, "capabilities: {name} has another type")
            }
            InvalidCapabilities::Protocol(number) => write!(
                out,
                "capabilities: protocol {number} is not spoken here, only {PROTOCOL}"
            ),
        }
    }
}

impl From<InvalidResponse> for InvalidCapabilities {
    fn from(error: InvalidResponse) -> Self {
        InvalidCapabilities::InvalidResponse(error)
    }
}

impl Capabilities {
    pub(crate) fn read(response: &AdapterResponse) -> Result<Capabilities, InvalidCapabilities> {
        let members = members(response)?;
        let text = |name| member(&members, name).map(RawValue::get);
        let protocol: u64 = serde_json::from_str(text("protocol")?)
            .map_err(|_| InvalidCapabilities::Member("protocol"))?;
        if protocol != PROTOCOL {
            return Err(InvalidCapabilities::Protocol(protocol));
        }
        let names: Vec<String> = serde_json::from_str(text("operations")?)
            .map_err(|_| InvalidCapabilities::Member("operations"))?;
        let keeps_keys = serde_json::from_str(text("keepsKeys")?)
            .map_err(|_| InvalidCapabilities::Member("keepsKeys"))?;
        let known = names.iter().filter_map(|name| OrderOperation::read(name));
        Ok(Capabilities {
            operations: known.collect(),
            keeps_keys,
        })
    }
}
