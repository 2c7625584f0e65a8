//! The payments and refunds of an order. Money moves elsewhere; entries are only recorded.

use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{
    Currency, MAX_ENTRIES, Money, NewPayment, NewRefund, Payment, RecordedStatus, Refund, UtcTime,
    to_money,
};

/// The recorded entries of an order.
#[derive(Debug, Clone, Default)]
pub(super) struct PaymentLedger {
    pub(super) payments: Vec<Payment>,
    pub(super) refunds: Vec<Refund>,
}

/// The currency, the time and the path of entries that are recorded.
type EntryContext<'a> = (Currency, UtcTime, &'a str);

fn conflict(field: String) -> Failure {
    OrderRefusal::from(RefusalReason::PaymentReferenceConflict)
        .at(field)
        .into()
}

impl PaymentLedger {
    /// Records payments. An authorized payment is captured by an entry with the same reference.
    pub(super) fn record_payments(
        &mut self,
        entries: &[NewPayment],
        (currency, at, field): EntryContext<'_>,
        mut next_id: impl FnMut() -> String,
    ) -> Result<(), Failure> {
        for (index, entry) in entries.iter().enumerate() {
            let amount_field = format!("{field}.{index}.amount");
            let amount = to_money(&amount_field, Some(&entry.amount), currency)?;
            let amount = amount.unwrap_or_default();
            let status = entry.status.unwrap_or(RecordedStatus::Captured);
            let known = self.payments.iter_mut();
            let mut known = known.filter(|payment| payment.reference == entry.reference);
            if let Some(payment) = known.next() {
                let captures = payment.status == RecordedStatus::Authorized
                    && status == RecordedStatus::Captured
                    && payment.method == entry.method
                    && amount <= parse(&payment.amount, currency)?;
                if !captures {
                    return Err(conflict(format!("{field}.{index}.reference")));
                }
                payment.status = RecordedStatus::Captured;
                payment.amount = amount.text(currency);
                payment.at = at;
                continue;
            }
            if self.payments.len() >= MAX_ENTRIES {
                return Err(RuleViolation::new(field, OrderRule::EntryLimit).into());
            }
            self.payments.push(Payment {
                id: next_id(),
                reference: entry.reference.clone(),
                method: entry.method,
                amount: amount.text(currency),
                status,
                at,
            });
        }
        Ok(())
    }

    /// Records refunds. Together they are at most what was captured.
    pub(super) fn record_refunds(
        &mut self,
        entries: &[NewRefund],
        (currency, at, field): EntryContext<'_>,
        mut next_id: impl FnMut() -> String,
    ) -> Result<(), Failure> {
        for (index, entry) in entries.iter().enumerate() {
            let amount_field = format!("{field}.{index}.amount");
            let amount = to_money(&amount_field, Some(&entry.amount), currency)?;
            let amount = amount.unwrap_or_default();
            let mut known = self.refunds.iter();
            if known.any(|refund| refund.reference == entry.reference) {
                return Err(conflict(format!("{field}.{index}.reference")));
            }
            if self.refunds.len() >= MAX_ENTRIES {
                return Err(RuleViolation::new(field, OrderRule::EntryLimit).into());
            }
            let paid = self.paid_total(currency, field)?.minor();
            let left = paid - self.refunded_total(currency, field)?.minor();
            if amount.minor() > left {
                let left = Money::of_minor(left.max(0).into()).unwrap_or_default();
                let refused = OrderRefusal::from(RefusalReason::RefundExceedsPaid);
                return Err(refused
                    .at(amount_field)
                    .having_amount(left.text(currency))
                    .into());
            }
            self.refunds.push(Refund {
                id: next_id(),
                amount: amount.text(currency),
                reference: entry.reference.clone(),
                reason: entry.reason.clone(),
                return_id: entry.return_id.clone(),
                at,
            });
        }
        Ok(())
    }

    /// Returns the sum of the captured payments. `field` is refused if the sum has too many digits.
    pub(super) fn paid_total(&self, currency: Currency, field: &str) -> Result<Money, Failure> {
        let captured = self.payments.iter();
        let captured = captured.filter(|payment| payment.status == RecordedStatus::Captured);
        sum(captured.map(|payment| &payment.amount), currency, field)
    }

    /// Returns the sum of the refunds.
    pub(super) fn refunded_total(&self, currency: Currency, field: &str) -> Result<Money, Failure> {
        let refunds = self.refunds.iter().map(|refund| &refund.amount);
        sum(refunds, currency, field)
    }
}

/// Parses an amount that this program has written.
fn parse(amount: &str, currency: Currency) -> Result<Money, Failure> {
    let unread = |_| crate::sql::order::corrupt_row("an amount in the database cannot be read");
    Money::parse(amount, currency).map_err(unread)
}

fn sum<'a>(
    amounts: impl Iterator<Item = &'a String>,
    currency: Currency,
    field: &str,
) -> Result<Money, Failure> {
    let mut sum = 0;
    for amount in amounts {
        sum += i128::from(parse(amount, currency)?.minor());
    }
    let too_large = || RuleViolation::new(field, OrderRule::Digits).into();
    Money::of_minor(sum).ok_or_else(too_large)
}
