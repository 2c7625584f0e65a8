//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::DiffSide;
use crate::dialect::Github;
use crate::dialect::codes;
use crate::failure::{
    DamagedItem, DenialReason, Failure, GithubErrorResponse, MissingItem, RequestKind,
    UnmergeablePull, UnmergeableReason, UnmetPrecondition, UnreachableReason,
};
use candor_fault::{Cause, ClientText, Effect, Fault, Retry};
use std::time::Duration;

/// The maximum number of characters of GitHub's message that is passed on.
pub const FOREIGN_WORDS_CHARS: usize = 300;

/// The wait for a limit without an end: GitHub's documentation asks for at least a minute.
const USUAL_WAIT: Duration = Duration::from_secs(60);

/// The remedy for a full disk. The same call succeeds when there is room.
pub(crate) const FREE_SPACE: &str =
    "Free space on the disk of this server, or ask its owner to, then send the same call.";

impl Failure {
    /// Returns the fault of this failure. `effect` is the effect of the call according to its mark. A code
    /// that implies no effect keeps its own.
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
            Failure::BranchHeadMoved { expected, actual } => branch_head_moved(expected, actual),
            Failure::Denied(denied) => denial(&denied),
            Failure::Limited(after) => codes::RateLimited
                .fault()
                .with_message(
                    "Rate limit exceeded: this server's limit on writes to one repository",
                )
                .after(after),
            Failure::GithubErrorResponse(response) => by_status(response, effect),
            Failure::Unreachable(reason, cause) => unreachable(reason, effect).with_cause(cause),
            Failure::Empty => empty_repository(),
            Failure::Partly { done, rest } => partly(done, *rest),
            Failure::CallStopped(stopped) => stopped.into(),
            Failure::DiskFull(cause) => internal(Retry::AfterChange, effect, "the disk is full")
                .with_remedy(FREE_SPACE)
                .with_cause(cause),
            Failure::Damaged(item, cause) => damaged(item, effect).with_cause(cause),
            Failure::Broken(what, cause) => {
                internal(Retry::after_cut(effect), effect, what).with_cause(cause)
            }
        }
    }
}

fn internal(retry: Retry, effect: Effect, reason: &'static str) -> Fault<Github> {
    let said = ClientText::from("Internal error: ").then(reason);
    internal_fault(retry, effect).with_message(said)
}

/// Returns an internal error whose remedy fits its effect. The remedy of its code is for an unknown one.
pub(crate) fn internal_fault(retry: Retry, effect: Effect) -> Fault<Github> {
    let fault = codes::Internal.fault(retry, effect);
    match (effect, retry) {
        (Effect::Unknown, _) => fault,
        (Effect::None, Retry::SameCall) => {
            fault.with_remedy("Nothing was changed. Send the same call again.")
        }
        (Effect::None, _) => fault.with_remedy(
            "Nothing was changed. Ask the owner of this server: with `--log info` its log has the cause.",
        ),
        (Effect::Done, _) => {
            fault.with_remedy("The change was made. Read the current state before the next call.")
        }
    }
}

fn empty_repository() -> Fault<Github> {
    internal(Retry::AfterChange, Effect::None, "the repository is empty")
        .with_remedy(
            "Make a first commit with commit_changes (toolset `loop`) or with git, then send the call again.",
        )
}

/// Appends a path. That of the root is empty.
fn with_path(said: ClientText, path: &str) -> ClientText {
    match path {
        "" => said.then("the root directory"),
        _ => said.quoting(path),
    }
}

fn not_found(missing: &MissingItem) -> Fault<Github> {
    let said = ClientText::from("Not found: ");
    let said = match missing {
        MissingItem::Repository => said.then("the repository"),
        MissingItem::Branch(name) => said.then("the branch ").quoting(name),
        MissingItem::Revision(name) => said.then("the branch, tag or commit ").quoting(name),
        MissingItem::Path(path) if path.is_empty() => with_path(said, path),
        MissingItem::Path(path) | MissingItem::PathInOtherCase { path, .. } => {
            with_path(said.then("the path "), path)
        }
        MissingItem::PullRequest(number) => said.then("the pull request #").number(*number),
        MissingItem::Issue(number) => said.then("the issue #").number(*number),
        MissingItem::IssueOrPull(number) => {
            said.then("the issue or pull request #").number(*number)
        }
        MissingItem::LineComment(id) => said
            .then("the comment ")
            .number(*id)
            .then(" on a line of this pull request"),
        MissingItem::Job(id) => said.then("the job ").number(*id),
        MissingItem::Run(id) => said.then("the workflow run ").number(*id),
        MissingItem::Tag(name) => said.then("the tag ").quoting(name),
        MissingItem::Account(name) => said.then("the account ").quoting(name),
    };
    let said = said.then(" does not exist, or the token cannot see it");
    let fault = codes::NotFound.fault().with_message(said);
    match missing {
        MissingItem::PathInOtherCase { similar, .. } => fault
            .with_remedy("Letter case counts: use one of the paths in `similar`.")
            .with_facts(|facts| facts.similar = Some(similar.clone())),
        _ => fault,
    }
}

fn unmet_rule(unmet: &UnmetPrecondition) -> Fault<Github> {
    let said = ClientText::from("Validation error: ");
    let said = match unmet {
        UnmetPrecondition::IsDirectory(path) => {
            with_path(said, path).then(" is a directory; use list_directory")
        }
        UnmetPrecondition::NotADirectory(path) => {
            with_path(said, path).then(" is not a directory; use read_file")
        }
        UnmetPrecondition::IsSubmodule(path) => said
            .quoting(path)
            .then(" is a commit of another repository"),
        UnmetPrecondition::TooLarge { path, size, most } => {
            let said = with_path(said, path).then(" is too large: ");
            let said = match size {
                Some(size) => said.number(*size).then(" bytes"),
                None => said.then("its size is not known"),
            };
            said.then(", at most ").number(*most).then(" are answered")
        }
        UnmetPrecondition::AmbiguousSha(digits) => said
            .then("more than one commit begins with ")
            .quoting(digits)
            .then("; give more digits"),
        UnmetPrecondition::BranchMoved(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" was moved by somebody else meanwhile; nothing was committed"),
        UnmetPrecondition::BranchExists(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" exists already"),
        UnmetPrecondition::BranchProtected(branch) => said
            .then("the branch ")
            .quoting(branch)
            .then(" is protected and takes changes through pull requests only"),
        UnmetPrecondition::PullExists(number) => said
            .then("a pull request for these branches is open already: #")
            .number(*number),
        UnmetPrecondition::NothingToMerge { head, base } => said
            .then("there are no commits between ")
            .quoting(base)
            .then(" and ")
            .quoting(head),
        UnmetPrecondition::Unrelated => said.then("the two branches have no history in common"),
        UnmetPrecondition::AlreadyMerged(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" was merged already"),
        UnmetPrecondition::PathConflict(path) => said
            .quoting(path)
            .then(" would be a file and a directory at once"),
        UnmetPrecondition::PathRefused(path) => said
            .quoting(path)
            .then(" has a name in it that git keeps for itself"),
        UnmetPrecondition::NothingToCommit => {
            said.then("the branch has exactly these files already")
        }
        UnmetPrecondition::NotText(path) => {
            said.quoting(path).then(" is not UTF-8 text; use read_file")
        }
        UnmetPrecondition::NoSuchLines { path, total_lines } => said
            .quoting(path)
            .then(" does not have these lines; it has ")
            .number(*total_lines as u64),
        UnmetPrecondition::NotOneOccurrence { path, occurrences } => said
            .then("the old text must occur exactly once in ")
            .quoting(path)
            .then(", and occurs ")
            .number(*occurrences as u64)
            .then(" times"),
        UnmetPrecondition::NotAPlainFile(path) => said
            .quoting(path)
            .then(" is not a plain file, so it cannot be executable"),
        UnmetPrecondition::DirectoryChanged(path) => said
            .quoting(path)
            .then(" is a directory; name its files one by one"),
        UnmetPrecondition::PathExists(path) => said.quoting(path).then(" exists already"),
        UnmetPrecondition::FirstCommitOfSeveral => said.then(
            "the first commit of an empty repository on GitHub takes exactly one `write` without `executable`",
        ),
        UnmetPrecondition::NotOpen(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" is not open"),
        UnmetPrecondition::NotMerged(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" was not merged, so there is nothing to revert"),
        UnmetPrecondition::RevertExists(number) => said
            .then("a pull request that reverts it is open already: #")
            .number(*number),
        UnmetPrecondition::EmptyReview => said.then(
            "a review that does not approve needs a `body` or at least one of `comments`",
        ),
        UnmetPrecondition::OwnPull(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" is your own: you can comment on it, not approve it or request changes"),
        UnmetPrecondition::ReviewerIsAuthor(name) => said
            .quoting(name)
            .then(" opened the pull request and cannot review it"),
        UnmetPrecondition::LineOutsideDiff { path, line, side } => said
            .then("line ")
            .number(*line)
            .then(match side {
                DiffSide::Left => " before the change of ",
                DiffSide::Right => " after the change of ",
            })
            .quoting(path)
            .then(" is not part of the difference"),
        UnmetPrecondition::MergeableNow(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" can be merged now; use merge_pull_request"),
        UnmetPrecondition::IsDraft(number) => said
            .then("the pull request #")
            .number(*number)
            .then(" is a draft, which is not merged automatically"),
        UnmetPrecondition::IsPullRequest(number) => said
            .then("#")
            .number(*number)
            .then(" is a pull request, not an issue; use get_pull_request or update_pull_request"),
        UnmetPrecondition::NothingFailed => said.then("no job has failed there"),
        UnmetPrecondition::DefaultBranch(branch) => said
            .quoting(branch)
            .then(" is the default branch, which is never deleted"),
        UnmetPrecondition::RepositoryExists(repo) => said
            .then("the repository ")
            .quoting_at_most(&repo.to_string(), 256)
            .then(" exists already"),
        UnmetPrecondition::TagExists(tag) => said
            .then("the tag ")
            .quoting(tag)
            .then(" exists already, and a tag is never moved"),
        UnmetPrecondition::ReleaseExists(tag) => said
            .then("the tag ")
            .quoting(tag)
            .then(" has a release already"),
        UnmetPrecondition::NotATime(text) => said.quoting(text).then(" is not a time"),
    };
    let fault = codes::ValidationError.fault().with_message(said);
    match unmet {
        UnmetPrecondition::PullExists(number) | UnmetPrecondition::RevertExists(number) => {
            fault.with_facts(|facts| facts.number = Some(*number))
        }
        UnmetPrecondition::NoSuchLines { total_lines, .. } => fault
            .with_remedy("Take lines from 1 to `total_lines`, the first not after the last.")
            .with_facts(|facts| facts.total_lines = Some(*total_lines as u64)),
        UnmetPrecondition::NotOneOccurrence { occurrences, .. } => fault
            .with_remedy(
                "Read the file with get_file_contents, then give an `old_text` that occurs once; line ends count.",
            )
            .with_facts(|facts| facts.occurrences = Some(*occurrences as u64)),
        UnmetPrecondition::FirstCommitOfSeveral => {
            fault.with_remedy("Write one file first, then commit the other changes.")
        }
        UnmetPrecondition::LineOutsideDiff { .. } => fault.with_remedy(
            "Take a line that a patch of get_pull_request shows: `side: LEFT` for lines that were deleted, else RIGHT.",
        ),
        UnmetPrecondition::IsDraft(_) => fault
            .with_remedy("Mark it ready with update_pull_request and `draft: false` first."),
        UnmetPrecondition::BranchMoved(_) => {
            fault.with_remedy("Read the branch as it is now, then commit again on top of it.")
        }
        _ => fault,
    }
}

fn not_mergeable(unmergeable: UnmergeablePull) -> Fault<Github> {
    let UnmergeablePull {
        number,
        reason,
        state,
        failing_checks,
        response,
        conflicts,
    } = unmergeable;
    let said = ClientText::from("Pull request #").number(number);
    let said = match reason {
        UnmergeableReason::Conflict => {
            said.then(" is not mergeable: it conflicts with its base branch")
        }
        UnmergeableReason::Draft => said.then(" is not mergeable: it is a draft"),
        UnmergeableReason::Closed => said.then(" is not mergeable: it is closed"),
        UnmergeableReason::Merged => said.then(" is not mergeable: it was merged already"),
        UnmergeableReason::Blocked => {
            said.then(" is not mergeable: rules of the base branch block it")
        }
        UnmergeableReason::Undecided => {
            said.then(" is not mergeable: GitHub has not decided yet whether it can be merged")
        }
        UnmergeableReason::Refused => said.then(" is not mergeable: GitHub refused to merge it"),
        UnmergeableReason::NotRebaseable => {
            said.then(" is not mergeable by rebase: one of its commits conflicts")
        }
        UnmergeableReason::RevertConflict => {
            said.then(" cannot be reverted: later changes of its base branch conflict")
        }
    };
    let message = response
        .as_ref()
        .and_then(|response| response.message.as_deref());
    let said = with_words(said, message);
    let status = response.as_ref().map(|response| response.status);
    let fault = codes::NotMergeable
        .fault()
        .with_message(said)
        .with_facts(|facts| {
            facts.status = status;
            facts.mergeable_state = state;
            facts.failing_checks = Some(failing_checks).filter(|names| !names.is_empty());
            if let Some(report) = conflicts {
                facts.conflicts = report.conflicts;
                facts.changed_on_both = report.changed_on_both;
            }
        });
    match reason {
        UnmergeableReason::Undecided => {
            fault.with_remedy("Ask get_pr_mergeability until it is decided, then merge.")
        }
        UnmergeableReason::Draft => fault
            .with_remedy("Mark it ready with update_pull_request and `draft: false`, then merge."),
        UnmergeableReason::Closed => fault
            .with_remedy("Open it again with update_pull_request and `state: open`, then merge."),
        UnmergeableReason::Merged => {
            fault.with_remedy("Nothing is left to do: the changes are in the base branch.")
        }
        UnmergeableReason::Conflict => fault.with_remedy(
            "Bring the head branch up to date with its base, resolve the conflicts, then merge.",
        ),
        UnmergeableReason::NotRebaseable => {
            fault.with_remedy("Take another `merge_method`, or resolve the conflicts first.")
        }
        UnmergeableReason::RevertConflict => fault.with_remedy(
            "Undo the change by hand: read the paths in `conflicts`, then use commit_changes on a branch.",
        ),
        UnmergeableReason::Blocked | UnmergeableReason::Refused => fault,
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

fn branch_head_moved(expected: String, actual: Option<String>) -> Fault<Github> {
    codes::HeadMismatch
        .fault()
        .with_message("Head SHA does not match: the branch has another head than expected")
        .with_remedy(
            "Read the branch at `actual`, then send the call with that as the expected head.",
        )
        .with_facts(|facts| {
            facts.expected = Some(expected);
            facts.actual = actual;
        })
}

fn denial(denied: &DenialReason) -> Fault<Github> {
    let fault = codes::PermissionDenied.fault();
    match denied {
        DenialReason::WritesOff => fault
            .with_message("Permission denied: this server does not change anything")
            .with_remedy("Ask the owner of this server to start it with --allow-writes."),
        DenialReason::WriteToken => fault
            .with_message("Permission denied: this tool asks for the token for writing")
            .with_remedy("Show the token of --write-bearer-file as `Authorization: Bearer …`."),
        DenialReason::Repository(repo) => {
            let said = ClientText::from("Permission denied: ")
                .quoting_at_most(&repo.to_string(), 256)
                .then(" is not on this server's list of repositories");
            fault.with_message(said).with_remedy(
                "Use a repository that --repos admits, or ask the owner of this server.",
            )
        }
        DenialReason::CallerToken => fault
            .with_message("Permission denied: this server uses the caller's token for GitHub")
            .with_remedy("Send a token for GitHub as `Authorization: Bearer …` with each request."),
        DenialReason::InstallationNeeded => fault
            .with_message(
                "Permission denied: a GitHub app sees repositories through an installation, and a search names none",
            )
            .with_remedy(
                "Name a repository with `fetch`, or ask the owner of this server to start it with --github-app-installation.",
            ),
        DenialReason::NotInstalled(owner) => {
            let said = ClientText::from("Permission denied: the GitHub app is not installed for ")
                .quoting_at_most(owner, 100)
                .then(", or no longer");
            fault
                .with_message(said)
                .with_remedy("Ask the owner of the repository to install the app, then call again.")
        }
        DenialReason::InstallationGone(number) => {
            let said = ClientText::from("Permission denied: the GitHub app has no installation ")
                .number(*number)
                .then(", or no longer");
            fault.with_message(said).with_remedy(
                "Ask the owner of this server for the installation that --github-app-installation names.",
            )
        }
    }
}

/// Appends GitHub's message if there is one.
fn with_words(said: ClientText, words: Option<&str>) -> ClientText {
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => said.then(": ").quoting_at_most(words, FOREIGN_WORDS_CHARS),
        None => said,
    }
}

/// Maps a status of GitHub by the table of the contract.
fn by_status(response: GithubErrorResponse, effect: Effect) -> Fault<Github> {
    let status = response.status;
    let words = response.message.as_deref();
    let with = |said: &'static str| with_words(ClientText::from(said), words);
    let fault = match status {
        403 | 429 if response.limited || status == 429 => codes::RateLimited
            .fault()
            .with_message(with("Rate limit exceeded: GitHub"))
            .after(response.retry_after.unwrap_or(USUAL_WAIT)),
        401 | 403 => codes::PermissionDenied
            .fault()
            .with_message(with("Permission denied: GitHub")),
        404 => not_found(&response.missing),
        // Of a read only an empty repository is a conflict.
        409 if response.step == RequestKind::Read => empty_repository(),
        422 => codes::ValidationError
            .fault()
            .with_message(with("Validation error: GitHub")),
        _ => other_status(status, words, response.step, effect),
    };
    fault.with_facts(|facts| {
        facts.status = Some(status);
        facts.errors = response.errors.map(|errors| *errors);
        facts.sso_url = response.sso_url.map(String::from);
    })
}

/// Maps a status that has no separate code. A status below 500 means that nothing was done.
fn other_status(
    status: u16,
    words: Option<&str>,
    step: RequestKind,
    effect: Effect,
) -> Fault<Github> {
    let (retry, effect) = match (status, step) {
        (500.., RequestKind::Read) => (Retry::SameCall, Effect::None),
        (500.., RequestKind::Write | RequestKind::Merge) => (Retry::after_cut(effect), effect),
        _ => (Retry::AfterChange, Effect::None),
    };
    let said = ClientText::from("Internal error: GitHub answered ").number(status);
    let said = match status {
        410 => said.then(" (it is gone)"),
        451 => said.then(" (unavailable for legal reasons)"),
        _ => said,
    };
    internal_fault(retry, effect).with_message(with_words(said, words))
}

fn damaged(item: DamagedItem, effect: Effect) -> Fault<Github> {
    let item = match item {
        DamagedItem::Object => "an object is missing or cannot be read",
        DamagedItem::Ref => "a ref cannot be read",
        DamagedItem::Head => "HEAD cannot be read",
    };
    let said = ClientText::from("Internal error: the repository is damaged: ").then(item);
    internal_fault(Retry::AfterChange, effect)
        .with_message(said)
        .with_remedy("Ask the owner of this server to run `git fsck` in the repository.")
}

fn unreachable(reason: UnreachableReason, effect: Effect) -> Fault<Github> {
    let said = match reason {
        UnreachableReason::Connect => "GitHub could not be reached",
        UnreachableReason::Tls => "the connection to GitHub could not be secured",
        UnreachableReason::Reset => "the connection to GitHub broke",
        UnreachableReason::Timeout => "GitHub did not answer in time",
        UnreachableReason::Garbled => "GitHub's answer could not be read",
        UnreachableReason::TooLarge => "GitHub's answer is too large",
        UnreachableReason::Redirect => "GitHub redirected to another place",
    };
    // Nothing was sent without a connection, so nothing was done.
    let effect = match reason {
        UnreachableReason::Connect | UnreachableReason::Tls => Effect::None,
        _ => effect,
    };
    let retry = match reason {
        UnreachableReason::Tls | UnreachableReason::TooLarge | UnreachableReason::Redirect => {
            Retry::AfterChange
        }
        _ => Retry::after_cut(effect),
    };
    internal(retry, effect, said)
}

/// Maps a change of which a part was made. Only this code reports an effect.
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
    use crate::{Conflict, ConflictKind, ConflictReport, RepoName};
    use candor_fault::Dialect as _;
    use candor_fault::{Answer, CallFacts, Form, Timestamp};
    use candor_street::CallStopped;
    use serde_json::json;

    /// Returns the `error` member of the answer to a failure.
    fn said(failure: Failure, effect: Effect) -> String {
        let facts = CallFacts {
            tool: Some("t"),
            form: Form::Protocol,
            receipt: None,
        };
        match Github::encode_failure(&failure.fault(effect), &facts, Timestamp::UNIX_EPOCH) {
            Answer::Error(body) => body.json(),
            Answer::Result(result) => panic!("{result}"),
        }
    }

    fn response(status: u16, step: RequestKind) -> GithubErrorResponse {
        GithubErrorResponse {
            status,
            step,
            missing: MissingItem::Repository,
            message: Some(String::from("rate limit\n not found")),
            errors: Some(Box::new(
                json!([{ "resource": "PullRequest", "code": "invalid" }]),
            )),
            limited: false,
            retry_after: None,
            sso_url: None,
        }
    }

    /// Everything that a status can mean, one line each.
    #[test]
    fn status_of_github_has_one_code() {
        let mut lines = Vec::new();
        for status in [
            401, 403, 404, 405, 409, 410, 418, 422, 429, 451, 500, 502, 503,
        ] {
            for (step, effect) in [
                (RequestKind::Read, Effect::None),
                (RequestKind::Write, Effect::Unknown),
            ] {
                let fault = Failure::GithubErrorResponse(response(status, step)).fault(effect);
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
    fn limit_is_recognised_by_its_facts_and_not_by_words() {
        for status in [403, 429] {
            let limited = |retry_after| {
                Failure::GithubErrorResponse(GithubErrorResponse {
                    limited: true,
                    retry_after,
                    ..response(status, RequestKind::Read)
                })
                .fault(Effect::None)
            };
            let told = limited(Some(Duration::from_secs(7)));
            assert!(told.is(codes::RateLimited));
            assert_eq!(told.wait(), Some(Duration::from_secs(7)));
            assert_eq!(limited(None).wait(), Some(USUAL_WAIT));
            let plain = Failure::GithubErrorResponse(response(status, RequestKind::Read))
                .fault(Effect::None);
            assert_eq!(plain.is(codes::RateLimited), status == 429);
        }
    }

    #[test]
    fn every_other_failure_has_its_answer() {
        let text = || String::from("a\"b\n");
        let unmergeable = |reason| {
            Failure::Unmergeable(UnmergeablePull {
                number: 7,
                reason,
                state: Some(String::from("blocked")),
                failing_checks: vec![String::from("ci/test")],
                response: Some(Box::new(response(405, RequestKind::Merge))),
                conflicts: Some(Box::new(ConflictReport {
                    conflicts: Some(vec![Conflict {
                        path: text(),
                        kind: ConflictKind::DeleteModify,
                    }]),
                    changed_on_both: Some(vec![text()]),
                })),
            })
        };
        let missing = [
            MissingItem::Repository,
            MissingItem::Branch(text()),
            MissingItem::Revision(text()),
            MissingItem::Path(text()),
            MissingItem::PathInOtherCase {
                path: text(),
                similar: vec![String::from("A")],
            },
            MissingItem::PullRequest(7),
            MissingItem::Issue(7),
            MissingItem::IssueOrPull(7),
            MissingItem::LineComment(7),
        ];
        let large = |size| UnmetPrecondition::TooLarge {
            path: text(),
            size,
            most: 5,
        };
        let outside = |side| UnmetPrecondition::LineOutsideDiff {
            path: text(),
            line: 9,
            side,
        };
        let unmet = [
            UnmetPrecondition::IsDirectory(text()),
            UnmetPrecondition::NotADirectory(text()),
            UnmetPrecondition::IsSubmodule(text()),
            large(Some(9)),
            large(None),
            UnmetPrecondition::AmbiguousSha(text()),
            UnmetPrecondition::BranchMoved(text()),
            UnmetPrecondition::BranchExists(text()),
            UnmetPrecondition::BranchProtected(text()),
            UnmetPrecondition::PullExists(7),
            UnmetPrecondition::NothingToMerge {
                head: text(),
                base: text(),
            },
            UnmetPrecondition::Unrelated,
            UnmetPrecondition::AlreadyMerged(7),
            UnmetPrecondition::PathConflict(text()),
            UnmetPrecondition::PathRefused(text()),
            UnmetPrecondition::NothingToCommit,
            UnmetPrecondition::NotText(text()),
            UnmetPrecondition::NoSuchLines {
                path: text(),
                total_lines: 3,
            },
            UnmetPrecondition::NotOneOccurrence {
                path: text(),
                occurrences: 2,
            },
            UnmetPrecondition::NotAPlainFile(text()),
            UnmetPrecondition::DirectoryChanged(text()),
            UnmetPrecondition::PathExists(text()),
            UnmetPrecondition::FirstCommitOfSeveral,
            UnmetPrecondition::NotOpen(7),
            UnmetPrecondition::NotMerged(7),
            UnmetPrecondition::RevertExists(7),
            UnmetPrecondition::EmptyReview,
            UnmetPrecondition::OwnPull(7),
            UnmetPrecondition::ReviewerIsAuthor(text()),
            outside(DiffSide::Left),
            outside(DiffSide::Right),
            UnmetPrecondition::MergeableNow(7),
            UnmetPrecondition::IsDraft(7),
            UnmetPrecondition::IsPullRequest(7),
        ];
        let reason = [
            UnmergeableReason::Conflict,
            UnmergeableReason::Draft,
            UnmergeableReason::Closed,
            UnmergeableReason::Merged,
            UnmergeableReason::Blocked,
            UnmergeableReason::Undecided,
            UnmergeableReason::Refused,
            UnmergeableReason::NotRebaseable,
            UnmergeableReason::RevertConflict,
        ];
        let unreachable = [
            UnreachableReason::Connect,
            UnreachableReason::Tls,
            UnreachableReason::Reset,
            UnreachableReason::Timeout,
            UnreachableReason::Garbled,
            UnreachableReason::TooLarge,
            UnreachableReason::Redirect,
        ];
        let secret = || Cause::from("a cause is for the log");
        let denied = [
            DenialReason::WritesOff,
            DenialReason::WriteToken,
            DenialReason::Repository(RepoName::parse("octo/cat").unwrap()),
        ];
        let others = [
            Failure::HeadMoved {
                expected: String::from("abcdef0"),
                actual: Some(String::from("0123456")),
                state: Some(String::from("clean")),
            },
            Failure::BranchHeadMoved {
                expected: String::from("abcdef0"),
                actual: None,
            },
            Failure::Limited(Duration::from_millis(1500)),
            Failure::Empty,
            Failure::CallStopped(CallStopped::TooLate),
            Failure::DiskFull(secret()),
            Failure::Damaged(DamagedItem::Object, secret()),
            Failure::Damaged(DamagedItem::Ref, secret()),
            Failure::Damaged(DamagedItem::Head, secret()),
            Failure::Missing(MissingItem::Path(String::new())),
            Failure::Unmet(UnmetPrecondition::IsDirectory(String::new())),
            Failure::Broken("git failed", secret()),
            Failure::Partly {
                done: "the title was changed",
                rest: Box::new(Failure::GithubErrorResponse(response(
                    403,
                    RequestKind::Write,
                ))),
            },
        ];
        let all = missing.into_iter().map(Failure::Missing);
        let all = all.chain(unmet.into_iter().map(Failure::Unmet));
        let all = all.chain(reason.into_iter().map(unmergeable));
        let all = all.chain(denied.into_iter().map(Failure::Denied));
        let all = all.chain(unreachable.map(|reason| Failure::Unreachable(reason, secret())));
        let lines: Vec<_> = all
            .chain(others)
            .map(|one| said(one, Effect::Unknown))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn words_of_github_are_cut_and_escaped() {
        let mut long = response(401, RequestKind::Read);
        long.message = Some(format!(" \u{202e}{} ", "x".repeat(2 * FOREIGN_WORDS_CHARS)));
        let fault = Failure::GithubErrorResponse(long).fault(Effect::None);
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
