//! `build.json`: the sources and the settings of a build, so that an update needs no flags.

use crate::build::draft::replace_bytes;
use crate::build::source_filter::SourceFilter;
use crate::build::sources::SourceDirectory;
use crate::failure::{Failure, shown};
use crate::files::dir_handle::{DirHandle, read_file};
use crate::files::location::Location;
use crate::format::cache_problem::CacheProblemKind;
use crate::format::json_object::JsonObject;
use crate::index::passage_index::PASSAGES_FILE;
use crate::tokenizer::Tokenizer;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The file of the record in a cache.
pub(crate) const RECORD_FILE: &str = "build.json";

const FORMAT: u64 = 1;

/// The most bytes of the file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The sources and the settings of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildRecord {
    format: u64,
    /// The path of the sources, relative to the directory that holds the cache.
    sources: String,
    include: Vec<String>,
    exclude: Vec<String>,
    respect_gitignore: bool,
    /// True if files that cannot be documents are left out.
    pub skip_invalid: bool,
    /// True if passages are indexed.
    pub passages: bool,
    tokenizer: String,
}

/// The settings of a build that are not paths.
pub(crate) struct BuildSettings<'a> {
    pub(crate) filter: &'a SourceFilter,
    pub(crate) skip_invalid: bool,
    pub(crate) passages: bool,
    pub(crate) tokenizer: Tokenizer,
}

/// The result of looking for the record of a cache.
#[derive(Debug)]
pub enum RecordLookup {
    Found(Box<FoundRecord>),
    /// The cache was built by another program or by an earlier version.
    Absent,
    /// The file exists, but cannot be used for this reason.
    Unusable(String),
}

/// A record that can be used.
#[derive(Debug)]
pub struct FoundRecord {
    pub record: BuildRecord,
    /// The path of the sources. They may be gone.
    pub sources: PathBuf,
    pub filter: SourceFilter,
    /// The path of the record.
    pub file: PathBuf,
}

impl BuildRecord {
    /// Returns the record of a build. Both paths are without links. Returns `None` if the path between
    /// them is not UTF-8, which JSON cannot contain.
    pub(crate) fn new(
        sources: &Path,
        holder: &Path,
        settings: &BuildSettings<'_>,
    ) -> Option<BuildRecord> {
        Some(BuildRecord {
            format: FORMAT,
            sources: relative(holder, sources).to_str()?.to_owned(),
            include: settings.filter.include().to_vec(),
            exclude: settings.filter.exclude().to_vec(),
            respect_gitignore: settings.filter.respects_gitignore(),
            skip_invalid: settings.skip_invalid,
            passages: settings.passages,
            tokenizer: settings.tokenizer.name().to_owned(),
        })
    }

    /// Returns the tokenizer that counts passages.
    pub fn tokenizer(&self) -> Tokenizer {
        // A record that names another one cannot be used.
        Tokenizer::named(&self.tokenizer).unwrap_or_default()
    }

    /// Returns the bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Writing strings and numbers into memory cannot fail.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Result<(BuildRecord, SourceFilter), String> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u64,
        }
        let malformed = |error: serde_json::Error| format!("it is malformed: {error}");
        let JsonObject(versioned) =
            serde_json::from_slice::<JsonObject<Versioned>>(bytes).map_err(malformed)?;
        if versioned.format != FORMAT {
            return Err(format!(
                "its format is {}, and this program reads format {FORMAT}",
                versioned.format
            ));
        }
        let JsonObject(record) =
            serde_json::from_slice::<JsonObject<BuildRecord>>(bytes).map_err(malformed)?;
        if record.sources.is_empty() || record.sources.contains('\0') {
            return Err(String::from("its sources are not a path"));
        }
        if Tokenizer::named(&record.tokenizer).is_none() {
            let tokenizer = shown(&record.tokenizer);
            return Err(format!("it names the tokenizer `{tokenizer}`"));
        }
        let (include, exclude) = (&record.include, &record.exclude);
        let filter = SourceFilter::new(include, exclude, record.respect_gitignore);
        let filter = filter.map_err(|bad| {
            format!(
                "its glob `{}` cannot be used: {}",
                shown(&bad.glob),
                bad.reason
            )
        })?;
        Ok((record, filter.recorded()))
    }
}

/// Returns the tokenizer that the record in a cache names, if it can be used.
pub(crate) fn recorded_tokenizer(directory: &DirHandle) -> Option<Tokenizer> {
    let (bytes, _) = read_file(directory, RECORD_FILE, MAX_BYTES).ok()?;
    let (record, _) = BuildRecord::parse(&bytes).ok()?;
    Some(record.tokenizer())
}

/// Looks for the record of the cache at a path.
pub fn find_record(location: &Location, cache: &Path) -> Result<RecordLookup, Failure> {
    let directory = location.find(cache)?;
    let bytes = match read_file(&directory, RECORD_FILE, MAX_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(CacheProblemKind::Missing) => return Ok(RecordLookup::Absent),
        Err(CacheProblemKind::Unreadable(reason)) => {
            return Err(Failure::System {
                doing: format!(
                    "read {RECORD_FILE} of `{}`",
                    shown(&cache.to_string_lossy())
                ),
                error: io::Error::other(reason),
            });
        }
        Err(other) => return Ok(RecordLookup::Unusable(format!("it is {other}"))),
    };
    let (record, filter) = match BuildRecord::parse(&bytes) {
        Ok(parsed) => parsed,
        Err(reason) => return Ok(RecordLookup::Unusable(reason)),
    };
    let cache = location.real_path(&directory, cache)?;
    let holder = cache.parent().unwrap_or(&cache);
    Ok(RecordLookup::Found(Box::new(FoundRecord {
        sources: normal(&holder.join(&record.sources)),
        file: cache.join(RECORD_FILE),
        record,
        filter,
    })))
}

impl FoundRecord {
    /// Checks that the sources exist. The failure names the record.
    pub fn check_sources(&self, location: &Location) -> Result<(), Failure> {
        match SourceDirectory::open(location, &self.sources) {
            Ok(_) => Ok(()),
            Err(Failure::NoSources { path, error }) => Err(Failure::SourcesGone {
                path,
                record: self.file.to_string_lossy().into_owned(),
                error,
            }),
            Err(other) => Err(other),
        }
    }
}

/// Returns true if both paths lead to the same directory. The first one must be a directory of sources.
pub fn is_same_directory(
    location: &Location,
    sources: &Path,
    other: &Path,
) -> Result<bool, Failure> {
    let sources = SourceDirectory::open(location, sources)?;
    let other = match location.find(other) {
        Ok(other) => other,
        Err(_) => return Ok(false),
    };
    let looked = Failure::system("compare directories of sources");
    match (sources.directory.identity(), other.identity()) {
        (Ok(one), Ok(other)) => Ok(one == other),
        (Err(error), _) | (_, Err(error)) => Err(looked(error)),
    }
}

/// Returns true if the cache has an index of passages.
pub fn has_passages(location: &Location, cache: &Path) -> Result<bool, Failure> {
    Ok(location.find(cache)?.stat(PASSAGES_FILE).is_ok())
}

/// Records that the cache has an index of passages, if it has a record.
pub(crate) fn record_passages(cache: &DirHandle) -> Result<(), Failure> {
    let Ok((bytes, _)) = read_file(cache, RECORD_FILE, MAX_BYTES) else {
        return Ok(());
    };
    match BuildRecord::parse(&bytes) {
        Ok((record, _)) if !record.passages => {
            let passages = true;
            let record = BuildRecord { passages, ..record };
            replace_bytes(cache, RECORD_FILE, &record.bytes())
        }
        _ => Ok(()),
    }
}

/// Returns the path from one directory to another. Both are absolute and without `..`.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let shared = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    let up = from.iter().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.into_iter().skip(shared)).collect();
    match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path,
    }
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sources: &str) -> BuildRecord {
        let settings = BuildSettings {
            filter: &SourceFilter::default(),
            skip_invalid: false,
            passages: true,
            tokenizer: Tokenizer::Bytes4,
        };
        BuildRecord::new(Path::new(sources), Path::new("/a/b"), &settings).unwrap()
    }

    #[test]
    fn record_has_its_exact_bytes() {
        insta::assert_snapshot!(String::from_utf8(record("/a/docs").bytes()).unwrap(), @r#"
        {
          "format": 1,
          "sources": "../docs",
          "include": [
            "*.md"
          ],
          "exclude": [],
          "respect_gitignore": false,
          "skip_invalid": false,
          "passages": true,
          "tokenizer": "bytes4"
        }
        "#);
        assert_eq!(record("/a/docs").bytes().last(), Some(&b'}'));
        assert_eq!(
            BuildRecord::parse(&record("/x").bytes()).unwrap().0,
            record("/x")
        );
    }

    #[test]
    fn sources_are_relative_to_the_holder() {
        for (sources, expected) in [
            ("/a/b", "."),
            ("/a/b/docs/x", "docs/x"),
            ("/a", ".."),
            ("/", "../.."),
            ("/a/bc", "../bc"),
            ("/x/y", "../../x/y"),
        ] {
            assert_eq!(record(sources).sources, expected);
            assert_eq!(
                normal(&Path::new("/a/b").join(expected)),
                Path::new(sources)
            );
        }
    }

    #[test]
    fn unusable_record_has_a_reason() {
        let good = String::from_utf8(record("/a/docs").bytes()).unwrap();
        let globs = format!("[{}]", vec!["\"x\""; 257].join(","));
        for (bad, reason) in [
            (
                good.replace("\"format\": 1", "\"format\": 2"),
                "its format is 2, and this program reads format 1",
            ),
            (good.replace("../docs", ""), "its sources are not a path"),
            (
                good.replace("../docs", "a\\u0000b"),
                "its sources are not a path",
            ),
            (
                good.replace("bytes4", "words"),
                "it names the tokenizer `words`",
            ),
            (
                good.replace("*.md", "a[b"),
                "its glob `a[b` cannot be used: unclosed character class; missing ']'",
            ),
            (
                good.replace("[]", &globs),
                "its glob `x` cannot be used: a build has at most 256 globs",
            ),
            (
                good.replace("[]", "[\"\"]"),
                "its glob `` cannot be used: it is empty",
            ),
            (
                good.replace("\"exclude\": [],", ""),
                "it is malformed: missing field `exclude`",
            ),
            (
                good.replace("\"exclude\"", "\"exlude\""),
                "it is malformed: unknown field `exlude`",
            ),
            (
                good.replace("true", "1"),
                "it is malformed: invalid type: integer `1`",
            ),
            (String::new(), "it is malformed: EOF"),
            (
                String::from("[1]"),
                "it is malformed: invalid type: sequence",
            ),
            (String::from("null"), "it is malformed: invalid type: null"),
        ] {
            let actual = BuildRecord::parse(bad.as_bytes()).unwrap_err();
            assert!(actual.starts_with(reason), "{bad}: {actual}");
        }
    }
}
