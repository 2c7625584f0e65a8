//! Cursors as clients see them: a position of the adapter, bound to the query that it belongs to.

use crate::{Filters, OrderOperation};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// The length of the checksum that binds a cursor to its query. It prevents mistakes, not forgery:
/// a forged cursor returns nothing that a query would not.
const CHECK: usize = 8;

/// The longest cursor that is accepted, in characters.
pub const MAX_CURSOR: usize = 1024;

/// The longest position of an adapter, in bytes. Its cursor has [`MAX_CURSOR`] characters.
pub const MAX_POSITION: usize = MAX_CURSOR / 4 * 3 - CHECK;

/// Writes the cursor of a position in this query.
pub(crate) fn write(operation: OrderOperation, filters: &Filters, position: &str) -> String {
    let mut bytes = check(operation, filters, position).to_vec();
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads the position of a cursor. Returns `None` if the cursor is not one of this query.
pub(crate) fn read(operation: OrderOperation, filters: &Filters, cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (found, position) = bytes.split_at_checked(CHECK)?;
    let position = std::str::from_utf8(position).ok()?;
    let expected = check(operation, filters, position);
    (found == expected).then(|| position.to_owned())
}

fn check(operation: OrderOperation, filters: &Filters, position: &str) -> [u8; CHECK] {
    let mut hash = Sha256::new();
    for part in [
        "candor-orders-cursor-1",
        operation.name(),
        &candor_fault::to_json(filters),
        position,
    ] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut check = [0; CHECK];
    check.copy_from_slice(&hash.finalize()[..CHECK]);
    check
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OrderStatus;

    #[test]
    fn cursor_belongs_to_one_query() {
        let pending = Filters {
            statuses: Some(vec![OrderStatus::Pending]),
            ..Filters::default()
        };
        let cursor = write(OrderOperation::GetOrders, &pending, "17.ord_1");
        assert_eq!(cursor, "MsVj3iq1rlwxNy5vcmRfMQ");
        let read = |operation, filters| read(operation, filters, &cursor);
        let position = Some(String::from("17.ord_1"));
        assert_eq!(read(OrderOperation::GetOrders, &pending), position);
        assert_eq!(read(OrderOperation::GetReturns, &pending), None);
        assert_eq!(read(OrderOperation::GetOrders, &Filters::default()), None);
    }

    #[test]
    fn longest_position_has_the_longest_cursor() {
        let written = |length| {
            write(
                OrderOperation::GetOrders,
                &Filters::default(),
                &"x".repeat(length),
            )
        };
        assert_eq!(written(MAX_POSITION).len(), MAX_CURSOR);
        assert!(written(MAX_POSITION + 1).len() > MAX_CURSOR);
    }

    #[test]
    fn invalid_cursors_are_none() {
        for text in [
            "",
            "AAAA",
            "not base64!",
            "MsVj3iq1rlwxNy5vcmRfMg",
            "__proto__",
        ] {
            assert_eq!(
                read(OrderOperation::GetOrders, &Filters::default(), text),
                None
            );
        }
    }
}
