//! The capabilities of an order system: its protocol, its operations, and whether it keeps keys.

use super::client::AdapterResponse;
use super::responses::{InvalidResponse, member, members};
use crate::OrderOperation;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

/// The version of the protocol that this adapter implements.
pub const PROTOCOL: u64 = 1;

pub(crate) const ROUTE: &str = "capabilities";

/// The capabilities of an order system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The operations that it offers. Unknown names are ignored.
    pub operations: BTreeSet<OrderOperation>,
    /// True if the same key never makes the same change twice.
    pub keeps_keys: bool,
}

/// The reason why capabilities cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidCapabilities {
    InvalidResponse(InvalidResponse),
    /// A member has another type.
    Member(&'static str),
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
