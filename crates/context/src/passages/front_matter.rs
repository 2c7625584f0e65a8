//! Front matter: the part between `---` and `---` (or `+++` and `+++`) before a document, and the title in it.

/// The front matter of a document.
pub(super) struct FrontMatter {
    /// The end of its closing line without trailing white space.
    pub(super) text_end: usize,
    /// The offset of the rest of the document.
    pub(super) end: usize,
    pub(super) title: Option<String>,
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
            return Some(FrontMatter {
                text_end: end + trimmed.len(),
                end: end + line.len(),
                title: title(content.get(inside..end)?),
            });
        }
        end += line.len();
    }
    None
}

/// Returns the value of `title:` (YAML) or `title =` (TOML) at the top level.
fn title(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let value = lines.find_map(|line| {
        let rest = line.strip_prefix("title")?.trim_start();
        rest.strip_prefix([':', '=']).map(str::trim)
    })?;
    let folded = matches!(value, ">" | "|" | ">-" | "|-" | ">+" | "|+" | "");
    let title = match folded {
        true => lines
            .take_while(|line| line.starts_with([' ', '\t']))
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" "),
        false => unquoted(value),
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
            ("---\nsubtitle: A\nshort-title: b\n---\n", None),
            ("---\ntitle:\n---\n", None),
        ] {
            let matter = find(content).unwrap();
            assert_eq!(matter.title.as_deref(), expected, "{content:?}");
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
