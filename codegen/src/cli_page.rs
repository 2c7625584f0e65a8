//! `docs/cli.md`: the help of every command, from the grammar of the command line.

/// Appends a command and everything below it, in the order of the help.
fn collect_commands(command: &clap::Command, all: &mut Vec<clap::Command>) {
    all.push(command.clone());
    for below in command.get_subcommands() {
        if below.get_name() != "help" {
            collect_commands(below, all);
        }
    }
}

/// Returns the content of `docs/cli.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# The command line\n\nThis page is the help of every command. `cargo xtask codegen` generates it; do not edit it. Results go to stdout, messages to stderr. A wrong command line exits with 1 and leaves stdout empty. The program `context` is the same as `candor context`.\n",
    );
    let mut grammar = candor::cli::grammar().term_width(100);
    grammar.build();
    let mut commands = Vec::new();
    collect_commands(&grammar, &mut commands);
    for command in commands {
        let name = match command.get_bin_name() {
            Some(name) => name.to_owned(),
            None => command.get_name().to_owned(),
        };
        let help = command.term_width(100).render_long_help().to_string();
        let help: Vec<_> = help.lines().map(str::trim_end).collect();
        page += &format!(
            "\n## {name}\n\n```text\n{}\n```\n",
            help.join("\n").trim_end()
        );
    }
    page
}
