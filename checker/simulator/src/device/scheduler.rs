//! Who goes on, cycle by cycle, where warps of several kernels share a scheduler of a
//! multiprocessor.
//!
//! A scheduler issues one instruction in a cycle: of the warp that issued in the cycle before, as
//! long as that can go on, and else of the oldest that can ("greedy, then oldest"). So a warp that
//! never stalls leaves nothing to the others, and of two kernels that both leave cycles empty the
//! one that came first goes first. What instructions need of the pipes:
//!
//! - A multiply-add of floats takes one of two halves of the multiply-add pipe for two cycles.
//! - One of integers takes the first half.
//! - A product on the tensor cores waits in a latch, of which there is one, until both halves are
//!   free, the last float multiply-add began [`APART`] cycles ago, and the tensor cores accept it.
//!   Then it holds both halves for [`HELD`].
//! - Others only take their cycle; beside loads, one in two waits for the one before.
//!
//! The order comes from measurements of pairs (`tests/figures/pairs.cu`): beside one warp of
//! multiply-adds that has eight of them under way, any other warp issues only while the first one
//! branches, and beside two of them never. [`HELD`] and [`APART`] are not measured by themselves:
//! of 2 to 5 cycles each, they are what fits all pairs with products best.

use trace::program::{Loop, Pipe};

/// Cycles from a multiply-add to its result.
const RESULT: u32 = 4;
/// Cycles that a multiply-add holds its half of the pipe: 16 units for 32 threads.
const HALF: u32 = 2;
/// Cycles until a warp goes on after a branch: a loop of 131 instructions took 139.4 cycles alone.
const BRANCH: u32 = 8;
/// Cycles from the start of a product to its result, to which the wait for the tensor cores adds:
/// four chains of one warp took 32.4 cycles a round.
const PRODUCT_RESULT: u32 = 26;
/// Tenths of a cycle from one product to the next that the tensor cores accept: two warps took 6.4
/// each.
const ACCEPTED: u64 = 64;
/// Cycles for which a product keeps multiply-adds out: fitted.
const HELD: u32 = 4;
/// Cycles from a float multiply-add to a product: fitted.
const APART: u32 = 4;
/// Tenths of a cycle for which an instruction of a streaming map keeps the next product from
/// the tensor cores: fitted. Beside one to seven blocks of the map on each multiprocessor, the loop
/// of a product took 1.11 to 1.15 times as long (`tests/figures/beside.txt`).
const BETWEEN: u64 = 30;
/// Cycles that are looked at: a hundred turns of loops that compute, and six of one that loads.
const CYCLES: u32 = 20_000;
/// Cycles that a load waits for device memory. A turn of `stream_map` took 3220 on an H100: one
/// block of 256 threads on each multiprocessor went through 993 of them in 1.61 ms. Two warps of a
/// scheduler issue 104 in the meantime.
const LOADED: u32 = 3100;
/// The same for each warp of a scheduler that loads, where so many do that memory has no more to
/// give: between what an H100 and an H200 took (`tests/figures/pairs.tsv`, 1520 and 1070).
const LOADED_EACH: u32 = 1300;

/// Where a warp is.
struct Warp {
    of: usize,
    body: Loop,
    /// Instructions of this turn that it has issued.
    at: u32,
    /// Not before, for a branch or a load.
    not_before: u32,
    /// When the last result of each chain is there.
    results: [u32; 16],
    issued: u64,
}

impl Warp {
    fn new(of: usize, body: Loop) -> Self {
        Self { of, body, at: 0, not_before: 0, results: [0; 16], issued: 0 }
    }

    fn chain(&self) -> usize {
        (self.at % u32::from(self.body.chains.max(1))) as usize % self.results.len()
    }

    fn is_main(&self) -> bool {
        self.at < u32::from(self.body.each_turn)
    }
}

/// The pipes of a scheduler: from which cycle on each is free.
#[derive(Default)]
struct Pipes {
    halves: [u32; 2],
    /// In tenths of a cycle.
    tensor: u64,
    last_float: Option<u32>,
    /// The warp whose product waits, and its chain.
    latch: Option<(usize, usize)>,
}

impl Pipes {
    fn can_start(&self, now: u32) -> bool {
        self.halves.iter().all(|&free| free <= now)
            && self.last_float.is_none_or(|last| now >= last + APART)
            && self.tensor < u64::from(now + 1) * 10
    }

    fn accepts(&self, warp: &Warp, now: u32) -> bool {
        if warp.not_before > now {
            return false;
        }
        if !warp.is_main() {
            return true;
        }
        let result = warp.results[warp.chain()] <= now;
        result
            && match warp.body.pipe {
                Pipe::Floats => self.halves.iter().any(|&free| free <= now),
                Pipe::Integers => self.halves[0] <= now,
                Pipe::Tensor => self.latch.is_none(),
                Pipe::Memory => true,
            }
    }
}

/// The rate that each kernel is left of what it issues alone, in thousandths.
pub(super) fn left(kernels: &[(Loop, u64)]) -> Vec<u64> {
    let alone = kernels.iter().map(|&kernel| issued(&[kernel])[0]);
    let each = |(both, alone): (u64, u64)| (both * 1000 / alone.max(1)).min(1000);
    issued(kernels).into_iter().zip(alone).map(each).collect()
}

/// The number of its main instruction that each kernel issues in [`CYCLES`], on one scheduler. Each
/// has so many warps there, the oldest kernel first.
fn issued(kernels: &[(Loop, u64)]) -> Vec<u64> {
    let each =
        |(of, &(body, warps)): (usize, &(Loop, u64))| (0..warps).map(move |_| Warp::new(of, body));
    let mut warps: Vec<Warp> = kernels.iter().enumerate().flat_map(each).collect();
    let load = warps.iter().filter(|warp| warp.body.pipe == Pipe::Memory).count() as u32;
    let loaded = LOADED.max(load.saturating_mul(LOADED_EACH));
    let mut pipes = Pipes::default();
    let mut last = None;
    for now in 0..CYCLES {
        if let Some((warp, chain)) = pipes.latch.filter(|_| pipes.can_start(now)) {
            pipes.halves = [now + HELD; 2];
            pipes.tensor = pipes.tensor.max(u64::from(now) * 10) + ACCEPTED;
            warps[warp].results[chain] = now + PRODUCT_RESULT;
            pipes.latch = None;
        }
        let goes_on = last.filter(|&warp: &usize| pipes.accepts(&warps[warp], now));
        last = goes_on.or_else(|| warps.iter().position(|warp| pipes.accepts(warp, now)));
        let Some(index) = last else { continue };
        let warp = &mut warps[index];
        if warp.is_main() {
            warp.issued += 1;
            let chain = warp.chain();
            match warp.body.pipe {
                Pipe::Floats => {
                    // The second half, which integers cannot take, if it is free.
                    let half = usize::from(pipes.halves[1] <= now);
                    pipes.halves[half] = now + HALF;
                    pipes.last_float = Some(now);
                    warp.results[chain] = now + RESULT;
                }
                Pipe::Integers => {
                    pipes.halves[0] = now + HALF;
                    warp.results[chain] = now + RESULT;
                }
                Pipe::Tensor => {
                    pipes.latch = Some((index, chain));
                    warp.results[chain] = u32::MAX;
                }
                Pipe::Memory => warp.not_before = now + loaded,
            }
        } else if warp.body.pipe == Pipe::Memory {
            // Addresses and bounds: every other one waits for the one before.
            warp.not_before = now + RESULT / 2;
            pipes.tensor = pipes.tensor.max(u64::from(now) * 10) + BETWEEN;
        }
        warp.at += 1;
        if warp.at >= u32::from(warp.body.each_turn) + u32::from(warp.body.others) {
            warp.at = 0;
            if warp.body.pipe != Pipe::Memory {
                warp.not_before = now + 1 + BRANCH;
            }
        }
    }
    let mut sums = vec![0; kernels.len()];
    for warp in &warps {
        sums[warp.of] += warp.issued;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const FMA: Loop = Loop { pipe: Pipe::Floats, each_turn: 128, chains: 8, others: 3 };
    const CHAIN: Loop = Loop { pipe: Pipe::Floats, each_turn: 16, chains: 1, others: 3 };
    const MAP: Loop = Loop { pipe: Pipe::Integers, each_turn: 64, chains: 4, others: 3 };
    const PRODUCT: Loop = Loop { pipe: Pipe::Tensor, each_turn: 16, chains: 4, others: 5 };
    const STREAM: Loop = Loop { pipe: Pipe::Memory, each_turn: 1, chains: 1, others: 51 };

    /// Of what each issues alone.
    fn speeds(old: (Loop, u64), young: (Loop, u64)) -> [f64; 2] {
        let both = issued(&[old, young]);
        let of = |at: usize, alone: (Loop, u64)| both[at] as f64 / issued(&[alone])[0] as f64;
        [of(0, old), of(1, young)]
    }

    /// The model as it stands: another rule for a pipe, or another count of its cycles, changes some of these.
    #[test]
    fn what_pairs_issue_is_what_it_was_to_the_instruction() {
        let kinds = [FMA, CHAIN, MAP, PRODUCT, STREAM];
        let mut table = String::new();
        for old in kinds {
            for young in kinds {
                let both = [(1, 1), (2, 1), (1, 2)].map(|(a, b)| issued(&[(old, a), (young, b)]));
                let name = |it: Loop| format!("{:?} in {} chains", it.pipe, it.chains);
                table.push_str(&format!("{} beside {}: {both:?}\n", name(old), name(young)));
            }
        }
        insta::assert_snapshot!(table);
    }

    /// Against an H100 80GB HBM3, driver 580.159.04, 2026-11-26: the lines "in" of `tests/figures/pairs.cu`.
    #[test]
    fn pairs_slow_each_other_as_on_an_h100_to_a_fifth_of_their_speed() {
        for (old, young, measured) in [
            ((FMA, 1), (FMA, 1), [0.55, 0.55]),
            ((FMA, 1), (FMA, 2), [0.55, 0.51]),
            ((FMA, 2), (FMA, 1), [1.00, 0.01]),
            ((FMA, 1), (PRODUCT, 2), [0.88, 0.09]),
            ((FMA, 2), (PRODUCT, 2), [1.00, 0.00]),
            ((PRODUCT, 2), (FMA, 2), [0.10, 1.00]),
            ((FMA, 1), (STREAM, 2), [0.99, 0.90]),
            ((FMA, 2), (STREAM, 2), [1.00, 0.01]),
            ((STREAM, 2), (FMA, 1), [0.91, 0.98]),
            ((FMA, 1), (CHAIN, 1), [0.98, 0.09]),
            ((FMA, 2), (CHAIN, 1), [1.00, 0.00]),
            ((CHAIN, 1), (FMA, 1), [0.12, 1.00]),
            ((PRODUCT, 2), (STREAM, 2), [0.94, 1.00]),
            ((STREAM, 2), (PRODUCT, 2), [1.00, 0.92]),
            ((PRODUCT, 2), (CHAIN, 1), [0.74, 0.62]),
            ((CHAIN, 1), (PRODUCT, 2), [0.64, 0.71]),
            ((PRODUCT, 2), (PRODUCT, 2), [1.00, 0.01]),
            ((CHAIN, 1), (CHAIN, 1), [0.99, 0.98]),
            ((MAP, 1), (MAP, 1), [0.96, 0.16]),
            ((MAP, 2), (MAP, 2), [1.00, 0.05]),
            ((MAP, 1), (CHAIN, 1), [0.97, 0.99]),
            ((MAP, 1), (FMA, 1), [0.16, 0.99]),
        ] {
            let found = speeds(old, young);
            for (found, measured) in found.into_iter().zip(measured) {
                assert!(
                    (found - measured).abs() < 0.2,
                    "{old:?} {young:?}: {found:.2} and {measured:.2}"
                );
            }
        }
    }
}
