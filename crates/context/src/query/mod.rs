//! Queries: what a caller asks, which documents are selected, and the response.

pub(crate) mod oracle;
pub(crate) mod reader;
pub(crate) mod recent_documents;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod selection;
