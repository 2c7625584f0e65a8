//! Front matter: the part between `---` and `---` (or `+++` and `+++`) before a document, its title, and the values that
//! count as words.

use std::ops::Range;

/// The keys whose values count as words. Only keys at the top level are considered.
const KEYS: [&str; 6] = [
    "title",
    "description",
    "summary",
    "intro",
    "keywords",
    "tags",
];

/// The front matter of a document.
pub(super) struct FrontMatter {
    /// The end of its closing line without trailing white space.
    pub(super) text_end: usize,
    /// The offset of the rest of the document.
    pub(super) end: usize,
    pub(super) title: Option<String>,
    /// The ranges of the values that count as words, in order.
    pub(super) values: Vec<Range<usize>>,
}

/// Returns the front matter at the start of a document, or `None` if there is none or it is not closed.
pub(super) fn find(content: &str) -> Option<FrontMatter> {
    let text = content.strip_prefix('\u{feff}').unwrap_or(content);
    let mut lines = text.split_inclusive('\n');
    let mut end = content.len() - text.len();
    let opening = lines.next()?;
    let fence = opening.trim_end();
    if fence != "---" && fence != "+++" {
        return None;
    }
    end += opening.len();
    let inside = end;
    for line in lines {
        let trimmed = line.trim_end();
        // A blank line follows: this is a horizontal rule.
        if trimmed.is_empty() && end == inside {
            return None;
        }
        if trimmed == fence || (fence == "---" && trimmed == "...") {
            let text = content.get(inside..end)?;
            let values = Values::of(text, fence == "+++");
            return Some(FrontMatter {
                text_end: end + trimmed.len(),
                end: end + line.len(),
                title: values.title.and_then(|range| title(text.get(range)?)),
                values: values
                    .counted
                    .into_iter()
                    .map(|range| inside + range.start..inside + range.end)
                    .collect(),
            });
        }
        end += line.len();
    }
    None
}

/// The ranges of the values that count as words.
#[derive(Default)]
struct Values {
    counted: Vec<Range<usize>>,
    title: Option<Range<usize>>,
}

impl Values {
    /// Finds the values in the lines between the fences. A value ends where the next key at the top level begins.
    fn of(text: &str, toml: bool) -> Values {
        let mut values = Values::default();
        // The value that the lines so far belong to, if it counts, and the quotes that end it in TOML.
        let (mut open, mut quotes) = (false, None);
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let range = at..at + line.len();
            at = range.end;
            if let Some(close) = quotes {
                values.extend(open, range);
                if line.contains(close) {
                    quotes = None;
                }
            } else if toml && line.starts_with('[') {
                // The keys of a table are not at the top level.
                return values;
            } else if let Some((key, value)) = key_and_value(line) {
                open = KEYS.contains(&key);
                let start = range.end - value.len();
                if open {
                    values.begin(key, start..range.end);
                }
                quotes = opened_quotes(value).filter(|_| toml);
            } else if line.starts_with('#') {
                // A comment.
            } else {
                values.extend(open, range);
            }
        }
        values
    }

    fn begin(&mut self, key: &str, range: Range<usize>) {
        if key == "title" && self.title.is_none() {
            self.title = Some(range.clone());
        }
        self.counted.push(range);
    }

    fn extend(&mut self, open: bool, range: Range<usize>) {
        if !open {
            return;
        }
        if let Some(last) = self.counted.last_mut() {
            if let Some(title) = self.title.as_mut().filter(|title| title.end == last.end) {
                title.end = range.end;
            }
            match last.end == range.start {
                true => last.end = range.end,
                // A comment is between them.
                false => self.counted.push(range),
            }
        }
    }
}

/// Returns the key that a line starts at the top level, and the rest of the line.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let of_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = line.bytes().take_while(of_key).count();
    let (key, rest) = line.split_at(length);
    let value = rest
        .trim_start_matches([' ', '\t'])
        .strip_prefix([':', '='])?;
    (!key.is_empty()).then_some((key, value))
}

/// Returns the quotes of a TOML string of several lines that this value opens and does not close.
fn opened_quotes(value: &str) -> Option<&'static str> {
    let value = value.trim_start();
    let quotes = ["\"\"\"", "'''"];
    quotes.into_iter().find(|quotes| {
        value
            .strip_prefix(quotes)
            .is_some_and(|rest| !rest.contains(quotes))
    })
}

/// Returns the title that the value of `title` gives.
fn title(value: &str) -> Option<String> {
    let (first, more) = value.split_once('\n').unwrap_or((value, ""));
    let first = first.trim();
    let folded = matches!(first, ">" | "|" | ">-" | "|-" | ">+" | "|+" | "");
    let title = match folded {
        true => more
            .lines()
            .take_while(|line| line.starts_with([' ', '\t']))
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" "),
        false => unquoted(first),
    };
    (!title.is_empty()).then_some(title)
}

fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|value| value.strip_suffix(quote));
        match inner {
            Some(inner) if quote == '"' => {
                return inner.replace("\\\"", "\"").replace("\\\\", "\\");
            }
            Some(inner) => return inner.replace("''", "'"),
            None => {}
        }
    }
    value.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_read_in_every_syntax() {
        for (content, expected) in [
            ("---\ntitle: A b\n---\n", Some("A b")),
            ("\u{feff}---\r\ntitle: A\r\n---\r\nx", Some("A")),
            ("---\ntitle: \"A: \\\"b\\\"\"\n...\n", Some("A: \"b\"")),
            ("---\ntitle: 'it''s'\n---", Some("it's")),
            (
                "---\nslug: x\ntitle: >-\n  A\n  b\nc: d\n---\n",
                Some("A b"),
            ),
            ("+++\ntitle = \"A\"\n+++\n", Some("A")),
            ("+++\n[page]\ntitle = \"A\"\n+++\n", None),
            ("---\nseo:\n  title: A\n---\n", None),
            ("---\nsubtitle: A\nshort-title: b\n---\n", None),
            ("---\ntitle:\n---\n", None),
            ("---\ntitle: A\ntitle: B\n---\n", Some("A")),
        ] {
            let matter = find(content).unwrap();
            assert_eq!(matter.title.as_deref(), expected, "{content:?}");
        }
    }

    #[test]
    fn only_the_values_of_known_keys_count() {
        for (content, expected) in [
            (
                "---\ntitle: A\nslug: Web/API\ndescription: b c\nlayout: x\n---\n",
                "A|b c",
            ),
            (
                "---\ntags:\n- one\n- two\n# a comment\n- three\nauthor: me\n---\n",
                "- one\n- two|- three",
            ),
            (
                "---\ndescription: >-\n  one\n\n  two: three\nstatus: x\n---\n",
                ">-\n  one\n\n  two: three",
            ),
            (
                "---\nnested:\n  title: no\n  tags: [no]\nkeywords: [a, b]\n---\n",
                "[a, b]",
            ),
            (
                "---\r\nsummary: s\r\nintro: 'i'\r\nid: 7\r\n---\r\n",
                "s|'i'",
            ),
            (
                "+++\ntitle = \"A\"\ndate = 2020\ntags = [\n\"x\",\n]\n[extra]\ntitle = \"no\"\n+++\n",
                "\"A\"|[\n\"x\",\n]",
            ),
            (
                "+++\ndescription = \"\"\"\none\nslug = no key\n\"\"\"\nslug = \"no\"\n+++\n",
                "\"\"\"\none\nslug = no key\n\"\"\"",
            ),
            (
                "+++\nbody = '''\ntitle = no\n'''\nsummary = 's'\n+++\n",
                "'s'",
            ),
            ("---\nTitle: no\ntitles: no\nsub.title: no\n---\n", ""),
            ("---\n- title: no\n---\n", ""),
        ] {
            let matter = find(content).unwrap();
            let texts = matter.values.into_iter().map(|range| content[range].trim());
            let counted: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
            assert_eq!(counted.join("|"), expected, "{content:?}");
        }
    }

    #[test]
    fn unclosed_or_late_front_matter_is_ignored() {
        for content in [
            "---\ntitle: A\n",
            "\n---\n---\n",
            "----\n---\n",
            "",
            "---",
            "---\n\nA\n\n---\n",
        ] {
            assert!(find(content).is_none(), "{content:?}");
        }
    }
}
