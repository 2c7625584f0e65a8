//! The tables that samples go into.

use super::insert::{BIGINT, Into, TEXT};

pub(in crate::sql) const LOCATION: Into<4> = Into {
    table: "locations",
    columns: [
        ("id", TEXT),
        ("name", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const PRODUCT: Into<5> = Into {
    table: "products",
    columns: [
        ("id", TEXT),
        ("name", TEXT),
        ("description", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const VARIANT: Into<9> = Into {
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

pub(in crate::sql) const STOCK: Into<5> = Into {
    table: "stock",
    columns: [
        ("sku", TEXT),
        ("location_id", TEXT),
        ("on_hand", BIGINT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const CUSTOMER: Into<7> = Into {
    table: "customers",
    columns: [
        ("id", TEXT),
        ("email", TEXT),
        ("email_key", TEXT),
        ("first_name", TEXT),
        ("last_name", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const ORDER: Into<12> = Into {
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
    ],
};

pub(in crate::sql) const LINE: Into<11> = Into {
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
    ],
};

pub(in crate::sql) const FULFILLMENT: Into<5> = Into {
    table: "fulfillments",
    columns: [
        ("id", TEXT),
        ("order_id", TEXT),
        ("details", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};

pub(in crate::sql) const RETURN: Into<6> = Into {
    table: "returns",
    columns: [
        ("id", TEXT),
        ("order_id", TEXT),
        ("outcome", TEXT),
        ("details", TEXT),
        ("created_at", BIGINT),
        ("updated_at", BIGINT),
    ],
};
