//! The adapter `sql` behind the tools: every case on SQLite and on PostgreSQL, with the same answers.

mod bad_input;
mod cancel;
mod commit_groups;
mod concurrency;
mod contention;
mod create;
mod create_customers;
mod create_money;
mod databases;
mod deadlines;
mod fairness;
mod fulfill;
mod import;
mod invariants;
mod keys;
mod lookup_properties;
mod lost_commits;
mod metrics;
mod migration;
mod outages;
mod personal_data;
mod properties;
mod record_removal;
mod records;
mod reference_calls;
mod returns;
mod rules_model;
mod sku_lanes;
mod support;
mod support_properties;
mod update;
mod walkthrough;

/// Makes a test of every case on each database. After each test the tables must be consistent.
macro_rules! test_on_both {
    ($($module:ident: $($case:ident)+;)+) => {
        mod sqlite {
            use crate::fixture::database::TestDatabase;
            use crate::fixture::store::StoreFixture;
            $(mod $module {
                use super::*;
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let fixture = StoreFixture::on(TestDatabase::sqlite()).await;
                    crate::sql::$module::$case(&fixture).await;
                    crate::sql::invariants::assert_hold(&fixture).await;
                })+
            })+
        }
        mod postgres {
            use crate::fixture::database::TestDatabase;
            use crate::fixture::store::StoreFixture;
            $(mod $module {
                use super::*;
                $(#[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let Some(database) = TestDatabase::postgres() else { return };
                    let fixture = StoreFixture::on(database).await;
                    crate::sql::$module::$case(&fixture).await;
                    crate::sql::invariants::assert_hold(&fixture).await;
                })+
            })+
        }
    };
}

test_on_both! {
    create: minimal full catalogue_decides unknown_and_repeated_skus stock_is_reserved five_hundred_lines external_ids;
    create_money: currencies totals discounts too_many_digits;
    create_customers: by_id by_email both;
    update: steps details;
    cancel: all some after_shipping;
    fulfill: all some refusals locations;
    returns: quantities refusals;
    keys: replayed written_differently reused_and_apart violations expiry forgotten duplicates_at_once;
    records: one_for_each_outcome;
    record_removal: old_records_are_removed;
    personal_data: erasure erasure_beside_changes export;
    concurrency: last_units opposite_orders cancel_races_fulfill same_external_id same_new_customer two_servers;
    commit_groups: failing_members;
    deadlines: blocked cancelled in_line;
    fairness: clients_are_served_in_turn;
    support: totals wrong_totals payments refunds edits refused_edits line_numbers shipped_orders returns exchange lookups;
    bad_input: rules lines;
    databases: migrate_twice migrate_at_once newer foreign_tables;
}
