//! The seccomp filter, for the system calls that Landlock does not cover.

use crate::job::{Job, StartFailure};
use crate::outcome::SetupStep;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that no build and no test needs: `io_uring` makes sockets past the filter, the next three
/// access the user's keys, the last two inspect the kernel.
const REFUSED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
];

/// Installs the filter. Refused calls fail with `EPERM`.
pub(super) fn apply(job: &Job) -> Result<(), StartFailure> {
    let failed = |message: String| StartFailure::Setup {
        step: SetupStep::Filter,
        message,
        code: None,
    };
    let filter = program(job).map_err(|error| failed(error.to_string()))?;
    seccompiler::apply_filter(&filter).map_err(|error| failed(error.to_string()))
}

fn program(job: &Job) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    sockets(&mut rules, job.network)?;
    if !job.signals_confined {
        signals(&mut rules, [job.server, job.warden])?;
    }
    // The same calls under the numbers of the 32-bit interface of 64-bit processors.
    if cfg!(target_arch = "x86_64") {
        let twins: Rules = rules
            .iter()
            .map(|(call, rule)| (call | 0x4000_0000, rule.clone()))
            .collect();
        rules.extend(twins);
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// Refuses all sockets without the network, and all but those of the internet with it. Connected pairs
/// of streams are harmless, but a datagram pair could be redirected to any process of the machine.
fn sockets(rules: &mut Rules, network: bool) -> Result<(), seccompiler::BackendError> {
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let refused = match network {
        false => Vec::new(),
        true => {
            let others: Result<_, _> = families
                .into_iter()
                .map(|family| argument(0, SeccompCmpOp::Ne, family))
                .collect();
            vec![SeccompRule::new(others?)?]
        }
    };
    rules.insert(libc::SYS_socket, refused);
    let kinds: Result<Vec<_>, _> = [libc::SOCK_DGRAM, libc::SOCK_RAW]
        .into_iter()
        .map(|kind| SeccompRule::new(vec![argument(1, SeccompCmpOp::MaskedEq(0xf), kind)?]))
        .collect();
    rules.insert(libc::SYS_socketpair, kinds?);
    Ok(())
}

/// Refuses signals to the server and the warden, for kernels whose Landlock does not.
fn signals(rules: &mut Rules, watchers: [i32; 2]) -> Result<(), seccompiler::BackendError> {
    let calls = [
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
    ];
    for call in calls {
        let mut refused = Vec::new();
        for target in [watchers[0], watchers[1], -watchers[0], -watchers[1], -1] {
            refused.push(SeccompRule::new(vec![argument(
                0,
                SeccompCmpOp::Eq,
                target,
            )?])?);
        }
        rules.insert(call, refused);
    }
    Ok(())
}

fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value as u32);
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}
