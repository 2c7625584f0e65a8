//! `candor explain`: the meaning of codes, whether to retry, whether anything was changed, and the
//! remedy.

use super::{CommandError, print};
use crate::registries::{REGISTRIES, find_registry, find_rows};
use anstyle::{AnsiColor, Style};
use candor_fault::{CodeRow, Effect, Registry, Retry, RowValue};
use clap::Args;
use std::fmt::Write;

/// Show what a code means, whether to retry, and what to do
///
/// Without a code, it prints the table of all codes; with a dialect, the table of that dialect. A code that
/// several dialects have is shown for each; DIALECT/CODE selects one.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// A code or its name, with its dialect or without (cache_missing, orders/3001, github/-32002), or a dialect
    #[arg(value_name = "[DIALECT/]CODE", allow_hyphen_values = true)]
    code: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CODE: Style = AnsiColor::Cyan.on_default().bold();

impl ExplainArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let registries = self.registries();
        let rows = match &self.code {
            Some(key) if registries.is_empty() => rows_of(key)?,
            _ => registries
                .iter()
                .flat_map(|registry| registry.rows)
                .collect(),
        };
        let text = match (self.json, registries.is_empty()) {
            (true, _) => pretty(&rows)?,
            (false, false) => tables(&registries),
            (false, true) => rows
                .iter()
                .map(|row| page(row))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        print(text.as_bytes())
    }

    /// Returns the registries that are shown whole.
    fn registries(&self) -> Vec<&'static Registry> {
        match &self.code {
            None => REGISTRIES.to_vec(),
            Some(key) => find_registry(key).into_iter().collect(),
        }
    }
}

fn pretty(rows: &[&CodeRow]) -> Result<String, CommandError> {
    let text = serde_json::to_string_pretty(rows).map_err(std::io::Error::from)?;
    Ok(text + "\n")
}

fn rows_of(key: &str) -> Result<Vec<&'static CodeRow>, CommandError> {
    let rows = find_rows(key);
    if !rows.is_empty() {
        return Ok(rows);
    }
    let known: Vec<String> = known_keys();
    let near = candor_schema::nearest(key, known.iter().map(String::as_str));
    let help = match near {
        Some(near) => {
            format!("the nearest name is `{near}`; to list every code, run:\n  candor explain")
        }
        None => String::from("to list every code, run:\n  candor explain"),
    };
    Err(CommandError::new(format!("there is no code `{}`", key.escape_debug())).with_hint(help))
}

fn known_keys() -> Vec<String> {
    let names = REGISTRIES
        .into_iter()
        .map(|registry| registry.name.to_owned());
    let rows = REGISTRIES.into_iter().flat_map(|registry| registry.rows);
    let keys = rows.flat_map(|row| {
        let full = format!("{}/{}", row.dialect, row.code);
        [row.name.to_owned(), row.code.to_string(), full]
    });
    names.chain(keys).collect()
}

fn retry(row: &CodeRow) -> &'static str {
    match row.retry {
        RowValue::Fixed(retry) => retry.word(),
        RowValue::PerFault => "varies",
    }
}

fn effect(row: &CodeRow) -> &'static str {
    match row.effect {
        RowValue::Fixed(effect) => effect.word(),
        RowValue::PerFault => "varies",
    }
}

fn tables(registries: &[&Registry]) -> String {
    let mut out = String::from(
        "Every failure answers five questions: class (who has to act), code, retry, effect\n\
         (whether anything was changed) and remedy (what to do).\n",
    );
    for registry in registries {
        let Registry {
            name,
            summary,
            rows,
            ..
        } = registry;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{BOLD}{name}{BOLD:#}  {summary}");
        let width = rows
            .iter()
            .map(|row| row.code.to_string().len())
            .max()
            .unwrap_or(0);
        let (class, wait, changed) = ("class", "retry", "effect");
        let _ = writeln!(
            out,
            "  {DIM}{:width$}  {class:8}  {wait:12}  {changed:6}  message{DIM:#}",
            "code"
        );
        for row in *rows {
            let (code, class) = (row.code.to_string(), row.class.word());
            let (wait, changed) = (retry(row), effect(row));
            let _ = writeln!(
                out,
                "  {CODE}{code:width$}{CODE:#}  {class:8}  {wait:12}  {changed:6}  {}",
                row.message
            );
        }
    }
    out + "\n`candor explain CODE` shows one of them with its remedy; --json prints everything.\n"
}

fn retry_sentence(row: &CodeRow) -> &'static str {
    match row.retry {
        RowValue::Fixed(Retry::Never) => "never: it fails again whatever you do",
        RowValue::Fixed(Retry::AfterChange) => "after_change: something has to change first",
        RowValue::Fixed(Retry::SameCall) => "same_call: the same call may be sent again at once",
        RowValue::Fixed(Retry::AfterDelay) => {
            "after_delay: the same call may be sent again after a wait"
        }
        RowValue::PerFault => "varies: each failure states it",
    }
}

fn effect_sentence(row: &CodeRow) -> &'static str {
    match row.effect {
        RowValue::Fixed(Effect::None) => "none: nothing was changed",
        RowValue::Fixed(Effect::Done) => "done: the change was made",
        RowValue::Fixed(Effect::Unknown) => {
            "unknown: it cannot be known whether the change was made"
        }
        RowValue::PerFault => "varies: each failure states it",
    }
}

fn page(row: &CodeRow) -> String {
    let mut out = format!("{CODE}{}/{}{CODE:#}", row.dialect, row.code);
    if row.name != row.code.to_string() {
        out += &format!("  {}", row.name);
    }
    out += &format!("\n\n{}\n\n", row.meaning);
    let mut line = |label: &str, text: &str| out += &format!("  {BOLD}{label:9}{BOLD:#} {text}\n");
    line("class", row.class.word());
    line("retry", retry_sentence(row));
    line("effect", effect_sentence(row));
    line("message", row.message);
    line("remedy", row.remedy);
    if let Some(category) = row.category {
        line("category", category);
    }
    if let Some(exit) = row.exit {
        line("exit code", &exit.to_string());
    }
    line(
        "stability",
        if row.frozen {
            "frozen: this row never changes"
        } else {
            "may still change"
        },
    );
    for (index, reason) in row.reasons.iter().enumerate() {
        let label = if index == 0 { "reasons" } else { "" };
        line(label, &format!("{}: {}", reason.name, reason.meaning));
    }
    out
}
