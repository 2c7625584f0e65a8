//! Changes rows for a call: all of them or none.

use super::LocalForge;
use super::database::WriteTransaction;
use crate::Failure;
use candor_street::EffectMark;
use sqlx::sqlite::SqliteConnection;

/// A transaction of a call whose mark has begun. If it is dropped before its commit, nothing was changed.
pub(super) struct RowChange {
    writing: WriteTransaction,
    undo: UndoOnDrop,
}

/// Resets a mark when it is dropped, unless its change is being committed.
struct UndoOnDrop {
    mark: EffectMark,
    is_committing: bool,
}

impl Drop for UndoOnDrop {
    fn drop(&mut self) {
        if !self.is_committing {
            self.mark.undone();
        }
    }
}

impl RowChange {
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.writing
    }

    /// Commits the changes and marks them as done.
    pub(super) async fn commit(mut self, what: &'static str) -> Result<(), Failure> {
        self.undo.is_committing = true;
        self.writing.commit_change(what, &self.undo.mark).await
    }
}

impl LocalForge {
    /// Begins the change of a call that changes nothing but rows.
    pub(super) async fn change_rows(&self, mark: &EffectMark) -> Result<RowChange, Failure> {
        mark.begins()?;
        let undo = UndoOnDrop {
            mark: mark.clone(),
            is_committing: false,
        };
        let writing = self.database.write().await?;
        Ok(RowChange { writing, undo })
    }
}
