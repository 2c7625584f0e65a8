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
        "### retry: what sending it again would bring\n".to_owned(),
        table(
            Retry::ALL
                .iter()
                .map(|one| (one.word(), words::retry(*one))),
        ),
        RETRY.to_owned(),
        "### effect: did anything happen\n".to_owned(),
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
Every failure here is a contract: its code is stable, the same cause gives the same bytes, the answer
fits a published schema, and it says whether to retry and whether anything happened. A code belongs to
its dialect: the key is both, since −32602 and −32603 exist in more than one. The same tables are in
`registry.json` for programs; `registry.lock.json` holds the rows that may never change again.
";

const ANSWERS: &str = "\
Every failure answers five questions. The code stands where the dialect puts it; the other four are one
object `fault` with the members `class`, `retry`, `retry_after_ms`, `effect` and `remedy`, in this order,
where the dialect has a place for it.
";

const CODE: &str = "\
One word or number from a closed set. Decide on it, and never on the wording of a message.
";

const RETRY: &str = "\
`retry_after_ms` says how long to wait where that is known, and is null elsewhere. A row may leave retry
open; then each failure says it.
";

const EFFECT: &str = "\
After `unknown`, look at the state before anything is sent again. A row may leave the effect open; then
each failure says it.
";

const REMEDY: &str = "\
One sentence for a person or a model. Its wording may get better; do not parse it.
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
