//! When and where a measurement is made.

use std::time::SystemTime;

/// Today in UTC, as year-month-day.
pub fn today() -> String {
    const SECONDS_PER_DAY: u64 = 86_400;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    trace::words::date(since.map_or(0, |since| since.as_secs() / SECONDS_PER_DAY))
}

/// The release of NVIDIA's kernel module, such as `580.159.04`; empty where it is not to be found.
pub fn driver_release() -> String {
    release(&std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default()).to_owned()
}

fn release(text: &str) -> &str {
    let is_release = |word: &&str| {
        word.contains('.') && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    text.split_whitespace().find(is_release).unwrap_or_default()
}

/// The processor's own name; empty where it is not to be found.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(String::new(), |(_, name)| name.trim().to_owned())
}

/// Threads that can run at once.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_stands_after_the_name_of_the_module() {
        let text =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build";
        assert_eq!(release(text), "580.159.04");
        assert_eq!(release(""), "");
    }
}
