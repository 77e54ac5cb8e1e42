//! Which of the legal schedules of a program is played.

use std::fmt;
use std::str::FromStr;

use super::RunsOn;

/// Which of the legal schedules of a program is played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Durations as the profile has them.
    #[default]
    Exact,
    /// Each duration is changed by two factors between 1/4 and 4 that follow from this seed: one
    /// for the engine, so that any of them may be the slow one, and one for the operation. Stream
    /// order, events and synchronisation hold as ever; what they leave open changes.
    Perturbed(u64),
    /// The work of a call is over before the next one is made, and the nodes of a graph take turns
    /// in the order in which they were captured.
    InOrder,
    /// One operation is delayed until another has ended that the host issued later. Only documented
    /// orders hold: freeing memory and loading a module do not wait, and streams share no work
    /// queues.
    Reversed {
        /// The operation that the host issued first.
        first: At,
        /// The operation that is over before that one starts.
        second: At,
    },
}

/// A step of the program, and which node of the graph that it launches, from 1; 0 for the step
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Index into the program's steps.
    pub step: u32,
    /// The node.
    pub node: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.step, self.node)
    }
}

impl FromStr for At {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (step, node) = text.split_once('.').ok_or(())?;
        Ok(Self { step: step.parse().map_err(|_| ())?, node: node.parse().map_err(|_| ())? })
    }
}

/// As one process tells it another.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Perturbed(seed) => write!(f, "{seed}"),
            Self::InOrder => f.write_str("in-order"),
            Self::Reversed { first, second } => write!(f, "{second}<{first}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let reversed = || {
            let (second, first) = text.split_once('<')?;
            Some(Self::Reversed { first: first.parse().ok()?, second: second.parse().ok()? })
        };
        match text {
            "exact" => Ok(Self::Exact),
            "in-order" => Ok(Self::InOrder),
            _ => match text.parse() {
                Ok(seed) => Ok(Self::Perturbed(seed)),
                Err(_) => reversed().ok_or_else(|| format!("`{text}` is no schedule")),
            },
        }
    }
}

impl Schedule {
    /// The duration that this schedule gives to what takes `ns` in the exact one.
    pub(super) fn duration(self, ns: u64, step: u32, place: RunsOn) -> u64 {
        let Schedule::Perturbed(seed) = self else { return ns };
        if !cfg!(feature = "schedules") {
            return ns;
        }
        let engine = match place {
            RunsOn::Nowhere => 0,
            RunsOn::Multiprocessors => 1,
            RunsOn::Engine(super::Direction::HostToDevice) => 2,
            RunsOn::Engine(super::Direction::DeviceToHost) => 3,
            #[cfg(not(target_arch = "wasm32"))]
            RunsOn::Engine(_) => 5,
            RunsOn::Host => 4,
        };
        // Steps are counted from 0 to 2^32: engines are counted above them.
        let factors = factor(seed, u64::from(step)) * factor(seed, engine << 32 | 1 << 63);
        (ns * factors / 1_000_000).max(1)
    }
}

/// One of 2^(k/2) for k from -4 to 4, in thousandths.
fn factor(seed: u64, what: u64) -> u64 {
    const FACTORS: [u64; 9] = [250, 354, 500, 707, 1000, 1414, 2000, 2828, 4000];
    // splitmix64, whose every output bit depends on every input bit.
    let mut x = seed ^ what.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    FACTORS[(x % FACTORS.len() as u64) as usize]
}
