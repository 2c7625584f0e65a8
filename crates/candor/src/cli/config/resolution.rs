//! Decides which settings of a file are in force beside the flags and the environment.

use super::problem::ConfigProblem;
use super::settings::{ConfigTable, KnownSettings, Setting};
use super::values::FileValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Id};
use std::ffi::OsString;

/// Returns the words of the settings that are in force, and what is wrong with them.
///
/// A flag or a variable wins over a setting of the same name, and over settings that it excludes.
pub(super) fn resolve(
    values: Vec<FileValue<'_>>,
    known: &KnownSettings,
    table: &ConfigTable,
    flags: &ArgMatches,
) -> (Vec<OsString>, Vec<ConfigProblem>) {
    let Some(command) = known.command_of(table.name) else {
        return (Vec::new(), Vec::new());
    };
    let is_own = |value: &FileValue<'_>| value.setting.table.is_none_or(|own| own == table.name);
    let is_set = |value: &FileValue<'_>| !value.words.is_empty();
    let is_overridden = |value: &FileValue<'_>| {
        let excluded = excluded_by(command, &value.setting.id);
        is_given(flags, &value.setting.id) || excluded.iter().any(|id| is_given(flags, id))
    };
    let mut used: Vec<_> = values
        .into_iter()
        .filter(|value| is_own(value) && is_set(value) && !is_overridden(value))
        .collect();
    used.sort_by_key(|value| value.span.start);
    let mut problems = contradictions(command, &used);
    problems.extend(missing(command, &used, flags));
    let words = used.into_iter().flat_map(|value| value.words);
    (words.collect(), problems)
}

/// Returns true if a flag is on the command line or in the environment. An empty variable counts as unset.
fn is_given(flags: &ArgMatches, id: &Id) -> bool {
    match flags.value_source(id.as_str()) {
        Some(ValueSource::CommandLine) => true,
        Some(ValueSource::EnvVariable) => {
            let values = flags.get_raw(id.as_str());
            values.is_some_and(|mut values| values.any(|value| !value.is_empty()))
        }
        _ => false,
    }
}

/// Returns the flags that cannot be used together with a flag.
fn excluded_by(command: &Command, id: &Id) -> Vec<Id> {
    let arguments: Vec<_> = command.get_arguments().collect();
    let conflicts = |one: &Id, other: &Id| {
        let argument = arguments.iter().find(|argument| argument.get_id() == one);
        let conflicts = argument.map(|argument| command.get_arg_conflicts_with(argument));
        let mut conflicts = conflicts.into_iter().flatten();
        conflicts.any(|argument| argument.get_id() == other)
    };
    let others = arguments.iter().map(|argument| argument.get_id());
    // It is declared at one of the two only.
    let excluded = others.filter(|other| conflicts(id, other) || conflicts(other, id));
    excluded.cloned().collect()
}

/// Finds settings that cannot be used together.
fn contradictions(command: &Command, used: &[FileValue<'_>]) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    for (index, value) in used.iter().enumerate() {
        let excluded = excluded_by(command, &value.setting.id);
        let mut earlier = used[..index].iter();
        if let Some(other) = earlier.find(|other| excluded.contains(&other.setting.id)) {
            let message = format!(
                "{} cannot be used together with `{}`",
                value.setting.name(),
                other.setting.key
            );
            let hint = Some(String::from("remove one of them"));
            problems.push(ConfigProblem::new(value.span.clone(), message).with_hint(hint));
        }
    }
    problems
}

/// Finds settings that need another one which is neither in the file nor given.
fn missing(command: &Command, used: &[FileValue<'_>], flags: &ArgMatches) -> Vec<ConfigProblem> {
    let always = required(command, &[]);
    let is_used = |flag: &str| used.iter().any(|value| value.setting.flag == flag);
    let is_flag_given = |flag: &str| {
        let mut arguments = command.get_arguments();
        let argument = arguments.find(|argument| argument.get_long() == Some(flag));
        argument.is_some_and(|argument| is_given(flags, argument.get_id()))
    };
    let mut problems = Vec::new();
    for value in used {
        let needed = required(command, &value.words).into_iter();
        let needed = needed.filter(|flag| !always.contains(flag));
        for flag in needed.filter(|flag| !is_used(flag) && !is_flag_given(flag)) {
            problems.push(without_needed(value, &flag));
        }
    }
    problems
}

fn without_needed(value: &FileValue<'_>, flag: &str) -> ConfigProblem {
    let Setting { key, .. } = value.setting;
    let needed = flag.replace('-', "_");
    let message = format!("{} needs `{needed}`", value.setting.name());
    let hint = format!("set `{needed}` too, start the command with --{flag}, or remove `{key}`");
    ConfigProblem::new(value.span.clone(), message).with_hint(Some(hint))
}

/// Returns the flags, without `--`, that a command misses beside these words.
fn required(command: &Command, words: &[OsString]) -> Vec<String> {
    let parsed = command.clone().try_get_matches_from(words);
    let Err(error) = parsed else {
        return Vec::new();
    };
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing))
            if error.kind() == ErrorKind::MissingRequiredArgument =>
        {
            let flags = missing.iter().filter_map(|text| {
                let flag = text.strip_prefix("--")?;
                flag.split([' ', '=']).next()
            });
            flags.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
