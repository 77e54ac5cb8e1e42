//! Words on standard error, and why the driver could not start.

use crate::cuda::CUresult;

/// Why the driver could not start.
pub(crate) struct StartFailure {
    pub(crate) code: CUresult,
    pub(crate) why: String,
}

/// Says something on standard error, as the driver's.
#[expect(clippy::print_stderr, reason = "a driver has no other way to say why a call was refused")]
pub(crate) fn say(what: &str) {
    eprintln!("swim: {what}");
}
