//! Formats the status of a workspace for people.

use super::super::size;
use super::log::{CheckpointStatus, LogStatus, StatusLine};
use super::{LockStatus, PlanStatus, Status};
use crate::cli::workspace::opened::SHORT;
use candor_audit::{CheckpointVerdict, Completeness};
use candor_sandbox::Level;
use candor_workspace::Role;
use candor_workspace::plan::visible;
use std::fmt::Write as _;

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default();
const BAD: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// From this percentage of its maximum size on, the log is reported as nearly full.
const WARN_PERCENT: u64 = 75;

impl LogStatus {
    /// Returns the size of the log in percent of its maximum.
    fn filled(&self) -> Option<u64> {
        u64::try_from(u128::from(self.bytes) * 100 / u128::from(self.max.max(1))).ok()
    }
}

impl Status {
    // Writing to a string cannot fail.
    pub(super) fn text(&self) -> String {
        let mut out = format!(
            "{BOLD}workspace{BOLD:#} {}\n",
            visible(&self.workspace_root)
        );
        self.people(&mut out);
        let _ = writeln!(out, "\n{BOLD}plans{BOLD:#}");
        if self.plans.is_empty() && self.damaged.is_empty() {
            out.push_str("  none; to create one, run:\n    candor workspace allow 'src/**'\n");
        }
        for plan in &self.plans {
            plan.text(&mut out);
        }
        for damaged in &self.damaged {
            let (name, why) = (visible(&damaged.name), visible(&damaged.why));
            let _ = writeln!(out, "  {name}  {BAD}damaged{BAD:#}: {why}");
        }
        if self.omitted > 0 {
            let _ = writeln!(out, "  … and {} more", self.omitted);
        }
        self.record(&mut out);
        out
    }

    fn people(&self, out: &mut String) {
        for one in &self.approvers {
            let names = visible(&one.names.join(", "));
            let _ = writeln!(out, "  approver  {names}  {}", one.key_id);
        }
        if self.approvers.is_empty() {
            out.push_str(
                "  approver  none; to create a key, run:\n              candor workspace init\n",
            );
        }
        for session in &self.sessions {
            let client = session.client.as_deref().unwrap_or("an unknown client");
            let user = session.os_user.as_deref().unwrap_or("an unknown user");
            let at = session.last_timestamp.as_deref().unwrap_or_default();
            let text = visible(&format!(
                "{}  {}  {client} of {user}, last call {at}",
                label(&session.role),
                session.session_id
            ));
            let _ = writeln!(out, "  session   {text}");
        }
        if self.sessions.is_empty() {
            out.push_str("  session   none yet\n");
        }
        for lock in &self.locks {
            lock.text(out);
        }
        if self.locks.is_empty() {
            let _ = writeln!(out, "  lock      {GOOD}none{GOOD:#}");
        }
        if let Some(journal) = &self.journal {
            let _ = writeln!(out, "  journal   {}", visible(journal));
        }
        self.sandbox(out);
    }

    fn sandbox(&self, out: &mut String) {
        let style = if self.sandbox.level == Level::Full {
            GOOD
        } else {
            BAD
        };
        let _ = writeln!(out, "  sandbox   {style}{}{style:#}", self.sandbox.level);
        for missing in &self.sandbox.missing {
            let _ = writeln!(out, "            without {missing}");
        }
        if self.build.bytes > 0 {
            let size = size::show(self.build.bytes);
            let _ = writeln!(out, "  builds    {size} in {}", visible(&self.build.path));
        }
    }

    fn record(&self, out: &mut String) {
        let verified = &self.log.verified;
        let _ = write!(out, "\n{BOLD}log{BOLD:#}  lines: {}", verified.lines);
        let _ = match (verified.first_bad_seq, &verified.why) {
            (Some(seq), Some(why)) => {
                writeln!(out, " valid, then {BAD}line {seq} is wrong{BAD:#}: {why}")
            }
            (None, Some(why)) => writeln!(out, " valid, but {BAD}{}{BAD:#}", visible(why)),
            _ if verified.lines > 0 && verified.completeness == Completeness::Unchecked => {
                writeln!(
                    out,
                    ", chain consistent, {BAD}completeness not checked{BAD:#}"
                )
            }
            _ => writeln!(out, ", {GOOD}all valid{GOOD:#}"),
        };
        if let Some(percent) = self.log.filled().filter(|percent| *percent >= WARN_PERCENT) {
            let _ = writeln!(
                out,
                "  {BAD}the log has {percent} % of its maximum size{BAD:#}; to move full files away, run:\n    candor audit retire audit-log.jsonl --keep 30d --to DIR"
            );
        }
        for (index, checkpoint) in verified.checkpoints.iter().enumerate() {
            // The state directory gets its checkpoint with the first line.
            let is_new = index == 0 && verified.lines == 0 && verified.why.is_none();
            if !is_new || checkpoint.verdict != CheckpointVerdict::Gone {
                checkpoint.text(out);
            }
        }
        for line in &self.log.lines {
            line.text(out);
        }
    }
}

impl CheckpointStatus {
    fn text(&self, out: &mut String) {
        let place = visible(&self.place);
        let Some(seq) = self.seq else {
            let what = match self.verdict {
                CheckpointVerdict::Gone => "is missing",
                _ => "is not a checkpoint",
            };
            let _ = writeln!(out, "  checkpoint {place} {BAD}{what}{BAD:#}");
            return;
        };
        let signed = match &self.key_id {
            Some(key) => format!("signed by {}", visible(key)),
            None => String::from("not signed"),
        };
        let _ = writeln!(out, "  checkpoint {place} at line {seq}, {signed}");
    }
}

impl LockStatus {
    fn text(&self, out: &mut String) {
        let code = self.error_code.as_deref().unwrap_or("the lock is damaged");
        let seq = self
            .seq
            .map_or(String::new(), |seq| format!(" at line {seq}"));
        let code = visible(code);
        let _ = writeln!(
            out,
            "  lock      {BAD}{} is locked{BAD:#}: {code}{seq}",
            label(self.role)
        );
        if let Some(message) = &self.human_message {
            let _ = writeln!(out, "            {}", visible(message));
        }
        let who = match self.person {
            true => "to unlock it, run:",
            false => "the agent can unlock it with a failure report; to unlock it yourself, run:",
        };
        let _ = writeln!(out, "            {who}");
        let _ = writeln!(out, "              candor workspace unlock");
    }
}

impl PlanStatus {
    fn text(&self, out: &mut String) {
        let short = self.plan_hash.get(..SHORT).unwrap_or(&self.plan_hash);
        let _ = writeln!(out, "  {short}  {}", visible(&self.title));
        let pad = " ".repeat(SHORT);
        let _ = match (&self.approver, &self.not_after) {
            (Some(approver), Some(end)) => {
                let approver = visible(approver);
                writeln!(
                    out,
                    "  {pad}  {GOOD}approved{GOOD:#} by {approver} until {end}"
                )
            }
            _ => {
                let why = visible(self.why.as_deref().unwrap_or_default());
                writeln!(out, "  {pad}  {BAD}not approved{BAD:#}: {why}")
            }
        };
        let bound = self.bound.as_ref();
        if let Some(repository) = bound
            .filter(|bound| bound.root.is_none())
            .and_then(|bound| bound.repository.as_ref())
        {
            let _ = writeln!(
                out,
                "  {pad}  in every clone of the repository {repository}"
            );
        }
        if self.waits {
            let _ = writeln!(
                out,
                "  {pad}  to approve it, run:\n  {pad}    candor workspace approve {short}"
            );
        }
    }
}

impl StatusLine {
    fn text(&self, out: &mut String) {
        let seq = self.seq.map_or(String::from("?"), |seq| seq.to_string());
        let or = |text: &Option<String>, other: &str| visible(text.as_deref().unwrap_or(other));
        let at = or(&self.timestamp, "");
        let role = or(&self.role, "a person");
        let tool = or(&self.tool_name, "no tool");
        let result = match &self.error_code {
            Some(code) => visible(code),
            None => or(&self.result, "?"),
        };
        let about = match (self.paths.as_slice(), &self.plan_hash) {
            ([], Some(plan)) => visible(plan.get(..SHORT).unwrap_or(plan)),
            ([], None) => String::new(),
            ([path], _) => visible(path),
            ([path, rest @ ..], _) => format!("{} and {} more", visible(path), rest.len()),
        };
        let line = format!("  {seq:>6}  {at}  {role:<11}  {tool:<20}  {result}  {about}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// Returns both names of a role.
fn label(role: &str) -> &str {
    match Role::parse(role) {
        Some(role) => role.label(),
        None => role,
    }
}
