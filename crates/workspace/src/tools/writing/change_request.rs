//! The changes that a call requests, as its arguments.

use crate::edit::Edit;
use serde::Deserialize;

/// A change that a caller requests.
#[derive(Deserialize)]
pub(crate) struct RequestedChange {
    pub(super) path: String,
    /// The path of the file that is moved.
    pub(super) from: Option<String>,
    /// The whole new content, decoded by the argument rules.
    #[serde(skip)]
    pub(crate) content: Option<Vec<u8>>,
    pub(super) edits: Option<Vec<Edit>>,
    pub(super) patch: Option<String>,
    pub(super) previous_hash: Option<String>,
    #[serde(default)]
    pub(super) create_only: bool,
    #[serde(default)]
    pub(super) delete: bool,
    /// True or false to set or clear the right to execute; `None` keeps it.
    pub(super) executable: Option<bool>,
}

impl RequestedChange {
    /// A change that does nothing yet.
    pub(super) fn of(path: String) -> RequestedChange {
        RequestedChange {
            path,
            from: None,
            content: None,
            edits: None,
            patch: None,
            previous_hash: None,
            create_only: false,
            delete: false,
            executable: None,
        }
    }

    /// Returns true if it can create the file, and so the directories above it.
    pub(super) fn can_create(&self) -> bool {
        self.from.is_some() || self.content.is_some() || self.patch.is_some()
    }
}

/// The plan and phase of a call.
#[derive(Deserialize)]
pub(crate) struct PlanChoice {
    pub(in crate::tools) plan_hash: Option<String>,
    pub(in crate::tools) phase_id: Option<String>,
}

/// The changes that a call requests, and the plan that allows them.
pub(crate) struct ChangeRequest {
    pub(crate) changes: Vec<RequestedChange>,
    pub(crate) by: PlanChoice,
}

impl ChangeRequest {
    pub(super) fn one(change: RequestedChange, by: PlanChoice) -> ChangeRequest {
        ChangeRequest {
            changes: vec![change],
            by,
        }
    }
}
