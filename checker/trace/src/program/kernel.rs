//! Facts about a kernel besides its launches: the memory that it uses, and what its threads and
//! warps do.

use serde::{Deserialize, Serialize};

use super::Range;

/// How a kernel uses a range of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
}

/// A range of memory that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Access {
    /// How.
    pub kind: AccessKind,
    /// Where. A kernel may use pinned host memory as well as device memory.
    pub range: Range,
}

/// Pieces of a kernel's work that one thread does as a whole. Thread `t` of `n` has the items `t`,
/// `t + n`, `t + 2n` and so on: where they do not come out even, the first threads have one more
/// than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Items {
    /// Device memory traffic of an item, in bytes.
    pub bytes: u32,
    /// How many a thread takes up together. What is left over it takes up one by one.
    pub together: u32,
    /// How often it waits for memory each time that it takes some up.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub waits: u32,
}

fn once() -> u32 {
    1
}

fn is_once(waits: &u32) -> bool {
    *waits == 1
}

/// Pipes that most instructions of a kernel's innermost loop need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pipe {
    /// Multiply-adds of floats.
    Floats,
    /// Multiply-adds of integers.
    Integers,
    /// Products on the tensor cores.
    Tensor,
    /// Loads from device memory.
    Memory,
}

/// A kernel's innermost loop, as each warp issues it over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Loop {
    /// The pipe of its main instruction.
    pub pipe: Pipe,
    /// Main instructions in a turn.
    pub each_turn: u16,
    /// Independent chains of them: each waits for the result of the one before in its chain.
    pub chains: u8,
    /// Instructions beside them in a turn, the branch among them.
    pub others: u16,
}
