//! Finds out whether this kernel can confine a command.

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use std::fmt;

/// The sandbox that the kernel offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Landlock, with its version.
    Landlock(u8),
    Unavailable(NoSandboxReason),
}

/// The reason why there is no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSandboxReason {
    /// Landlock is not built in or not enabled.
    NoLandlock,
    /// Landlock is older than version 3, which does not cover truncation.
    OldLandlock(u8),
    Processor,
}

impl fmt::Display for NoSandboxReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSandboxReason::NoLandlock => f.write_str(
                "this kernel has no Landlock, or it is switched off; Linux 6.2 or newer has it",
            ),
            NoSandboxReason::OldLandlock(version) => write!(
                f,
                "this kernel's Landlock has version {version}, which does not protect files from being truncated; Linux 6.2 or newer does"
            ),
            NoSandboxReason::Processor => {
                f.write_str("system calls cannot be filtered on this kind of processor")
            }
        }
    }
}

/// Returns the sandbox that this kernel offers. Changes nothing.
pub fn probe() -> SandboxSupport {
    if seccompiler::TargetArch::try_from(std::env::consts::ARCH).is_err() {
        return SandboxSupport::Unavailable(NoSandboxReason::Processor);
    }
    match version() {
        ABI::Unsupported => SandboxSupport::Unavailable(NoSandboxReason::NoLandlock),
        old @ (ABI::V1 | ABI::V2) => {
            SandboxSupport::Unavailable(NoSandboxReason::OldLandlock(old as u8))
        }
        version => SandboxSupport::Landlock(version as u8),
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
