//! Activity of the host while lanes with work to come stood empty.

use std::collections::{HashMap, HashSet};

use crate::program::{BlockId, Call, Direction, Mode, Place};
use crate::timeline::Interval;

use super::region::View;
use super::{Code, Found, engines, graphs};

/// An operation starts no later than this after its call where nothing else keeps it, in ns: it
/// takes 7 µs to the device and from one engine to the next on an H200.
const PROMPT_NS: u64 = 10_000;

/// `short` are launches that count as a whole: kernels that are shorter follow each other, and they
/// set the pace.
pub(super) fn look(view: &View<'_>, short: &HashSet<u32>, found: &mut Found) {
    let stream_ordered: HashSet<BlockId> = view
        .program
        .steps
        .iter()
        .filter_map(|step| match step.call {
            Call::AllocAsync { block, .. } => Some(block),
            _ => None,
        })
        .collect();
    let lost: HashMap<u32, u64> =
        engines::blocked(view.timeline).iter().map(|call| (call.step, call.lost_ns)).collect();
    let rebuilt = graphs::rebuilt(view.program);
    let mut device_ns = 0; // when the last operation asked for so far ends
    // The first call of a kind finds the host's caches without the driver. No other way to do the
    // same is spared that, and where calls of the kind follow, they are what it is charged with.
    let mut launched = false;
    // Nor is any spared the host's first work, where the device has nothing to do without it.
    let mut worked = false;
    let mut allocated = view.calls().filter(|(_, call)| is_allocation(call)).count() < 2;
    let mut waited: Option<u32> = None; // the wait that held the host since that operation was asked for
    let mut ops = view.ops.iter().peekable();
    for (step, call) in view.calls() {
        let Some(span) = view.host(step) else { continue };
        while let Some(op) = ops.next_if(|op| op.step < step) {
            device_ns = device_ns.max(op.end_ns);
            waited = None;
        }
        let thread = |step: u32| view.program.steps[step as usize].thread;
        let own_wait = waited.filter(|&wait| thread(wait) == thread(step));
        let whole = Interval::new(span.start_ns, span.end_ns);
        let first = match call {
            Call::Launch(_) => !std::mem::replace(&mut launched, true),
            Call::HostWork { .. } => !std::mem::replace(&mut worked, true) && device_ns == 0,
            call if is_allocation(call) => !std::mem::replace(&mut allocated, true),
            _ => false,
        };
        let held = lost.get(&step).copied().unwrap_or(0);
        let (code, cost_ns) = match call {
            _ if first => continue,
            Call::Copy { mode, source, target, .. } => match (mode, call.direction()) {
                (_, Some(Direction::HostToHost)) => continue,
                (Mode::Synchronous, _) => (Code::SynchronousCall, held),
                _ if *source == Place::Pageable || *target == Place::Pageable => {
                    (Code::PageableCopy, whole.ns())
                }
                _ => (Code::FullQueue, held),
            },
            Call::Memset { mode: Mode::Synchronous, .. } => (Code::SynchronousCall, held),
            Call::Memset { .. } | Call::HostFunction { .. } => (Code::FullQueue, held),
            Call::Launch(_) if span.blocked_ns > 0 => (Code::FullQueue, held),
            Call::Launch(_) if short.contains(&step) => (Code::LaunchBound, whole.ns()),
            // The host had let the device run empty before it came to the launch: that is the
            // wait's doing.
            Call::Launch(_) if own_wait.is_some() => continue,
            Call::Launch(_) => {
                // Nothing but the call itself kept it, and all work issued before had ended.
                let prompt = span.end_ns.saturating_add(PROMPT_NS);
                let own = ops.peek().filter(|op| op.step == step && op.start_ns <= prompt);
                let own = own.filter(|op| op.takes_ns() < whole.ns());
                let start_ns = own.map_or(0, |op| op.start_ns);
                (Code::LaunchBound, start_ns.saturating_sub(device_ns).min(whole.ns()))
            }
            Call::StreamSynchronize { .. }
            | Call::ContextSynchronize
            | Call::EventSynchronize { .. } => {
                if span.blocked_ns > 0 {
                    waited = Some(step);
                }
                (Code::HostSynchronisation, held)
            }
            Call::Free { block } if stream_ordered.contains(block) => continue,
            Call::Free { .. } | Call::FreeHost { .. } | Call::ModuleLoad | Call::ModuleUnload => {
                (Code::DeviceWideWait, held.max(view.lanes.lost(whole, step)))
            }
            Call::Alloc { .. } | Call::AllocHost { .. } => {
                (Code::AllocationInRegion, view.lanes.lost(whole, step))
            }
            // While anything runs, the host's work is beside it, whichever lane is empty.
            Call::HostWork { .. } if view.lanes.lost(whole, step) == 0 => continue,
            Call::HostWork { .. } => (Code::IdleHostWork, view.lanes.idle(whole)),
            Call::GraphCreate { graph, .. } | Call::GraphInstantiate { graph, .. }
                if rebuilt.contains_key(graph) =>
            {
                (Code::RebuiltGraph, view.lanes.lost(whole, step))
            }
            _ => continue,
        };
        if cost_ns > 0 {
            let group = found.charge(view, code, step, cost_ns);
            if code == Code::IdleHostWork && device_ns <= span.start_ns {
                group.other = own_wait.or(group.other);
            }
        }
    }
}

fn is_allocation(call: &Call) -> bool {
    matches!(call, Call::Alloc { .. })
}
