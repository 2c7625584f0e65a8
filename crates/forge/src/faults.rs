//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::dialect::Github;
use crate::dialect::codes;
use crate::failure::{
    Answered, Denied, Failure, Missing, Step, Unmergeable, Unmet, Unreachable, Why,
};
use candor_fault::{Cause, ClientText, Effect, Fault, Retry};
use std::time::Duration;

/// How many characters of GitHub's own words are passed on.
pub const FOREIGN_WORDS_CHARS: usize = 300;

/// How long to wait where GitHub limits without saying for how long: its documentation asks for a
/// minute at least.
const USUAL_WAIT: Duration = Duration::from_secs(60);

impl Failure {
    /// The failure in this dialect. `effect` is what the call has done as far as its mark knows; a
    /// code that is only raised where nothing happened keeps its own answer.
    pub(crate) fn fault(self, effect: Effect) -> Fault<Github> {
        match self {
            Failure::Missing(missing) => not_found(&missing),
            Failure::Unmet(unmet) => unmet_rule(&unmet),
            Failure::Unmergeable(unmergeable) => not_mergeable(unmergeable),
            Failure::HeadMoved {
                expected,
                actual,
                state,
            } => head_moved(expected, actual, state),
            Failure::Denied(denied) => denial(&denied),
            Failure::Limited(after) => codes::RateLimited
                .fault()
                .with_message(
                    "Rate limit exceeded: this server's limit on writes to one repository",
                )
                .after(after),
            Failure::Answered(answered) => by_status(answered, effect),
            Failure::Unreachable(why, cause) => unreachable(why, effect).with_cause(cause),
            Failure::Empty => internal(Retry::AfterChange, Effect::None, "the repository is empty")
                .with_remedy("Make a first commit with git, then send the call again."),
            Failure::Partly { done, rest } => partly(done, *rest),
            Failure::CallStopped(stopped) => stopped.into(),
            Failure::Broken(what, cause) => {
                internal(Retry::after_cut(effect), effect, what).with_cause(cause)
            }
        }
    }
}

fn internal(retry: Retry, effect: Effect, why: &'static str) -> Fault<Github> {
    let said = ClientText::from("Internal error: ").then(why);
    codes::Internal.fault(retry, effect).with_message(said)
}

fn not_found(missing: &Missing) -> Fault<Github> {
    let said = ClientText::from("Not found: ");
    let said = match missing {
        Missing::Repository => said.then("the repository"),
        Missing::Branch(name) => said.then("the branch ").quoting(name),
        Missing::Revision(name) => said.then("the branch, tag or commit ").quoting(name),
        Missing::Path(path) => said.then("the path ").quoting(path),
        Missing::PullRequest(number) => said.then("the pull request #").number(*number),
    };
    let said = said.then(" does not exist, or the token cannot see it");
    codes::NotFound.fault().with_message(said)
}

fn unmet_rule(unmet: &Unmet) -> Fault<Github> {
    let said = ClientText::from("Validation error: ");
    let said = match unmet {
        Unmet::IsDirectory(path) => said
            .quoting(path)
            .then(" is a directory; use list_directory"),
        Unmet::NotADirectory(path) => said
            .quoting(path)
            .then(" is not a directory; use read_file"),
        Unmet::IsSubmodule(path) => said
            .quoting(path)
            .then(" is a commit of another repository"),
        Unmet::TooLarge { path, size, most } => {
            let said = said.quoting(path).then(" is too large: ");
            let said = match size {
                Some(size) => said.number(*size).then(" bytes"),
                None => said.then("its size is not known"),
            };
            said.then(", at most ").number(*most).then(" are answered")
        }
        Unmet::AmbiguousSha(digits) => said
            .then("more than one commit begins with ")
            .quoting(digits)
            .then("; give more digits"),
        Unmet::BranchMoved(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" was moved by somebody else meanwhile; nothing was committed"),
        Unmet::BranchExists(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" exists already"),
        Unmet::BranchProtected(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" is protected and takes changes through pull requests only"),
        Unmet::PullExists(number) => said
            .then("a pull request for these branches is open already: #")
            .number(*number),
        Unmet::NothingToMerge { head, base } => said
            .then("there are no commits between ")
            .quoting(base)
            .then(" and ")
            .quoting(head),
        Unmet::Unrelated => said.then("the two branches have no history in common"),
        Unmet::AlreadyMerged(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" was merged already"),
        Unmet::PathConflict(path) => said
            .quoting(path)
            .then(" would be a file and a directory at once"),
        Unmet::PathRefused(path) => said
            .quoting(path)
            .then(" has a name in it that git keeps for itself"),
        Unmet::NothingToCommit => said.then("the branch has exactly these files already"),
    };
    let fault = codes::ValidationError.fault().with_message(said);
    match unmet {
        Unmet::PullExists(number) => fault.with_facts(|facts| facts.number = Some(*number)),
        Unmet::BranchMoved(_) => {
            fault.with_remedy("Read the branch as it is now, then commit again on top of it.")
        }
        _ => fault,
    }
}

fn not_mergeable(unmergeable: Unmergeable) -> Fault<Github> {
    let Unmergeable {
        number,
        why,
        state,
        failing_checks,
        answered,
    } = unmergeable;
    let said = ClientText::from("Pull request #").number(number);
    let said = match why {
        Why::Conflict => said.then(" is not mergeable: it conflicts with its base branch"),
        Why::Draft => said.then(" is not mergeable: it is a draft"),
        Why::Closed => said.then(" is not mergeable: it is closed"),
        Why::Merged => said.then(" is not mergeable: it was merged already"),
        Why::Blocked => said.then(" is not mergeable: rules of the base branch block it"),
        Why::Undecided => {
            said.then(" is not mergeable: GitHub has not decided yet whether it can be merged")
        }
        Why::Refused => said.then(" is not mergeable: GitHub refused to merge it"),
        Why::NotRebaseable => {
            said.then(" is not mergeable by rebase: one of its commits conflicts")
        }
    };
    let message = answered
        .as_ref()
        .and_then(|answered| answered.message.as_deref());
    let said = with_words(said, message);
    let status = answered.as_ref().map(|answered| answered.status);
    let fault = codes::NotMergeable
        .fault()
        .with_message(said)
        .with_facts(|facts| {
            facts.status = status;
            facts.mergeable_state = state;
            facts.failing_checks = Some(failing_checks).filter(|names| !names.is_empty());
        });
    match why {
        Why::Undecided => {
            fault.with_remedy("Ask get_pr_mergeability until it is decided, then merge.")
        }
        Why::Draft => fault
            .with_remedy("Mark it ready with update_pull_request and `draft: false`, then merge."),
        Why::Closed => fault
            .with_remedy("Open it again with update_pull_request and `state: open`, then merge."),
        Why::Merged => {
            fault.with_remedy("Nothing is left to do: the changes are in the base branch.")
        }
        Why::Conflict => fault.with_remedy(
            "Bring the head branch up to date with its base, resolve the conflicts, then merge.",
        ),
        Why::NotRebaseable => {
            fault.with_remedy("Take another `merge_method`, or resolve the conflicts first.")
        }
        Why::Blocked | Why::Refused => fault,
    }
}

fn head_moved(expected: String, actual: Option<String>, state: Option<String>) -> Fault<Github> {
    codes::HeadMismatch
        .fault()
        .with_message("Head SHA does not match: the pull request has another head than expected")
        .with_facts(|facts| {
            facts.mergeable_state = state;
            facts.expected = Some(expected);
            facts.actual = actual;
        })
}

fn denial(denied: &Denied) -> Fault<Github> {
    let fault = codes::PermissionDenied.fault();
    match denied {
        Denied::WritesOff => fault
            .with_message("Permission denied: this server does not change anything")
            .with_remedy("Ask the owner of this server to start it with --allow-writes."),
        Denied::WriteToken => fault
            .with_message("Permission denied: this tool asks for the token for writing")
            .with_remedy("Show the token of --write-bearer-file as `Authorization: Bearer …`."),
        Denied::Repository(repo) => {
            let said = ClientText::from("Permission denied: ")
                .quoting_at_most(&repo.to_string(), 256)
                .then(" is not on this server's list of repositories");
            fault.with_message(said).with_remedy(
                "Use a repository that --repos admits, or ask the owner of this server.",
            )
        }
    }
}

/// GitHub's own words, where it had some.
fn with_words(said: ClientText, words: Option<&str>) -> ClientText {
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => said.then(": ").quoting_at_most(words, FOREIGN_WORDS_CHARS),
        None => said,
    }
}

/// What a status of GitHub means, by the table of the contract.
fn by_status(answered: Answered, effect: Effect) -> Fault<Github> {
    let status = answered.status;
    let words = answered.message.as_deref();
    let with = |said: &'static str| with_words(ClientText::from(said), words);
    let fault = match status {
        403 | 429 if answered.limited => codes::RateLimited
            .fault()
            .with_message(with("Rate limit exceeded: GitHub"))
            .after(answered.retry_after.unwrap_or(USUAL_WAIT)),
        401 | 403 => codes::PermissionDenied
            .fault()
            .with_message(with("Permission denied: GitHub")),
        404 => not_found(&answered.missing),
        422 => codes::ValidationError
            .fault()
            .with_message(with("Validation error: GitHub")),
        _ => other_status(status, words, answered.step, effect),
    };
    fault.with_facts(|facts| {
        facts.status = Some(status);
        facts.errors = answered.errors.map(|errors| *errors);
    })
}

/// A status without a code of its own. One below 500 says that nothing was done.
fn other_status(status: u16, words: Option<&str>, step: Step, effect: Effect) -> Fault<Github> {
    let (retry, effect) = match (status, step) {
        (429, _) => (Retry::SameCall, Effect::None),
        (500.., Step::Read) => (Retry::SameCall, Effect::None),
        (500.., Step::Write | Step::Merge) => (Retry::after_cut(effect), effect),
        _ => (Retry::AfterChange, Effect::None),
    };
    let said = ClientText::from("Internal error: GitHub answered ").number(status);
    let said = match status {
        409 if step == Step::Read => said.then(" (the repository is empty)"),
        410 => said.then(" (it is gone)"),
        451 => said.then(" (unavailable for legal reasons)"),
        _ => said,
    };
    let fault = codes::Internal
        .fault(retry, effect)
        .with_message(with_words(said, words));
    match status {
        429 => fault.after(USUAL_WAIT),
        _ => fault,
    }
}

fn unreachable(why: Unreachable, effect: Effect) -> Fault<Github> {
    let said = match why {
        Unreachable::Connect => "GitHub could not be reached",
        Unreachable::Tls => "the connection to GitHub could not be secured",
        Unreachable::Reset => "the connection to GitHub broke",
        Unreachable::Timeout => "GitHub did not answer in time",
        Unreachable::Garbled => "GitHub's answer could not be read",
        Unreachable::TooLarge => "GitHub's answer is too large",
        Unreachable::Redirect => "GitHub redirected to another place",
    };
    // Without a connection nothing was sent, so nothing was done.
    let effect = match why {
        Unreachable::Connect | Unreachable::Tls => Effect::None,
        _ => effect,
    };
    let retry = match why {
        Unreachable::Tls | Unreachable::TooLarge | Unreachable::Redirect => Retry::AfterChange,
        _ => Retry::after_cut(effect),
    };
    internal(retry, effect, said)
}

/// A change of which a part was made: no code but this one may say that something happened.
fn partly(done: &'static str, rest: Failure) -> Fault<Github> {
    let rest = rest.fault(Effect::Unknown);
    let said = ClientText::from("Internal error: ")
        .then(done)
        .then(", the rest was not: ")
        .quoting_at_most(rest.message(), FOREIGN_WORDS_CHARS);
    let facts = rest.facts().clone();
    let fault = codes::Internal
        .fault(Retry::AfterChange, Effect::Done)
        .with_message(said)
        .with_remedy("Read the current state, then send what is still missing.")
        .with_facts(|own| *own = facts);
    match rest.cause() {
        Some(cause) => fault.with_cause(Cause::clone(cause)),
        None => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RepoName;
    use candor_fault::Dialect as _;
    use candor_fault::{Answer, CallFacts, Form, Timestamp};
    use candor_street::CallStopped;
    use serde_json::json;

    /// The `error` member that a failure is answered with.
    fn said(failure: Failure, effect: Effect) -> String {
        let facts = CallFacts {
            tool: Some("t"),
            form: Form::Protocol,
            receipt: None,
        };
        match Github::failure(&failure.fault(effect), &facts, Timestamp::UNIX_EPOCH) {
            Answer::Error(body) => body.json(),
            Answer::Result(result) => panic!("{result}"),
        }
    }

    fn answered(status: u16, step: Step) -> Answered {
        Answered {
            status,
            step,
            missing: Missing::Repository,
            message: Some(String::from("rate limit\n not found")),
            errors: Some(Box::new(
                json!([{ "resource": "PullRequest", "code": "invalid" }]),
            )),
            limited: false,
            retry_after: None,
        }
    }

    /// Everything that a status can mean, one line each.
    #[test]
    fn a_status_of_github_has_one_code() {
        let mut lines = Vec::new();
        for status in [
            401, 403, 404, 405, 409, 410, 418, 422, 429, 451, 500, 502, 503,
        ] {
            for (step, effect) in [(Step::Read, Effect::None), (Step::Write, Effect::Unknown)] {
                let fault = Failure::Answered(answered(status, step)).fault(effect);
                lines.push(format!(
                    "{status} {step:?}: {} {:?} {:?} {}",
                    fault.row().code,
                    fault.retry(),
                    fault.effect(),
                    fault.message(),
                ));
            }
        }
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_limit_is_told_by_its_facts_and_not_by_words() {
        for status in [403, 429] {
            let limited = |retry_after| {
                Failure::Answered(Answered {
                    limited: true,
                    retry_after,
                    ..answered(status, Step::Read)
                })
                .fault(Effect::None)
            };
            let told = limited(Some(Duration::from_secs(7)));
            assert!(told.is(codes::RateLimited));
            assert_eq!(told.wait(), Some(Duration::from_secs(7)));
            assert_eq!(limited(None).wait(), Some(USUAL_WAIT));
            let plain = Failure::Answered(answered(status, Step::Read)).fault(Effect::None);
            assert!(!plain.is(codes::RateLimited));
        }
    }

    #[test]
    fn every_other_failure_has_its_answer() {
        let text = || String::from("a\"b\n");
        let unmergeable = |why| {
            Failure::Unmergeable(Unmergeable {
                number: 7,
                why,
                state: Some(String::from("blocked")),
                failing_checks: vec![String::from("ci/test")],
                answered: Some(Box::new(answered(405, Step::Merge))),
            })
        };
        let missing = [
            Missing::Repository,
            Missing::Branch(text()),
            Missing::Revision(text()),
            Missing::Path(text()),
            Missing::PullRequest(7),
        ];
        let large = |size| Unmet::TooLarge {
            path: text(),
            size,
            most: 5,
        };
        let unmet = [
            Unmet::IsDirectory(text()),
            Unmet::NotADirectory(text()),
            Unmet::IsSubmodule(text()),
            large(Some(9)),
            large(None),
            Unmet::AmbiguousSha(text()),
            Unmet::BranchMoved(text()),
            Unmet::BranchExists(text()),
            Unmet::BranchProtected(text()),
            Unmet::PullExists(7),
            Unmet::NothingToMerge {
                head: text(),
                base: text(),
            },
            Unmet::Unrelated,
            Unmet::AlreadyMerged(7),
            Unmet::PathConflict(text()),
            Unmet::PathRefused(text()),
            Unmet::NothingToCommit,
        ];
        let why = [
            Why::Conflict,
            Why::Draft,
            Why::Closed,
            Why::Merged,
            Why::Blocked,
            Why::Undecided,
            Why::Refused,
            Why::NotRebaseable,
        ];
        let unreachable = [
            Unreachable::Connect,
            Unreachable::Tls,
            Unreachable::Reset,
            Unreachable::Timeout,
            Unreachable::Garbled,
            Unreachable::TooLarge,
            Unreachable::Redirect,
        ];
        let secret = || Cause::from("a cause is for the log");
        let denied = [
            Denied::WritesOff,
            Denied::WriteToken,
            Denied::Repository(RepoName::read("octo/cat").unwrap()),
        ];
        let others = [
            Failure::HeadMoved {
                expected: String::from("abcdef0"),
                actual: Some(String::from("0123456")),
                state: Some(String::from("clean")),
            },
            Failure::Limited(Duration::from_millis(1500)),
            Failure::Empty,
            Failure::CallStopped(CallStopped::TooLate),
            Failure::Broken("the disk is full", secret()),
            Failure::Partly {
                done: "the title was changed",
                rest: Box::new(Failure::Answered(answered(403, Step::Write))),
            },
        ];
        let all = missing.into_iter().map(Failure::Missing);
        let all = all.chain(unmet.into_iter().map(Failure::Unmet));
        let all = all.chain(why.into_iter().map(unmergeable));
        let all = all.chain(denied.into_iter().map(Failure::Denied));
        let all = all.chain(unreachable.map(|why| Failure::Unreachable(why, secret())));
        let lines: Vec<_> = all
            .chain(others)
            .map(|one| said(one, Effect::Unknown))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn words_of_github_are_cut_and_escaped() {
        let mut long = answered(401, Step::Read);
        long.message = Some(format!(" \u{202e}{} ", "x".repeat(2 * FOREIGN_WORDS_CHARS)));
        let fault = Failure::Answered(long).fault(Effect::None);
        let words = fault
            .message()
            .strip_prefix("Permission denied: GitHub: ")
            .unwrap();
        assert!(
            words.starts_with("\\u{202e}xxx") && words.ends_with("x…"),
            "{words}"
        );
        assert_eq!(words.chars().count(), FOREIGN_WORDS_CHARS);
    }
}
