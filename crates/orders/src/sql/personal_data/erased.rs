//! The erased form of an order: amounts and quantities stay, everything about a person goes.

use crate::model::{OrderCustomer, PostalAddress, Refund, Shipping};
use crate::sql::order::OrderDetails;

/// The text in place of an erased one that an address must have.
pub(super) const ERASED: &str = "[erased]";

/// Returns the details of an order without personal data. The country of an address stays: taxes
/// depend on it.
pub(in crate::sql) fn erased_details(details: &OrderDetails) -> OrderDetails {
    OrderDetails {
        customer: details.customer.as_ref().map(erased_customer),
        shipping_address: details.shipping_address.as_ref().map(erased_address),
        billing_address: details.billing_address.as_ref().map(erased_address),
        tags: Vec::new(),
        custom_fields: Vec::new(),
        notes: None,
        cancel_reason: None,
        shipping: details.shipping.as_ref().map(|shipping| Shipping {
            instructions: None,
            ..shipping.clone()
        }),
        payments: details.payments.clone(),
        refunds: details.refunds.iter().map(erased_refund).collect(),
    }
}

fn erased_customer(customer: &OrderCustomer) -> OrderCustomer {
    OrderCustomer {
        id: customer.id.clone(),
        email: None,
        first_name: None,
        last_name: None,
        phone: None,
    }
}

fn erased_address(address: &PostalAddress) -> PostalAddress {
    PostalAddress {
        address1: ERASED.to_owned(),
        address2: None,
        city: ERASED.to_owned(),
        state_or_province: None,
        zip_code_or_postal_code: None,
        country: address.country.clone(),
        first_name: None,
        last_name: None,
        company: None,
        phone: None,
    }
}

fn erased_refund(refund: &Refund) -> Refund {
    Refund {
        reason: None,
        ..refund.clone()
    }
}
