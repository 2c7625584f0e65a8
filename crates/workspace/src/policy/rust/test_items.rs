//! Finds the tokens that belong to tests: items under `#[test]` or `#[cfg(test)]`, and modules that
//! begin with `#![cfg(test)]`. In doubt an item ends early, and the code after it is judged.

use super::lex::{RustToken, TokenKind};

/// Tracks test items while tokens are read.
pub(super) struct TestItems {
    depth: usize,
    /// True if only inner attributes came since the last open bracket or the beginning.
    fresh: bool,
    /// The depth of an item, and how it ends.
    item: Option<(usize, ItemEnd)>,
    /// The depth of a module whose inner attribute limits it to tests.
    module: Option<usize>,
    attribute: Attribute,
    /// An attribute of a test was read; its item has not begun.
    announced: bool,
}

/// The token that ends an item at its own depth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemEnd {
    /// `;`
    Statement,
    /// `;` or `}`
    Block,
    /// `;`, `}` or `,`
    Any,
    /// [`ItemEnd::Statement`] or [`ItemEnd::Block`], depending on the word after `const`.
    Const,
    /// Depends on the first word after `pub`.
    Pub,
}

/// The part of an attribute that was read.
enum Attribute {
    None,
    /// `#`
    Hash,
    /// `#!`
    Inner,
    /// Within the brackets, which are at this depth.
    Within {
        depth: usize,
        inner: bool,
        fresh: bool,
        reader: AttributeReader,
    },
}

impl TestItems {
    pub(super) fn new() -> Self {
        Self {
            depth: 0,
            fresh: true,
            item: None,
            module: None,
            attribute: Attribute::None,
            announced: false,
        }
    }

    /// Returns true if the next token belongs to a test.
    pub(super) fn now(&self) -> bool {
        self.item.is_some() || self.module.is_some()
    }

    pub(super) fn see(&mut self, token: &RustToken<'_>) {
        match token.kind {
            TokenKind::Open(_) => self.depth += 1,
            TokenKind::Close(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.in_attribute(token) {
            return;
        }
        if std::mem::take(&mut self.announced) && self.item.is_none() {
            self.begin(token);
        }
        self.go_on(token);
        self.fresh = matches!(token.kind, TokenKind::Open(_));
        if self.module.is_some_and(|depth| self.depth < depth) {
            self.module = None;
        }
    }

    /// Reads attributes; whether the token was part of one.
    fn in_attribute(&mut self, token: &RustToken<'_>) -> bool {
        match std::mem::replace(&mut self.attribute, Attribute::None) {
            Attribute::None if token.kind == TokenKind::Mark(b'#') => {
                self.attribute = Attribute::Hash
            }
            Attribute::Hash if token.kind == TokenKind::Mark(b'!') => {
                self.attribute = Attribute::Inner
            }
            opened @ (Attribute::Hash | Attribute::Inner)
                if token.kind == TokenKind::Open(b'[') =>
            {
                let inner = matches!(opened, Attribute::Inner);
                let reader = AttributeReader::default();
                self.attribute = Attribute::Within {
                    depth: self.depth,
                    inner,
                    fresh: self.fresh,
                    reader,
                };
            }
            Attribute::Within {
                depth,
                inner,
                fresh,
                mut reader,
            } => {
                if self.depth >= depth {
                    reader.see(token);
                    self.attribute = Attribute::Within {
                        depth,
                        inner,
                        fresh,
                        reader,
                    };
                    return true;
                }
                match inner {
                    true if fresh && self.module.is_none() && reader.is_test() => {
                        self.module = Some(self.depth)
                    }
                    true => {}
                    false => self.announced |= reader.is_test(),
                }
                self.fresh = inner && fresh;
            }
            _ => return false,
        }
        true
    }

    /// Begins the item whose first word this is.
    fn begin(&mut self, token: &RustToken<'_>) {
        let (ends, depth) = match token.kind {
            TokenKind::Close(_) => return,
            // Brackets that begin an item belong to it: its own depth is the one outside.
            TokenKind::Open(_) => (ItemEnd::Any, self.depth - 1),
            TokenKind::Word => (ends_of(token.text), self.depth),
            _ => (ItemEnd::Any, self.depth),
        };
        self.item = Some((depth, ends));
    }

    /// Ends the item if this token is its last.
    fn go_on(&mut self, token: &RustToken<'_>) {
        let Some((depth, ends)) = &mut self.item else {
            return;
        };
        // `pub(crate)` has brackets too.
        let bracket = matches!(token.kind, TokenKind::Open(_) | TokenKind::Close(_));
        if *ends == ItemEnd::Pub && self.depth == *depth && !bracket && token.text != "pub" {
            *ends = ends_of(token.text);
        }
        if *ends == ItemEnd::Const && token.text != "const" {
            *ends = match token.text {
                "fn" | "unsafe" | "async" | "extern" | "{" => ItemEnd::Block,
                _ => ItemEnd::Statement,
            };
        }
        let over = match token.kind {
            TokenKind::Close(_) if self.depth < *depth => true,
            _ if self.depth != *depth => false,
            TokenKind::Mark(b';') => true,
            TokenKind::Mark(b',') => *ends == ItemEnd::Any,
            TokenKind::Close(b'}') => *ends != ItemEnd::Statement,
            _ => false,
        };
        if over {
            self.item = None;
        }
    }
}

/// Returns the end of an item that begins with a word.
fn ends_of(word: &str) -> ItemEnd {
    match word {
        "use" | "let" | "static" | "type" => ItemEnd::Statement,
        "const" => ItemEnd::Const,
        "pub" => ItemEnd::Pub,
        "fn" | "mod" | "impl" | "struct" | "enum" | "union" | "trait" | "unsafe" | "async"
        | "extern" | "macro_rules" => ItemEnd::Block,
        _ => ItemEnd::Any,
    }
}

/// Reads the tokens between the brackets of an attribute and finds out whether its item exists in
/// tests only.
#[derive(Default)]
struct AttributeReader {
    /// True if the last segment of the attribute's path is `test` or `bench`; `None` before the first
    /// segment.
    is_test_path: Option<bool>,
    is_cfg: bool,
    begun: bool,
    /// Open lists within `cfg(…)`.
    lists: Vec<CfgList>,
    /// The name just read, which may open a list.
    next: Option<CfgWord>,
    result: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CfgWord {
    Other,
    All,
    Any,
    Test,
}

/// `all(…)`, `any(…)` or another list, and whether its items so far need tests.
struct CfgList {
    word: CfgWord,
    some: bool,
    every: bool,
}

impl CfgList {
    fn new(word: CfgWord) -> Self {
        Self {
            word,
            some: false,
            every: true,
        }
    }

    fn add(&mut self, needs: bool) {
        self.some |= needs;
        self.every &= needs;
    }

    fn needs(&self) -> bool {
        match self.word {
            CfgWord::All => self.some,
            CfgWord::Any => self.some && self.every,
            _ => false,
        }
    }
}

impl AttributeReader {
    fn see(&mut self, token: &RustToken<'_>) {
        if !self.begun {
            match token.kind {
                TokenKind::Word | TokenKind::RawWord => {
                    self.is_cfg = self.is_test_path.is_none() && token.text == "cfg";
                    self.is_test_path = Some(matches!(token.text, "test" | "bench"));
                }
                TokenKind::Path => {}
                _ => self.begun = true,
            }
            if self.begun && self.is_cfg && token.kind == TokenKind::Open(b'(') {
                self.lists.push(CfgList::new(CfgWord::All));
            }
            return;
        }
        if self.lists.is_empty() {
            return;
        }
        self.in_cfg(token);
    }

    fn in_cfg(&mut self, token: &RustToken<'_>) {
        let word = self.next.take();
        match token.kind {
            TokenKind::Word => {
                self.next = Some(match token.text {
                    "all" => CfgWord::All,
                    "any" => CfgWord::Any,
                    "test" => CfgWord::Test,
                    _ => CfgWord::Other,
                });
            }
            TokenKind::Open(_) => self
                .lists
                .push(CfgList::new(word.unwrap_or(CfgWord::Other))),
            TokenKind::Mark(b',') => self.add(word),
            TokenKind::Close(_) => {
                self.add(word);
                let Some(list) = self.lists.pop() else {
                    return;
                };
                let needs = list.needs();
                match self.lists.last_mut() {
                    Some(outer) => outer.add(needs),
                    None => self.result = needs,
                }
            }
            // `feature = "test"`
            _ => self.next = Some(CfgWord::Other),
        }
    }

    /// Adds a single word between commas; a list has been added when it was closed.
    fn add(&mut self, word: Option<CfgWord>) {
        if let (Some(word), Some(list)) = (word, self.lists.last_mut()) {
            list.add(word == CfgWord::Test);
        }
    }

    fn is_test(&self) -> bool {
        match self.is_cfg {
            true => self.result,
            false => self.is_test_path == Some(true),
        }
    }
}
