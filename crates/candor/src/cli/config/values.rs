//! Checks a document: which keys it has, and what their values are.

use super::file::ConfigFile;
use super::passwords::contains_password;
use super::problem::{ConfigProblem, shown};
use super::settings::{KnownSettings, Setting, TABLES, ValueKind, shown_in};
use candor_schema::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::ffi::OsString;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// The key that every file has.
const VERSION: &str = "version";

/// The value of that key.
const CURRENT_VERSION: &str = "1";

/// The start of an address of an SQLite file.
const SQLITE: &str = "sqlite:";

/// A setting of the file, as words of a command line.
#[derive(Debug)]
pub(super) struct FileValue<'a> {
    pub(super) setting: &'a Setting,
    /// Empty for a switch that is off.
    pub(super) words: Vec<OsString>,
    pub(super) span: Range<usize>,
}

/// Returns the settings of a document, and what is wrong with it.
pub(super) fn check<'a>(
    document: &DeTable<'_>,
    known: &'a KnownSettings,
    file: &ConfigFile,
) -> (Vec<FileValue<'a>>, Vec<ConfigProblem>) {
    let mut check = DocumentCheck {
        known,
        file,
        values: Vec::new(),
        problems: Vec::new(),
    };
    check.check_version(document);
    check.check_top(document);
    (check.values, check.problems)
}

struct DocumentCheck<'a, 'f> {
    known: &'a KnownSettings,
    file: &'f ConfigFile,
    values: Vec<FileValue<'a>>,
    problems: Vec<ConfigProblem>,
}

impl DocumentCheck<'_, '_> {
    fn add(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        let problem = ConfigProblem::new(span, message).with_hint(hint);
        self.problems.push(problem);
    }

    fn check_version(&mut self, document: &DeTable<'_>) {
        let hint = Some(format!(
            "the first line of the file is `{VERSION} = {CURRENT_VERSION}`"
        ));
        let Some(value) = document.get(VERSION) else {
            return self.add(0..0, format!("`{VERSION}` is missing"), hint);
        };
        let came = match value.get_ref() {
            DeValue::Integer(number) if number.to_string() == CURRENT_VERSION => return,
            DeValue::Integer(number) => shown(&number.to_string()),
            other => type_name(other).to_owned(),
        };
        let message = format!("`{VERSION}` must be {CURRENT_VERSION}, but is {came}");
        self.add(value.span(), message, hint);
    }

    fn check_top(&mut self, document: &DeTable<'_>) {
        for (key, value) in document {
            let name = key.get_ref().as_ref();
            let table = TABLES.iter().find(|table| table.name == name);
            match (table, value.get_ref()) {
                (Some(table), DeValue::Table(content)) => self.check_table(table.name, content),
                (Some(table), other) => {
                    let came = type_name(other);
                    let message = format!("[{}] must be a table, but is {came}", table.name);
                    self.add(key.span(), message, None);
                }
                (None, _) if name == VERSION => {}
                (None, _) => self.check_setting(None, key, value),
            }
        }
    }

    fn check_table(&mut self, table: &'static str, content: &DeTable<'_>) {
        for (key, value) in content {
            self.check_setting(Some(table), key, value);
        }
    }

    fn check_setting(
        &mut self,
        table: Option<&'static str>,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let name = key.get_ref().as_ref();
        let Some(setting) = self.known.find(table, name) else {
            let (message, hint) = self.unknown(table, name, value.get_ref().is_table());
            return self.add(key.span(), message, hint);
        };
        let Some(words) = self.words(setting, value) else {
            return;
        };
        let span = key.span();
        self.values.push(FileValue {
            setting,
            words,
            span,
        });
    }

    /// Returns the message and the hint for an unknown key or table.
    fn unknown(&self, table: Option<&str>, name: &str, is_table: bool) -> (String, Option<String>) {
        let key = shown(name);
        let message = match (table, is_table) {
            (None, true) => format!("unknown table [{key}]"),
            (Some(table), true) => format!("unknown table [{table}.{key}]"),
            (None, false) => format!("unknown key `{key}` at the top of the file"),
            (Some(table), false) => shown_in(&format!("unknown key `{key}`"), Some(table)),
        };
        let near_table = || {
            let tables = TABLES.iter().map(|table| table.name);
            let near = nearest(name, tables)?;
            Some(format!("did you mean [{near}]?"))
        };
        if is_table {
            return (message, near_table().filter(|_| table.is_none()));
        }
        let hint = match (table, self.known.table_of(name)) {
            (Some(_), Some(None)) => Some(format!(
                "`{name}` is set at the top of the file, before the first table"
            )),
            (_, Some(Some(other))) => Some(format!("`{name}` is set in [{other}]")),
            _ => {
                let version = table.is_none().then_some(VERSION);
                let near = nearest(name, self.known.keys(table).chain(version));
                let near = near.map(|near| format!("did you mean `{near}`?"));
                near.or_else(|| near_table().filter(|_| table.is_none()))
            }
        };
        (message, hint)
    }

    /// Returns the words of a value. Returns `None` if the value is wrong.
    fn words(&mut self, setting: &Setting, value: &Spanned<DeValue<'_>>) -> Option<Vec<OsString>> {
        match (setting.is_list, value.get_ref()) {
            (true, DeValue::Array(items)) => {
                let words = items.iter().map(|item| self.word(setting, item));
                // All are checked, even if one is wrong.
                let words: Vec<_> = words.collect();
                words.into_iter().collect::<Option<Vec<_>>>()
            }
            (true, other) => {
                let came = type_name(other);
                let message = format!("{} must be an array, but is {came}", setting.name());
                self.add(value.span(), message, None);
                None
            }
            (false, DeValue::Boolean(is_on)) if setting.kind == ValueKind::Switch => {
                let word = is_on.then(|| OsString::from(format!("--{}", setting.flag)));
                Some(word.into_iter().collect())
            }
            (false, _) => Some(vec![self.word(setting, value)?]),
        }
    }

    /// Returns the word of one value.
    fn word(&mut self, setting: &Setting, value: &Spanned<DeValue<'_>>) -> Option<OsString> {
        let (text, came) = match (setting.kind, value.get_ref()) {
            (ValueKind::Switch, other) => {
                self.wrong_type(setting, value.span(), "true or false", other);
                return None;
            }
            (ValueKind::Number, DeValue::Integer(number)) => {
                let text = decimal(number);
                (OsString::from(&text), shown(&text))
            }
            (ValueKind::Number, other) => {
                self.wrong_type(setting, value.span(), "a whole number", other);
                return None;
            }
            (_, DeValue::String(text)) => {
                let came = format!("`{}`", shown(text));
                (self.resolved(setting.kind, text), came)
            }
            (_, other) => {
                self.wrong_type(setting, value.span(), "a string", other);
                return None;
            }
        };
        if let DeValue::String(text) = value.get_ref() {
            self.check_privacy(setting, text, value.span());
        }
        let mut word = OsString::from(format!("--{}=", setting.flag));
        word.push(text);
        match self.refusal(setting, &word) {
            None => Some(word),
            Some((expected, hint)) => {
                let message = format!("{} {expected}, but is {came}", value_name(setting));
                self.add(value.span(), message, hint);
                None
            }
        }
    }

    /// Returns the text of a path relative to the file, and of anything else as it is.
    fn resolved(&self, kind: ValueKind, text: &str) -> OsString {
        match kind {
            // An empty path is refused; it is not the directory of the file.
            _ if text.is_empty() => OsString::new(),
            ValueKind::Path => self.file.resolve(text).into(),
            ValueKind::PathOrUrl if !text.contains("://") => {
                let (scheme, path) = match text.strip_prefix(SQLITE) {
                    Some(path) => (SQLITE, path),
                    None => ("", text),
                };
                let mut location = OsString::from(scheme);
                location.push(self.file.resolve(path));
                location
            }
            _ => text.into(),
        }
    }

    /// Refuses a password in a file that others can read.
    fn check_privacy(&mut self, setting: &Setting, text: &str, span: Range<usize>) {
        if self.file.is_private || !contains_password(text) {
            return;
        }
        let path = crate::cli::shell_words::quote(&self.file.path);
        let name = setting.name();
        let message = format!("{name} contains a password, and other users may read this file");
        let hint = format!("to let only its owner read the file, run:\n  chmod 600 {path}");
        self.add(span, message, Some(hint));
    }

    /// Asks the command whether it accepts a word. Returns what it expects, and a hint, if not.
    fn refusal(&self, setting: &Setting, word: &OsString) -> Option<(String, Option<String>)> {
        let command = self.known.command(setting)?.clone();
        let error = command.try_get_matches_from([word]).err()?;
        let refused = match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(value)) => value.clone(),
            _ => String::new(),
        };
        match error.kind() {
            ErrorKind::InvalidValue if refused.is_empty() => {
                Some((String::from("must not be empty"), None))
            }
            ErrorKind::InvalidValue => {
                let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
                    return Some((String::from("is not valid"), None));
                };
                let near = nearest(&refused, valid.iter().map(String::as_str));
                let hint = near.map(|near| format!("did you mean `{near}`?"));
                Some((format!("must be `{}`", valid.join("` or `")), hint))
            }
            ErrorKind::ValueValidation => {
                let reason = error.source().map(ToString::to_string).unwrap_or_default();
                Some((expected(&reason), None))
            }
            // About other flags, which may be given elsewhere.
            _ => None,
        }
    }

    fn wrong_type(
        &mut self,
        setting: &Setting,
        span: Range<usize>,
        expected: &str,
        came: &DeValue<'_>,
    ) {
        let message = format!(
            "{} must be {expected}, but is {}",
            value_name(setting),
            type_name(came)
        );
        self.add(span, message, None);
    }
}

/// Returns the name of a value that is not an array.
fn value_name(setting: &Setting) -> String {
    match setting.is_list {
        true => format!("an item of {}", setting.name()),
        false => setting.name(),
    }
}

/// Returns a number in decimal form. The parser leaves it open whether its digits are valid and its size
/// is usable; then it is returned as it is.
fn decimal(number: &DeInteger<'_>) -> String {
    let value = i128::from_str_radix(number.as_str(), number.radix());
    value.map_or_else(|_| number.to_string(), |value| value.to_string())
}

/// Returns what a parser of values expects, from its message.
fn expected(reason: &str) -> String {
    let range = reason.split_once(" is not in ").map(|(_, range)| range);
    let bounds = range.and_then(|range| range.split_once("..="));
    match bounds {
        Some((least, most)) => format!("must be from {least} to {most}"),
        None if reason == "invalid digit found in string" => String::from("must be a whole number"),
        None => format!("is not valid ({reason})"),
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
