//! The faults injected into one call: a pure function of the script, the operation and the call's
//! number.

use super::script::{CallSelector, InjectedFault, Script, ScriptRule};
use crate::OrderOperation;
use std::time::Duration;

/// The faults injected into one call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Injection<'a> {
    pub(super) latency: Duration,
    pub(super) fault: Option<&'a InjectedFault>,
}

impl Script {
    /// Returns the faults of a call, numbered from 1 for each operation. The first matching rule
    /// decides; latencies of rules before it add up.
    pub(super) fn injection(&self, operation: OrderOperation, number: u64) -> Injection<'_> {
        let mut latency = Duration::ZERO;
        let rules = self.rules.iter().enumerate();
        for (index, rule) in rules.filter(|(_, rule)| rule.applies_to(operation)) {
            if !rule
                .when
                .matches([self.seed, index as u64, operation as u64, number])
            {
                continue;
            }
            match &rule.fault {
                InjectedFault::Latency { ms } => {
                    latency = latency.saturating_add(Duration::from_millis(*ms));
                }
                fault => {
                    let fault = Some(fault);
                    return Injection { latency, fault };
                }
            }
        }
        let fault = None;
        Injection { latency, fault }
    }
}

impl ScriptRule {
    fn applies_to(&self, operation: OrderOperation) -> bool {
        let named = self.operations.as_ref();
        named.is_none_or(|named| named.contains(&operation))
    }
}

impl CallSelector {
    /// Returns true if a rule matches. The last of the four numbers is the call's.
    fn matches(&self, of: [u64; 4]) -> bool {
        let [.., number] = of;
        match self {
            CallSelector::Every(every) => number.is_multiple_of(every.get()),
            CallSelector::Calls(calls) => calls.contains(&number),
            CallSelector::Percent(percent) => {
                let drawn = (u128::from(draw(of)) * 100) >> 64;
                drawn < u128::from(*percent)
            }
        }
    }
}

/// Returns 64 evenly distributed bits that are a function of these numbers.
fn draw(of: [u64; 4]) -> u64 {
    of.into_iter()
        .fold(0, |state: u64, part| mix(state ^ mix(part)))
}

/// Returns the next number of SplitMix64 after this state.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(rules: &str) -> Script {
        Script::read(&format!(r#"{{"seed":7,"rules":[{rules}]}}"#)).unwrap()
    }

    /// Returns the numbers of the failing calls among the first ones.
    fn failing_calls(script: &Script, operation: OrderOperation, calls: u64) -> Vec<u64> {
        let fails = |number: &u64| script.injection(operation, *number).fault.is_some();
        (1..=calls).filter(fails).collect()
    }

    #[test]
    fn generator_is_splitmix64() {
        // The first three numbers of SplitMix64 from the state 1234567.
        let step = 0x9E37_79B9_7F4A_7C15_u64;
        let drawn = [0, 1, 2].map(|n: u64| mix(1_234_567_u64.wrapping_add(step.wrapping_mul(n))));
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(drawn, published);
    }

    #[test]
    fn operation_number_is_its_index() {
        for (index, operation) in OrderOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, index);
        }
    }

    #[test]
    fn calls_are_chosen_by_number() {
        let every = script(r#"{"every":3,"fault":{"kind":"hang"}}"#);
        assert_eq!(
            failing_calls(&every, OrderOperation::GetOrders, 10),
            [3, 6, 9]
        );
        let calls = script(r#"{"calls":[4,3],"fault":{"kind":"hang"}}"#);
        assert_eq!(failing_calls(&calls, OrderOperation::GetOrders, 10), [3, 4]);
    }

    #[test]
    fn random_faults_depend_on_rule_operation_and_seed_only() {
        let tenth = script(r#"{"percent":10,"fault":{"kind":"hang"}}"#);
        let creates = failing_calls(&tenth, OrderOperation::CreateOrder, 100);
        assert_eq!(creates, [1, 34, 37, 38, 64, 73, 76, 88, 95]);
        assert_ne!(
            failing_calls(&tenth, OrderOperation::GetOrders, 100),
            creates
        );
        let second = script(
            r#"{"percent":0,"fault":{"kind":"hang"}},{"percent":10,"fault":{"kind":"hang"}}"#,
        );
        assert_ne!(
            failing_calls(&second, OrderOperation::CreateOrder, 100),
            creates
        );
        let seeded = r#"{"seed":8,"rules":[{"percent":10,"fault":{"kind":"hang"}}]}"#;
        let seeded = Script::read(seeded).unwrap();
        assert_ne!(
            failing_calls(&seeded, OrderOperation::CreateOrder, 100),
            creates
        );
    }

    #[test]
    fn percentage_is_met() {
        for (percent, most) in [(0, 0..=0), (10, 900..=1100), (100, 10_000..=10_000)] {
            let script = script(&format!(
                r#"{{"percent":{percent},"fault":{{"kind":"hang"}}}}"#
            ));
            let matches = failing_calls(&script, OrderOperation::CancelOrder, 10_000).len();
            assert!(most.contains(&matches), "{percent}: {matches}");
        }
    }

    #[test]
    fn first_rule_decides_and_latencies_add_up() {
        let script = script(
            r#"{"every":1,"fault":{"kind":"latency","ms":5}},
               {"operations":["get-orders"],"every":2,"fault":{"kind":"timeout"}},
               {"every":2,"fault":{"kind":"latency","ms":7}},
               {"every":2,"fault":{"kind":"garbage"}}"#,
        );
        let injection = |operation, number| script.injection(operation, number);
        let millis = Duration::from_millis;
        let plain = injection(OrderOperation::GetOrders, 1);
        assert_eq!((plain.latency, plain.fault), (millis(5), None));
        let first = injection(OrderOperation::GetOrders, 2);
        assert_eq!(
            (first.latency, first.fault),
            (millis(5), Some(&InjectedFault::Timeout {}))
        );
        let both = injection(OrderOperation::GetReturns, 2);
        assert_eq!(
            (both.latency, both.fault),
            (millis(12), Some(&InjectedFault::Garbage {}))
        );
    }
}
