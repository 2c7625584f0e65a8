//! An approver of plans for the workspaces of the benchmark.

use candor_fault::Timestamp;
use candor_street::Clock;
use candor_workspace::approval::{self, Approval, ApprovalBinding, ApproverKey};
use candor_workspace::path::Root;
use candor_workspace::plan::{Plan, PlanHash, store};
use serde_json::{Value, json};
use ssh_key::rand_core::OsRng;
use std::io;
use std::sync::Arc;
use std::time::Duration;

const NAME: &str = "bench";

/// The time for which an approval holds.
const VALID: Duration = Duration::from_secs(24 * 3600);

/// A person with a key.
pub(crate) struct Approver {
    key: ApproverKey,
}

impl Approver {
    pub(crate) fn generate() -> io::Result<Approver> {
        let key = ApproverKey::generate(&mut OsRng, NAME).map_err(io::Error::other)?;
        Ok(Approver { key })
    }

    /// Returns its line of the approvers file.
    pub(crate) fn line(&self) -> String {
        approval::approver_line(NAME, self.key.public_key())
    }

    /// Saves and signs a plan of one phase. Returns its hash.
    pub(crate) fn allow(&self, root: &Root, phase: &Value) -> io::Result<PlanHash> {
        let plan = plan("Bench", phase)?;
        let (hash, _) = store::save(&root.disk(), &plan)?;
        let now = clock().now();
        let binding = ApprovalBinding::root(&root.path().to_string_lossy());
        let approval = Approval::new(hash.clone(), binding, NAME, now, now + VALID)
            .map_err(io::Error::other)?;
        let signed = approval::sign_approval(&self.key, approval).map_err(io::Error::other)?;
        approval::save_approval(&root.disk(), &signed)?;
        Ok(hash)
    }
}

/// Returns a plan of one phase with these members, which may create and modify files.
pub(crate) fn plan(title: &str, phase: &Value) -> io::Result<Plan> {
    let mut whole = json!({ "id": "WORK", "operations": ["create", "modify"] });
    for (name, value) in phase.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    let plan = json!({ "title": title, "objective": "Measure a server", "phase": [whole] });
    Plan::from_value(&plan).map_err(io::Error::other)
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    // A benchmark runs in real time.
    #[allow(clippy::disallowed_methods)]
    Arc::new(Timestamp::now)
}
