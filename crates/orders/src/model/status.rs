//! The status of an order, and the steps between them.

use serde::{Deserialize, Serialize};

/// The status of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStatus {
    Pending,
    Confirmed,
    Processing,
    /// All units that were not cancelled have been shipped.
    Shipped,
    Delivered,
    /// All units were cancelled.
    Cancelled,
}

impl OrderStatus {
    /// Every status, in the order in which an order passes through them.
    pub const ALL: [OrderStatus; 6] = [
        OrderStatus::Pending,
        OrderStatus::Confirmed,
        OrderStatus::Processing,
        OrderStatus::Shipped,
        OrderStatus::Delivered,
        OrderStatus::Cancelled,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            OrderStatus::Pending => "pending",
            OrderStatus::Confirmed => "confirmed",
            OrderStatus::Processing => "processing",
            OrderStatus::Shipped => "shipped",
            OrderStatus::Delivered => "delivered",
            OrderStatus::Cancelled => "cancelled",
        }
    }

    pub fn read(word: &str) -> Option<OrderStatus> {
        OrderStatus::ALL
            .into_iter()
            .find(|status| status.word() == word)
    }

    /// Returns true if an update may set `next`: the next step, except those that shipping decides.
    pub const fn may_become(self, next: OrderStatus) -> bool {
        matches!(
            (self, next),
            (OrderStatus::Pending, OrderStatus::Confirmed)
                | (OrderStatus::Confirmed, OrderStatus::Processing)
                | (OrderStatus::Shipped, OrderStatus::Delivered)
        )
    }

    /// Returns true if units may still be shipped or cancelled.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            OrderStatus::Pending | OrderStatus::Confirmed | OrderStatus::Processing
        )
    }

    /// Returns the status of an open order after units were shipped: shipped if nothing is open,
    /// and at least confirmed.
    pub const fn after_fulfilling(self, nothing_open: bool) -> OrderStatus {
        match (nothing_open, self) {
            (true, _) => OrderStatus::Shipped,
            (false, OrderStatus::Pending) => OrderStatus::Confirmed,
            (false, status) => status,
        }
    }

    /// Returns the status of an open order after units were cancelled: cancelled if nothing is left
    /// of it, shipped if everything that is left has been shipped.
    pub const fn after_cancelling(self, nothing_open: bool, anything_left: bool) -> OrderStatus {
        match (nothing_open, anything_left) {
            (true, true) => OrderStatus::Shipped,
            (true, false) => OrderStatus::Cancelled,
            (false, _) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_may_take_these_steps_only() {
        let allowed: Vec<_> = OrderStatus::ALL
            .into_iter()
            .flat_map(|from| OrderStatus::ALL.map(|to| (from, to)))
            .filter(|(from, to)| from.may_become(*to))
            .map(|(from, to)| format!("{} -> {}", from.word(), to.word()))
            .collect();
        let expected = [
            "pending -> confirmed",
            "confirmed -> processing",
            "shipped -> delivered",
        ];
        assert_eq!(allowed, expected);
    }

    #[test]
    fn status_words_parse_back() {
        for status in OrderStatus::ALL {
            assert_eq!(OrderStatus::read(status.word()), Some(status));
            assert_eq!(
                serde_json::to_string(&status).unwrap(),
                format!("\"{}\"", status.word())
            );
        }
        assert_eq!(OrderStatus::read("Pending"), None);
    }
}
