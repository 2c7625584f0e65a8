//! Measures retrieval: Cranfield against published figures, and known items in a tree of Markdown files.
#![allow(
    clippy::print_stdout,
    reason = "this program's product is what it prints"
)]

mod arguments;
mod cranfield;
mod document_search;
mod known_item;
mod page;
mod prose;
mod queries;
mod v0;

use arguments::EvaluateArguments;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = EvaluateArguments::parse(std::env::args().skip(1))?;
    let cranfield = cranfield::measure(&arguments.cranfield)?;
    let known = known_item::measure(&arguments.corpus)?;
    let page = page::page(&cranfield, &known);
    print!("{page}");
    if let Some(path) = &arguments.write {
        std::fs::write(path, &page)?;
    }
    Ok(())
}
