//! The statements of a text.

use super::mistake::At;
use super::number::Number;

/// A sum that a loop's index may stand in.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    Number(Number, At),
    /// A name that `let` or `repeat` gave.
    Named(String, At),
    Of(Box<Sum>, char, Box<Sum>, At),
}

/// A sum and what one of it counts, in bytes or ns.
#[derive(Clone, Debug)]
pub(super) struct Amount {
    pub(super) sum: Sum,
    pub(super) unit: u64,
    pub(super) at: At,
}

/// A name, with an index perhaps.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) word: String,
    pub(super) index: Option<Sum>,
    pub(super) at: At,
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) at: At,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Let {
        name: String,
        value: Sum,
    },
    Repeat {
        count: Sum,
        index: String,
        body: Vec<Statement>,
    },
    In {
        stream: Name,
        body: Vec<Statement>,
    },
    Gpu(usize),
    Queues(Sum),
    Stream {
        names: Vec<Name>,
        priority: i32,
        blocking: bool,
    },
    Event {
        names: Vec<Name>,
        timed: bool,
    },
    Memory {
        kind: Memory,
        names: Vec<Name>,
        size: Amount,
    },
    Copy {
        way: Way,
        size: Option<Amount>,
        memory: Option<Memory>,
        from: Option<Name>,
        to: Option<Name>,
    },
    Memset(Name),
    Kernel(Kernel),
    Record(Name),
    Wait(Name),
    Sync(Option<Name>),
    Free(Vec<Name>),
    Work(Amount),
    Host {
        reads: Vec<Name>,
        writes: Vec<Name>,
    },
    Start,
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Device,
    Pinned,
    Pageable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
    /// Inside the device.
    Inside,
}

#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) work: Work,
    pub(super) name: Option<String>,
    pub(super) blocks: Option<Sum>,
    pub(super) reads: Vec<Name>,
    pub(super) writes: Vec<Name>,
}

/// How long a kernel takes.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// So long, alone.
    Time(Amount),
    /// The map of the exercises, with so many rounds for each element.
    Map(Sum),
    /// The product of the exercises: two matrices of 1024 by 1024 numbers.
    Matmul,
}
