//! The page of one section: what it is for, how a failure looks, and every code.

use super::words::{self, Places, Section};
use super::{examples, rows};
use crate::{CodeRow, Effect, Retry, RowValue};
use std::fmt::Write as _;

/// The line under every heading.
pub(super) const GENERATED: &str = "\
<!-- Made by `cargo run -p candor-fault --example export -- .` from the registries: change those. -->";

/// `docs/errors/<section>.md`.
pub(super) fn page(section: &Section) -> String {
    let mut parts = vec![
        format!("# {}\n", section.title),
        format!("{GENERATED}\n"),
        format!("{}\n", section.purpose),
        "## On the wire\n".to_owned(),
        format!("{}\n", section.form),
        format!("Schemas: {}.\n", schemas(section)),
    ];
    parts.extend(examples::of(section.name).iter().map(example));
    parts.push("## Codes\n".to_owned());
    parts.push(index(rows(section.name)));
    let codes = rows(section.name).iter();
    parts.extend(codes.map(|row| code(row, &section.places)));
    parts.join("\n")
}

/// Links to the schemas of a section.
pub(super) fn schemas(section: &Section) -> String {
    let links = section
        .schemas
        .iter()
        .map(|name| format!("[{name}](../../schemas/{name}.schema.json)"));
    links.collect::<Vec<_>>().join(", ")
}

fn example(example: &examples::Example) -> String {
    let mut text = format!("{}:\n\n```json\n{}\n```\n", example.title, example.line);
    if let Some(block) = &example.block {
        text.push_str("\nIts text block:\n\n```text\n");
        text.push_str(block.trim_end_matches('\n'));
        text.push_str("\n```\n");
    }
    text
}

/// The codes at a glance.
fn index(rows: &[CodeRow]) -> String {
    let mut text = String::from("| code | class | retry | effect |\n|---|---|---|---|\n");
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            heading(row),
            row.class.word(),
            ruled(row.retry, Retry::word),
            ruled(row.effect, Effect::word),
        );
    }
    text
}

/// The code, and its name where that says more.
fn heading(row: &CodeRow) -> String {
    let code = row.code.to_string();
    if code == row.name {
        format!("`{code}`")
    } else {
        format!("`{code}` {}", row.name)
    }
}

fn ruled<T: Copy>(answer: RowValue<T>, word: impl Fn(T) -> &'static str) -> &'static str {
    match answer {
        RowValue::Fixed(fixed) => word(fixed),
        RowValue::PerFault => "each failure says it",
    }
}

fn code(row: &CodeRow, places: &Places) -> String {
    let mut lines = vec![
        format!("### {}\n", heading(row)),
        format!("{}\n", row.meaning),
        format!(
            "- class: `{}`; to act: {}",
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
    lines.push(format!("- client: {}", client(row, places)));
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
        RowValue::PerFault => "each failure says it".to_owned(),
    }
}

/// What a program does with this code.
fn client(row: &CodeRow, places: &Places) -> String {
    let retry = match row.retry {
        RowValue::Fixed(Retry::Never) => "Do not send it again.".to_owned(),
        RowValue::Fixed(Retry::AfterChange) => {
            "Do not send the same call again; do what the remedy says first.".to_owned()
        }
        RowValue::Fixed(Retry::SameCall) => {
            "Send the same call again, each time after a longer wait.".to_owned()
        }
        RowValue::Fixed(Retry::AfterDelay) => {
            format!(
                "Wait as long as {} says, then send the same call.",
                places.wait
            )
        }
        RowValue::PerFault if places.retry.is_empty() => {
            "Send the same request again after a wait.".to_owned()
        }
        RowValue::PerFault => format!("Do what {} says.", places.retry),
    };
    let effect = match row.effect {
        RowValue::Fixed(Effect::None) => "Nothing was changed.".to_owned(),
        RowValue::Fixed(Effect::Done) => "The change stands.".to_owned(),
        RowValue::PerFault if !places.effect.is_empty() => {
            format!(
                "Read {}: after `unknown`, look at the state first.",
                places.effect
            )
        }
        RowValue::Fixed(Effect::Unknown) | RowValue::PerFault => {
            "Look at the state first.".to_owned()
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
