//! The use of the machine by a process and all below it, seen from outside.
//!
//! Limits of the kernel's are each for one process, and none counts memory that is shared; this
//! counts both, a little late.

use super::{Exceeded, Limits};

/// The first limit that `root` and all below it exceed together.
pub(super) fn look(root: libc::pid_t, limits: &Limits) -> Option<Exceeded> {
    let mut waiting = vec![root];
    let mut memory_bytes = 0;
    let mut tasks = 0;
    while let Some(pid) = waiting.pop() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        memory_bytes += bytes(&status, "RssAnon:") + bytes(&status, "RssShmem:");
        tasks += number(&status, "Threads:");
        if memory_bytes > limits.memory_bytes {
            return Some(Exceeded::Memory);
        }
        // The process that waits for the program inside of a namespace is ours.
        if tasks > limits.processes + 1 {
            return Some(Exceeded::Processes);
        }
        children(pid, &mut waiting);
    }
    None
}

/// A line of `/proc/PID/status`, whose numbers of KiB come with their unit.
fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn bytes(status: &str, name: &str) -> u64 {
    number(status, name) * 1024
}

fn children(pid: libc::pid_t, found: &mut Vec<libc::pid_t>) {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return };
    for thread in threads.flatten() {
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|it| it.parse::<libc::pid_t>().ok()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limits() -> Limits {
        Limits {
            wall: Duration::from_secs(10),
            cpu_s: 10,
            memory_bytes: 1 << 40,
            file_bytes: 0,
            files: 0,
            processes: 10_000,
            output_bytes: 0,
        }
    }

    #[test]
    fn memory_and_threads_of_a_process_are_counted() {
        let own = std::process::id() as libc::pid_t;
        assert_eq!(look(own, &limits()), None);
        assert_eq!(look(own, &Limits { memory_bytes: 1, ..limits() }), Some(Exceeded::Memory));
        // Two are let through: the process and the one that waits for it.
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = std::sync::Arc::new(std::sync::Mutex::new(receiver));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let receiver = std::sync::Arc::clone(&receiver);
                std::thread::spawn(move || _ = receiver.lock().map(|it| it.recv()))
            })
            .collect();
        assert_eq!(look(own, &Limits { processes: 1, ..limits() }), Some(Exceeded::Processes));
        drop(sender);
        threads.into_iter().for_each(|thread| _ = thread.join());
    }
}
