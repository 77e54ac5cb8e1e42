//! System calls that neither a compiler nor a student's program needs, refused.
//!
//! A list of what is refused, not of what is allowed: which calls the standard library and the C
//! library make changes with every release. What can reach beyond the process is on it, by
//! families: where there are no namespaces, nothing else keeps a program from metadata of files and
//! from what processes share by number.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::Role;

/// Refused whatever the arguments.
const REFUSED: &[libc::c_long] = &[
    // The network, and daemons that listen on sockets in the file system. Pairs are still made.
    libc::SYS_socket,
    // Submits other system calls past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    // What outlives the process, or is shared with others by name or by number.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Memory that no limit counts.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // What Landlock does not guard: who owns a file, who may use it, when it was changed, what else
    // is noted beside it, and what others do with it.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Large and seldom used parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_personality,
];

// System calls of Linux 6.6, 6.13 and 6.17, which have one number on all architectures.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;

/// The same, where the architecture has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
    libc::SYS_kexec_file_load,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Ways to a second process that are a call of their own.
#[cfg(target_arch = "x86_64")]
const FORKS: &[libc::c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: &[libc::c_long] = &[];

/// `clone` with one of these makes a namespace.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Of `fcntl` (`linux/fcntl.h`): to be told when others open a file, or change a folder.
const F_SETLEASE: libc::c_int = 1024;
const F_NOTIFY: libc::c_int = 1026;
/// Of `fcntl` and `ioctl`: who is sent a signal when a descriptor is ready. It may be any process.
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;

/// Refuses them from now on, to this process and all that come of it.
pub(super) fn apply(role: Role) -> Result<()> {
    for filter in [numbers()?, arguments(role)?] {
        seccompiler::apply_filter(&filter).context("cannot filter system calls")?;
    }
    Ok(())
}

/// `clone3`, whose flags a filter cannot read, is not there: the C library then takes `clone`. Nor
/// are the numbers of x32, which would be another name for every call on the list.
fn numbers() -> Result<BpfProgram> {
    /// Of `linux/filter.h`, and the offset of the number in what a filter sees.
    const LOAD_NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    const RETURN: u16 = 0x06;
    const IF_EQUAL: u16 = 0x15;
    const IF_AT_LEAST: u16 = 0x35;
    const X32: u32 = 0x4000_0000;
    let none = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    let clone3 = u32::try_from(libc::SYS_clone3).context("a system call has an odd number")?;
    Ok(vec![
        LOAD_NUMBER,
        sock_filter { code: IF_AT_LEAST, jt: 2, jf: 0, k: X32 },
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: clone3 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: none },
    ])
}

fn arguments(role: Role) -> Result<BpfProgram> {
    use SeccompCmpArgLen::Dword;
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let condition = |index, op, value| -> Result<SeccompRule> {
        let condition = SeccompCondition::new(index, Dword, op, value)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    let own = u64::from(std::process::id());
    // Both: neither zero, which stands for the caller, nor its number.
    let other = |index| -> Result<SeccompRule> {
        Ok(SeccompRule::new(vec![
            SeccompCondition::new(index, Dword, Ne, 0)?,
            SeccompCondition::new(index, Dword, Ne, own)?,
        ])?)
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for &call in REFUSED.iter().chain(REFUSED_HERE) {
        rules.insert(call, Vec::new());
    }
    // Memory of its own is the program's to read, and how the driver reads it.
    for call in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        rules.insert(call, vec![condition(0, Ne, own)?]);
    }
    rules.insert(libc::SYS_prlimit64, vec![other(0)?]);
    rules.insert(libc::SYS_sched_setaffinity, vec![other(0)?]);
    let namespaces = NEW_NAMESPACES.map(|flag| condition(0, MaskedEq(flag as u64), flag as u64));
    let mut clone: Vec<_> = namespaces.into_iter().collect::<Result<_>>()?;
    let setters = [libc::PR_SET_PDEATHSIG, libc::PR_SET_CHILD_SUBREAPER, libc::PR_SET_PTRACER];
    let setters = setters.map(|option| condition(0, Eq, option as u32 as u64));
    rules.insert(libc::SYS_prctl, setters.into_iter().collect::<Result<_>>()?);
    let owners = [libc::F_SETOWN as u64, F_SETSIG, F_SETOWN_EX];
    // A lock on a file that others read keeps them waiting, or tells them something.
    let locks = [libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLK, libc::F_OFD_SETLKW];
    let locks = locks.map(|option| option as u64);
    let options = owners.into_iter().chain(locks.into_iter().filter(|_| role == Role::Program));
    let options = options.chain([F_SETLEASE, F_NOTIFY].map(|option| option as u64));
    let options = options.map(|option| condition(1, Eq, option));
    rules.insert(libc::SYS_fcntl, options.collect::<Result<_>>()?);
    let owners = [FIOSETOWN, SIOCSPGRP].map(|request| condition(1, Eq, request));
    rules.insert(libc::SYS_ioctl, owners.into_iter().collect::<Result<_>>()?);
    if role == Role::Program {
        // Threads, and no processes: nothing can be left running.
        let thread = libc::CLONE_THREAD as u64;
        clone.push(condition(0, MaskedEq(thread), 0)?);
        for &call in FORKS {
            rules.insert(call, Vec::new());
        }
        // It may end itself, as `abort` does, and no other process.
        for call in [
            libc::SYS_kill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
        ] {
            rules.insert(call, vec![condition(0, Ne, own)?]);
        }
        rules.insert(libc::SYS_tkill, Vec::new());
        for call in [libc::SYS_flock, libc::SYS_chdir, libc::SYS_fchdir] {
            rules.insert(call, Vec::new());
        }
        // Before version 3 Landlock does not see it.
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    rules.insert(libc::SYS_clone, clone);
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .context("system calls of this architecture cannot be filtered")?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
        .context("cannot make a filter of system calls")?;
    BpfProgram::try_from(filter).context("cannot make a filter of system calls")
}
