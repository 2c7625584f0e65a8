//! The command line of the evaluation.

use std::path::PathBuf;

const USAGE: &str = "usage: evaluate --cranfield DIR --corpus DIR [--write FILE]\n  \
     --cranfield  where cran.all.1400, cran.qry and cranqrel are\n  \
     --corpus     a tree of Markdown files\n  \
     --write      write the page here as well";

/// The arguments: the corpora, and the page to write.
pub(crate) struct EvaluateArguments {
    pub(crate) cranfield: PathBuf,
    pub(crate) corpus: PathBuf,
    pub(crate) write: Option<PathBuf>,
}

impl EvaluateArguments {
    /// Parses the command line. Returns the usage if it is wrong.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut cranfield, mut corpus, mut write) = (None, None, None);
        while let Some(flag) = args.next() {
            let place = match flag.as_str() {
                "--cranfield" => &mut cranfield,
                "--corpus" => &mut corpus,
                "--write" => &mut write,
                _ => return Err(format!("unknown argument {flag}\n{USAGE}")),
            };
            *place = Some(PathBuf::from(args.next().ok_or(USAGE)?));
        }
        Ok(EvaluateArguments {
            cranfield: cranfield.ok_or(USAGE)?,
            corpus: corpus.ok_or(USAGE)?,
            write,
        })
    }
}
