//! The parts of fulfilments and returns that are stored as JSON.

use crate::model::{FulfillmentLine, ReturnLine};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FulfillmentDetails<'a> {
    pub(super) line_items: Cow<'a, [FulfillmentLine]>,
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub(super) tracking_numbers: Cow<'a, [String]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) carrier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReturnDetails<'a> {
    pub(super) line_items: Cow<'a, [ReturnLine]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refund_amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) exchange_order_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) restock_location_id: Option<String>,
    /// The index of each line with the units that came back from it. Returns of format 1 have none;
    /// they are completed, so nothing is taken back from their lines.
    #[serde(default, skip_serializing_if = "<[(i64, i64)]>::is_empty")]
    pub(super) units: Cow<'a, [(i64, i64)]>,
}
