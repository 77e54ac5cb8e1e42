//! Measures on a device the figures that a simulated device's profile needs: what calls cost the
//! host, how fast copies and kernels are, how long the device pauses between them.
//!
//! It is started by `checker calibrate`, one process for each section, so that a section that
//! crashes or hangs takes no other with it. It grades nothing and judges nothing: it hands over
//! samples, and what they mean is decided there. It needs a device that nothing else uses.
//!
//! ```text
//! calibrate SECTION real|library|simulated ANSWER
//! ```
//!
//! `real` talks to the system's driver with nothing in between, by the host's clock. `library` goes
//! through the driver library, as programs do, and may have it note what ran when. `simulated` is
//! the library's simulated device with its virtual clock, so that calibrating it must give back the
//! profile that it works by. The answer is a JSON file: samples by key, and why others are missing.
//! Keys end in the unit; the argument of a curve, such as a number of bytes, comes after a slash.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`arm`] | which driver is loaded, and whose clock counts |
//! | [`samples`] | what was measured so far |
//! | [`gpu`] | the driver's calls, with the handles that sections share |
//! | [`pages`] | ordinary host memory |
//! | [`sections`] | the measurements |

mod arm;
mod gpu;
mod pages;
mod samples;
mod sections;

use std::path::Path;
use std::process::ExitCode;

use arm::Arm;
use arm::Outcome;
use gpu::Gpu;
use samples::Samples;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [section, arm, answer] = arguments.as_slice() else {
        return Err("it is started by `checker calibrate`".to_owned());
    };
    let measure =
        sections::find(section).ok_or_else(|| format!("there is no section `{section}`"))?;
    let gpu = Gpu::open(Arm::load(arm)?)?;
    let mut samples = Samples::new();
    let outcome = measure(&gpu, &mut samples).and_then(|()| gpu.idle());
    // What was measured before something failed is worth having.
    samples.write(Path::new(answer))?;
    outcome
}

#[expect(clippy::print_stderr, reason = "standard error is where a program says what went wrong")]
fn say(error: &str) {
    eprintln!("calibrate: {error}");
}
