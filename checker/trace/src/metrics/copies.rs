//! How much was copied between host and device, from what memory, and how fast.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Timeline;
use crate::timeline::{HostMemory, SpanKind};

/// Copies of one direction with one kind of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// The direction.
    pub kind: SpanKind,
    /// The kind of host memory, where it is known.
    pub host_memory: Option<HostMemory>,
    /// How many there are.
    pub copies: u64,
    /// How much they move together, in bytes.
    pub bytes: u64,
    /// The sum of their durations, in ns.
    pub ns: u64,
}

/// The copies that begin in the extent of `timeline`, whole.
pub fn copies(timeline: &Timeline) -> Vec<Copies> {
    let extent = timeline.extent();
    let mut found: BTreeMap<(SpanKind, u8), Copies> = BTreeMap::new();
    for span in timeline.spans.iter().filter(|span| span.kind.is_transfer()) {
        if !(extent.start_ns..extent.end_ns).contains(&span.start_ns) {
            continue;
        }
        let (kind, host_memory) = (span.kind, span.host_memory);
        let order = host_memory.map_or(2, |memory| u8::from(memory == HostMemory::Pageable));
        let none = Copies { kind, host_memory, copies: 0, bytes: 0, ns: 0 };
        let sum = found.entry((kind, order)).or_insert(none);
        sum.copies += 1;
        sum.bytes = sum.bytes.saturating_add(span.bytes);
        sum.ns = sum.ns.saturating_add(span.interval().ns());
    }
    found.into_values().collect()
}
