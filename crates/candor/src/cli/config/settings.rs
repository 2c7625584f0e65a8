//! The settings that a file may contain, derived from the flags of the commands.

use clap::{Arg, ArgAction, ArgMatches, Command, Id};
use std::any::TypeId;
use std::path::PathBuf;

/// A table of the file, and the command whose flags it contains.
#[derive(Debug)]
pub(super) struct ConfigTable {
    pub(super) name: &'static str,
    command: &'static [&'static str],
}

/// Every table. A command that is added here also takes `ConfigArgs`.
pub(super) const TABLES: &[ConfigTable] = &[ConfigTable {
    name: "orders",
    command: &["orders", "serve"],
}];

/// Flags that several commands have, with one meaning. Their keys are at the top of the file, like those of
/// global flags.
const SHARED: &[&str] = &["data-dir"];

/// Flags without a key.
const WITHOUT_KEY: &[&str] = &["config", "help", "version"];

impl ConfigTable {
    /// Returns the flags of the table's command, if that is the command that was typed.
    pub(super) fn matches<'a>(&self, matches: &'a ArgMatches) -> Option<&'a ArgMatches> {
        let mut names = self.command.iter();
        names.try_fold(matches, |matches, name| matches.subcommand_matches(name))
    }
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// A flag without a value.
    Switch,
    Number,
    Path,
    /// A path, or a URL.
    PathOrUrl,
    Text,
}

/// A key of the file.
#[derive(Debug)]
pub(super) struct Setting {
    /// The table that contains it; `None` for the top of the file.
    pub(super) table: Option<&'static str>,
    pub(super) key: String,
    /// The flag, without `--`.
    pub(super) flag: String,
    pub(super) id: Id,
    pub(super) kind: ValueKind,
    /// True if the flag may be repeated; then the value is an array.
    pub(super) is_list: bool,
    /// The table whose command has the flag.
    owner: &'static str,
}

impl Setting {
    fn new(argument: &Arg, table: &ConfigTable) -> Option<Setting> {
        let flag = argument.get_long()?;
        if WITHOUT_KEY.contains(&flag) {
            return None;
        }
        let is_at_top = argument.is_global_set() || SHARED.contains(&flag);
        let is_list = matches!(argument.get_action(), ArgAction::Append);
        let plural = if is_list { "s" } else { "" };
        Some(Setting {
            table: (!is_at_top).then_some(table.name),
            key: flag.replace('-', "_") + plural,
            flag: flag.to_owned(),
            id: argument.get_id().clone(),
            kind: kind(argument),
            is_list,
            owner: table.name,
        })
    }

    /// Returns the key with its table, as messages show it.
    pub(super) fn name(&self) -> String {
        shown_in(&format!("`{}`", self.key), self.table)
    }
}

/// Adds the name of the table to a text.
pub(super) fn shown_in(text: &str, table: Option<&str>) -> String {
    match table {
        None => text.to_owned(),
        Some(table) => format!("{text} in [{table}]"),
    }
}

fn kind(argument: &Arg) -> ValueKind {
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return ValueKind::Switch;
    }
    let parsed = argument.get_value_parser().type_id();
    let is = |types: &[TypeId]| types.iter().any(|one| parsed == *one);
    let names = argument.get_value_names().unwrap_or_default();
    if is(&[TypeId::of::<PathBuf>()]) {
        ValueKind::Path
    } else if is(&[
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
    ]) {
        ValueKind::Number
    } else if names.iter().any(|name| name.as_str() == "FILE|URL") {
        ValueKind::PathOrUrl
    } else {
        ValueKind::Text
    }
}

/// Every setting, with the commands that check its values.
#[derive(Debug)]
pub(super) struct KnownSettings {
    settings: Vec<Setting>,
    commands: Vec<(&'static str, Command)>,
}

impl KnownSettings {
    pub(super) fn new(grammar: &Command) -> KnownSettings {
        let mut grammar = grammar.clone();
        // Gives global flags to every command.
        grammar.build();
        let mut known = KnownSettings {
            settings: Vec::new(),
            commands: Vec::new(),
        };
        for table in TABLES {
            let mut names = table.command.iter();
            let command = names.try_fold(&grammar, |command, name| command.find_subcommand(name));
            let Some(command) = command else { continue };
            for argument in command.get_arguments() {
                let setting = Setting::new(argument, table);
                let is_new = |setting: &Setting| known.find(setting.table, &setting.key).is_none();
                let setting = setting.filter(is_new);
                known.settings.extend(setting);
            }
            let command = command.clone().no_binary_name(true);
            known.commands.push((table.name, command));
        }
        known
    }

    /// Returns the setting with this key in a table, or at the top.
    pub(super) fn find(&self, table: Option<&str>, key: &str) -> Option<&Setting> {
        let mut settings = self.settings.iter();
        settings.find(|setting| setting.table == table && setting.key == key)
    }

    /// Returns the table that has this key, or `None` for the top.
    pub(super) fn table_of(&self, key: &str) -> Option<Option<&'static str>> {
        let mut settings = self.settings.iter();
        let found = settings.find(|setting| setting.key == key)?;
        Some(found.table)
    }

    /// Returns the keys of a table, or of the top.
    pub(super) fn keys<'a>(&'a self, table: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        let settings = self.settings.iter();
        let own = settings.filter(move |setting| setting.table == table);
        own.map(|setting| setting.key.as_str())
    }

    /// Returns the command that checks the values of a setting.
    pub(super) fn command(&self, setting: &Setting) -> Option<&Command> {
        self.command_of(setting.owner)
    }

    /// Returns the command of a table.
    pub(super) fn command_of(&self, table: &str) -> Option<&Command> {
        let mut commands = self.commands.iter();
        let found = commands.find(|(name, _)| *name == table);
        found.map(|(_, command)| command)
    }
}
