//! Chains of operations that hand the same memory on, and jobs: work that is cut into chains which
//! are alike. A pipeline of copy, kernel and copy back in 16 chunks is a job of 16 chains.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::hazards::accesses;
use crate::program::{AccessKind, BlockId, Call, Direction, Program};

use super::engines::Lane;
pub use super::region::region;

/// Chains that are alike: the same operations of the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The steps of each chain, in the order of the calls; chains in the order of their first
    /// steps.
    pub chains: Vec<Vec<u32>>,
}

/// Where an operation runs; none for calls that are none.
pub fn lane(call: &Call) -> Option<Lane> {
    match call {
        Call::Launch(_) => Some(Lane::Kernels),
        Call::Memset { .. } => Some(Lane::Memory),
        Call::Copy { .. } => match call.direction()? {
            Direction::HostToDevice => Some(Lane::Up),
            Direction::DeviceToHost => Some(Lane::Down),
            Direction::DeviceToDevice => Some(Lane::Memory),
            // What goes from device to device is no stage of a pipeline: it would make one chain of
            // all work of both.
            Direction::HostToHost | Direction::PeerToPeer => None,
        },
        _ => None,
    }
}

/// All chains of the measured region, in the order of their first steps. What is only read belongs
/// to no chain: weights that every kernel reads join nothing.
pub fn chains(program: &Program) -> Vec<Vec<u32>> {
    let steps = region(program);
    let operations: Vec<u32> = steps
        .map(|index| index as u32)
        .filter(|&index| {
            let step = &program.steps[index as usize];
            step.result == 0 && lane(&step.call).is_some()
        })
        .collect();
    let mut uses: BTreeMap<BlockId, Vec<(u64, u64, usize, AccessKind)>> = BTreeMap::new();
    for (index, &step) in operations.iter().enumerate() {
        accesses(&program.steps[step as usize].call, |kind, range| {
            let end = range.offset.saturating_add(range.bytes);
            uses.entry(range.block).or_default().push((range.offset, end, index, kind));
        });
    }
    let mut sets = Sets { parents: (0..operations.len()).collect() };
    for parts in uses.values_mut() {
        parts.sort_unstable_by_key(|&(offset, end, index, _)| (offset, end, index));
        // Runs of parts that overlap; a run that no operation writes joins nothing.
        let mut from = 0;
        while from < parts.len() {
            let (mut to, mut reach) = (from, parts[from].1);
            while to < parts.len() && (to == from || parts[to].0 < reach) {
                reach = reach.max(parts[to].1);
                to += 1;
            }
            let run = &parts[from..to];
            if run.iter().any(|&(.., kind)| kind == AccessKind::Write) {
                run.iter().for_each(|&(_, _, index, _)| sets.join(run[0].2, index));
            }
            from = to;
        }
    }
    let mut known: HashMap<usize, usize> = HashMap::new();
    let mut chains: Vec<Vec<u32>> = Vec::new();
    for (index, &step) in operations.iter().enumerate() {
        let root = sets.root(index);
        let chain = *known.entry(root).or_insert_with(|| {
            chains.push(Vec::new());
            chains.len() - 1
        });
        chains[chain].push(step);
    }
    chains
}

/// A chain of more operations than this is no chunk.
const LONGEST: usize = 4096;

/// The operations of a chain: for each, the line that issued it and its lane.
type Signature = Vec<(Option<u32>, Lane)>;

/// The jobs of the measured region that keep more than one lane busy, the largest first.
pub fn jobs(program: &Program) -> Vec<Job> {
    let mut jobs: BTreeMap<Signature, Vec<Vec<u32>>> = BTreeMap::new();
    for chain in chains(program).into_iter().filter(|chain| chain.len() <= LONGEST) {
        let signature: Signature = chain
            .iter()
            .filter_map(|&step| {
                let step = &program.steps[step as usize];
                Some((step.site, lane(&step.call)?))
            })
            .collect();
        // A buffer that is used again and again chains all its chunks.
        let period = (1..=signature.len())
            .filter(|period| signature.len().is_multiple_of(*period))
            .find(|&period| signature.chunks(period).all(|part| *part == signature[..period]))
            .unwrap_or(signature.len());
        let lanes: HashSet<Lane> = signature[..period].iter().map(|&(_, lane)| lane).collect();
        if lanes.len() < 2 {
            continue;
        }
        let chunks = chain.chunks(period).map(<[u32]>::to_vec);
        jobs.entry(signature[..period].to_vec()).or_default().extend(chunks);
    }
    let mut jobs: Vec<Job> = jobs
        .into_values()
        .map(|mut chains| {
            chains.sort_unstable();
            Job { chains }
        })
        .collect();
    let size = |job: &Job| job.chains.iter().map(Vec::len).sum::<usize>();
    jobs.sort_by_key(|job| (std::cmp::Reverse(size(job)), job.chains[0][0]));
    jobs
}

struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn root(&mut self, mut index: usize) -> usize {
        while self.parents[index] != index {
            self.parents[index] = self.parents[self.parents[index]];
            index = self.parents[index];
        }
        index
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}
