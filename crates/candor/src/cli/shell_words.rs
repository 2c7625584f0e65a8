//! Splits a typed command into words as a shell does, and quotes words for a shell. No shell runs the command.

/// The characters that a shell would interpret. They must be quoted, because no shell runs the command.
const ACTIVE: &str = "|&;<>()$`*?~#!{}[]";

/// Splits a command at spaces, with `'…'`, `"…"` and `\` as in a shell.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                quoted(&mut rest, '\'', word)?;
            }
            '"' => {
                let word = word.get_or_insert_default();
                quoted(&mut rest, '"', word)?;
            }
            '\\' => {
                let next = rest.next().ok_or("there is nothing after the last \\")?;
                word.get_or_insert_default().push(next);
            }
            control if control.is_control() => {
                return Err(String::from(
                    "a command must be one line without control characters",
                ));
            }
            active if ACTIVE.contains(active) => return Err(refused(active)),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err(String::from("the command is empty")),
        Some(first) if first.contains('=') => Err(format!(
            "it begins with a variable; set it with --env {first}"
        )),
        Some(_) => Ok(words),
    }
}

fn refused(active: char) -> String {
    let what = match active {
        '|' | '&' | ';' => "give each command in its own --verify",
        '<' | '>' => "the output of a command cannot be redirected",
        _ => "nothing is expanded",
    };
    format!("no shell runs it, so {active} has no meaning: {what}, or quote it to pass it on")
}

/// Reads up to the closing quote.
fn quoted(rest: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<(), String> {
    while let Some(c) = rest.next() {
        match c {
            end if end == quote => return Ok(()),
            '\\' if quote == '"' => match rest.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            '$' | '`' if quote == '"' => return Err(refused(c)),
            plain => word.push(plain),
        }
    }
    Err(format!("a {quote} is not closed"))
}

/// Quotes a word for a shell, if it needs quotes.
pub(super) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn words_are_split_at_spaces_outside_quotes() {
        assert_eq!(words("cargo test"), ["cargo", "test"]);
        assert_eq!(words("  a \t b  "), ["a", "b"]);
        assert_eq!(words("a 'b c' \"d e\""), ["a", "b c", "d e"]);
        assert_eq!(words("a 'b'\"c\"d"), ["a", "bcd"]);
        assert_eq!(words("a '' \"\""), ["a", "", ""]);
        assert_eq!(
            words(r"a b\ c \| '|' '$x' '\'"),
            ["a", "b c", "|", "|", "$x", r"\"]
        );
        assert_eq!(words(r#"a "\"\\\$\`\n""#), ["a", "\"\\$`\\n"]);
        assert_eq!(words("a --x=y ä"), ["a", "--x=y", "ä"]);
    }

    #[test]
    fn shell_syntax_is_refused() {
        let refusal = |text| split(text).unwrap_err();
        for text in ["a | b", "a && b", "a; b", "a &"] {
            assert!(refusal(text).contains("its own --verify"), "{text}");
        }
        assert!(refusal("a > b").contains("no shell runs it, so > has no meaning"));
        for text in ["a $HOME", "a `b`", "a \"$x\"", "a *.rs", "~/a", "{a,b}"] {
            assert!(refusal(text).contains("nothing is expanded"), "{text}");
        }
        assert_eq!(
            refusal("A=1 b"),
            "it begins with a variable; set it with --env A=1"
        );
        assert_eq!(refusal("a 'b"), "a ' is not closed");
        assert_eq!(refusal(r#"a "b\"#), "a \" is not closed");
        assert_eq!(refusal("a \\"), "there is nothing after the last \\");
        assert_eq!(refusal("  "), "the command is empty");
        assert!(refusal("a\nb").contains("one line"));
    }

    #[test]
    fn what_is_quoted_comes_back() {
        for word in ["a", "", "a b", "it's", "$x", "a\\b", "ä|;\"", "--x=y"] {
            assert_eq!(words(&format!("p {}", quote(word))), ["p", word]);
        }
    }
}
