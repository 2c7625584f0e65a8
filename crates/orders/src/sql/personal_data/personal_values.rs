//! The texts that identify a customer. Identifiers of other systems are erased if they contain one.

use crate::model::{Customer, OrderCustomer, PostalAddress};
use crate::sql::order::OrderDetails;
use std::collections::BTreeSet;

/// The fewest characters of a text that counts inside of other words.
const MIN_INSIDE: usize = 4;

/// The names, addresses, phones and email addresses of a customer, in lower case.
#[derive(Debug, Clone, Default)]
pub(super) struct PersonalValues(BTreeSet<String>);

impl PersonalValues {
    pub(super) fn of_customer(customer: &Customer) -> PersonalValues {
        let mut values = PersonalValues::default();
        let email = customer.email.as_deref();
        values.add([email, customer.first_name.as_deref()]);
        values.add([customer.last_name.as_deref(), customer.phone.as_deref()]);
        values
    }

    /// Adds the texts of an order.
    pub(super) fn with_order(&self, details: &OrderDetails) -> PersonalValues {
        let mut values = self.clone();
        if let Some(customer) = &details.customer {
            values.add_customer(customer);
        }
        let addresses = [&details.shipping_address, &details.billing_address];
        for address in addresses.into_iter().flatten() {
            values.add_address(address);
        }
        values
    }

    fn add_customer(&mut self, customer: &OrderCustomer) {
        self.add([customer.email.as_deref(), customer.first_name.as_deref()]);
        self.add([customer.last_name.as_deref(), customer.phone.as_deref()]);
    }

    fn add_address(&mut self, address: &PostalAddress) {
        self.add([Some(&address.address1), address.address2.as_deref()]);
        self.add([address.first_name.as_deref(), address.last_name.as_deref()]);
        self.add([address.company.as_deref(), address.phone.as_deref()]);
    }

    fn add(&mut self, texts: [Option<&str>; 2]) {
        let texts = texts.into_iter().flatten();
        let texts = texts.map(|text| text.trim().to_lowercase());
        self.0
            .extend(texts.filter(|text| text.chars().count() >= 2));
    }

    /// Returns true if a text contains one of the values. A short value must be a word of its own,
    /// so that "Al" does not match "small".
    pub(super) fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|value| {
            let is_long = value.chars().count() >= MIN_INSIDE;
            let mut found = text.match_indices(value.as_str());
            found.any(|(start, _)| is_long || is_word(&text, start, start + value.len()))
        })
    }
}

/// Returns true if no letter or digit touches this part of a text.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_found_as_words_and_long_ones_everywhere() {
        let mut values = PersonalValues::default();
        values.add([Some("Al"), Some("Keller")]);
        for (text, expected) in [
            ("for al", true),
            ("small", false),
            ("AL-1", true),
            ("mrkeller17", true),
            ("Kell", false),
            ("", false),
        ] {
            assert_eq!(values.are_in(text), expected, "{text}");
        }
    }
}
