//! Properties that must hold for any bytes: fuzz targets call them, and tests replay the corpus and
//! the findings.

#![allow(clippy::expect_used, clippy::panic)] // A property fails by panicking: that is what a fuzzer looks for.

mod cache;
mod cache_accelerator;
mod cache_document;
mod cache_index;
mod cache_manifest;
mod core;
mod resources;
mod scanner;
mod validator;

pub use self::core::core;
pub use cache_accelerator::cache_accelerator;
pub use cache_document::cache_document;
pub use cache_index::cache_index;
pub use cache_manifest::cache_manifest;
pub use scanner::scanner;
pub use validator::validator;
