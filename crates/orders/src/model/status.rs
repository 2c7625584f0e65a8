//! The states of an order, and which step may follow which.

use serde::{Deserialize, Serialize};

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStatus {
    /// It was made.
    Pending,
    /// It was accepted.
    Confirmed,
    /// It is being prepared.
    Processing,
    /// Everything that was not cancelled has left.
    Shipped,
    /// It has arrived.
    Delivered,
    /// All of it was cancelled.
    Cancelled,
}

impl OrderStatus {
    /// Every status, in the order in which an order passes them.
    pub const ALL: [OrderStatus; 6] = [
        OrderStatus::Pending,
        OrderStatus::Confirmed,
        OrderStatus::Processing,
        OrderStatus::Shipped,
        OrderStatus::Delivered,
        OrderStatus::Cancelled,
    ];

    /// The word for it.
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

    /// The status of this word.
    pub fn read(word: &str) -> Option<OrderStatus> {
        OrderStatus::ALL
            .into_iter()
            .find(|status| status.word() == word)
    }

    /// Whether an update may set `next`: one step along the way, and none that shipping decides.
    pub const fn may_become(self, next: OrderStatus) -> bool {
        matches!(
            (self, next),
            (OrderStatus::Pending, OrderStatus::Confirmed)
                | (OrderStatus::Confirmed, OrderStatus::Processing)
                | (OrderStatus::Shipped, OrderStatus::Delivered)
        )
    }

    /// Whether goods may still leave or be cancelled.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            OrderStatus::Pending | OrderStatus::Confirmed | OrderStatus::Processing
        )
    }

    /// The status of an open order after some of its goods left: shipped once nothing is open, and
    /// confirmed at least.
    pub const fn after_fulfilling(self, nothing_open: bool) -> OrderStatus {
        match (nothing_open, self) {
            (true, _) => OrderStatus::Shipped,
            (false, OrderStatus::Pending) => OrderStatus::Confirmed,
            (false, status) => status,
        }
    }

    /// The status of an open order after some of it was cancelled: cancelled once nothing is left of
    /// it, shipped once everything that is left has left the house.
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
    fn every_step_that_an_update_may_take() {
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
    fn words_and_states_are_the_same_thing() {
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
