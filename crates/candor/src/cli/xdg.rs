//! Directories of the XDG base directory specification.

use std::path::PathBuf;

/// Returns the directory of this program below the one that `variable` names, or else below the home
/// directory. Returns `None` if there is no home directory.
pub(super) fn directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    // Only this crate reads the environment.
    #[allow(clippy::disallowed_methods)]
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || Some(named("HOME").filter(absolute)?.join(below_home));
    let base = named(variable).filter(absolute).or_else(home)?;
    Some(base.join("candor"))
}
