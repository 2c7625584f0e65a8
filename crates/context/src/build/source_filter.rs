//! The rules that decide which files are sources: globs, presets and `.gitignore` files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most globs of a build.
pub const MAX_GLOBS: usize = 256;

/// The glob of the preset `md`. A file that is called `.md` does not match it.
const MARKDOWN: &str = "*.md";

/// Matches hidden directories.
const HIDDEN: &str = ".*/";

/// A named list of globs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// Markdown.
    #[default]
    Md,
    /// Texts for people.
    Docs,
    /// Texts for people, and code.
    Code,
}

const DOCS: [&str; 5] = [MARKDOWN, "*.mdx", "*.markdown", "*.rst", "*.txt"];

const CODE: [&str; 19] = [
    "*.rs", "*.py", "*.js", "*.jsx", "*.ts", "*.tsx", "*.go", "*.java", "*.rb", "*.c", "*.h",
    "*.cc", "*.cpp", "*.hpp", "*.sh", "*.toml", "*.yaml", "*.yml", "*.json",
];

impl Preset {
    fn globs(self) -> Vec<String> {
        let (docs, code): (&[&str], &[&str]) = match self {
            Preset::Md => (&[MARKDOWN], &[]),
            Preset::Docs => (&DOCS, &[]),
            Preset::Code => (&DOCS, &CODE),
        };
        docs.iter()
            .chain(code)
            .map(|&glob| glob.to_owned())
            .collect()
    }

    /// Returns true if ignored files and hidden directories are left out.
    fn is_selective(self) -> bool {
        self != Preset::Md
    }
}

/// The rules that decide which files are sources.
#[derive(Debug, Clone)]
pub struct SourceFilter {
    include: Vec<String>,
    exclude: Vec<String>,
    respect_gitignore: bool,
    /// True if the caller has chosen the globs of `include`.
    explicit: bool,
    /// True if names that end in `.md` are included, with something before it.
    markdown: bool,
    included: GlobSet,
    excluded_files: GlobSet,
    excluded_directories: GlobSet,
}

/// A glob that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidGlob {
    pub glob: String,
    pub reason: String,
}

impl Default for SourceFilter {
    fn default() -> SourceFilter {
        SourceFilter {
            include: Preset::Md.globs(),
            exclude: Vec::new(),
            respect_gitignore: false,
            explicit: false,
            markdown: true,
            included: GlobSet::empty(),
            excluded_files: GlobSet::empty(),
            excluded_directories: GlobSet::empty(),
        }
    }
}

impl SourceFilter {
    /// Includes every file that matches one of `include` (if empty: `*.md`) and none of `exclude`.
    ///
    /// A glob without `/` is compared with names, one with `/` with the path below the sources. `*`
    /// does not cross `/`, `**` does. A `/` at the beginning is the source directory; one at the end
    /// means everything below the directories that match. A last name without wildcards means a file,
    /// or everything below a directory. A glob in `exclude` also excludes directories.
    pub fn new(
        include: &[String],
        exclude: &[String],
        respect_gitignore: bool,
    ) -> Result<SourceFilter, InvalidGlob> {
        SourceFilter::with_preset(Preset::Md, include, exclude, respect_gitignore)
    }

    /// Does the same with a preset, whose globs are replaced by those of `include`. `docs` and `code`
    /// also respect `.gitignore` files and leave hidden directories out.
    pub fn with_preset(
        preset: Preset,
        include: &[String],
        exclude: &[String],
        respect_gitignore: bool,
    ) -> Result<SourceFilter, InvalidGlob> {
        let explicit = !include.is_empty();
        let include = match explicit {
            true => include.to_vec(),
            false => preset.globs(),
        };
        let mut exclude = exclude.to_vec();
        if preset.is_selective() && !exclude.iter().any(|glob| glob == HIDDEN) {
            exclude.insert(0, HIDDEN.to_owned());
        }
        if let Some(glob) = include.iter().chain(&exclude).nth(MAX_GLOBS) {
            let reason = format!("a build has at most {MAX_GLOBS} globs");
            return Err(InvalidGlob {
                glob: glob.clone(),
                reason,
            });
        }
        let mut included = GlobSetBuilder::new();
        for glob in include.iter().filter(|glob| *glob != MARKDOWN) {
            let parsed = ParsedGlob::parse(glob)?;
            if !parsed.directories_only {
                included.add(parsed.compile("")?);
            }
            if parsed.directories_only || parsed.is_name {
                included.add(parsed.compile("/**")?);
            }
        }
        let (mut files, mut directories) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for glob in &exclude {
            let parsed = ParsedGlob::parse(glob)?;
            let glob = parsed.compile("")?;
            if !parsed.directories_only || parsed.is_root() {
                files.add(glob.clone());
            }
            directories.add(glob);
        }
        let set = |builder: GlobSetBuilder, globs: &[String]| {
            builder.build().map_err(|error| InvalidGlob {
                glob: globs.join(" "),
                reason: error.kind().to_string(),
            })
        };
        Ok(SourceFilter {
            markdown: include.iter().any(|glob| glob == MARKDOWN),
            included: set(included, &include)?,
            excluded_files: set(files, &exclude)?,
            excluded_directories: set(directories, &exclude)?,
            include,
            exclude,
            respect_gitignore: respect_gitignore || preset.is_selective(),
            explicit,
        })
    }

    /// Returns the same rules as a build has recorded them: no file has to match.
    pub(crate) fn recorded(self) -> SourceFilter {
        let explicit = false;
        SourceFilter { explicit, ..self }
    }

    /// Returns the globs of included files.
    pub fn include(&self) -> &[String] {
        &self.include
    }

    /// Returns the globs of excluded files and directories.
    pub fn exclude(&self) -> &[String] {
        &self.exclude
    }

    pub fn respects_gitignore(&self) -> bool {
        self.respect_gitignore
    }

    /// Returns true if the caller has chosen the globs, so that at least one file has to match.
    pub(crate) fn is_explicit(&self) -> bool {
        self.explicit
    }

    /// Returns true if the rules are the same, however they were chosen.
    pub fn is_same(&self, other: &SourceFilter) -> bool {
        let rules = |filter: &SourceFilter| {
            let SourceFilter {
                include,
                exclude,
                respect_gitignore,
                ..
            } = filter.clone();
            (include, exclude, respect_gitignore)
        };
        rules(self) == rules(other)
    }

    pub(crate) fn includes(&self, source: &str) -> bool {
        let name = source.rsplit('/').next().unwrap_or(source);
        let markdown = self.markdown && name.len() > ".md".len() && name.ends_with(".md");
        (markdown || self.included.is_match(source)) && !self.excluded_files.is_match(source)
    }

    pub(crate) fn excludes_directory(&self, path: &str) -> bool {
        self.excluded_directories.is_match(path)
    }
}

/// A glob without the slashes at its ends.
struct ParsedGlob<'g> {
    glob: &'g str,
    /// The pattern below the sources.
    pattern: String,
    /// True if it ends in `/`.
    directories_only: bool,
    /// True if its last component has no wildcards.
    is_name: bool,
}

impl ParsedGlob<'_> {
    fn parse(glob: &str) -> Result<ParsedGlob<'_>, InvalidGlob> {
        if glob.is_empty() {
            let reason = String::from("it is empty");
            return Err(InvalidGlob {
                glob: String::new(),
                reason,
            });
        }
        let is_relative = |glob: &str| glob == "." || glob.starts_with("./");
        let anchored = glob.starts_with('/') || is_relative(glob);
        let inside = match is_relative(glob) {
            true => glob[1..].trim_start_matches('/'),
            false => glob.trim_start_matches('/'),
        };
        let path = inside.trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or(path);
        let pattern = match path {
            // The source directory itself.
            "" => String::from("**"),
            path if anchored || path.contains('/') => path.to_owned(),
            path => format!("**/{path}"),
        };
        Ok(ParsedGlob {
            glob,
            pattern,
            directories_only: path.len() < inside.len() || path.is_empty(),
            is_name: !last.contains(['*', '?', '[', '{', '\\']),
        })
    }

    fn is_root(&self) -> bool {
        self.pattern == "**"
    }

    fn compile(&self, ending: &str) -> Result<globset::Glob, InvalidGlob> {
        let pattern = match self.is_root() {
            true => self.pattern.clone(),
            false => format!("{}{ending}", self.pattern),
        };
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        glob.map_err(|error| InvalidGlob {
            glob: self.glob.to_owned(),
            reason: error.kind().to_string(),
        })
    }
}
