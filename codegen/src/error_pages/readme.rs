//! The index of the generated pages, and the five answers explained.

use super::{page, words};
use candor::registries::REGISTRIES;
use candor_fault::{Class, Effect, Retry};

/// Returns the content of `docs/errors/README.md`.
pub(crate) fn readme() -> String {
    let answers = [
        "# Failures\n".to_owned(),
        format!("{}\n", page::GENERATED),
        INTRODUCTION.to_owned(),
        index(),
        "## The five answers\n".to_owned(),
        ANSWERS.to_owned(),
        "### class: who has to act\n".to_owned(),
        table(
            Class::ALL
                .iter()
                .map(|one| (one.word(), words::class(*one))),
        ),
        "### code: what went wrong\n".to_owned(),
        CODE.to_owned(),
        "### retry: whether to send the call again\n".to_owned(),
        table(
            Retry::ALL
                .iter()
                .map(|one| (one.word(), words::retry(*one))),
        ),
        RETRY.to_owned(),
        "### effect: whether anything happened\n".to_owned(),
        table(
            Effect::ALL
                .iter()
                .map(|one| (one.word(), words::effect(*one))),
        ),
        EFFECT.to_owned(),
        "### remedy: what to do\n".to_owned(),
        REMEDY.to_owned(),
    ];
    answers.join("\n")
}

const INTRODUCTION: &str = "\
Every failure is a contract: its code is stable, the same cause gives the same bytes, the answer
validates against a published schema, and it states whether to retry and whether anything happened. A
code is identified together with its dialect, because −32602 and −32603 exist in several dialects.
`registry.json` contains the same tables for programs; `registry.lock.json` contains the rows that will
never change.
";

const ANSWERS: &str = "\
Every failure answers five questions. Each dialect has its own member for the code. The other four
answers are one object `fault` with the members `class`, `retry`, `retry_after_ms`, `effect` and
`remedy`, in this order, if the dialect has room for it.
";

const CODE: &str = "\
The code is one word or number from a closed set. Branch on it, never on the wording of a message.
";

const RETRY: &str = "\
`retry_after_ms` is the time to wait if it is known, and null otherwise. If the row of a code does not
fix `retry`, each failure states it.
";

const EFFECT: &str = "\
After `unknown`, check the state before you send anything again. If the row of a code does not fix
`effect`, each failure states it.
";

const REMEDY: &str = "\
The remedy is a sentence for a person or a model. Its wording may improve, so do not parse it.
";

/// Returns the table of the pages, one row each.
fn index() -> String {
    let mut text = String::from("| page | codes | schemas |\n|---|---|---|\n");
    for registry in REGISTRIES {
        text.push_str(&format!(
            "| [{}]({}.md) | {} | {} |\n",
            registry.page.title,
            registry.name,
            registry.rows.len(),
            page::schema_links(registry),
        ));
    }
    text
}

fn table(lines: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let mut text = String::from("| word | meaning |\n|---|---|\n");
    for (word, meaning) in lines {
        text.push_str(&format!("| `{word}` | {meaning} |\n"));
    }
    text
}
