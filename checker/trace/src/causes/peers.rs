//! Copies between devices that go through the host.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{BlockId, Call, DEVICES, Direction, Place, Program};
use crate::timeline::Interval;

use super::region::{View, region};
use super::{Code, Found};

/// Access of a device to the memory of the other: to what `cuMemAlloc` gave, and to what came from
/// the pool.
#[derive(Clone, Copy, Default)]
struct Access {
    memory: bool,
    pool: bool,
}

/// Copies of the region between devices of which neither may use the memory at the other end.
/// Either of the two is enough.
pub fn staged(program: &Program) -> BTreeSet<u32> {
    if DEVICES < 2 {
        return BTreeSet::new();
    }
    let mut access: BTreeMap<u32, Access> = BTreeMap::new();
    let mut of_pool: BTreeSet<BlockId> = BTreeSet::new();
    let mut staged = BTreeSet::new();
    let region = region(program);
    for (index, step) in program.steps.iter().enumerate().take(region.end) {
        match &step.call {
            _ if step.result != 0 => {}
            Call::AllocAsync { block, .. } => drop(of_pool.insert(*block)),
            Call::PeerAccess { by, pool, enabled } => {
                let access = access.entry(*by).or_default();
                *if *pool { &mut access.pool } else { &mut access.memory } = *enabled;
            }
            Call::Copy { source: Place::Device(source), target: Place::Device(target), .. }
                if region.contains(&index)
                    && step.call.direction() == Some(Direction::PeerToPeer) =>
            {
                let may_use = |by: BlockId, of: BlockId| {
                    let access = access.get(&by.device()).copied().unwrap_or_default();
                    if of_pool.contains(&of) { access.pool } else { access.memory }
                };
                let (source, target) = (source.block, target.block);
                if !may_use(source, target) && !may_use(target, source) {
                    staged.insert(index as u32);
                }
            }
            _ => {}
        }
    }
    staged
}

pub(super) fn look(view: &View<'_>, found: &mut Found) {
    let staged = staged(view.program);
    for op in view.ops.iter().filter(|op| staged.contains(&op.step)) {
        let lost_ns = view.lanes.lost(Interval::new(op.start_ns, op.end_ns), op.step);
        if lost_ns > 0 {
            found.charge(view, Code::StagedPeerCopy, op.step, lost_ns);
        }
    }
}
