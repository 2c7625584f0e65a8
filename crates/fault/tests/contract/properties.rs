//! Random failures of the shared dialects are encoded within their schemas.

use crate::weather;
use candor_dialect_fixtures::{
    DrawnCall, assert_fits, body, drawn_call, encode_drawn, fault_draw, published, text_block,
};
use candor_fault::dialects::{Candor, Wire};
use candor_fault::{Dialect, Fault, WIRE_REGISTRY, schemas, to_json};
use jsonschema::Validator;
use proptest::prelude::*;
use std::sync::LazyLock;

fn check_wire(fault: &Fault<Wire>, call: DrawnCall) -> Result<(), TestCaseError> {
    static ERROR: LazyLock<Validator> = LazyLock::new(|| published(&WIRE_REGISTRY, "wire.error"));
    assert_fits(&ERROR, &body(&encode_drawn(fault, call)?))
}

fn check_weather(
    fault: &Fault<Candor<weather::Code>>,
    call: DrawnCall,
) -> Result<(), TestCaseError> {
    static SCHEMAS: LazyLock<[Validator; 2]> = LazyLock::new(|| {
        let rows = Candor::<weather::Code>::rows();
        [
            schemas::candor_result(&rows),
            schemas::candor_failure(&rows),
        ]
        .map(|schema| jsonschema::validator_for(&schema).unwrap())
    });
    let answer = encode_drawn(fault, call)?;
    assert_fits(&SCHEMAS[0], &body(&answer))?;
    let block = text_block(&answer);
    let (_, object) = block.split_once('\n').unwrap();
    assert_fits(&SCHEMAS[1], object)
}

proptest! {
    #[test]
    fn every_wire_failure_fits_its_schema(draw in fault_draw(), call in drawn_call()) {
        let fault = draw.fault::<Wire>().with_facts(|facts| {
            facts.data = draw.word(0).map(|_| to_json(&draw.data));
        });
        check_wire(&fault, call)?;
        check_wire(&draw.adopted(), call)?;
    }

    #[test]
    fn every_failure_of_a_third_party_fits_its_schema(draw in fault_draw(), call in drawn_call()) {
        check_weather(&draw.fault(), call)?;
        check_weather(&draw.adopted(), call)?;
    }
}
