//! A call that the simulated device does not have: how the driver says so, and how it is read
//! again.

use std::fmt;

const SAYS: &str = " is not supported by the simulated device";

/// A call that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Its name, as the library exports it: `cuMemHostRegister_v2`.
    pub call: String,
    /// File and line that it comes from, where they are known.
    pub place: Option<String>,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, place } = self;
        match place {
            Some(place) => write!(f, "`{call}` at {place}{SAYS}"),
            None => write!(f, "`{call}`{SAYS}"),
        }
    }
}

impl Unsupported {
    /// The last that a program was told of, in what it printed.
    pub fn last_in(printed: &str) -> Option<Self> {
        printed.lines().rev().find_map(|line| {
            let (what, _) = line.strip_prefix("swim: `")?.split_once(SAYS)?;
            let (call, place) = what.split_once('`')?;
            Some(Self {
                call: call.to_owned(),
                place: place.strip_prefix(" at ").map(str::to_owned),
            })
        })
    }

    /// The name without the version that a header adds to it.
    pub fn name(&self) -> &str {
        match self.call.rsplit_once("_v") {
            Some((name, version)) if version.parse::<u32>().is_ok() => name,
            _ => &self.call,
        }
    }

    /// The means to do the same on the simulated device.
    pub fn instead(&self) -> &'static str {
        match self.name() {
            "cuMemHostRegister"
            | "cuMemHostUnregister"
            | "cuMemAllocManaged"
            | "cuMemHostGetDevicePointer" => {
                "copy from and to memory that is allocated as pinned: a pinned `HostBlock` of the lab, or `alloc_pinned`"
            }
            name if name.starts_with("cuStreamWaitValue")
                || name.starts_with("cuStreamWriteValue") =>
            {
                "order the streams by an event: `record_event` in the one, and `wait` in the other"
            }
            _ => "do the same with streams, events, copies and launches that it has",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_driver_says_of_a_refused_call_is_read_as_it_was_meant() {
        for (call, name, place) in [
            ("cuMemHostRegister_v2", "cuMemHostRegister", Some("src/lib.rs:30")),
            ("cuMemAllocManaged", "cuMemAllocManaged", None),
        ] {
            let refused = Unsupported { call: call.to_owned(), place: place.map(str::to_owned) };
            let printed = format!("hello\nswim: {refused}\nError: refused\n");
            assert_eq!(Unsupported::last_in(&printed), Some(refused.clone()));
            assert_eq!(refused.name(), name);
            assert!(refused.instead().contains("pinned"));
        }
        assert_eq!(Unsupported::last_in("swim: hint: no such call\n"), None);
    }
}
