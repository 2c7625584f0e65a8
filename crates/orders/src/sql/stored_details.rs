//! The parts of fulfilments and returns that are stored as JSON.

use crate::model::{FulfillmentLine, LineQuantity};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FulfillmentDetails<'a> {
    pub(super) line_items: Cow<'a, [FulfillmentLine]>,
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub(super) tracking_numbers: Cow<'a, [String]>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReturnDetails<'a> {
    pub(super) line_items: Cow<'a, [LineQuantity]>,
}
