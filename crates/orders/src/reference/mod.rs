//! Compatibility with the public reference server: arguments in its form are accepted in addition
//! to ours, and translated to ours before anything else reads them.

mod accepted_schemas;
mod skipped_entities;
mod translation;

pub(crate) use accepted_schemas::accept;
pub(crate) use skipped_entities::position_after;
pub(crate) use translation::{translate_change, translate_query};

/// The most entities that `skip` leaves out.
pub const MAX_SKIP: i64 = 10_000;

/// The members of an entity that are accepted and ignored.
const IGNORED: [&str; 4] = ["id", "createdAt", "updatedAt", "tenantId"];

/// The members of an order that are other names for members of its `shipping`.
const SHIPPING_NAMES: [(&str, &str); 3] = [
    ("shippingCarrier", "carrier"),
    ("shippingClass", "service"),
    ("shippingPrice", "price"),
];
