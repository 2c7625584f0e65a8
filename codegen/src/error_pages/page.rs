//! The page of one registry: its purpose, how a failure looks, and every code.

use super::examples::{self, EncodedExample};
use super::words;
use candor_fault::{CodeRow, Effect, OpenAnswers, Registry, Retry, RowValue};
use std::fmt::Write as _;

/// The line under every heading.
pub(super) const GENERATED: &str = "\
<!-- Generated from the registries by `cargo xtask codegen`; do not edit. -->";

/// Returns the content of `docs/errors/<name>.md`.
pub(crate) fn page(registry: &Registry) -> String {
    let page = &registry.page;
    let mut parts = vec![
        format!("# {}\n", page.title),
        format!("{GENERATED}\n"),
        format!("{}\n", page.purpose),
        "## On the wire\n".to_owned(),
        format!("{}\n", page.form),
        format!("Schemas: {}.\n", schema_links(registry)),
    ];
    parts.extend(
        (registry.examples)()
            .iter()
            .map(|one| example(&examples::encode(one))),
    );
    parts.push("## Codes\n".to_owned());
    parts.push(index(registry.rows));
    let rows = registry.rows.iter();
    parts.extend(rows.map(|row| code(row, &page.open_answers)));
    parts.join("\n")
}

/// Returns links to the schemas of a registry.
pub(super) fn schema_links(registry: &Registry) -> String {
    let files = (registry.schemas)();
    let links = files
        .iter()
        .map(|file| format!("[{0}](../../schemas/{0}.schema.json)", file.name));
    links.collect::<Vec<_>>().join(", ")
}

fn example(example: &EncodedExample) -> String {
    let mut text = format!("{}:\n\n```json\n{}\n```\n", example.title, example.response);
    if let Some(block) = &example.text_block {
        text.push_str("\nIts text block:\n\n```text\n");
        text.push_str(block.trim_end_matches('\n'));
        text.push_str("\n```\n");
    }
    text
}

/// Returns the table of all codes.
fn index(rows: &[CodeRow]) -> String {
    let mut text = String::from("| code | class | retry | effect |\n|---|---|---|---|\n");
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            heading(row),
            row.class.word(),
            answer_word(row.retry, Retry::word),
            answer_word(row.effect, Effect::word),
        );
    }
    text
}

/// Returns the code, and its name if it differs.
fn heading(row: &CodeRow) -> String {
    let code = row.code.to_string();
    if code == row.name {
        format!("`{code}`")
    } else {
        format!("`{code}` {}", row.name)
    }
}

fn answer_word<T: Copy>(answer: RowValue<T>, word: impl Fn(T) -> &'static str) -> &'static str {
    match answer {
        RowValue::Fixed(fixed) => word(fixed),
        RowValue::PerFault => "each failure states it",
    }
}

fn code(row: &CodeRow, open: &OpenAnswers) -> String {
    let mut lines = vec![
        format!("### {}\n", heading(row)),
        format!("{}\n", row.meaning),
        format!(
            "- class: `{}`; who has to act: {}",
            row.class.word(),
            words::class(row.class)
        ),
        format!("- retry: {}", answer(row.retry, Retry::word, words::retry)),
        format!(
            "- effect: {}",
            answer(row.effect, Effect::word, words::effect)
        ),
        format!("- message: `{}`", row.message),
    ];
    lines.extend(
        row.category
            .map(|category| format!("- category: {category}")),
    );
    lines.extend(
        row.exit
            .map(|exit| format!("- exit code of the command line: {exit}")),
    );
    lines.push(format!("- remedy: {}", row.remedy));
    lines.push(format!("- client: {}", client(row, open)));
    if !row.reasons.is_empty() {
        lines.push(reasons(row));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn answer<T: Copy>(
    answer: RowValue<T>,
    word: impl Fn(T) -> &'static str,
    meaning: impl Fn(T) -> &'static str,
) -> String {
    match answer {
        RowValue::Fixed(fixed) => format!("`{}`, {}", word(fixed), meaning(fixed)),
        RowValue::PerFault => "each failure states it".to_owned(),
    }
}

/// Returns what a client does after this code.
fn client(row: &CodeRow, open: &OpenAnswers) -> String {
    let retry = match row.retry {
        RowValue::Fixed(Retry::Never) => "Do not send the call again.".to_owned(),
        RowValue::Fixed(Retry::AfterChange) => {
            "Follow the remedy before you send the call again.".to_owned()
        }
        RowValue::Fixed(Retry::SameCall) => {
            "Send the same call again, with a longer wait each time.".to_owned()
        }
        RowValue::Fixed(Retry::AfterDelay) => {
            format!(
                "Wait for the time in {}, then send the same call again.",
                open.wait
            )
        }
        RowValue::PerFault if open.retry.is_empty() => {
            "Send the same request again after a wait.".to_owned()
        }
        RowValue::PerFault => format!("Follow {}.", open.retry),
    };
    let effect = match row.effect {
        RowValue::Fixed(Effect::None) => "Nothing was changed.".to_owned(),
        RowValue::Fixed(Effect::Done) => "The change was made.".to_owned(),
        RowValue::PerFault if !open.effect.is_empty() => {
            format!(
                "Read {}: after `unknown`, check the state first.",
                open.effect
            )
        }
        RowValue::Fixed(Effect::Unknown) | RowValue::PerFault => {
            "Check the state first.".to_owned()
        }
    };
    format!("{retry} {effect}")
}

fn reasons(row: &CodeRow) -> String {
    let mut text = String::from("\n| word | meaning |\n|---|---|\n");
    for reason in row.reasons {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} |", reason.name, reason.meaning);
    }
    text.pop();
    text
}
