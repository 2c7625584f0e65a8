//! Determines the revision of the protocol of a request from its headers and its `_meta`.

use crate::mirrored_header::decode_header;
use candor_fault::codes::wire as codes;
use candor_fault::dialects::Wire;
use candor_fault::{ClientText, Fault};
use candor_street::Era;
use serde::Serialize;

/// The revisions that begin with `initialize`, oldest first.
pub const HANDSHAKE_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The revision in which every request is self-contained.
pub const STATELESS_REVISION: &str = "2026-07-28";

/// The revision that `initialize` offers to a client whose revision is not supported.
pub(crate) const OFFERED_REVISION: &str = HANDSHAKE_REVISIONS[3];

/// The names in `_meta`.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// The headers of one HTTP request that mirror its body, trimmed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
}

/// The transport of a message, with what it adds to the message's bytes.
#[derive(Debug, Clone, Copy)]
pub enum MessageSource<'a> {
    /// A line of stdin: `_meta` alone decides.
    Stdio,
    /// A POST.
    Http(Headers<'a>),
}

impl MessageSource<'_> {
    /// Sets the HTTP status of the fault. Does nothing on stdio.
    fn with_status(&self, fault: Fault<Wire>, status: u16) -> Fault<Wire> {
        match self {
            MessageSource::Stdio => fault,
            MessageSource::Http(_) => fault.with_facts(|facts| facts.status = Some(status)),
        }
    }

    /// The era of a request with these headers and this `_meta`.
    pub(crate) fn era(
        &self,
        version: Option<&str>,
        has_capabilities: bool,
    ) -> Result<Era, Fault<Wire>> {
        let header = match self {
            MessageSource::Stdio => version,
            MessageSource::Http(headers) => headers.version,
        };
        match (version, header) {
            (None, None) => Ok(Era::Handshake),
            (None, Some(header)) if is_handshake(header) => Ok(Era::Handshake),
            (None, Some(STATELESS_REVISION)) => Err(self.with_status(incomplete_meta(), 400)),
            (None, Some(unknown)) => Err(unsupported_version(unknown)),
            (Some(STATELESS_REVISION), _) if !has_capabilities => {
                Err(self.with_status(incomplete_meta(), 400))
            }
            (Some(STATELESS_REVISION), None) => {
                Err(header_mismatch("MCP-Protocol-Version is missing"))
            }
            (Some(version), Some(header)) if version != header => {
                Err(header_mismatch("MCP-Protocol-Version is not the body's"))
            }
            (Some(STATELESS_REVISION), _) => Ok(Era::Stateless),
            (Some(version), _) if is_handshake(version) => Ok(Era::Handshake),
            (Some(unknown), _) => Err(unsupported_version(unknown)),
        }
    }

    /// Checks that the headers agree with the body, in the stateless era.
    pub(crate) fn check_mirrored_headers(
        &self,
        method: &str,
        name: Option<&str>,
    ) -> Result<(), Fault<Wire>> {
        let MessageSource::Http(headers) = self else {
            return Ok(());
        };
        match headers.method {
            None => return Err(header_mismatch("Mcp-Method is missing")),
            Some(header) if header != method => {
                return Err(header_mismatch("Mcp-Method is not the body's"));
            }
            Some(_) => {}
        }
        match (name, headers.name) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(header_mismatch("Mcp-Name is missing")),
            (Some(name), Some(header)) if decode_header(header).as_deref() == Some(name) => Ok(()),
            (Some(_), Some(_)) => Err(header_mismatch("Mcp-Name is not the body's")),
        }
    }

    /// A method that does not exist in this era.
    pub(crate) fn unknown_method(&self, method: &str, era: Era) -> Fault<Wire> {
        let message = ClientText::from("Method not found: ").quoting(method);
        let fault = codes::MethodNotFound.fault().with_message(message);
        match era {
            Era::Handshake => fault,
            Era::Stateless => self.with_status(fault, 404),
        }
    }
}

/// The handshake revision of this name.
pub(crate) fn handshake_revision(name: &str) -> Option<&'static str> {
    HANDSHAKE_REVISIONS.into_iter().find(|known| *known == name)
}

fn is_handshake(name: &str) -> bool {
    handshake_revision(name).is_some()
}

/// Every revision, oldest first.
pub(crate) fn supported_revisions() -> Vec<&'static str> {
    HANDSHAKE_REVISIONS
        .into_iter()
        .chain([STATELESS_REVISION])
        .collect()
}

fn incomplete_meta() -> Fault<Wire> {
    Wire::invalid_params(
        "params._meta must have io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities",
    )
}

/// Refuses a header that does not agree with the body.
pub(crate) fn header_mismatch(what: impl Into<ClientText>) -> Fault<Wire> {
    let message = ClientText::from("Header mismatch: ").followed_by(what.into());
    codes::HeaderMismatch.fault().with_message(message)
}

fn unsupported_version(requested: &str) -> Fault<Wire> {
    #[derive(Serialize)]
    struct Data {
        supported: Vec<&'static str>,
        requested: String,
    }
    let data = Data {
        supported: supported_revisions(),
        requested: ClientText::from("").quoting(requested).as_str().to_owned(),
    };
    codes::UnsupportedVersion
        .fault()
        .with_facts(|facts| facts.data = Some(candor_fault::to_json(&data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(version: Option<&str>) -> MessageSource<'_> {
        MessageSource::Http(Headers {
            version,
            ..Headers::default()
        })
    }

    fn code(
        facts: MessageSource<'_>,
        version: Option<&str>,
        has_capabilities: bool,
    ) -> Result<Era, i32> {
        let era = facts.era(version, has_capabilities);
        era.map_err(|fault| fault.row().code.number())
    }

    #[test]
    fn headers_and_meta_decide_the_era() {
        const NEW: Option<&str> = Some(STATELESS_REVISION);
        const OLD: Option<&str> = Some("2025-06-18");
        const ODD: Option<&str> = Some("v999");
        for (header, version, complete, expected) in [
            (None, None, false, Ok(Era::Handshake)),
            (OLD, None, false, Ok(Era::Handshake)),
            (NEW, None, false, Err(-32602)),
            (ODD, None, false, Err(-32022)),
            (NEW, NEW, true, Ok(Era::Stateless)),
            (NEW, NEW, false, Err(-32602)),
            (None, NEW, true, Err(-32020)),
            (OLD, NEW, true, Err(-32020)),
            (NEW, ODD, true, Err(-32020)),
            (ODD, ODD, true, Err(-32022)),
            (None, ODD, true, Err(-32022)),
            (None, OLD, false, Ok(Era::Handshake)),
        ] {
            assert_eq!(
                code(http(header), version, complete),
                expected,
                "{header:?} {version:?}"
            );
        }
    }

    #[test]
    fn meta_alone_decides_the_era_on_stdio() {
        assert_eq!(code(MessageSource::Stdio, None, false), Ok(Era::Handshake));
        assert_eq!(
            code(MessageSource::Stdio, Some(STATELESS_REVISION), true),
            Ok(Era::Stateless)
        );
        assert_eq!(
            code(MessageSource::Stdio, Some(STATELESS_REVISION), false),
            Err(-32602)
        );
        assert_eq!(
            code(MessageSource::Stdio, Some("2024-11-05"), false),
            Ok(Era::Handshake)
        );
        assert_eq!(code(MessageSource::Stdio, Some("x"), true), Err(-32022));
    }
}
