//! The member `sandbox` of a line: what held for the commands of a call.

use candor_sandbox::{Held, HeldNetwork, Namespace, Offer};
use serde_json::{Value, json};

/// Returns what will hold for a command on a machine with this offer. `network` is true if the plan grants
/// it.
pub(crate) fn expected_protection(offer: &Offer, network: bool) -> Held {
    let has_own_network = offer.namespaces.contains(&Namespace::Net);
    Held {
        level: offer.level,
        namespaces: offer.namespaces.clone(),
        landlock: offer.landlock,
        seccomp: offer.seccomp,
        network: match (network, has_own_network) {
            (false, _) => HeldNetwork::Off,
            (true, true) => HeldNetwork::Proxy,
            (true, false) => HeldNetwork::Machine,
        },
        missing: offer.missing.clone(),
    }
}

/// Describes the protection that holds for the commands of a call. `connections` is the number of those
/// that the proxy made, and `refused` of those that it refused.
pub(crate) fn describe_sandbox(held: &Held, connections: u64, refused: u64) -> Value {
    json!({
        "level": held.level,
        "namespaces": held.namespaces,
        "landlock": held.landlock,
        "seccomp": held.seccomp,
        "network": {
            "mode": held.network,
            "connections": connections,
            "refused": refused,
        },
        "missing": held.missing,
    })
}
