//! Splits a document into passages, at headings, before definitions and between paragraphs.
//!
//! Every byte of the document that is not white space belongs to exactly one passage. A passage has at most
//! [`MOST_BYTES`] bytes. Paragraphs of one section are joined as long as they fit. A section shorter than
//! [`FEWEST_BYTES`] is joined with the next one, under their common headings. Longer text is cut at a line end, else at
//! white space, else between two characters. A fenced code block is cut only if it alone is too long. Definitions of source
//! code are not joined.

use super::blocks::{Block, BlockKind, blocks};
use super::code;
use super::paragraphs::paragraphs;
use super::restructured_text;
use super::syntax::Syntax;
use super::word_mask::WordMask;
use std::ops::Range;

/// The most bytes of a passage: 400 tokens of four bytes.
pub const MOST_BYTES: usize = 1600;

/// A section with fewer bytes than this is joined with the next.
const FEWEST_BYTES: usize = 400;

/// The most bytes of white space at the start of a passage.
const MOST_INDENTATION: usize = 80;

/// The most characters of a heading.
const MOST_HEADING: usize = 200;

/// A part of a document that is searched and returned as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The range in bytes, on character boundaries.
    pub range: Range<usize>,
    /// The first and the last line, counted from 1; a line ends at `\n`.
    pub lines: (u32, u32),
    /// The title and the headings above it, outermost first: at most seven, each of at most 200 characters.
    pub heading: Vec<String>,
    /// The headings without the parts that give no words, if there are such parts.
    heading_words: Option<Vec<String>>,
}

impl Passage {
    /// Returns the texts of its headings that give words.
    pub(super) fn heading_words(&self) -> &[String] {
        self.heading_words.as_ref().unwrap_or(&self.heading)
    }
}

/// Splits a document into passages, in order and without overlap.
pub fn split(content: &str, syntax: Syntax) -> Vec<Passage> {
    split_masked(content, syntax, &WordMask::default())
}

/// Splits a document whose mask is known, for the words of its headings.
pub(super) fn split_masked(content: &str, syntax: Syntax, mask: &WordMask) -> Vec<Passage> {
    let mut packer = PassagePacker::new(content, mask);
    match syntax {
        Syntax::Markdown | Syntax::Mdx => blocks(content, |block| packer.add(block)),
        Syntax::RestructuredText => {
            restructured_text::blocks(content, |block| packer.add(block));
        }
        Syntax::Plain => paragraphs(content, 0..content.len(), |block| packer.add(block)),
        Syntax::Code(language) => code::blocks(content, language, |block| packer.add(block)),
    }
    packer.finish()
}

/// A heading, and its text without the parts that give no words, if there are such parts.
#[derive(Clone)]
struct Heading {
    text: String,
    words: Option<String>,
}

impl Heading {
    /// Takes a heading of the document.
    fn of_range(content: &str, range: Range<usize>, mask: &WordMask) -> Heading {
        let words = mask.touches(&range).then(|| visible(content, &range, mask));
        Heading {
            text: bounded(content.get(range).unwrap_or("")),
            words,
        }
    }

    /// Takes a title, whose text need not be in the document as it is.
    fn of_title(title: &str) -> Heading {
        let mask = WordMask::of_title(title);
        Heading::of_range(title, 0..title.len(), &mask)
    }
}

/// Returns the texts of a heading that give words.
fn visible(content: &str, range: &Range<usize>, mask: &WordMask) -> String {
    let mut texts = Vec::new();
    mask.visible(content, range.clone(), |text| texts.push(text));
    bounded(&texts.join(" "))
}

/// The state of splitting: finished passages, the open one, and headings without text so far.
struct PassagePacker<'a> {
    content: &'a str,
    mask: &'a WordMask,
    done: Vec<Passage>,
    /// The current headings with their levels, which increase strictly.
    headings: Vec<(u8, Heading)>,
    open: Option<OpenPassage>,
    pending: Option<PendingHeadings>,
    /// The offset up to which lines are counted, and the line number there.
    counted: (usize, u32),
}

/// A passage that may still grow.
struct OpenPassage {
    range: Range<usize>,
    /// The common headings of all its sections.
    headings: Vec<Heading>,
}

/// Headings or front matter without text so far.
struct PendingHeadings {
    range: Range<usize>,
    /// The fewest headings that remained since the last text of the open passage.
    kept: usize,
}

impl<'a> PassagePacker<'a> {
    fn new(content: &'a str, mask: &'a WordMask) -> Self {
        PassagePacker {
            content,
            mask,
            done: Vec::new(),
            headings: Vec::new(),
            open: None,
            pending: None,
            counted: (0, 1),
        }
    }

    fn add(&mut self, block: Block) {
        match block.kind {
            BlockKind::FrontMatter { title } => {
                let title = Heading::of_title(title.as_deref().unwrap_or(""));
                self.heading(0, title, block.range);
            }
            BlockKind::Heading { level, text } => {
                let heading = Heading::of_range(self.content, text, self.mask);
                self.heading(level, heading, block.range);
            }
            BlockKind::Definition { level, name } => self.definition(level, &name),
            BlockKind::Fence => self.body(block.range, true),
            BlockKind::Text => self.body(block.range, false),
        }
    }

    fn heading(&mut self, level: u8, heading: Heading, range: Range<usize>) {
        let start = self
            .pending
            .as_ref()
            .map_or(range.start, |run| run.range.start);
        if range.end - start > MOST_BYTES {
            self.flush_pending();
        }
        let kept = self.headings.partition_point(|(above, _)| *above < level);
        let pending = self.pending.get_or_insert(PendingHeadings {
            range: range.clone(),
            kept,
        });
        pending.range.end = range.end;
        pending.kept = pending.kept.min(kept);
        self.headings.truncate(kept);
        self.headings.push((level, heading));
    }

    /// Ends the open passage: a definition always begins one.
    fn definition(&mut self, level: u8, name: &str) {
        self.flush();
        let kept = self.headings.partition_point(|(above, _)| *above < level);
        self.headings.truncate(kept);
        let (text, words) = (bounded(name), None);
        self.headings.push((level, Heading { text, words }));
    }

    fn body(&mut self, range: Range<usize>, fence: bool) {
        let pending = self.pending.take();
        if self.grows(&pending, range.end) {
            return;
        }
        self.flush();
        let mut start = range.start;
        if let Some(run) = pending {
            let whole = range.end - run.range.start <= MOST_BYTES;
            match fence && range.len() <= MOST_BYTES && !whole {
                true => self.begin(run.range),
                false => start = run.range.start,
            }
            self.flush();
        }
        self.begin(start..range.end);
    }

    /// Extends the open passage to `end`. Returns false if that is not allowed.
    fn grows(&mut self, pending: &Option<PendingHeadings>, end: usize) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let same_section = pending.is_none();
        let fits = end - open.range.start <= MOST_BYTES;
        if !fits || !(same_section || open.range.len() < FEWEST_BYTES) {
            return false;
        }
        open.range.end = end;
        if let Some(run) = pending {
            open.headings.truncate(run.kept);
        }
        true
    }

    /// Opens a passage under the current headings, after emitting what exceeds the limit.
    fn begin(&mut self, range: Range<usize>) {
        let headings: Vec<Heading> = self.headings.iter().map(|(_, one)| one.clone()).collect();
        let text = self.content.get(range.clone()).unwrap_or("");
        let white = text.len() - text.trim_start().len();
        let mut rest = range;
        if white > MOST_INDENTATION {
            rest.start += white;
        }
        while rest.len() > MOST_BYTES {
            let text = self.content.get(rest.clone()).unwrap_or("");
            let (piece, next) = cut(text);
            let range = rest.start..rest.start + piece;
            self.emit(range, headings.clone());
            rest.start += next;
        }
        self.open = Some(OpenPassage {
            range: rest,
            headings,
        });
    }

    fn flush(&mut self) {
        if let Some(open) = self.open.take() {
            self.emit(open.range, open.headings);
        }
    }

    /// Emits headings without text as passages.
    fn flush_pending(&mut self) {
        let Some(run) = self.pending.take() else {
            return;
        };
        let end = run.range.end;
        let range = run.range.clone();
        if !self.grows(&Some(run), end) {
            self.flush();
            self.begin(range);
        }
    }

    fn emit(&mut self, range: Range<usize>, mut headings: Vec<Heading>) {
        let first = self.line(range.start);
        let last = self.line(range.end);
        headings.retain(|heading| !heading.text.is_empty());
        // The first heading of a document often repeats its title.
        headings.dedup_by(|next, heading| next.text == heading.text);
        let masked = headings.iter().any(|heading| heading.words.is_some());
        let words = |heading: &Heading| heading.words.as_ref().unwrap_or(&heading.text).clone();
        self.done.push(Passage {
            range,
            lines: (first, last),
            heading_words: masked.then(|| headings.iter().map(words).collect()),
            heading: headings.into_iter().map(|heading| heading.text).collect(),
        });
    }

    /// Returns the number of the line at this offset. Offsets must not decrease.
    fn line(&mut self, at: usize) -> u32 {
        let (from, line) = self.counted;
        let between = self.content.as_bytes().get(from..at).unwrap_or(&[]);
        let ends = between.iter().filter(|byte| **byte == b'\n').count();
        let line = line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.counted = (at, line);
        line
    }

    fn finish(mut self) -> Vec<Passage> {
        self.flush_pending();
        self.flush();
        self.done
    }
}

/// Returns the length of the first piece of a long text, and the offset of the rest.
fn cut(text: &str) -> (usize, usize) {
    let window = text.get(..text.floor_char_boundary(MOST_BYTES));
    let stop = stop(window.unwrap_or(text));
    let (piece, rest) = text.split_at(stop);
    (piece.trim_end().len(), stop + skip(rest))
}

/// Returns the offset at which to cut a full window: after its last line, else before its last white space, else its end.
fn stop(window: &str) -> usize {
    let behind_text = |at: &usize| !window.get(..*at).unwrap_or("").trim_start().is_empty();
    let line = window.rfind('\n').filter(behind_text);
    let space = || window.rfind(char::is_whitespace).filter(behind_text);
    line.or_else(space).unwrap_or(window.len())
}

/// Returns the length of the white space to skip before the text. The indentation of a new line is kept.
fn skip(text: &str) -> usize {
    let white = text.len() - text.trim_start().len();
    let line = text.get(..white).and_then(|white| white.rfind('\n'));
    match line.map(|end| end + 1) {
        Some(line) if white - line <= MOST_INDENTATION => line,
        _ => white,
    }
}

/// Returns the words of a heading with single spaces between them, cut to the limit.
pub(super) fn bounded(text: &str) -> String {
    let mut heading = String::new();
    let mut room = MOST_HEADING;
    for word in text.split_whitespace() {
        let space = usize::from(!heading.is_empty());
        if room <= space {
            break;
        }
        if space == 1 {
            heading.push(' ');
        }
        room -= space;
        let kept: String = word.chars().take(room).collect();
        room -= kept.chars().count();
        heading.push_str(&kept);
    }
    heading
}

#[cfg(test)]
mod tests;
