//! The adapter `sql` behind the tools: every case on SQLite and on PostgreSQL, with the same answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod catalogue;
mod ground;
mod invariants;
mod model;
mod said;
mod stage;

mod cancel;
mod concurrency;
mod create;
mod create_money;
mod create_people;
mod databases;
mod deadlines;
mod fulfill;
mod import;
mod keys;
mod lost;
mod outages;
mod properties;
mod records;
mod returns;
mod update;

/// Makes a test on each database of every case; after each the tables have to be consistent.
macro_rules! on_both {
    ($($module:ident: $($case:ident)+;)+) => {
        mod sqlite {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let stage = crate::stage::Stage::on(crate::ground::Ground::sqlite()).await;
                    crate::$module::$case(&stage).await;
                    crate::invariants::hold(&stage).await;
                })+
            })+
        }
        mod postgres {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let Some(ground) = crate::ground::Ground::postgres() else { return };
                    let stage = crate::stage::Stage::on(ground).await;
                    crate::$module::$case(&stage).await;
                    crate::invariants::hold(&stage).await;
                })+
            })+
        }
    };
}

on_both! {
    create: minimal full catalogue_decides unknown_and_repeated_skus stock_is_reserved five_hundred_lines external_ids;
    create_money: currencies totals discounts too_many_digits;
    create_people: by_id by_email both;
    update: steps details;
    cancel: all some after_shipping;
    fulfill: all some refusals locations;
    returns: quantities refusals;
    keys: replayed written_differently reused_and_apart expiry forgotten duplicates_at_once;
    records: one_for_each_outcome;
    concurrency: last_units opposite_orders cancel_races_fulfill same_external_id same_new_customer two_servers;
    deadlines: blocked cancelled in_line;
    databases: migrate_twice migrate_at_once newer foreign_tables;
}
