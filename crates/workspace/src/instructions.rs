//! The instructions that a client gets before its first call.

use crate::config::Config;
use crate::plan::visible;
use crate::role::Role;

/// The maximum length of the instructions, in characters.
pub const MAX_INSTRUCTIONS: usize = 1500;

/// The maximum length of the list of roots in them, in characters.
const MAX_ROOTS: usize = 400;

/// Returns the instructions for the agent of a server.
pub(crate) fn for_agent(config: &Config) -> String {
    let role = config.role.label();
    let roots = config.roots.iter();
    let roots: Vec<_> = roots
        .map(|root| visible(&root.path().display().to_string()))
        .collect();
    let begin = match roots.len() {
        1 => "Call begin_session first; it needs no argument.",
        _ => "Call begin_session first, with one of the roots as workspace_root.",
    };
    let work = match config.role {
        Role::Executor => {
            "\
You change files with write_file, apply_changes, move_file and delete_file; run_command runs a command that \
the plan grants, and run_preflight its checks. Every change must lie within a plan that a person has approved. A single approved plan with one phase \
need not be named; else give plan_hash and phase_id, which list_plans has.
If no approved plan covers your work, say what you need, and ask the person to run this in the workspace:
candor workspace allow 'GLOB' --command 'COMMAND'
To ask for a plan that a planner has saved, show the command in human_message to the person, then call \
wait_for_approval."
        }
        Role::Planner => {
            "\
You read files and write plans; you change no other file. lint_plan checks a plan, save_plan saves it as a \
draft. A draft allows nothing until a person has approved it. Ask the person to run this in the workspace, \
then call wait_for_approval:
candor workspace review"
        }
    };
    format!(
        "This server is your only way to change the repository. Your role is {role}.\n{}\n{begin}\n{work}\n\
         A failed call has an error_code and says what to do; read the file again after HASH_MISMATCH. Every call \
         is recorded.",
        describe_roots(&roots)
    )
}

/// Lists the roots, as many as fit.
fn describe_roots(roots: &[String]) -> String {
    let mut text = String::from(if roots.len() == 1 { "Root:" } else { "Roots:" });
    for (index, root) in roots.iter().enumerate() {
        if text.chars().count() + root.chars().count() > MAX_ROOTS {
            let more = roots.len() - index;
            return match index {
                0 => text + " begin_session answers with it",
                _ => format!("{text} and {more} more"),
            };
        }
        text.push(' ');
        text.push_str(root);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_roots_are_left_out() {
        assert_eq!(describe_roots(&[String::from("/a")]), "Root: /a");
        let roots = [String::from("/a"), "x".repeat(400), String::from("/b")];
        assert_eq!(describe_roots(&roots), "Roots: /a and 2 more");
        assert_eq!(
            describe_roots(&["x".repeat(4000)]),
            "Root: begin_session answers with it"
        );
    }
}
