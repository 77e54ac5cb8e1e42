//! A call that failed, where a program gives up over it: what the lab prints of it, and how that is
//! read again.

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

impl FailedCall {
    /// The meaning of the codes whose names say less than one has to know: those of captures and
    /// graphs. As `cuda.h` and the programming guide say it.
    pub fn meaning(&self) -> Option<&'static str> {
        Some(match self.code.strip_prefix("CUDA_ERROR_")? {
            "STREAM_CAPTURE_UNJOINED" => {
                "another stream came into the capture, and the first one does not wait for its last work"
            }
            "STREAM_CAPTURE_ISOLATION" => {
                "what is captured cannot wait for work outside of the capture: fork from the capturing stream first"
            }
            "STREAM_CAPTURE_UNSUPPORTED" => {
                "this call cannot be made during a capture, because it waits or may wait: make it before or after"
            }
            "STREAM_CAPTURE_INVALIDATED" => "an earlier call has spoilt the capture",
            "STREAM_CAPTURE_IMPLICIT" => {
                "the default stream would have to wait for a blocking stream that captures: use non-blocking streams"
            }
            "STREAM_CAPTURE_MERGE" => "two captures cannot become one",
            "STREAM_CAPTURE_UNMATCHED" => "a capture ends in the stream in which it began",
            "STREAM_CAPTURE_WRONG_THREAD" => "a capture ends in the thread in which it began",
            "GRAPH_EXEC_UPDATE_FAILURE" => {
                "an update changes arguments, and not which operations there are or what comes after what"
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_captures_and_of_graphs_has_a_meaning_and_others_speak_for_themselves() {
        let of = |code: &str| {
            let said = format!("error: `cuStreamEndCapture` at src/lib.rs:7 failed with {code}");
            FailedCall::last_in(&said).expect("a failed call").meaning()
        };
        for code in ["UNSUPPORTED", "INVALIDATED", "MERGE", "UNMATCHED", "UNJOINED", "ISOLATION"] {
            assert!(of(&format!("CUDA_ERROR_STREAM_CAPTURE_{code}")).is_some(), "{code}");
        }
        assert!(of("CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE").is_some());
        assert_eq!(of("CUDA_ERROR_OUT_OF_MEMORY"), None);
    }

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
