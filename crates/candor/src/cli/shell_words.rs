//! Splits a typed command into words as a shell does, and quotes words for a shell. No shell runs the command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The characters that a shell would interpret. They must be quoted, because no shell runs the command.
const ACTIVE: &str = "|&;<>()$`*?~#!{}[]";

/// Splits a command at spaces, with `'…'`, `"…"` and `\` as in a shell.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    split_words(text, false)
}

/// Splits a pattern of commands, in which `*` and `**` are words of their own.
pub(super) fn split_pattern(text: &str) -> Result<Vec<String>, String> {
    split_words(text, true)
}

fn split_words(text: &str, has_wildcards: bool) -> Result<Vec<String>, String> {
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
            '*' if has_wildcards && word.is_none() => {
                let wildcard = wildcard(&mut rest)?;
                words.push(wildcard.to_owned());
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

/// Reads the rest of a word that begins with `*`.
fn wildcard(rest: &mut std::str::Chars<'_>) -> Result<&'static str, String> {
    let (word, _) = rest
        .as_str()
        .split_once([' ', '\t'])
        .unwrap_or((rest.as_str(), ""));
    let wildcard = match word {
        "" => "*",
        "*" => "**",
        _ => {
            return Err(String::from(
                "a wildcard stands for whole arguments: * for one, ** at the end for any number",
            ));
        }
    };
    *rest = rest.as_str()[word.len()..].chars();
    Ok(wildcard)
}

/// Quotes a pattern of commands for a reader.
pub(super) fn quote_pattern(pattern: &[String]) -> String {
    let words = pattern.iter().map(|word| match word.as_str() {
        "*" | "**" => word.clone(),
        literal => quote_text(literal),
    });
    words.collect::<Vec<_>>().join(" ")
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

/// Quotes a word for a POSIX shell, if it needs quotes. The result can be printed on a terminal: bytes
/// that are not UTF-8 and control characters are written as `printf` reads them.
pub(super) fn quote(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    match word.to_str() {
        Some(text) if !is_unprintable(text) => quote_text(text),
        _ => quote_bytes(word.as_bytes()),
    }
}

/// Quotes a word for a reader, if it needs quotes. Characters that a terminal would interpret stay as they
/// are: a `printf` around them would look like a part of the command.
pub(super) fn quote_text(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns true if a terminal would interpret or hide a character of the text.
fn is_unprintable(text: &str) -> bool {
    let mut escaped = String::new();
    candor_fault::escape_invisible_into(text.chars(), &mut escaped);
    escaped != text
}

/// Quotes a word by a command substitution that contains printable ASCII.
fn quote_bytes(word: &[u8]) -> String {
    // A substitution loses newlines at its end.
    let end = word
        .iter()
        .rposition(|byte| *byte != b'\n')
        .map_or(0, |last| last + 1);
    let (word, newlines) = word.split_at(end);
    let mut escaped = String::new();
    for byte in word {
        match byte {
            b'\'' | b'\\' | b'%' | 0..=0x1f | 0x7f.. => {
                escaped.push_str(&format!("\\{byte:03o}"));
            }
            plain => escaped.push(char::from(*plain)),
        }
    }
    let substitution = format!("\"$(printf '{escaped}')\"");
    match newlines.len() {
        0 => substitution,
        count => format!("{substitution}'{}'", "\n".repeat(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn wildcards_are_words_of_a_pattern() {
        let words = |text: &str| split_pattern(text).unwrap();
        assert_eq!(words("cargo test **"), ["cargo", "test", "**"]);
        assert_eq!(words("git * 'a b' *"), ["git", "*", "a b", "*"]);
        assert_eq!(words("**"), ["**"]);
        assert_eq!(quote_pattern(&words("git * 'a b' **")), "git * 'a b' **");
        for wrong in ["make *.o", "a x*", "***", "a | b"] {
            assert!(split_pattern(wrong).is_err(), "{wrong}");
        }
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
    fn quoted_word_is_one_word_of_a_shell() {
        for word in [
            &b"it's my copy"[..],
            b"a\\b $HOME `x` \"y\" *",
            b"-n",
            b"",
            b"caf\xe9",
            b"line\nend\n\n",
            b"\x1b[31m%s\\n'",
            "ä\u{202e}b".as_bytes(),
        ] {
            let quoted = quote(OsStr::from_bytes(word));
            let printed = quoted.replace('\n', "");
            assert!(!is_unprintable(&printed), "{quoted}");
            let script = format!("set -- {quoted}; printf %s \"$#:$1\"");
            let shell = std::process::Command::new("sh")
                .args(["-c", &script])
                .output();
            let expected = [b"1:", word].concat();
            assert_eq!(shell.unwrap().stdout, expected, "{quoted}");
        }
    }

    #[test]
    fn what_is_quoted_comes_back() {
        for word in ["a", "", "a b", "it's", "$x", "a\\b", "ä|;\"", "--x=y"] {
            assert_eq!(words(&format!("p {}", quote(word))), ["p", word]);
        }
    }
}
