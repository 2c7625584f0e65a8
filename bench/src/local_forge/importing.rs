//! Imports, beside a clone that copies and is synced.

use super::LocalForgeBench;
use super::fixture::git;
use crate::figures::ratios;
use crate::process::timed;
use crate::statistics::millis;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Instant;

const LONG: (&str, f64) = (
    "import of 300,000 commits, durable: times as long as `git clone --mirror --no-hardlinks`, synced",
    2.0,
);
const SMALL: (&str, f64) = ("import of a small repository, durable", 0.15);

pub(super) fn measure(bench: &mut LocalForgeBench<'_>) -> io::Result<()> {
    let (mut own, mut beside, mut small) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        let progress = format!(
            "local forge: import, round {} of {}",
            round + 1,
            bench.rounds
        );
        bench.progress.say(&progress);
        let clone = || {
            cloned(
                &bench.repositories.history(),
                &bench.repositories.path("clone"),
            )
        };
        let import = || imported(bench, &bench.repositories.history(), "bench/again");
        // Each goes first every second time.
        if round % 2 == 0 {
            own.push(import()?);
            beside.push(clone()?);
        } else {
            beside.push(clone()?);
            own.push(import()?);
        }
        let took = imported(bench, &bench.repositories.small(), "bench/small")?;
        small.push(took / 1e3);
    }
    let (what, limit) = LONG;
    let all = ratios(&own, &beside);
    bench.findings.at_most(what, limit, "×", Ok(&all));
    let (what, limit) = SMALL;
    bench.findings.at_most(what, limit, "s", Ok(&small));
    bench.findings.note("import of 300,000 commits", "ms", &own);
    bench
        .findings
        .note("`git clone --mirror --no-hardlinks`, synced", "ms", &beside);
    Ok(())
}

/// Returns how long an import took, in milliseconds, and removes the repository again.
fn imported(bench: &LocalForgeBench<'_>, from: &Path, name: &str) -> io::Result<f64> {
    let data = bench.repositories.data();
    let arguments = [
        OsString::from("github"),
        OsString::from("import"),
        from.into(),
        OsString::from(name),
        OsString::from("--data-dir"),
        data.into(),
    ];
    let (took, _) = timed(bench.candor, &arguments)?;
    fs::remove_dir_all(bench.repositories.in_forge(name))?;
    Ok(millis(took))
}

/// Returns how long a synced clone took, in milliseconds, and removes it again.
fn cloned(from: &Path, to: &Path) -> io::Result<f64> {
    let since = Instant::now();
    let options = ["clone", "--quiet", "--mirror", "--no-hardlinks"].map(OsString::from);
    let paths = [OsString::from(from), OsString::from(to)];
    git(Path::new("."), &[&options[..], &paths].concat())?;
    sync(to)?;
    let took = millis(since.elapsed());
    fs::remove_dir_all(to)?;
    Ok(took)
}

/// Syncs every file and directory, one after another.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync(&path)?,
            false => File::open(&path)?.sync_all()?,
        }
    }
    File::open(folder)?.sync_all()
}
