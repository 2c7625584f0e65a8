//! `candor workspace review` and `approve`: the plans that wait for a person.

use super::decide::{HOLDS, approve, told};
use super::ground::{Ground, GroundArgs, protected, short, warnings};
use super::sign::{Hand, SignArgs};
use super::{ask, show, span};
use crate::cli::{Trouble, print};
use crate::host::{hint, note};
use candor_workspace::approval::{NotApproved, Signers};
use candor_workspace::plan::store::{self, FindError, StoredPlan};
use candor_workspace::plan::{PlanHash, PlanRef, visible};
use clap::Args;
use std::time::Duration;

/// Show the plans that wait for you, and ask about each
///
/// Each is shown with everything that a signature would allow: the files that its globs match now, what
/// may be done to them, the commands that will run. Without a terminal they are only shown.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReviewArgs {
    /// How long an approval holds: 30m, 4h, 7d
    #[arg(long = "for", value_name = "SPAN", default_value = HOLDS, value_parser = span::read)]
    holds: Duration,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    ground: GroundArgs,
}

/// Approve one plan
///
/// It is shown first, with everything that a signature would allow.
#[derive(Debug, Args)]
pub(in crate::cli) struct ApproveArgs {
    /// The plan: 8 digits or more of its hash; may be left out where only one waits
    #[arg(value_name = "PREFIX")]
    plan: Option<String>,
    /// How long the approval holds: 30m, 4h, 7d
    #[arg(long = "for", value_name = "SPAN", default_value = HOLDS, value_parser = span::read)]
    holds: Duration,
    #[command(flatten)]
    sign: SignArgs,
    #[command(flatten)]
    ground: GroundArgs,
}

/// A plan that waits, and why.
struct Waiting {
    stored: StoredPlan,
    why: NotApproved,
}

fn waiting(ground: &Ground, signers: &Signers) -> Result<Vec<Waiting>, Trouble> {
    let revocations = ground.revocations()?;
    let listing = ground.plans()?;
    for (name, damage) in &listing.damaged {
        note(&format!(
            "docs/plans/{} is left out: {damage}",
            visible(name)
        ));
    }
    if listing.omitted > 0 {
        note(&format!("{} further plans are left out", listing.omitted));
    }
    let mut all = Vec::new();
    for stored in listing.plans {
        if let Err(why) = ground.standing(&stored.hash, signers, &revocations)? {
            all.push(Waiting { stored, why });
        }
    }
    Ok(all)
}

impl ReviewArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let ground = self.ground.open()?;
        let signers = ground.signers(&self.sign.approvers)?;
        let waiting = waiting(&ground, &signers)?;
        if waiting.is_empty() {
            return print(b"no plan waits for approval\n");
        }
        // One passphrase for all of them.
        let mut hand: Option<Hand> = None;
        for Waiting { stored, why } in &waiting {
            let lints = warnings(&stored.plan)?;
            let shown = show::plan(&ground, stored, &lints);
            print(format!("{shown}  {:<10} {}\n", "state", visible(&why.to_string())).as_bytes())?;
            if !self.signs(stored, why)? {
                continue;
            }
            let hand = match &mut hand {
                Some(hand) => hand,
                none => none.insert(self.sign.pen(&ground, &signers)?.open()?),
            };
            let approved = approve(&ground, hand, &signers, &stored.hash, self.holds)?;
            print(told(&stored.hash, &approved).as_bytes())?;
        }
        if !self.sign.yes && !ask::is_terminal() {
            hint(
                "there is no terminal to ask on: `candor workspace approve PREFIX --yes` approves one",
            );
        }
        Ok(())
    }

    /// Whether this one is to be signed. What somebody has taken back is not given again unasked.
    fn signs(&self, stored: &StoredPlan, why: &NotApproved) -> Result<bool, Trouble> {
        match (self.sign.yes, why) {
            (true, NotApproved::Revoked { .. }) => {
                let hash = short(&stored.hash);
                note(&format!(
                    "{hash} was revoked; `candor workspace approve {hash}` approves it again"
                ));
                Ok(false)
            }
            (true, _) => Ok(true),
            (false, _) if ask::is_terminal() => ask::yes("Approve it?"),
            (false, _) => Ok(false),
        }
    }
}

impl ApproveArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let ground = self.ground.open()?;
        let signers = ground.signers(&self.sign.approvers)?;
        let stored = match &self.plan {
            Some(prefix) => named(&ground, prefix)?,
            None => only(waiting(&ground, &signers)?)?,
        };
        let lints = warnings(&stored.plan)?;
        let pen = self.sign.pen(&ground, &signers)?;
        // An agent wrote it: that somebody has read it has to be said.
        self.sign.askable(self.sign.yes)?;
        print(show::plan(&ground, &stored, &lints).as_bytes())?;
        if !self.sign.yes && !ask::yes("Approve it?")? {
            return print(b"nothing was approved\n");
        }
        let hand = pen.open()?;
        let approved = approve(&ground, &hand, &signers, &stored.hash, self.holds)?;
        print(told(&stored.hash, &approved).as_bytes())
    }
}

fn only(mut waiting: Vec<Waiting>) -> Result<StoredPlan, Trouble> {
    match waiting.len() {
        0 => Err(Trouble::new("no plan waits for approval")),
        1 => Ok(waiting.remove(0).stored),
        several => Err(
            Trouble::new(format!("{several} plans wait for approval")).hinting(
                "name one by 8 digits or more of its hash; `candor workspace review` shows each",
            ),
        ),
    }
}

/// The hash of the plan that a person means.
pub(super) fn found(ground: &Ground, prefix: &str) -> Result<PlanHash, Trouble> {
    let reference = PlanRef::read(&prefix.to_ascii_lowercase()).ok_or_else(|| {
        Trouble::new(format!("{prefix:?} names no plan")).hinting(
            "a plan is named by 8 digits or more of its hash; `candor workspace status` lists them",
        )
    })?;
    match store::find(&ground.root.disk(), &reference) {
        Ok(hash) => Ok(hash),
        Err(FindError::Missing) => Err(Trouble::new(format!("no plan begins with {reference}"))
            .hinting("`candor workspace status` lists them")),
        Err(error) => Err(Trouble::new(error.to_string())),
    }
}

fn named(ground: &Ground, prefix: &str) -> Result<StoredPlan, Trouble> {
    let hash = found(ground, prefix)?;
    let loaded = store::load(&ground.root.disk(), &hash, &protected);
    loaded.map_err(|error| Trouble::new(format!("{}: {error}", short(&hash))))
}
