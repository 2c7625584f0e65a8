//! Reading of caches, for the tools of version 1 and for the commands search, get and list: several
//! caches by name, documents in parts, and what there is.

pub(crate) mod answers;
pub(crate) mod catalogue;
pub(crate) mod document;
pub(crate) mod document_ids;
pub(crate) mod failure;
pub(crate) mod listing;
pub(crate) mod near;
pub(crate) mod render;
pub(crate) mod resources;
pub(crate) mod search;
pub(crate) mod text_parts;
pub(crate) mod union_lists;
pub(crate) mod violations;
