//! Compares the successes of an order system with the requests that they answer.
//!
//! The comparison has no memory of earlier states: it detects what contradicts the request or the
//! entity itself.

mod amounts;
mod changes;
mod details;
mod orders;
mod pages;
mod texts;

pub(super) use changes::{check_fulfillment, check_order, check_return};
pub(super) use orders::check_sums;
pub(super) use pages::PageComparison;
pub(super) use texts::{clean_entity, clean_id};

use std::fmt;

/// A rule that an answer breaks, with the member that breaks it. It contains no text of the order
/// system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    member: String,
    rule: &'static str,
}

impl Mismatch {
    fn new(member: impl Into<String>, rule: &'static str) -> Mismatch {
        let member = member.into();
        Mismatch { member, rule }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.member, self.rule)
    }
}

/// Returns a mismatch unless the rule holds.
fn must(holds: bool, member: &str, rule: &'static str) -> Result<(), Mismatch> {
    match holds {
        true => Ok(()),
        false => Err(Mismatch::new(member, rule)),
    }
}
