//! The flags that select sources, and their agreement with what a build has recorded.

use super::CommonArgs;
use crate::cli::CommandError;
use crate::cli::shell_words::quote;
use candor_context::{
    DEFAULT_CACHE, FoundRecord, Preset, RecordLookup, SourceFilter, Tokenizer, find_record,
    has_passages, is_same_directory,
};
use clap::Args;
use std::path::{Path, PathBuf};

/// The flags that select files below the sources.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// The files that are sources: Markdown, all texts for people, or these and code
    ///
    /// `docs` and `code` also respect `.gitignore` files and leave hidden directories out.
    #[arg(long, value_name = "PRESET", value_enum)]
    preset: Option<PresetName>,
    /// Include files that match this glob instead of those of the preset (repeatable)
    ///
    /// A glob without `/` is compared with the name of a file, one with `/` with its path below the
    /// sources. `*` does not cross `/`, `**` does. A `/` at the beginning is the directory of the
    /// sources, and one at the end means everything below a directory. The name of a directory means
    /// everything below it too.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Exclude files that match this glob, and directories with everything in them (repeatable)
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Exclude files that `.gitignore` files exclude
    #[arg(long)]
    respect_gitignore: bool,
    /// Leave out files that cannot be documents, instead of failing
    #[arg(long)]
    skip_invalid: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum PresetName {
    /// `*.md`, the default
    Md,
    /// Also `*.mdx`, `*.markdown`, `*.rst` and `*.txt`
    Docs,
    /// Also code in common languages, and its configuration
    Code,
}

impl PresetName {
    fn name(self) -> &'static str {
        match self {
            PresetName::Md => "md",
            PresetName::Docs => "docs",
            PresetName::Code => "code",
        }
    }

    fn preset(self) -> Preset {
        match self {
            PresetName::Md => Preset::Md,
            PresetName::Docs => Preset::Docs,
            PresetName::Code => Preset::Code,
        }
    }
}

/// The sources and the settings of a build, from its flags or from an earlier build.
#[derive(Debug)]
pub(super) struct BuildInputs {
    pub(super) sources: PathBuf,
    pub(super) filter: SourceFilter,
    pub(super) skip_invalid: bool,
    pub(super) passages: bool,
    pub(super) tokenizer: Tokenizer,
    /// True if the cache has a record of them.
    pub(super) recorded: bool,
}

/// The flags of an update or a comparison, which have to agree with the record of the cache.
pub(super) struct RecordedArgs<'a> {
    pub(super) sources: Option<&'a Path>,
    pub(super) filter: &'a FilterArgs,
    /// True if a flag asks for the index of passages, false if one forbids it.
    pub(super) passages: Option<bool>,
    pub(super) cache: &'a Path,
    pub(super) common: &'a CommonArgs,
}

impl FilterArgs {
    pub(super) fn skips_invalid(&self) -> bool {
        self.skip_invalid
    }

    pub(super) fn filter(&self) -> Result<SourceFilter, CommandError> {
        let preset = self.preset.map_or(Preset::Md, PresetName::preset);
        let (include, exclude) = (&self.include, &self.exclude);
        let filter = SourceFilter::with_preset(preset, include, exclude, self.respect_gitignore);
        filter.map_err(|bad| {
            CommandError::new(format!(
                "the glob `{}` cannot be used: {}",
                bad.glob.escape_debug(),
                bad.reason
            ))
        })
    }

    /// Returns the flags, each with a leading space.
    pub(super) fn flags(&self) -> String {
        let mut flags = String::new();
        if let Some(preset) = self.preset {
            flags += &format!(" --preset {}", preset.name());
        }
        for glob in &self.include {
            flags += &format!(" --include {}", quote(glob));
        }
        for glob in &self.exclude {
            flags += &format!(" --exclude {}", quote(glob));
        }
        if self.respect_gitignore {
            flags += " --respect-gitignore";
        }
        if self.skip_invalid {
            flags += " --skip-invalid";
        }
        flags
    }

    /// Returns the first flag that differs from the record: its name, its value, and the recorded one.
    fn differs(
        &self,
        given: &SourceFilter,
        found: &FoundRecord,
    ) -> Option<(&'static str, String, String)> {
        let recorded = &found.filter;
        let listed = |globs: &[String]| match globs {
            [] => String::from("nothing"),
            globs => globs.join(" "),
        };
        let switch = |on: bool| String::from(if on { "given" } else { "not given" });
        if let Some(preset) = self.preset {
            let include = self.include.is_empty() && given.include() != recorded.include();
            let implied = given.respects_gitignore() && !recorded.respects_gitignore();
            let hidden = given.exclude().first();
            let hidden = hidden.filter(|_| self.exclude.is_empty());
            let hidden = hidden.is_some_and(|glob| !recorded.exclude().contains(glob));
            if include || implied || hidden {
                let value = format!("{} ({})", preset.name(), listed(given.include()));
                return Some(("--preset", value, listed(recorded.include())));
            }
        }
        if !self.include.is_empty() && given.include() != recorded.include() {
            let globs = listed(recorded.include());
            return Some(("--include", listed(given.include()), globs));
        }
        if !self.exclude.is_empty() {
            // The preset of the build has added the first one.
            let own = recorded.exclude().get(1..).unwrap_or_default();
            let same = |globs: &[String]| globs == given.exclude() || globs == self.exclude;
            if !same(recorded.exclude()) && !same(own) {
                let globs = listed(recorded.exclude());
                return Some(("--exclude", listed(&self.exclude), globs));
            }
        }
        if self.respect_gitignore && !recorded.respects_gitignore() {
            return Some(("--respect-gitignore", switch(true), switch(false)));
        }
        if self.skip_invalid && !found.record.skip_invalid {
            return Some(("--skip-invalid", switch(true), switch(false)));
        }
        None
    }
}

impl RecordedArgs<'_> {
    /// Returns what the cache was built from. Flags replace a missing record, and must agree with an
    /// existing one.
    pub(super) fn inputs(&self) -> Result<BuildInputs, CommandError> {
        let given = self.filter.filter()?;
        let lookup = self
            .common
            .run(|location| find_record(location, self.cache))?;
        match lookup {
            RecordLookup::Found(found) => self.recorded(&given, *found),
            RecordLookup::Absent => self.given(given),
            RecordLookup::Unusable(reason) => {
                let cache = self.cache.to_string_lossy();
                self.common.note(&format!(
                    "build.json of `{}` is ignored: {reason}",
                    cache.escape_debug()
                ));
                self.given(given)
            }
        }
    }

    fn recorded(
        &self,
        given: &SourceFilter,
        found: FoundRecord,
    ) -> Result<BuildInputs, CommandError> {
        if let Some(sources) = self.sources {
            let same = self
                .common
                .run(|location| is_same_directory(location, sources, &found.sources))?;
            if !same {
                let (value, recorded) =
                    (sources.to_string_lossy(), found.sources.to_string_lossy());
                return Err(self.disagreement("--sources", &value, &recorded, &found));
            }
        }
        if let Some((flag, value, recorded)) = self.filter.differs(given, &found) {
            return Err(self.disagreement(flag, &value, &recorded, &found));
        }
        if let Some(passages) = self
            .passages
            .filter(|given| *given != found.record.passages)
        {
            let (flag, other) = match passages {
                true => ("--passages", "--no-passages"),
                false => ("--no-passages", "--passages"),
            };
            return Err(self.disagreement(flag, "given", other, &found));
        }
        self.common.run(|location| found.check_sources(location))?;
        Ok(BuildInputs {
            sources: found.sources,
            filter: found.filter,
            skip_invalid: found.record.skip_invalid,
            passages: found.record.passages,
            tokenizer: found.record.tokenizer(),
            recorded: true,
        })
    }

    fn given(&self, filter: SourceFilter) -> Result<BuildInputs, CommandError> {
        let Some(sources) = self.sources else {
            let cache = self.cache.to_string_lossy();
            return Err(CommandError::new(format!(
                "the cache `{}` does not record its sources",
                cache.escape_debug()
            ))
            .with_hint("name their directory with --sources"));
        };
        let passages = match self.passages {
            Some(passages) => passages,
            None => self
                .common
                .run(|location| has_passages(location, self.cache))?,
        };
        Ok(BuildInputs {
            sources: sources.to_owned(),
            filter,
            skip_invalid: self.filter.skip_invalid,
            passages,
            tokenizer: Tokenizer::default(),
            recorded: false,
        })
    }

    /// Returns the usage error of a flag that differs from the record.
    fn disagreement(
        &self,
        flag: &str,
        value: &str,
        recorded: &str,
        found: &FoundRecord,
    ) -> CommandError {
        let sources = match self.sources {
            Some(sources) => self.common.absolute(sources),
            None => found.sources.clone(),
        };
        let passages = match self.passages {
            Some(false) => " --no-passages",
            _ => "",
        };
        CommandError::new(format!(
            "{flag} is `{}`, but the cache was built with `{}`",
            value.escape_debug(),
            recorded.escape_debug()
        ))
        .with_hint(format!(
            "leave the flag out, or build the cache again with the flags that you want:\n  candor context build --force{} --sources {}{}{}{passages}",
            self.common.root_flag(),
            quote(sources),
            self.common.cache_flag(self.cache),
            self.filter.flags(),
        ))
    }
}

/// The path of the cache, which most commands take.
#[derive(Debug, Args)]
pub(super) struct CacheArgs {
    /// The directory of the cache
    #[arg(long, value_name = "DIR", value_parser = super::any_path(), default_value = DEFAULT_CACHE)]
    pub(super) cache: PathBuf,
}

/// The flags about the index of passages.
#[derive(Debug, Args)]
pub(super) struct PassagesArgs {
    /// Index passages, as is the default
    #[arg(long, conflicts_with = "no_passages")]
    passages: bool,
    /// Do not index passages: `candor context search` and `passages` give the same answers more slowly
    #[arg(long)]
    no_passages: bool,
}

impl PassagesArgs {
    /// Returns what the flags say.
    pub(super) fn given(&self) -> Option<bool> {
        match (self.passages, self.no_passages) {
            (_, true) => Some(false),
            (true, false) => Some(true),
            (false, false) => None,
        }
    }
}
