//! Measures retrieval: Cranfield against published figures, and known items and natural questions in a tree of Markdown
//! files.
#![allow(
    clippy::print_stdout,
    reason = "this program's product is what it prints"
)]

mod arguments;
mod cranfield;
mod document_search;
mod known_item;
mod natural;
mod page;
mod prose;
mod queries;
mod v0;

use arguments::EvaluateArguments;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = EvaluateArguments::parse(std::env::args().skip(1))?;
    let cranfield = cranfield::measure(&arguments.cranfield)?;
    let corpus = known_item::read(&arguments.corpus)?;
    let known = known_item::measure(&corpus);
    let natural = natural::measure(&corpus)?;
    let page = page::page(&cranfield, &known, &natural);
    print!("{page}");
    if let Some(path) = &arguments.write {
        std::fs::write(path, &page)?;
    }
    Ok(())
}
