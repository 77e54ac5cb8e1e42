//! Bodies of the processes that the checker starts of itself.

use std::path::Path;

use anyhow::Result;

use crate::device;
use crate::exit::Exit;
use crate::print;

/// Is there a GPU?
pub(super) fn gpu() -> Result<Exit> {
    device::write_answer(device::probe_gpu())?;
    Ok(Exit::Passed)
}

/// Tells which driver library this is.
pub(super) fn library(path: &Path) -> Result<Exit> {
    device::write_answer(device::probe_library(path))?;
    Ok(Exit::Passed)
}

/// Hosts the simulated device.
pub(super) fn serve(path: &Path, fd: i32) -> Result<Exit> {
    device::serve(path, fd)?;
    Ok(Exit::Passed)
}

/// Carries out one command in a sandbox.
pub(super) fn supervise(fd: i32) -> Result<Exit> {
    sandbox::supervise(fd)?;
    Ok(Exit::Passed)
}

/// Tries to get out of one.
pub(super) fn canary(song: &str) -> Result<Exit> {
    print::out(&format!("{}\n", sandbox::sing(song)?));
    Ok(Exit::Passed)
}
