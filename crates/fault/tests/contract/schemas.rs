//! The schemas of servers with codes of their own.

use crate::weather;
use candor_fault::dialects::Candor;
use candor_fault::{Dialect, schemas, to_json};

#[test]
fn codes_of_a_server_are_in_its_schema() {
    let schema = schemas::candor_failure(&Candor::<weather::Code>::rows());
    let codes = &schema["properties"]["error"]["properties"]["code"]["enum"];
    assert_eq!(
        to_json(codes),
        r#"["invalid_arguments","limited","deadline","cancelled","unrecorded","internal","unknown_city",42]"#
    );
}

#[test]
fn failure_schema_is_small_enough_for_every_tool() {
    // Seven to twelve tools of a server list it within its bound of 48 KB.
    let rows = Candor::<weather::Code>::rows();
    assert!(to_json(&schemas::candor_failure(&rows)).len() < 1500);
}
