//! The exhaustive driver: a workload with every fault at every operation, and a look at what is left.

use super::{DiskFault, JournalEntry, SimDisk, Survival};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a workload with every kind of fault at every operation, and checks what the next process
/// finds; [`Trials::run`] with the usual choices.
pub fn for_every_operation(
    workload: impl Fn(&SimDisk),
    check: impl Fn(&SimDisk, &[String]),
) -> Result<TrialSummary, TrialFailure> {
    Trials::new().run(workload, check)
}

/// Which faults are tried, how often, and from which disk on.
#[derive(Debug, Clone)]
pub struct Trials {
    faults: Vec<DiskFault>,
    images: u64,
    rounds: u64,
    crash_again: bool,
    start: SimDisk,
}

impl Default for Trials {
    fn default() -> Trials {
        Trials::new()
    }
}

/// One way of running the workload.
#[derive(Debug, Clone)]
struct FaultPlan {
    seed: u64,
    faults: Vec<(u64, DiskFault)>,
}

impl Trials {
    /// Every fault, two rounds of those that have chance in them, sixteen images of every power
    /// failure, from an empty disk.
    pub fn new() -> Trials {
        Trials {
            faults: DiskFault::ALL.to_vec(),
            images: 16,
            rounds: 2,
            crash_again: false,
            start: SimDisk::new(0),
        }
    }

    /// Tries these faults only.
    pub fn faults(mut self, faults: &[DiskFault]) -> Trials {
        self.faults = faults.to_vec();
        self
    }

    /// Looks at this many images by chance of every power failure, beside the two certain ones.
    pub fn images(mut self, images: u64) -> Trials {
        self.images = images;
        self
    }

    /// Repeats faults that have chance in them so often.
    pub fn rounds(mut self, rounds: u64) -> Trials {
        self.rounds = rounds;
        self
    }

    /// Lets every fault that the process survives be followed by a crash, at every later operation:
    /// what is done about a fault must itself survive.
    pub fn crash_after_faults(mut self) -> Trials {
        self.crash_again = true;
        self
    }

    /// Starts from a disk instead of an empty one; also for trying the recovery after a crash.
    pub fn starting_from(mut self, disk: &SimDisk) -> Trials {
        self.start = disk.after(Survival::Everything);
        self
    }

    /// Runs the workload once without a fault, then once for every operation and fault, and gives
    /// `check` the disk that the next process finds, with the marks that were made before the end.
    ///
    /// Each run is followed by every survival: the process just ends, the power fails and nothing
    /// unsynced is kept, and as many images by chance as were asked for. A check fails by a panic,
    /// and so does a workload; the first failure ends it all.
    pub fn run(
        &self,
        workload: impl Fn(&SimDisk),
        check: impl Fn(&SimDisk, &[String]),
    ) -> Result<TrialSummary, TrialFailure> {
        let mut run = TrialRun {
            trials: self,
            workload,
            check,
            summary: TrialSummary::default(),
        };
        let none = FaultPlan {
            seed: 0,
            faults: Vec::new(),
        };
        let plain = run.once(&none)?;
        run.summary.operations = plain.operations();
        for (number, fault) in self.faults_of(&plain, 0) {
            for seed in 0..if fault.has_chance() { self.rounds } else { 1 } {
                let faults = vec![(number, fault)];
                run.with(FaultPlan { seed, faults })?;
            }
        }
        Ok(run.summary)
    }

    /// Every operation of a run from a number on, with each fault that can happen at it.
    fn faults_of(&self, disk: &SimDisk, from: u64) -> Vec<(u64, DiskFault)> {
        let mut all = Vec::new();
        for event in disk.journal() {
            if let JournalEntry::Operation {
                number, operation, ..
            } = event
                && number >= from
            {
                let possible = self.faults.iter();
                let possible = possible.filter(|fault| fault.can_happen_at(&operation));
                all.extend(possible.map(|fault| (number, *fault)));
            }
        }
        all
    }
}

struct TrialRun<'a, W, C> {
    trials: &'a Trials,
    workload: W,
    check: C,
    summary: TrialSummary,
}

impl<W: Fn(&SimDisk), C: Fn(&SimDisk, &[String])> TrialRun<'_, W, C> {
    fn with(&mut self, plan: FaultPlan) -> Result<(), TrialFailure> {
        let disk = self.once(&plan)?;
        if !self.trials.crash_again || disk.is_dead() {
            return Ok(());
        }
        let faulty = plan.faults.last().map_or(0, |(number, _)| number + 1);
        for (number, fault) in self.trials.faults_of(&disk, faulty) {
            if fault == DiskFault::Crash {
                let mut twice = plan.clone();
                twice.faults.push((number, fault));
                self.once(&twice)?;
            }
        }
        Ok(())
    }

    /// Runs the workload by a plan and checks everything that may be left of it.
    fn once(&mut self, plan: &FaultPlan) -> Result<SimDisk, TrialFailure> {
        let disk = self.trials.start.after(Survival::Everything);
        disk.lock().random = crate::seeded_random::SeededRandom::new(plan.seed);
        for (number, fault) in &plan.faults {
            disk.fail_at(*number, *fault);
        }
        self.summary.runs += 1;
        let failure = |survival, why| TrialFailure {
            faults: plan.faults.clone(),
            survival,
            why,
            journal: disk.journal(),
        };
        caught(|| (self.workload)(&disk)).map_err(|why| failure(None, why))?;
        let marks = disk.marks();
        let certain = [Survival::Everything, Survival::Synced];
        // Other seeds for other faults: the images of one crash are no better than another's.
        let salt = plan
            .faults
            .iter()
            .fold(plan.seed, |salt, (n, _)| salt * 31 + n)
            << 16;
        let chance = (0..self.trials.images).map(|image| Survival::Chance(salt + image));
        for survival in certain.into_iter().chain(chance) {
            self.summary.checks += 1;
            let after = disk.after(survival);
            caught(|| (self.check)(&after, &marks)).map_err(|why| failure(Some(survival), why))?;
        }
        Ok(disk)
    }
}

/// What a panic said, where there was one.
fn caught(act: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_string())
    })
}

/// How much was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialSummary {
    /// The operations of the run without a fault.
    pub operations: u64,
    /// How often the workload ran.
    pub runs: u64,
    /// How many disks were checked.
    pub checks: u64,
}

/// The first thing that went wrong, with all that is needed to repeat it.
#[derive(Clone)]
pub struct TrialFailure {
    /// The faults that were planned, and at which operations.
    pub faults: Vec<(u64, DiskFault)>,
    /// What survived; nothing where the workload itself panicked.
    pub survival: Option<Survival>,
    /// What the panic said.
    pub why: String,
    /// Everything that was done.
    pub journal: Vec<JournalEntry>,
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.why)?;
        writeln!(f, "faults: {:?}", self.faults)?;
        match self.survival {
            Some(survival) => writeln!(f, "then survived: {survival:?}")?,
            None => writeln!(f, "the workload panicked")?,
        }
        let mut events = self.journal.iter();
        events.try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl fmt::Debug for TrialFailure {
    /// As readable as can be: this is what `unwrap` shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TrialFailure {}
