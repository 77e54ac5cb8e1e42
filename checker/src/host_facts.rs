//! When and where a measurement is made.

use std::time::SystemTime;

/// Today in UTC, as year-month-day.
pub fn today() -> String {
    const SECONDS_PER_DAY: u64 = 86_400;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    date(since.map_or(0, |since| since.as_secs() / SECONDS_PER_DAY))
}

/// The day so many days after 1970 began: Howard Hinnant's civil_from_days, where eras of 400 years
/// begin in March.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
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
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_778), "2026-11-21");
    }

    #[test]
    fn the_release_stands_after_the_name_of_the_module() {
        let text =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build";
        assert_eq!(release(text), "580.159.04");
        assert_eq!(release(""), "");
    }
}
