//! How much device memory a program had at one time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Program;
use crate::program::Call;

/// The most device memory that was allocated at one time in the measured region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peak {
    /// How much, in bytes.
    pub bytes: u64,
    /// Index in [`Program::steps`] of the call that got there first: an allocation, or the start of
    /// the region.
    pub step: u32,
}

/// Finds the most memory that the calls of `program` had allocated at one time, from the last start
/// of a measured region on. Blocks from before count as long as they are not freed. A block is
/// there from the call that allocates it to the call that frees it, also where it comes and goes in
/// the order of a stream.
pub fn peak(program: &Program) -> Peak {
    let begins = |call: &Call| matches!(call, Call::RegionBegin);
    let first = program.steps.iter().rposition(|step| begins(&step.call)).unwrap_or(0);
    let (mut blocks, mut bytes, mut peak) = (BTreeMap::new(), 0u64, Peak::default());
    for (index, step) in program.steps.iter().enumerate() {
        match step.call {
            // A call that failed did nothing.
            _ if step.result != 0 => {}
            Call::Alloc { block, bytes: more } | Call::AllocAsync { block, bytes: more, .. } => {
                blocks.insert(block, more);
                bytes = bytes.saturating_add(more);
            }
            Call::Free { block } | Call::FreeAsync { block, .. } => {
                bytes = bytes.saturating_sub(blocks.remove(&block).unwrap_or(0));
            }
            _ => {}
        }
        if index >= first && bytes > peak.bytes {
            peak = Peak { bytes, step: index as u32 };
        }
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BlockId, Step};

    fn program(calls: Vec<Call>) -> Program {
        let step = |call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 };
        Program { steps: calls.into_iter().map(step).collect(), ..Program::new(1) }
    }

    #[test]
    fn the_peak_counts_what_is_there_at_one_time_and_what_was_there_before() {
        let [a, b, c] = [0, 1, 2].map(BlockId);
        let alloc = |block, bytes| Call::Alloc { block, bytes };
        let calls = vec![
            alloc(a, 1000),
            alloc(b, 10),
            Call::Free { block: a },
            Call::RegionBegin,
            alloc(c, 20),
            Call::Free { block: b },
            alloc(a, 15),
            Call::RegionEnd,
        ];
        assert_eq!(peak(&program(calls.clone())), Peak { bytes: 35, step: 6 });
        assert_eq!(peak(&program(calls[..6].to_vec())), Peak { bytes: 30, step: 4 });
        assert_eq!(peak(&program(calls[..4].to_vec())), Peak { bytes: 10, step: 3 });
        let mut refused = program(calls);
        refused.steps[6].result = 2;
        assert_eq!(peak(&refused), Peak { bytes: 30, step: 4 }, "a call that failed gave nothing");
    }
}
