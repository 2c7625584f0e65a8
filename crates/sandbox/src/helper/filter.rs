//! The seccomp filter, the second wall: system calls that neither namespaces nor Landlock cover, or that
//! should never be tried.

use crate::error::SetupStep;
use crate::job::{Job, StartFailure};
use crate::level::Level;
use crate::spec::Network;
use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that no build and no test needs. They bypass other walls (`io_uring` makes sockets past the
/// filter), access the user's keys, inspect the kernel or other processes, or change the machine.
const REFUSED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_kcmp,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// System V IPC and POSIX queues: they outlive a process that has no IPC namespace of its own.
const IPC: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// The first process of a PID namespace.
const PROCESS_ONE: i32 = 1;
/// `fchmodat2`, which the C library does not name on every processor.
const FCHMODAT2: i64 = 452;

/// Installs the filter: refused calls fail with `EPERM`, absent ones with `ENOSYS`. It is one filter, because
/// the kernel checks and compiles each one by itself.
pub(super) fn apply(job: &Job) -> Result<(), StartFailure> {
    let failed = |message: String| StartFailure::Setup {
        step: SetupStep::Filter,
        message,
        code: None,
    };
    let mut filter = absent(job);
    let refused = refused(job).and_then(|rules| compile(rules, libc::EPERM));
    filter.extend(refused.map_err(|error| failed(error.to_string()))?);
    seccompiler::apply_filter(&filter).map_err(|error| failed(error.to_string()))
}

fn compile(rules: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error as u32),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// Returns the beginning of the filter: calls that do not exist for the command, whichever interface they
/// are made through. All others go on to the next instruction.
fn absent(job: &Job) -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let statement = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let answer = |error: i32| {
        let code = libc::SECCOMP_RET_ERRNO | error.unsigned_abs();
        statement(RETURN, 0, 0, code)
    };
    // The number of the call.
    let mut filter = vec![statement(LOAD, 0, 0, 0)];
    if cfg!(target_arch = "x86_64") {
        // The 32-bit interface of x86-64 has numbers of its own, which the rest of the filter does not list.
        // No distribution has programs that use it.
        filter.push(statement(JUMP_IF_AT_LEAST, 0, 1, X32));
        filter.push(answer(libc::EPERM));
    }
    // A filter cannot see the flags of `clone3`, and the C library falls back to `clone`.
    let ipc = match job.level {
        Level::Landlock => IPC,
        _ => &[],
    };
    for call in ipc.iter().chain(&[libc::SYS_clone3]) {
        let number = u32::try_from(*call).unwrap_or(u32::MAX);
        filter.push(statement(JUMP_IF_EQUAL, 0, 1, number));
        filter.push(answer(libc::ENOSYS));
    }
    filter
}

/// Returns the calls that are refused, some only with certain arguments.
fn refused(job: &Job) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    sockets(&mut rules, job)?;
    other_processes(&mut rules, job.level)?;
    namespaces(&mut rules)?;
    modes(&mut rules)?;
    // Terminals take typed characters from these.
    for command in [libc::TIOCSTI, libc::TIOCLINUX] {
        let is_command = argument(1, SeccompCmpOp::Eq, command as i32)?;
        rules
            .entry(libc::SYS_ioctl)
            .or_default()
            .push(SeccompRule::new(vec![is_command])?);
    }
    match job.level {
        Level::Full => signals(&mut rules, &[PROCESS_ONE])?,
        Level::Landlock if !job.signals_confined => {
            let [server, warden] = [job.server, job.warden];
            signals(&mut rules, &[server, warden, -server, -warden, -1])?;
        }
        _ => {}
    }
    Ok(rules)
}

/// Refuses all sockets without a network, and all but those of the internet with it. Connected pairs
/// of streams are harmless, but a datagram pair could be redirected to any process of the machine.
fn sockets(rules: &mut Rules, job: &Job) -> Result<(), BackendError> {
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let others: Result<Vec<_>, _> = families
        .into_iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, family))
        .collect();
    let refused = match job.level == Level::Landlock && job.network == Network::Off {
        true => Vec::new(),
        false => vec![
            SeccompRule::new(others?)?,
            // Of netlink only the list of interfaces and routes.
            SeccompRule::new(vec![
                argument(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?,
                argument(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?,
            ])?,
        ],
    };
    rules.insert(libc::SYS_socket, refused);
    let kinds: Result<Vec<_>, _> = [libc::SOCK_DGRAM, libc::SOCK_RAW]
        .into_iter()
        .map(|kind| SeccompRule::new(vec![argument(1, SeccompCmpOp::MaskedEq(0xf), kind)?]))
        .collect();
    rules.insert(libc::SYS_socketpair, kinds?);
    Ok(())
}

/// Refuses to change limits and priorities of other processes, and to trace them. At the full level only
/// process 1 is refused: others outside do not exist (`ESRCH`), and those inside are the command's own.
fn other_processes(rules: &mut Rules, level: Level) -> Result<(), BackendError> {
    let is_other = |index| match level {
        Level::Full => argument(index, SeccompCmpOp::Eq, PROCESS_ONE),
        _ => argument(index, SeccompCmpOp::Ne, 0),
    };
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ] {
        rules.insert(call, vec![SeccompRule::new(vec![is_other(0)?])?]);
    }
    // The first argument names the kind of target, and a process is the first kind of each.
    for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        let groups = argument(0, SeccompCmpOp::Ne, process)?;
        rules.insert(
            call,
            vec![
                SeccompRule::new(vec![groups])?,
                SeccompRule::new(vec![is_other(1)?])?,
            ],
        );
    }
    let attach = [libc::PTRACE_ATTACH as i32, libc::PTRACE_SEIZE as i32];
    let attach: Result<Vec<_>, _> = attach
        .into_iter()
        .map(|request| SeccompRule::new(vec![argument(0, SeccompCmpOp::Eq, request)?]))
        .collect();
    rules.insert(libc::SYS_ptrace, attach?);
    Ok(())
}

/// Refuses further namespaces.
fn namespaces(rules: &mut Rules) -> Result<(), BackendError> {
    let kinds = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    // A time namespace shares its bit with the signal at the end of a clone.
    const CLONE_NEWTIME: i32 = 0x80;
    for (call, kinds) in [
        (libc::SYS_clone, kinds.to_vec()),
        (libc::SYS_unshare, [&kinds[..], &[CLONE_NEWTIME]].concat()),
    ] {
        let mut refused = Vec::new();
        for kind in kinds {
            refused.push(SeccompRule::new(vec![has_bits(0, kind)?])?);
        }
        rules.insert(call, refused);
    }
    Ok(())
}

/// Refuses setuid and setgid bits in every mode that a filter can see.
fn modes(rules: &mut Rules) -> Result<(), BackendError> {
    let mut by_mode = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (FCHMODAT2, 2),
        (libc::SYS_mkdirat, 2),
        (libc::SYS_mknodat, 2),
    ];
    let mut by_flags = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    {
        by_mode.extend([
            (libc::SYS_chmod, 1),
            (libc::SYS_mkdir, 1),
            (libc::SYS_mknod, 1),
            (libc::SYS_creat, 1),
        ]);
        by_flags.push((libc::SYS_open, 1, 2));
    }
    let bits = [libc::S_ISUID as i32, libc::S_ISGID as i32];
    for (call, mode) in by_mode {
        let mut refused = Vec::new();
        for bit in bits {
            refused.push(SeccompRule::new(vec![has_bits(mode, bit)?])?);
        }
        rules.insert(call, refused);
    }
    // The mode counts only if a file is made; else the argument may be anything.
    const TMPFILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    for (call, flags, mode) in by_flags {
        let mut refused = Vec::new();
        for bit in bits {
            for makes in [libc::O_CREAT, TMPFILE] {
                refused.push(SeccompRule::new(vec![
                    has_bits(flags, makes)?,
                    has_bits(mode, bit)?,
                ])?);
            }
        }
        rules.insert(call, refused);
    }
    Ok(())
}

/// Refuses signals to processes and groups of the sandbox, for kernels whose Landlock does not.
fn signals(rules: &mut Rules, targets: &[i32]) -> Result<(), BackendError> {
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
        for target in targets {
            let is_target = argument(0, SeccompCmpOp::Eq, *target)?;
            refused.push(SeccompRule::new(vec![is_target])?);
        }
        rules.insert(call, refused);
    }
    Ok(())
}

fn has_bits(index: u8, bits: i32) -> Result<SeccompCondition, BackendError> {
    argument(index, SeccompCmpOp::MaskedEq(u64::from(bits as u32)), bits)
}

fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, BackendError> {
    let value = u64::from(value as u32);
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}
