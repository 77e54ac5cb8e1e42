//! A control group (version 2) for each command: the kernel counts its memory, its processes and
//! its CPU time together, whatever they are made of, and ends all of them at once.
//!
//! There are groups where this machine mounts `cgroup2`. A group that this process is in, or one
//! above it, has to be writable and to hand memory and processes on to the groups below it. That
//! holds for root on most systems, and for others where systemd delegates it to them
//! (`systemd-run --user --scope`).

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::{Exceeded, Limits};

/// How the names of groups begin; the number of the supervisor follows.
const NAME: &str = "swim-";

/// The counters of a group without which there is no use in it.
const NEEDED: [&str; 2] = ["memory", "pids"];

/// In which `cpu.max` counts, in µs.
const CPU_PERIOD_US: u64 = 100_000;

/// Processes beside those of the command: the supervisor's own in its namespace.
const BESIDE: u64 = 1;

/// How long the kernel may take to be done with a group whose processes are dead.
const GONE: Duration = Duration::from_secs(5);

/// The group of one command. It goes with this value, and so does all that is in it.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
}

impl Group {
    /// A group for a command with these limits.
    pub(super) fn new(limits: &Limits) -> Result<Self> {
        let (parent, controllers) = parent()?;
        Self::below(&parent, &controllers, limits)
    }

    fn below(parent: &Path, controllers: &str, limits: &Limits) -> Result<Self> {
        let folder = parent.join(format!("{NAME}{}", std::process::id()));
        std::fs::create_dir(&folder)
            .with_context(|| format!("cannot make a group `{}`", folder.display()))?;
        let group = Self { folder };
        for (file, text) in settings(controllers, limits) {
            group.write(file, &text)?;
        }
        // Not every kernel swaps, and not every one ends a group as a whole.
        if has(controllers, "memory") {
            _ = group.write("memory.swap.max", "0");
            _ = group.write("memory.oom.group", "1");
        }
        Ok(group)
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file);
        std::fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
    }

    /// Who writes `0` there is in the group from then on, with all that it starts.
    pub(super) fn door(&self) -> Result<File> {
        let path = self.folder.join("cgroup.procs");
        let opened = File::options().write(true).open(&path);
        opened.with_context(|| format!("cannot open `{}`", path.display()))
    }

    /// The limit that the kernel enforced on the group, or that the group exceeds by now.
    pub(super) fn exceeded(&self, limits: &Limits) -> Option<Exceeded> {
        let read = |file: &str| std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        if number(&read("memory.events"), "oom_kill") > 0 {
            return Some(Exceeded::Memory);
        }
        let cpu_us = number(&read("cpu.stat"), "usage_usec");
        (cpu_us >= limits.cpu_s.saturating_mul(1_000_000)).then_some(Exceeded::Time)
    }

    /// Ends everything in it.
    pub(super) fn end(&self) {
        _ = self.write("cgroup.kill", "1"); // Linux 5.14; the reaper is there before that
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
        let deadline = Instant::now() + GONE;
        while std::fs::remove_dir(&self.folder).is_err()
            && self.folder.exists()
            && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The process that calls this is in the group that `door` leads to.
pub(super) fn enter(mut door: File) -> Result<()> {
    door.write_all(b"0").context("cannot enter the group")
}

/// Removes the groups of supervisors that were killed themselves.
pub(super) fn sweep() {
    let Ok((parent, _)) = parent() else { return };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if of.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            _ = std::fs::remove_dir(entry.path()); // only an empty one goes
        }
    }
}

/// The limits, as the kernel takes them.
fn settings(controllers: &str, limits: &Limits) -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    if has(controllers, "memory") {
        settings.push(("memory.max", limits.memory_bytes.to_string()));
    }
    if has(controllers, "pids") {
        settings.push(("pids.max", (limits.processes + BESIDE).to_string()));
    }
    if has(controllers, "cpu") {
        // As many CPUs at once as use up the CPU time within the time on the wall clock.
        let cpus = limits.cpu_s.div_ceil(limits.wall.as_secs().saturating_add(1)).max(1);
        let quota_us = cpus.saturating_mul(CPU_PERIOD_US);
        settings.push(("cpu.max", format!("{quota_us} {CPU_PERIOD_US}")));
    }
    settings
}

fn has(controllers: &str, wanted: &str) -> bool {
    controllers.split_whitespace().any(|it| it == wanted)
}

/// The group below which groups of commands can be made, and what they can count.
fn parent() -> Result<(PathBuf, String)> {
    let read =
        |file: &str| std::fs::read_to_string(file).with_context(|| format!("cannot read `{file}`"));
    let root = mounted(&read("/proc/self/mountinfo")?)
        .ok_or_else(|| anyhow!("`cgroup2` is mounted nowhere"))?;
    let own = read("/proc/self/cgroup")?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    usable(&root, own)
}

/// Where `cgroup2` is mounted.
fn mounted(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        // `… root place options … - kind source options`
        let (place, kind) = line.split_once(" - ")?;
        let is_it = kind.split(' ').next() == Some("cgroup2");
        is_it.then(|| place.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

/// The group `own`, or the one next above it that hands on what is needed and may be written to.
fn usable(root: &Path, own: &str) -> Result<(PathBuf, String)> {
    let folder: PathBuf = root.join(own).components().collect();
    let above = folder.ancestors().take_while(|it| it.starts_with(root));
    let mut why = format!("there is no group `{}`", folder.display());
    for group in above {
        let read = |file: &str| std::fs::read_to_string(group.join(file)).unwrap_or_default();
        let handed_on = read("cgroup.subtree_control");
        let missing: Vec<&str> = NEEDED.into_iter().filter(|it| !has(&handed_on, it)).collect();
        if !missing.is_empty() {
            let missing = missing.join(" and ");
            why = format!("`{}` does not hand on {missing} to groups below it", group.display());
            continue;
        }
        match File::options().write(true).open(group.join("cgroup.procs")) {
            Ok(_) => return Ok((group.to_owned(), handed_on)),
            Err(error) => why = format!("`{}` may not be written to: {error}", group.display()),
        }
    }
    bail!(why)
}

/// A line of a file of names and numbers.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::scratch::Scratch;

    fn limits() -> Limits {
        Limits::of_program(Duration::from_secs(9), 0)
    }

    /// A tree of files that look like groups: by path, what each hands on.
    fn tree(groups: &[(&str, &str)]) -> Scratch {
        let root = Scratch::new().expect("a folder");
        for (group, handed_on) in groups {
            let folder = root.path().join(group);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("cgroup.subtree_control"), handed_on).expect("a file");
            std::fs::write(folder.join("cgroup.procs"), "").expect("a file");
        }
        root
    }

    #[test]
    fn the_next_group_above_that_hands_on_memory_and_processes_is_taken() {
        let root = tree(&[
            ("", "cpu memory pids\n"),
            ("user", "cpu io memory pids\n"),
            ("user/session", "cpu\n"),
            ("user/session/shell", ""),
        ]);
        let (folder, controllers) = usable(root.path(), "user/session/shell").expect("a group");
        assert_eq!(folder, root.path().join("user"));
        assert_eq!(controllers, "cpu io memory pids\n");

        let poor = tree(&[("", "hugetlb\n")]);
        let why = usable(poor.path(), "").expect_err("nothing that counts").to_string();
        assert!(why.ends_with("does not hand on memory and pids to groups below it"), "{why}");
    }

    #[test]
    fn a_group_is_told_its_limits_and_what_it_exceeded_is_read_from_it() {
        let root = tree(&[("", "cpu memory pids\n")]);
        let group = Group::below(root.path(), "cpu memory pids", &limits()).expect("a group");
        let read = |file: &str| std::fs::read_to_string(group.folder.join(file)).expect("a file");
        assert_eq!(read("memory.max"), (2_u64 << 30).to_string());
        assert_eq!(read("pids.max"), "65");
        // Ten seconds on the wall, forty of the CPU: four CPUs at once.
        assert_eq!(read("cpu.max"), "400000 100000");
        assert_eq!(read("memory.swap.max"), "0");
        let say = |file: &str, text: &str| group.write(file, text).expect("a file");
        say("memory.events", "low 0\noom 0\noom_kill 0\noom_group_kill 0\n");
        say("cpu.stat", "usage_usec 39999999\nuser_usec 1\n");
        assert_eq!(group.exceeded(&limits()), None);
        say("cpu.stat", "usage_usec 40000000\nuser_usec 1\n");
        assert_eq!(group.exceeded(&limits()), Some(Exceeded::Time));
        say("memory.events", "oom 1\noom_kill 1\n");
        assert_eq!(group.exceeded(&limits()), Some(Exceeded::Memory));
        std::fs::remove_dir_all(&group.folder).expect("it is ours"); // only the kernel's goes as it is
    }

    #[test]
    fn where_groups_are_mounted_is_found_beside_those_of_version_1() {
        let text = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                    35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                    41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(mounted(text), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mounted("31 23 0:28 / / rw - ext4 /dev/root rw\n"), None);
    }

    #[test]
    #[expect(
        clippy::print_stdout,
        reason = "whoever reads a test's output has to see what it left out"
    )]
    fn what_is_in_a_group_ends_with_it() {
        let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let made = mounted(&mountinfo)
            .ok_or_else(|| anyhow!("`cgroup2` is mounted nowhere"))
            .and_then(|root| Group::below(&root, "", &limits()));
        let group = match made {
            Ok(group) => group,
            Err(why) => {
                return println!("not run: needs a cgroup2 that may be written to: {why:#}");
            }
        };
        let mut child =
            Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("it starts");
        // A process enters by itself; here it is put there.
        group.write("cgroup.procs", &child.id().to_string()).expect("it is in");
        let folder = group.folder.clone();
        // A dead process stays in the group until its parent has waited for it.
        let waits = std::thread::spawn(move || child.wait().expect("it ends"));
        drop(group);
        assert!(!waits.join().expect("it ends").success());
        assert!(!folder.exists());
    }
}
