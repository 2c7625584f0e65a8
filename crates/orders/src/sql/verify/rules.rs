//! The invariants of a store, each with its name and the sentence that must be true.

/// Declares the invariants in the order in which they are reported.
macro_rules! invariants {
    ($($variant:ident, $name:literal, $rule:literal;)+) => {
        /// A fact that holds in every store between two transactions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Invariant {
            $($variant,)+
        }

        impl Invariant {
            pub const ALL: &[Invariant] = &[$(Invariant::$variant,)+];

            /// Returns the name, which never changes.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Invariant::$variant => $name,)+
                }
            }

            /// Returns the sentence that must be true.
            pub const fn rule(self) -> &'static str {
                match self {
                    $(Invariant::$variant => $rule,)+
                }
            }
        }
    };
}

invariants! {
    File, "file", "the file is intact, and its indexes match its tables";
    Tables, "tables", "all tables and indexes exist";
    Format, "format", "the format of the tables is recorded";
    Erasure, "erasure", "erased data is removed from the file";
    StockOnHand, "stock-on-hand", "a variant has on hand what lies at all locations";
    StockReserved, "stock-reserved", "a variant has reserved what is open in open orders";
    StockBounds, "stock-bounds", "no more is reserved than there is, and nothing is less than none";
    StockLocations, "stock-locations", "stock is of a known variant at a known location";
    Variants, "variants", "the price of a variant is not negative";
    OrderRows, "order-rows", "the row of an order can be read";
    OrderLines, "order-lines", "an order has lines, and a line belongs to an order of its time";
    OrderNumbers, "order-numbers", "every order has a number of its own";
    ExternalIds, "external-ids", "no two orders have the same external id";
    LineNumbers, "line-numbers", "the lines of an order were numbered before the next one";
    LineQuantities, "line-quantities", "the quantities of a line fit together";
    LineVariants, "line-variants", "a line is of a known variant";
    LineTax, "line-tax", "the tax of a line is at most its amount";
    OrderSums, "order-sums", "the sums of an order are those of its lines";
    OrderStatus, "order-status", "the status of an order is that of its lines";
    OrderCustomer, "order-customer", "the customer of an order is known";
    Payments, "payments", "payments and refunds come to the sums of their order, and the payment status follows from them";
    ShippedUnits, "shipped-units", "as much has left as the lines say";
    ReturnedUnits, "returned-units", "as much has come back as the lines say";
    Fulfillments, "fulfillments", "a shipment belongs to an order and can be read";
    Returns, "returns", "a return belongs to an order and can be read, with a known status and amount";
    Exchanges, "exchanges", "a return and the order that replaces its goods refer to each other";
    Customers, "customers", "a customer has an email address of its own";
    ErasedData, "erased-data", "an erased customer or order contains nothing personal";
    OrderLookups, "order-lookups", "an order is found by its name, people, phones and tracking numbers, and by nothing else";
    CustomerLookups, "customer-lookups", "a customer is found by name and phone, and by nothing else";
    FulfillmentLookups, "fulfillment-lookups", "a shipment is found by its tracking numbers, and by nothing else";
    Keys, "keys", "a key has an outcome that can be read";
    KeyRecords, "key-records", "a key has a record";
    Records, "records", "a record has an outcome that can be read, and a change that was made has its order";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_of_invariants_are_unique() {
        let names: BTreeSet<_> = Invariant::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Invariant::ALL.len());
    }
}
