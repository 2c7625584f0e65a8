//! A registry as a third party declares one.

use candor_fault::dialects::Candor;
use candor_fault::{Effect, Fault, Retry};

candor_fault::registry! {
    Candor<Code>, "weather";
    UnknownCity {
        code: "unknown_city",
        meaning: "No station is near this city.",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Choose one of the cities that list_cities shows."
    }
    StationDown {
        number: 42, name: "STATION_DOWN",
        meaning: "The station does not answer.",
        message: "The station is down",
        class: Upstream, retry: ask, effect: ask,
        remedy: "Try another station."
    }
}

#[test]
fn third_party_registry_has_defaults() {
    let unknown: Fault<Candor<Code>> = UnknownCity.fault();
    assert_eq!(unknown.code(), Some(Code::UnknownCity));
    assert_eq!(unknown.message(), "No station is near this city");
    assert_eq!(unknown.row().name, "unknown_city");
    assert!(!unknown.row().frozen);
    let down = StationDown.fault(Retry::SameCall, Effect::Unknown);
    assert!(down.is(StationDown));
    assert!(!down.is(UnknownCity));
    assert_eq!(down.row().code.to_string(), "42");
}
