//! What must hold for any bytes: fuzz targets call these, and the tests replay what fuzzing found.

#![allow(clippy::expect_used)] // A property fails by panicking: that is what a fuzzer looks for.

mod core;
mod scanner;
mod validator;

pub use self::core::core;
pub use scanner::scanner;
pub use validator::validator;
