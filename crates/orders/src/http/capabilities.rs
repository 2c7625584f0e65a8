//! The capabilities of an order system: its protocol, its operations, and whether it keeps keys.

use super::client::AdapterResponse;
use super::responses::{InvalidResponse, Members, member, members};
use crate::OrderOperation;
use crate::model::OrderStatus;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The version of the protocol that this adapter implements.
pub const PROTOCOL: u64 = 1;

/// The most words of an order system that are mapped to statuses.
pub const MAX_STATUSES: usize = 100;

/// The statuses of an order system, each with ours.
pub(crate) type StatusMap = BTreeMap<String, OrderStatus>;

/// The fact by which a lost order can be found.
const EXTERNAL_ID: &str = "externalId";

pub(crate) const ROUTE: &str = "capabilities";

/// The capabilities of an order system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The operations that it offers. Unknown names are ignored.
    pub operations: BTreeSet<OrderOperation>,
    /// True if the same key never makes the same change twice.
    pub keeps_keys: bool,
    /// The words that it uses for statuses, each with ours.
    pub statuses: BTreeMap<String, OrderStatus>,
    /// True if an order whose answer was lost can be found by its external id.
    pub finds_external_ids: bool,
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
        let statuses: StatusMap = optional(&members, "statuses")?;
        if statuses.len() > MAX_STATUSES {
            return Err(InvalidCapabilities::Member("statuses"));
        }
        let lookup: Vec<String> = optional(&members, "lookup")?;
        let known = names.iter().filter_map(|name| OrderOperation::read(name));
        Ok(Capabilities {
            operations: known.collect(),
            keeps_keys,
            statuses,
            finds_external_ids: lookup.iter().any(|fact| fact == EXTERNAL_ID),
        })
    }
}

/// Reads a member that may be absent.
fn optional<T: DeserializeOwned + Default>(
    members: &Members<'_>,
    name: &'static str,
) -> Result<T, InvalidCapabilities> {
    match members.get(name) {
        None => Ok(T::default()),
        Some(text) => {
            serde_json::from_str(text.get()).map_err(|_| InvalidCapabilities::Member(name))
        }
    }
}
