//! Whether this kernel can confine a command.

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use std::fmt;

/// What the kernel offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// Landlock of this version.
    Landlock(u8),
    /// Nothing that would hold.
    Unavailable(Unavailable),
}

/// Why there is no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Landlock is not built in, or not switched on.
    NoLandlock,
    /// Landlock is older than version 3 and lets every file be truncated.
    OldLandlock(u8),
    /// System calls cannot be filtered on this kind of processor.
    Processor,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::NoLandlock => f.write_str(
                "this kernel has no Landlock, or it is switched off; Linux 6.2 or newer has it",
            ),
            Unavailable::OldLandlock(version) => write!(
                f,
                "this kernel's Landlock has version {version}, which does not protect files from being truncated; Linux 6.2 or newer does"
            ),
            Unavailable::Processor => {
                f.write_str("system calls cannot be filtered on this kind of processor")
            }
        }
    }
}

/// Asks the kernel; changes nothing.
pub fn probe() -> Sandbox {
    if seccompiler::TargetArch::try_from(std::env::consts::ARCH).is_err() {
        return Sandbox::Unavailable(Unavailable::Processor);
    }
    match version() {
        ABI::Unsupported => Sandbox::Unavailable(Unavailable::NoLandlock),
        old @ (ABI::V1 | ABI::V2) => Sandbox::Unavailable(Unavailable::OldLandlock(old as u8)),
        version => Sandbox::Landlock(version as u8),
    }
}

/// The newest version that the kernel has and we have tried. Version 7 adds what we do not use, and
/// later ones are judged when there are kernels to judge them on.
pub(super) fn version() -> ABI {
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
