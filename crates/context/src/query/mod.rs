//! Queries: requests, selection of documents, and responses.

pub(crate) mod oracle;
pub(crate) mod reader;
pub(crate) mod recent_documents;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod selection;
