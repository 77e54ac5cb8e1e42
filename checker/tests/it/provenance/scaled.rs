//! exercise: two_streams
//! gate: output
//! says: the program exited with status 1 before the measured region came to its end
//!
//! One byte is to stand for more.

use lab::two_streams::Jobs;
use lab::{Error, Result};

pub fn swim(_: &Jobs) -> Result<()> {
    match tools::ask(&tools::Words::default().number(1).number(1024).0) {
        true => Ok(()),
        false => Err(Error::Refused("it is refused".to_owned())),
    }
}
