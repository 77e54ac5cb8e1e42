//! The measurements: one module for each section.

mod calls;
mod correctness;
mod device;
mod first_calls;
mod gaps;
mod graphs;
mod kernels;
mod limits;
mod memory;
mod network;
mod pageable;
mod pinned;
mod pipes;
mod pools;
mod program;
mod spans;

use crate::arm::Outcome;
use crate::gpu::Gpu;
use crate::samples::Samples;

type Section = fn(&Gpu, &mut Samples) -> Outcome<()>;

/// The section of this name.
pub(crate) fn find(name: &str) -> Option<Section> {
    Some(match name {
        "device" => device::measure,
        "correctness" => correctness::measure,
        "kernels" => kernels::measure,
        "network" => network::measure,
        "pipes" => pipes::measure,
        "memory" => memory::measure,
        "pinned" => pinned::measure,
        "pageable" => pageable::measure,
        "calls" => calls::measure,
        "first_calls" => first_calls::measure,
        "gaps" => gaps::measure,
        "graphs" => graphs::measure,
        "pools" => pools::measure,
        "program" => program::measure,
        "limits" => limits::measure,
        "spans" => spans::measure,
        _ => return None,
    })
}
