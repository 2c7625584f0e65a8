//! Real MCP clients against the playground, the order tools, the context servers and the example server: each
//! must show its caller every success and every failure of every dialect.

mod cases;
mod external;
mod report;
mod rust_sdk;
mod target;
