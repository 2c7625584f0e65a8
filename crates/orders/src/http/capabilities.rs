//! The capabilities of an order system: its protocol, its operations, filters and features, and
//! whether it keeps keys.

use super::client::AdapterResponse;
use super::responses::{InvalidResponse, Members, member, members};
use crate::model::{
    EntityQuery, Feature, OrderStatus, TIME_FILTERS, UnsupportedPart, filter_names,
};
use crate::{OrderOperation, Request};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The version of the protocol that this adapter implements.
pub const PROTOCOL: u64 = 1;

/// The most words of an order system that are mapped to statuses.
pub const MAX_STATUSES: usize = 100;

/// The most names in each list of the optional capabilities, and the most lists of filters.
pub const MAX_NAMES: usize = 100;

/// The filters of each query that an order system supports.
pub(crate) type FilterNames = BTreeMap<OrderOperation, BTreeSet<&'static str>>;

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
    /// The filters of each query. If absent, those of the first version of the order tools.
    pub filters: Option<BTreeMap<OrderOperation, BTreeSet<&'static str>>>,
    /// The members of requests that it understands beyond the first version of the order tools.
    pub features: BTreeSet<Feature>,
}

/// The reason why capabilities cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidCapabilities {
    InvalidResponse(InvalidResponse),
    /// A member has another type.
    Member(&'static str),
    /// A member has more than [`MAX_NAMES`] names.
    TooMany(&'static str),
    Protocol(u64),
}

impl fmt::Display for InvalidCapabilities {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidCapabilities::InvalidResponse(error) => write!(out, "capabilities: {error}"),
            InvalidCapabilities::Member(name) => {
                write!(out, "capabilities: {name} has another type")
            }
            InvalidCapabilities::TooMany(name) => {
                write!(out, "capabilities: {name} has more than {MAX_NAMES} names")
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
            return Err(InvalidCapabilities::TooMany("statuses"));
        }
        let lookup: Vec<String> = names_of(&members, "lookup")?;
        let features = names_of(&members, "features")?;
        let known = names.iter().filter_map(|name| OrderOperation::read(name));
        Ok(Capabilities {
            operations: known.collect(),
            keeps_keys,
            statuses,
            finds_external_ids: lookup.iter().any(|fact| fact == EXTERNAL_ID),
            filters: read_filters(&members)?,
            features: features
                .iter()
                .filter_map(|word| Feature::read(word))
                .collect(),
        })
    }

    /// Returns the first part of a request that the order system does not support.
    pub(crate) fn unsupported_part(&self, request: &Request) -> Option<UnsupportedPart> {
        if let Request::Query(query) = request {
            let missing = self.unsupported_filter(query);
            return missing.map(UnsupportedPart::Filter);
        }
        let mut used = request.features().into_iter();
        let missing = used.find(|feature| !self.features.contains(feature));
        missing.map(UnsupportedPart::Feature)
    }

    /// Returns true if an order whose answer was lost can be found by its external id.
    pub(crate) fn can_look_up(&self) -> bool {
        self.finds_external_ids
            && self.operations.contains(&OrderOperation::GetOrders)
            && self.has_filter(OrderOperation::GetOrders, "externalIds")
    }

    fn unsupported_filter(&self, query: &EntityQuery) -> Option<&'static str> {
        let mut used = query.filters.used().into_iter();
        used.find(|name| !self.has_filter(query.operation, name))
    }

    /// Returns true if a query supports the filter with this name.
    pub(crate) fn has_filter(&self, operation: OrderOperation, name: &str) -> bool {
        match &self.filters {
            Some(filters) => filters
                .get(&operation)
                .is_some_and(|names| names.contains(name)),
            None => TIME_FILTERS.contains(&name) || filter_names(operation).0.contains(&name),
        }
    }
}

/// Reads the filters of each query. Unknown queries and names are ignored.
fn read_filters(members: &Members<'_>) -> Result<Option<FilterNames>, InvalidCapabilities> {
    const NAME: &str = "filters";
    if !members.contains_key(NAME) {
        return Ok(None);
    }
    let listed: BTreeMap<String, Vec<String>> = optional(members, NAME)?;
    if listed.len() > MAX_NAMES || listed.values().any(|names| names.len() > MAX_NAMES) {
        return Err(InvalidCapabilities::TooMany(NAME));
    }
    let known = listed.iter().filter_map(|(operation, names)| {
        let operation = OrderOperation::read(operation)?;
        let (first, declared) = filter_names(operation);
        let known = first.iter().chain(declared).chain(&TIME_FILTERS).copied();
        let listed = known.filter(|known| names.iter().any(|name| name == known));
        Some((operation, listed.collect()))
    });
    Ok(Some(known.collect()))
}

/// Reads a list of names that may be absent.
fn names_of(members: &Members<'_>, name: &'static str) -> Result<Vec<String>, InvalidCapabilities> {
    let names: Vec<String> = optional(members, name)?;
    match names.len() > MAX_NAMES {
        true => Err(InvalidCapabilities::TooMany(name)),
        false => Ok(names),
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
