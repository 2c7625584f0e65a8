//! `candor orders openapi`: prints the adapter protocol as OpenAPI.

use crate::cli::{CommandError, print};
use candor_orders::http::openapi_text;
use clap::Args;

/// Print the adapter protocol as an OpenAPI 3.1 document
///
/// It describes the requests that an order system has to answer, for generators of code and documentation.
#[derive(Debug, Args)]
pub(in crate::cli) struct OpenapiArgs {}

impl OpenapiArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        print(openapi_text().as_bytes())
    }
}
