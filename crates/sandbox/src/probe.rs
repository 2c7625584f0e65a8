//! Finds out what protection this machine offers.

use crate::level::{Level, Missing, Offer, Part};
use crate::spec::Helper;
use crate::start::{empty_job, hand_over};
use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// Carries out the whole set-up in a child process that runs no command. Changes nothing.
pub fn probe(helper: &Helper) -> Offer {
    let job = empty_job(helper, Level::None);
    let tried = hand_over(job, helper, None, true).map(|running| {
        let held = running.held().clone();
        drop(running);
        held
    });
    match tried {
        Ok(held) => Offer {
            level: held.level,
            landlock: landlock_version().ok(),
            missing: held.missing,
            namespaces: held.namespaces,
            seccomp: held.seccomp,
        },
        Err(error) => Offer {
            level: Level::None,
            landlock: landlock_version().ok(),
            missing: vec![Missing {
                part: Part::User,
                why: error.to_string(),
            }],
            namespaces: Vec::new(),
            seccomp: false,
        },
    }
}

/// Returns an error if system calls cannot be filtered on this kind of processor.
pub(crate) fn check_seccomp() -> Result<(), Missing> {
    match seccompiler::TargetArch::try_from(std::env::consts::ARCH) {
        Ok(_) => Ok(()),
        Err(_) => Err(Missing {
            part: Part::Seccomp,
            why: String::from("system calls cannot be filtered on this kind of processor"),
        }),
    }
}

/// Returns the version of Landlock that is used, or the reason why Landlock is not used.
pub(crate) fn landlock_version() -> Result<u8, Missing> {
    let missing = |why: String| Missing {
        part: Part::Landlock,
        why,
    };
    match version() {
        ABI::Unsupported => Err(missing(String::from(
            "this kernel has no Landlock, or it is switched off; Linux 6.2 or newer has it",
        ))),
        old @ (ABI::V1 | ABI::V2) => Err(missing(format!(
            "this kernel's Landlock has version {}, which does not protect files from being truncated; Linux 6.2 or newer does",
            old as u8
        ))),
        version => Ok(version as u8),
    }
}

/// Returns the newest Landlock version that both the kernel and this crate support. Version 7 adds
/// nothing that is used here; later ones are untested.
pub(crate) fn version() -> ABI {
    let has = |abi: ABI| {
        let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        if abi >= ABI::V6 {
            ruleset = ruleset.scope(Scope::from_all(abi))?;
        }
        ruleset.handle_access(AccessFs::from_all(abi)).map(drop)
    };
    [ABI::V6, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1]
        .into_iter()
        .find(|abi| has(*abi).is_ok())
        .unwrap_or(ABI::Unsupported)
}
