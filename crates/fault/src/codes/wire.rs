//! The JSON-RPC and MCP codes for requests that are not a call of a tool.

use crate::dialects::Wire;

crate::registry! {
    Wire, "wire";
    ParseError {
        number: -32700, name: "PARSE_ERROR",
        meaning: "The message is not JSON, not UTF-8, or cut off.",
        message: "Parse error",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send one complete JSON object in UTF-8 per message.",
        frozen: true
    }
    InvalidRequest {
        number: -32600, name: "INVALID_REQUEST",
        meaning: "The message is JSON, but no acceptable request: wrong shape, a batch, a name twice, too deep, too large, or refused before it was read.",
        message: "Invalid Request",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send one JSON-RPC 2.0 request object within the documented limits.",
        frozen: true
    }
    MethodNotFound {
        number: -32601, name: "METHOD_NOT_FOUND",
        meaning: "The method does not exist in this revision of the protocol, or this server does not offer it.",
        message: "Method not found",
        class: Caller, retry: Never, effect: None,
        remedy: "Use tools/list and tools/call; this server offers tools only.",
        frozen: true
    }
    ResourceNotFound {
        number: -32002, name: "RESOURCE_NOT_FOUND",
        meaning: "No resource has this URI, in revisions up to 2025-11-25; later ones answer INVALID_PARAMS.",
        message: "Resource not found",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Use a URI of resources/list, or one that a template of resources/templates/list gives.",
        frozen: true
    }
    InvalidParams {
        number: -32602, name: "INVALID_PARAMS",
        meaning: "The parameters of a method are missing or of the wrong shape, or the tool is unknown.",
        message: "Invalid params",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct what the message names; tools/list has every tool with its schema.",
        frozen: true
    }
    InternalError {
        number: -32603, name: "INTERNAL_ERROR",
        meaning: "The server could not take or record the request: it is at capacity, stopping, or broken.",
        message: "Internal error",
        class: Server, retry: ask, effect: ask,
        remedy: "Wait, then send the same request; report it if it stays.",
        frozen: true
    }
    HeaderMismatch {
        number: -32020, name: "HEADER_MISMATCH",
        meaning: "An HTTP header that mirrors the body is missing or says something else.",
        message: "Header mismatch",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Send MCP-Protocol-Version, Mcp-Method and Mcp-Name exactly as in the body.",
        frozen: true
    }
    MissingCapability {
        number: -32021, name: "MISSING_CLIENT_CAPABILITY",
        meaning: "The tool needs something that the client has not declared to be capable of.",
        message: "Missing client capability",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Declare what `data.requiredCapabilities` names, or use another tool.",
        frozen: true
    }
    UnsupportedVersion {
        number: -32022, name: "UNSUPPORTED_PROTOCOL_VERSION",
        meaning: "The requested revision of the protocol is not known here.",
        message: "Unsupported protocol version",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Use one of the revisions in `data.supported`.",
        frozen: true
    }
}
