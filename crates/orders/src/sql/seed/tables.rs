//! The tables that samples are inserted into.

use super::insert::{BIGINT, TEXT, TableInsert};

pub(in crate::sql) const LOCATION: TableInsert<4> = TableInsert {
    table: "locations",
    columns: [
        ("id", TEXT),
        ("name", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const PRODUCT: TableInsert<5> = TableInsert {
    table: "products",
    columns: [
        ("id", TEXT),
        ("name", TEXT),
        ("description", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const VARIANT: TableInsert<9> = TableInsert {
    table: "variants",
    columns: [
        ("sku", TEXT),
        ("id", TEXT),
        ("product_id", TEXT),
        ("name", TEXT),
        ("price", BIGINT),
        ("on_hand", BIGINT),
        ("reserved", BIGINT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const STOCK: TableInsert<5> = TableInsert {
    table: "stock",
    columns: [
        ("sku", TEXT),
        ("location_id", TEXT),
        ("on_hand", BIGINT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const CUSTOMER: TableInsert<8> = TableInsert {
    table: "customers",
    columns: [
        ("id", TEXT),
        ("email", TEXT),
        ("email_key", TEXT),
        ("first_name", TEXT),
        ("last_name", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
        ("phone", TEXT),
    ],
};

pub(in crate::sql) const ORDER: TableInsert<15> = TableInsert {
    table: "orders",
    columns: [
        ("id", TEXT),
        ("external_id", TEXT),
        ("name", TEXT),
        ("status", TEXT),
        ("currency", TEXT),
        ("customer_id", TEXT),
        ("details", TEXT),
        ("sub_total", BIGINT),
        ("discount_total", BIGINT),
        ("total", BIGINT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
        ("number", BIGINT),
        ("payment_status", TEXT),
        ("next_line", BIGINT),
    ],
};

pub(in crate::sql) const LINE: TableInsert<12> = TableInsert {
    table: "order_lines",
    columns: [
        ("order_id", TEXT),
        ("line", BIGINT),
        ("sku", TEXT),
        ("name", TEXT),
        ("quantity", BIGINT),
        ("unit_price", BIGINT),
        ("unit_discount", BIGINT),
        ("fulfilled", BIGINT),
        ("cancelled", BIGINT),
        ("returned", BIGINT),
        ("created_at", BIGINT),
        ("tax", BIGINT),
    ],
};

pub(in crate::sql) const FULFILLMENT: TableInsert<5> = TableInsert {
    table: "fulfillments",
    columns: [
        ("id", TEXT),
        ("order_id", TEXT),
        ("details", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const RETURN: TableInsert<8> = TableInsert {
    table: "returns",
    columns: [
        ("id", TEXT),
        ("order_id", TEXT),
        ("outcome", TEXT),
        ("details", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
        ("status", TEXT),
        ("refund_amount", BIGINT),
    ],
};

/// The key is first, so that inserted rows are counted by it.
pub(in crate::sql) const LOOKUP: TableInsert<4> = TableInsert {
    table: "lookups",
    columns: [
        ("key", TEXT),
        ("created_at", BIGINT),
        ("id", TEXT),
        ("value", TEXT),
    ],
};
