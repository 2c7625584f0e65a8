//! Where programs of a person keep their files, as the XDG base directory specification has it.

use std::path::PathBuf;

/// The directory of this program below the one that a variable names, else below the home directory;
/// nothing where there is no home.
pub(super) fn directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    // Only the binary reads the environment.
    #[allow(clippy::disallowed_methods)]
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || Some(named("HOME").filter(absolute)?.join(below_home));
    let base = named(variable).filter(absolute).or_else(home)?;
    Some(base.join("candor"))
}
