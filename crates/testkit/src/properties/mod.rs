//! What must hold for any bytes: fuzz targets call these, and the tests replay what fuzzing found.

mod core;
mod scanner;
mod validator;

pub use self::core::core;
pub use scanner::scanner;
pub use validator::validator;
