//! A call that failed, where a program gives up over it: what the lab prints of it, and how that is read again.

use std::fmt;

use serde::{Deserialize, Serialize};

const FAILED: &str = " failed with ";

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// Its name, as the library exports it: `cuEventElapsedTime_v2`.
    pub call: String,
    /// File and line that it comes from, where they are known.
    pub place: Option<String>,
    /// The name of its result: `CUDA_ERROR_INVALID_HANDLE`.
    pub code: String,
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, place, code } = self;
        match place {
            Some(place) => write!(f, "`{call}` at {place}{FAILED}{code}"),
            None => write!(f, "`{call}`{FAILED}{code}"),
        }
    }
}

impl FailedCall {
    /// The one that a program gave up over, in what it printed.
    pub fn last_in(printed: &str) -> Option<Self> {
        printed.lines().rev().find_map(|line| {
            let (what, code) = line.strip_prefix("error: `")?.split_once(FAILED)?;
            let (call, place) = what.split_once('`')?;
            let code = code.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next()?;
            Some(Self {
                call: call.to_owned(),
                place: place.strip_prefix(" at ").map(str::to_owned),
                code: code.to_owned(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_lab_says_of_a_failed_call_is_read_as_it_was_meant() {
        for place in [Some("src/lib.rs:30".to_owned()), None] {
            let code = "CUDA_ERROR_INVALID_HANDLE".to_owned();
            let failed = FailedCall { call: "cuEventElapsedTime_v2".to_owned(), place, code };
            let printed = format!("hello\nerror: {failed}: invalid resource handle\nbye\n");
            assert_eq!(FailedCall::last_in(&printed), Some(failed));
        }
        assert_eq!(FailedCall::last_in("error: it failed with CUDA_ERROR_UNKNOWN\n"), None);
    }
}
