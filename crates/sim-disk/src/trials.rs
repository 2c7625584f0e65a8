//! The exhaustive driver: runs a workload with every fault at every operation, and checks the disk
//! after each run.

use super::{DiskEvent, DiskFault, SimDisk, Survival};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a workload with every fault at every operation, and checks what the next process finds:
/// [`Trials::run`] with the default settings.
pub fn for_every_operation(
    workload: impl Fn(&SimDisk),
    check: impl Fn(&SimDisk, &[String]),
) -> Result<TrialSummary, TrialFailure> {
    Trials::new().run(workload, check)
}

/// The faults to try, how often, and the disk to start from.
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

/// The faults of one run.
#[derive(Debug, Clone)]
struct FaultPlan {
    seed: u64,
    faults: Vec<(u64, DiskFault)>,
}

impl Trials {
    /// Tries every fault, random ones twice, with sixteen random images of every power failure,
    /// starting from an empty disk.
    pub fn new() -> Trials {
        Trials {
            faults: DiskFault::ALL.to_vec(),
            images: 16,
            rounds: 2,
            crash_again: false,
            start: SimDisk::new(0),
        }
    }

    /// Tries only these faults.
    pub fn faults(mut self, faults: &[DiskFault]) -> Trials {
        self.faults = faults.to_vec();
        self
    }

    /// Checks this many random images of every power failure, in addition to the two fixed ones.
    pub fn images(mut self, images: u64) -> Trials {
        self.images = images;
        self
    }

    /// Repeats random faults this often.
    pub fn rounds(mut self, rounds: u64) -> Trials {
        self.rounds = rounds;
        self
    }

    /// Lets a crash follow every fault that the process survives, at every later operation: the
    /// handling of a fault must survive too.
    pub fn crash_after_faults(mut self) -> Trials {
        self.crash_again = true;
        self
    }

    /// Starts from this disk instead of an empty one, for example to try the recovery after a
    /// crash.
    pub fn starting_from(mut self, disk: &SimDisk) -> Trials {
        self.start = disk.after(Survival::Everything);
        self
    }

    /// Runs the workload once without a fault, then once for every operation and fault. Calls
    /// `check` with the disk that the next process finds and the marks that were made before the
    /// end.
    ///
    /// Each run is followed by every survival: the process ends, the power fails and unsynced data
    /// is lost, and the random images. Checks and workloads fail by panicking; the first failure
    /// ends the trials.
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
        let plain = run.run_plan(&none)?;
        run.summary.operations = plain.operations();
        for (number, fault) in self.faults_of(&plain, 0) {
            for seed in 0..if fault.is_random() { self.rounds } else { 1 } {
                let faults = vec![(number, fault)];
                run.run_with_crashes(FaultPlan { seed, faults })?;
            }
        }
        Ok(run.summary)
    }

    /// Returns every operation of a run from number `from`, with each fault that can happen at it.
    fn faults_of(&self, disk: &SimDisk, from: u64) -> Vec<(u64, DiskFault)> {
        let mut all = Vec::new();
        for event in disk.journal() {
            if let DiskEvent::Operation {
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
    fn run_with_crashes(&mut self, plan: FaultPlan) -> Result<(), TrialFailure> {
        let disk = self.run_plan(&plan)?;
        if !self.trials.crash_again || disk.is_dead() {
            return Ok(());
        }
        let faulty = plan.faults.last().map_or(0, |(number, _)| number + 1);
        for (number, fault) in self.trials.faults_of(&disk, faulty) {
            if fault == DiskFault::Crash {
                let mut twice = plan.clone();
                twice.faults.push((number, fault));
                self.run_plan(&twice)?;
            }
        }
        Ok(())
    }

    /// Runs the workload with these faults and checks every survival.
    fn run_plan(&mut self, plan: &FaultPlan) -> Result<SimDisk, TrialFailure> {
        let disk = self.trials.start.after(Survival::Everything);
        disk.lock().random = crate::seeded_random::SeededRandom::new(plan.seed);
        for (number, fault) in &plan.faults {
            disk.fail_at(*number, *fault);
        }
        self.summary.runs += 1;
        let failure = |survival, message| TrialFailure {
            faults: plan.faults.clone(),
            survival,
            message,
            journal: disk.journal(),
        };
        catch_panic(|| (self.workload)(&disk)).map_err(|message| failure(None, message))?;
        let marks = disk.marks();
        let certain = [Survival::Everything, Survival::Synced];
        // Different faults get different seeds, so that more images are tried.
        let salt = plan
            .faults
            .iter()
            .fold(plan.seed, |salt, (n, _)| salt * 31 + n)
            << 16;
        let chance = (0..self.trials.images).map(|image| Survival::Chance(salt + image));
        for survival in certain.into_iter().chain(chance) {
            self.summary.checks += 1;
            let after = disk.after(survival);
            catch_panic(|| (self.check)(&after, &marks))
                .map_err(|message| failure(Some(survival), message))?;
        }
        Ok(disk)
    }
}

/// Returns the message of a panic as an error.
fn catch_panic(act: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_string())
    })
}

/// The number of trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialSummary {
    pub operations: u64,
    pub runs: u64,
    pub checks: u64,
}

/// The first failure, with everything that is needed to repeat it.
#[derive(Clone)]
pub struct TrialFailure {
    /// The planned faults and the numbers of their operations.
    pub faults: Vec<(u64, DiskFault)>,
    /// The survival, or `None` if the workload panicked.
    pub survival: Option<Survival>,
    /// The message of the panic.
    pub message: String,
    pub journal: Vec<DiskEvent>,
}

impl fmt::Display for TrialFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
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
    /// Readable, because `unwrap` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TrialFailure {}
