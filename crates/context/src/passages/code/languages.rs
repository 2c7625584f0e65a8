//! The languages whose definitions are known, each with its table.

/// A programming language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Python,
    /// JavaScript and TypeScript.
    JavaScript,
    Go,
    Java,
    Ruby,
}

/// The form of the definitions of a language.
pub(super) struct DefinitionTable {
    /// The words that may stand before a keyword.
    pub(super) modifiers: &'static [&'static str],
    pub(super) keywords: &'static [Keyword],
    pub(super) nesting: Nesting,
}

/// A word that a definition starts with.
pub(super) struct Keyword {
    pub(super) word: &'static str,
    pub(super) form: KeywordForm,
}

/// The text that follows a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordForm {
    /// A name.
    Named,
    /// A name, and a body whose methods have no keyword.
    Class,
    /// A name, and a body: without one it is a reference to another file.
    WithBody,
    /// A type, or a trait and a type.
    Implementation,
    /// A name, possibly behind a receiver in parentheses.
    Function,
    /// A name and a value, which must be a function or a class.
    Binding,
    /// A name, then `=` or type parameters.
    Alias,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    Braces,
    Indentation,
}

const fn keyword(word: &'static str, form: KeywordForm) -> Keyword {
    Keyword { word, form }
}

use KeywordForm::{Alias, Binding, Class, Function, Implementation, Named, WithBody};

const RUST: DefinitionTable = DefinitionTable {
    modifiers: &[
        "pub", "async", "unsafe", "const", "extern", "default", "safe", "auto",
    ],
    keywords: &[
        keyword("fn", Named),
        keyword("struct", Named),
        keyword("enum", Named),
        keyword("union", Named),
        keyword("trait", Named),
        keyword("impl", Implementation),
        keyword("mod", WithBody),
        keyword("macro_rules!", Named),
    ],
    nesting: Nesting::Braces,
};

const PYTHON: DefinitionTable = DefinitionTable {
    modifiers: &["async"],
    keywords: &[keyword("def", Named), keyword("class", Named)],
    nesting: Nesting::Indentation,
};

const JAVASCRIPT: DefinitionTable = DefinitionTable {
    modifiers: &["export", "default", "declare", "abstract", "async", "const"],
    keywords: &[
        keyword("function", Named),
        keyword("class", Class),
        keyword("interface", Named),
        keyword("enum", Named),
        keyword("namespace", Named),
        keyword("type", Alias),
        keyword("const", Binding),
        keyword("let", Binding),
        keyword("var", Binding),
    ],
    nesting: Nesting::Braces,
};

const GO: DefinitionTable = DefinitionTable {
    modifiers: &[],
    keywords: &[keyword("func", Function), keyword("type", Named)],
    nesting: Nesting::Braces,
};

const JAVA: DefinitionTable = DefinitionTable {
    modifiers: &[
        "public",
        "protected",
        "private",
        "static",
        "final",
        "abstract",
        "sealed",
        "non-sealed",
        "strictfp",
    ],
    keywords: &[
        keyword("class", Class),
        keyword("interface", Class),
        keyword("enum", Class),
        keyword("record", Class),
        keyword("@interface", Class),
    ],
    nesting: Nesting::Braces,
};

const RUBY: DefinitionTable = DefinitionTable {
    modifiers: &[
        "private",
        "protected",
        "public",
        "private_class_method",
        "module_function",
    ],
    keywords: &[
        keyword("def", Named),
        keyword("class", Named),
        keyword("module", Named),
    ],
    nesting: Nesting::Indentation,
};

impl Language {
    /// Returns the language of files with this suffix.
    pub(in crate::passages) fn of_suffix(suffix: &str) -> Option<Language> {
        Some(match suffix {
            "rs" => Language::Rust,
            "py" | "pyi" => Language::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Language::JavaScript,
            "go" => Language::Go,
            "java" => Language::Java,
            "rb" => Language::Ruby,
            _ => return None,
        })
    }

    pub(super) fn table(self) -> &'static DefinitionTable {
        match self {
            Language::Rust => &RUST,
            Language::Python => &PYTHON,
            Language::JavaScript => &JAVASCRIPT,
            Language::Go => &GO,
            Language::Java => &JAVA,
            Language::Ruby => &RUBY,
        }
    }

    /// Returns true if a definition without indentation is at the outermost level whatever brackets are open.
    pub(super) fn recovers(self) -> bool {
        matches!(
            self,
            Language::JavaScript | Language::Python | Language::Ruby
        )
    }

    /// Returns true if a line with this text begins an attribute, a decorator or an annotation.
    pub(super) fn is_attribute(self, text: &str) -> bool {
        match self {
            Language::Rust => text.starts_with("#["),
            Language::Python | Language::JavaScript => text.starts_with('@'),
            Language::Java => text.starts_with('@') && !text.starts_with("@interface"),
            Language::Go | Language::Ruby => false,
        }
    }
}
