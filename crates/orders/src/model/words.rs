//! The enumerated words of payments, returns and sorting.

use serde::{Deserialize, Serialize};

/// Defines an enumeration whose values are words on the wire and in the database.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            pub fn read(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.word() == word)
            }

            /// Returns all words, for a schema.
            pub fn words() -> Vec<&'static str> {
                $name::ALL.iter().map(|one| one.word()).collect()
            }
        }
    };
}

words! {
    /// The compensation of a customer for returned goods.
    ReturnOutcome {
        Refund = "refund",
        Exchange = "exchange",
        StoreCredit = "store-credit",
    }
}

words! {
    /// The status of a return.
    ReturnStatus {
        Requested = "requested",
        Received = "received",
        Completed = "completed",
        Declined = "declined",
    }
}

words! {
    /// The reason why a customer returns goods.
    ReturnReason {
        Defective = "defective",
        Damaged = "damaged",
        WrongItem = "wrong-item",
        NotAsDescribed = "not-as-described",
        NoLongerNeeded = "no-longer-needed",
        Size = "size",
        Late = "late",
        Other = "other",
    }
}

words! {
    /// The way in which a customer paid.
    PaymentMethod {
        Card = "card",
        BankTransfer = "bank-transfer",
        Cash = "cash",
        GiftCard = "gift-card",
        StoreCredit = "store-credit",
        Other = "other",
    }
}

words! {
    /// The state of one recorded payment.
    RecordedStatus {
        /// Reserved, but not received.
        Authorized = "authorized",
        Captured = "captured",
    }
}

words! {
    /// The state of the payments of an order.
    PaymentStatus {
        Unpaid = "unpaid",
        PartiallyPaid = "partially-paid",
        Paid = "paid",
        PartiallyRefunded = "partially-refunded",
        Refunded = "refunded",
    }
}

words! {
    /// The time by which pages are sorted. The id breaks ties.
    SortOrder {
        CreatedAt = "createdAt",
        UpdatedAt = "updatedAt",
    }
}

impl ReturnStatus {
    /// Returns true if an update may set `next`.
    pub const fn may_become(self, next: ReturnStatus) -> bool {
        matches!(
            (self, next),
            (ReturnStatus::Requested, ReturnStatus::Received)
                | (ReturnStatus::Received, ReturnStatus::Completed)
                | (
                    ReturnStatus::Requested | ReturnStatus::Received,
                    ReturnStatus::Declined
                )
        )
    }
}

impl PaymentStatus {
    /// Returns the state of an order with these sums, in the smallest unit.
    pub fn of(total: i64, paid: i64, refunded: i64) -> PaymentStatus {
        if refunded > 0 && refunded == paid {
            PaymentStatus::Refunded
        } else if refunded > 0 {
            PaymentStatus::PartiallyRefunded
        } else if paid >= total {
            PaymentStatus::Paid
        } else if paid > 0 {
            PaymentStatus::PartiallyPaid
        } else {
            PaymentStatus::Unpaid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_back() {
        for outcome in ReturnOutcome::ALL {
            assert_eq!(ReturnOutcome::read(outcome.word()), Some(*outcome));
            let text = format!("\"{}\"", outcome.word());
            assert_eq!(serde_json::to_string(outcome).unwrap(), text);
        }
        assert_eq!(ReturnStatus::read("Requested"), None);
        assert_eq!(SortOrder::words(), ["createdAt", "updatedAt"]);
    }

    #[test]
    fn return_may_take_these_steps_only() {
        let all = ReturnStatus::ALL.iter();
        let allowed: Vec<_> = all
            .flat_map(|from| ReturnStatus::ALL.iter().map(move |to| (from, to)))
            .filter(|(from, to)| from.may_become(**to))
            .map(|(from, to)| format!("{} -> {}", from.word(), to.word()))
            .collect();
        let expected = [
            "requested -> received",
            "requested -> declined",
            "received -> completed",
            "received -> declined",
        ];
        assert_eq!(allowed, expected);
    }

    #[test]
    fn first_payment_status_that_applies_is_shown() {
        let status = |total, paid, refunded| PaymentStatus::of(total, paid, refunded).word();
        assert_eq!(status(10, 0, 0), "unpaid");
        assert_eq!(status(10, 9, 0), "partially-paid");
        assert_eq!(status(10, 10, 0), "paid");
        assert_eq!(status(10, 11, 0), "paid");
        // Nothing is owed.
        assert_eq!(status(0, 0, 0), "paid");
        assert_eq!(status(10, 10, 1), "partially-refunded");
        assert_eq!(status(10, 4, 4), "refunded");
    }
}
