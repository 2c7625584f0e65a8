//! `candor audit checkpoint`: signs the end of a verified log.

use super::known_checkpoints::CheckpointSearch;
use super::verify::{broken_error, untrusted_error};
use super::{NamedFile, read_signer};
use crate::cli::workspace::directories::StateDirArgs;
use crate::cli::{CommandError, print};
use crate::host::system_clock;
use candor_audit::{
    CheckpointWriter, Completeness, JudgedPart, LogEvidence, PublicKey, checkpoint_verified_end,
    judge,
};
use candor_fault::iso_millis;
use candor_workspace::visible_text;
use clap::Args;
use std::path::PathBuf;

/// Verify a log, and sign its present end
///
/// Every checkpoint that is known is replaced by one that is signed with the key. Run this once before a server
/// is first started with --checkpoint-key, and to change the key. A log that contradicts a checkpoint is not
/// signed.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckpointArgs {
    /// The log: its newest file
    #[arg(value_name = "LOG")]
    path: PathBuf,
    /// A file with the Ed25519 key that signs, without a passphrase
    #[arg(long, value_name = "FILE")]
    sign_with: PathBuf,
    /// Another checkpoint file to write (repeatable)
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    #[command(flatten)]
    state: StateDirArgs,
}

impl CheckpointArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let log = NamedFile::at(&self.path)?;
        log.extent()?;
        let signer = read_signer(&self.sign_with)?;
        let existing = self.checkpoint.iter().filter(|path| path.exists());
        let existing: Vec<_> = existing.cloned().collect();
        let search = CheckpointSearch::new(&log, self.state.directory()?.as_deref(), &existing)?;
        let keys: Vec<PublicKey> = search.remembered_key().cloned().into_iter().collect();
        let anchor = search.anchor().cloned();
        let CheckpointSearch { remembered, known } = search;
        let evidence = LogEvidence {
            checkpoints: known,
            keys: &keys,
            anchor: anchor.as_ref(),
            retired: None,
        };
        let judged = judge(&log.disk, &log.name, evidence, JudgedPart::WholeLog);
        let judged = judged.map_err(|error| log.cannot_read(&error))?;
        if let Some(error) = untrusted_error(&judged, false) {
            return Err(error);
        }
        if let Some(error) = broken_error(&self.path, &judged) {
            return Err(error);
        }
        let Some(last) = judged.verification.last else {
            return Err(CommandError::new(format!(
                "{} has no line whose checkpoint could be signed",
                visible_text(&self.path.display().to_string())
            )));
        };
        let mut paths: Vec<_> = remembered.iter().flat_map(|found| found.paths()).collect();
        paths.extend(self.checkpoint.iter().cloned());
        if paths.is_empty() {
            return Err(CommandError::new("no checkpoint of this log is known")
                .with_hint("name the file to write with --checkpoint FILE"));
        }
        let key_id = signer.key_id().to_owned();
        let files = paths
            .iter()
            .map(|path| Ok(NamedFile::at(path)?.checkpoint_file()));
        let clock = system_clock();
        let checkpoints = CheckpointWriter {
            files: files.collect::<Result<_, CommandError>>()?,
            signer: Some(signer),
            now: Box::new(move || iso_millis(clock.now())),
        };
        checkpoint_verified_end(
            log.disk.clone(),
            &log.name,
            last,
            anchor.as_ref(),
            &checkpoints,
        )
        .map_err(|error| CommandError::new(format!("cannot write a checkpoint: {error}")))?;
        if let (Some(remembered), signer) = (&remembered, checkpoints.signer.as_ref()) {
            remembered.remember(&[], signer)?;
        }
        let mut text = match judged.completeness {
            Completeness::Unchecked => String::from(
                "note: the log was not compared with an earlier checkpoint, because one is missing\n",
            ),
            Completeness::Checked | Completeness::Contradicted => String::new(),
        };
        for path in &paths {
            let path = visible_text(&path.display().to_string());
            text += &format!("{path} is signed at line {} by {key_id}\n", last.seq);
        }
        print(text.as_bytes())
    }
}
