//! Samples memory that two operations use: its contents before and after each of them.

use std::fmt;
use std::str::FromStr;

use trace::program::{BlockId, Call, Range};
use trace::record::Watched;

use super::handles::Handles;
use super::store::Store;
use super::{Address, Host, POISON};
use crate::device::At;

/// Two uses of memory, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The one that the host issued first.
    pub first: At,
    /// The other.
    pub second: At,
    /// The range that both use, in nominal bytes.
    pub range: Range,
}

/// As one process tells it another.
impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { block, offset, bytes } = self.range;
        write!(f, "{},{},{},{offset},{bytes}", self.first, self.second, block.0)
    }
}

impl FromStr for Watch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let mut words = text.split(',');
            let mut at = || words.next()?.parse::<At>().ok();
            let (first, second) = (at()?, at()?);
            let mut number = || words.next()?.parse::<u64>().ok();
            let block = BlockId(number()?.try_into().ok()?);
            Some(Self {
                first,
                second,
                range: Range { block, offset: number()?, bytes: number()? },
            })
        };
        parse().ok_or_else(|| format!("`{text}` names no two uses of memory"))
    }
}

/// A watch that is kept, and what has been seen.
pub(super) struct Watching {
    watch: Watch,
    /// Where the memory is, once it is there: also when it is gone.
    place: Option<(Address, u64)>,
    seen: Watched,
}

impl Watching {
    pub(super) fn new(watch: Watch) -> Self {
        Self { watch, place: None, seen: Watched::default() }
    }

    /// The samples so far.
    pub(super) fn seen(&self, is_reversed: bool) -> Watched {
        Watched { is_reversed, ..self.seen.clone() }
    }

    /// Finds the memory, as soon as there is some.
    pub(super) fn look_for(&mut self, handles: &Handles) {
        if self.place.is_none() {
            self.place = handles.place_of(self.watch.range);
        }
    }

    fn read(&self, store: &Store, host: &mut dyn Host) -> Option<Vec<u32>> {
        let (address, bytes) = self.place?;
        let mut read = vec![0; bytes as usize];
        store.read(address, &mut read, host).ok()?;
        let words = read.chunks(4).map(|word| {
            let mut whole = [0; 4];
            whole[..word.len()].copy_from_slice(word);
            u32::from_le_bytes(whole)
        });
        Some(words.collect())
    }

    /// One of the two starts, or the host has just done it.
    pub(super) fn starts(&mut self, at: At, store: &Store, host: &mut dyn Host) {
        if at == self.watch.first {
            self.seen.first = self.read(store, host);
        }
        if at == self.watch.second {
            self.seen.second = self.read(store, host);
        }
    }

    /// One of the two is over.
    pub(super) fn ends(&mut self, at: At, store: &Store, host: &mut dyn Host) {
        if at == self.watch.first || at == self.watch.second {
            self.seen.left = self.read(store, host);
        }
    }
}

/// The contents of memory that was just freed or just allocated: a pattern, since they are
/// undefined.
pub(super) fn poison(bytes: u64) -> Vec<u8> {
    let pattern = POISON.to_le_bytes();
    let mut whole = pattern.repeat((bytes as usize).div_ceil(pattern.len()));
    whole.truncate(bytes as usize);
    whole
}

/// Whether a call does what it does to memory itself, at once.
pub(super) fn is_done_by_the_call(call: &Call) -> bool {
    matches!(call, Call::HostAccess { .. } | Call::Free { .. } | Call::FreeHost { .. })
}
