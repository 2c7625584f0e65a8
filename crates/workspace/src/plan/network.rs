//! The network that a phase grants to its commands.

use candor_sandbox::{HostError, HostPattern, Hosts, Network};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The network of the commands of a phase: none, every public host, or some hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PlanNetwork {
    #[default]
    Off,
    /// Every public host.
    Any,
    /// The hosts of these patterns, such as `api.example.org` or `*.example.net:8443`.
    Hosts(Vec<String>),
}

impl PlanNetwork {
    /// Returns true if something can be reached.
    pub fn is_granted(&self) -> bool {
        match self {
            PlanNetwork::Off => false,
            PlanNetwork::Any => true,
            PlanNetwork::Hosts(hosts) => !hosts.is_empty(),
        }
    }

    /// Returns the network of a sandboxed process, or the pattern that is malformed.
    pub fn to_sandbox(&self) -> Result<Network, (usize, HostError)> {
        match self {
            PlanNetwork::Any => Ok(Network::Proxy(Hosts::Any)),
            PlanNetwork::Hosts(hosts) if !hosts.is_empty() => {
                let parse = |(index, host): (usize, &String)| {
                    host.parse::<HostPattern>().map_err(|error| (index, error))
                };
                let hosts: Result<Vec<_>, _> = hosts.iter().enumerate().map(parse).collect();
                Ok(Network::Proxy(Hosts::Only(hosts?)))
            }
            PlanNetwork::Off | PlanNetwork::Hosts(_) => Ok(Network::Off),
        }
    }
}

/// In words, for the person who approves a plan.
impl fmt::Display for PlanNetwork {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanNetwork::Any => out.write_str("every public host, on every port"),
            PlanNetwork::Hosts(hosts) if !hosts.is_empty() => {
                write!(out, "only {}", hosts.join(", "))
            }
            PlanNetwork::Off | PlanNetwork::Hosts(_) => out.write_str("none"),
        }
    }
}

impl Serialize for PlanNetwork {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PlanNetwork::Off => serializer.serialize_bool(false),
            PlanNetwork::Any => serializer.serialize_bool(true),
            PlanNetwork::Hosts(hosts) => hosts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PlanNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PlanNetwork, D::Error> {
        struct NetworkVisitor;

        impl<'de> Visitor<'de> for NetworkVisitor {
            type Value = PlanNetwork;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a boolean or a list of hosts")
            }

            fn visit_bool<E: Error>(self, granted: bool) -> Result<PlanNetwork, E> {
                Ok(match granted {
                    true => PlanNetwork::Any,
                    false => PlanNetwork::Off,
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PlanNetwork, A::Error> {
                let mut hosts = Vec::new();
                while let Some(host) = items.next_element()? {
                    hosts.push(host);
                }
                Ok(PlanNetwork::Hosts(hosts))
            }
        }

        deserializer.deserialize_any(NetworkVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boolean_and_list_are_read() {
        let read = |text: &str| serde_json::from_str::<PlanNetwork>(text);
        assert_eq!(read("false").unwrap(), PlanNetwork::Off);
        assert_eq!(read("true").unwrap(), PlanNetwork::Any);
        let hosts = read(r#"["a.org", "*.b.net:8443"]"#).unwrap();
        assert_eq!(hosts.to_string(), "only a.org, *.b.net:8443");
        assert_eq!(
            serde_json::to_string(&hosts).unwrap(),
            r#"["a.org","*.b.net:8443"]"#
        );
        for bad in ["1", "\"a.org\"", "{}", "[1]", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn list_reaches_only_its_hosts() {
        let hosts = PlanNetwork::Hosts(vec![String::from("a.org"), String::from("http://b")]);
        assert_eq!(hosts.to_sandbox(), Err((1, HostError::Scheme)));
        assert_eq!(
            PlanNetwork::Hosts(Vec::new()).to_sandbox(),
            Ok(Network::Off)
        );
        assert!(!PlanNetwork::Hosts(Vec::new()).is_granted());
        assert_eq!(
            PlanNetwork::Any.to_sandbox(),
            Ok(Network::Proxy(Hosts::Any))
        );
    }
}
