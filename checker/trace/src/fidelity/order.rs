//! The order of operations, and how far two of them agree.
//!
//! The two devices run the same program, so an operation is known by its engine and by its place
//! among the operations of that engine. Two operations are *in order* on a device where the one had
//! ended before, or when, the other started; where they overlap, neither is first. The agreement of
//! two devices is the share of pairs that are in the same order on both, among the pairs that are
//! in order on both: Kendall's way of comparing rankings, for intervals. It does not depend on how
//! long anything takes.
//!
//! Pairs on one engine and pairs on two are counted apart. On one engine they say in which order it
//! took up its work; on two, whether copies lie before or after the kernels that they should.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Timeline;
use crate::timeline::SpanKind;

/// Start and end of each operation, in ns from the region's begin: by engine, in the order in which
/// they were issued. The work of one call is one operation, however many pieces it was done in.
///
/// In a file each is the time since the end of the one before it, and how long it lasted: a third
/// less than two times that grow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "Packed", try_from = "Packed")]
pub struct Operations(pub BTreeMap<SpanKind, Vec<(u64, u64)>>);

/// Gaps and durations in turn, by engine. A gap is negative where two operations overlap.
type Packed = BTreeMap<SpanKind, Vec<i64>>;

impl From<Operations> for Packed {
    fn from(operations: Operations) -> Self {
        let packed = |list: Vec<(u64, u64)>| {
            let before = std::iter::once(0).chain(list.iter().map(|(_, end)| *end));
            let pairs = before.zip(&list);
            pairs
                .flat_map(|(last, (start, end))| {
                    [start.wrapping_sub(last).cast_signed(), (end - start).cast_signed()]
                })
                .collect()
        };
        operations.0.into_iter().map(|(kind, list)| (kind, packed(list))).collect()
    }
}

impl TryFrom<Packed> for Operations {
    type Error = &'static str;

    fn try_from(packed: Packed) -> Result<Self, Self::Error> {
        const WRONG: &str =
            "operations are gaps and durations in turn, and none begins before the region";
        let mut engines = BTreeMap::new();
        for (kind, numbers) in packed {
            let (pairs, rest) = numbers.as_chunks::<2>();
            if !rest.is_empty() {
                return Err(WRONG);
            }
            let mut last = 0u64;
            let mut list = Vec::with_capacity(pairs.len());
            for &[gap, duration] in pairs {
                let start = last.checked_add_signed(gap).ok_or(WRONG)?;
                let duration = u64::try_from(duration).map_err(|_| WRONG)?;
                last = start.checked_add(duration).ok_or(WRONG)?;
                list.push((start, last));
            }
            engines.insert(kind, list);
        }
        Ok(Self(engines))
    }
}

/// How far the order of operations agrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Order {
    /// Pairs of operations of one engine.
    pub engine: Agreement,
    /// Pairs of operations of two engines.
    pub across: Agreement,
}

/// Pairs that are in order on both devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agreement {
    /// How many.
    pub pairs: u64,
    /// How many of them in the same order.
    pub same: u64,
}

impl Agreement {
    /// `same / pairs`; none where no pair can be compared.
    pub fn share(self) -> Option<f64> {
        (self.pairs > 0).then(|| self.same as f64 / self.pairs as f64)
    }
}

impl Operations {
    /// The operations of a timeline's region, which the device begins idle: none before it sticks
    /// into it. Host functions are no operations, since they run on the host.
    pub fn of(timeline: &Timeline) -> Self {
        let begin = timeline.extent().start_ns;
        let mut calls: BTreeMap<(SpanKind, u32), (u64, u64)> = BTreeMap::new();
        let inside = timeline.spans.iter().filter(|span| span.start_ns >= begin);
        for span in inside.filter(|span| span.kind.is_on_device()) {
            let (start, end) = (span.start_ns - begin, span.end_ns - begin);
            let entry = calls.entry((span.kind, span.step)).or_insert((start, end));
            *entry = (entry.0.min(start), entry.1.max(end));
        }
        let mut engines: BTreeMap<SpanKind, Vec<(u64, u64)>> = BTreeMap::new();
        for ((kind, _), interval) in calls {
            engines.entry(kind).or_default().push(interval);
        }
        Self(engines)
    }

    /// How long the shortest lasted, in ns; none without any.
    pub fn shortest_ns(&self) -> Option<u64> {
        self.0.values().flatten().map(|(start, end)| end - start).min()
    }

    /// How far the order agrees with that of another device; none where these are not the same
    /// operations.
    pub fn agreement(&self, other: &Self) -> Option<Order> {
        let counts = |operations: &Self| -> Vec<(SpanKind, usize)> {
            operations.0.iter().map(|(kind, list)| (*kind, list.len())).collect()
        };
        if counts(self) != counts(other) {
            return None;
        }
        let flat: Vec<(SpanKind, Time, Time)> = self
            .0
            .iter()
            .zip(other.0.values())
            .flat_map(|((kind, here), there)| {
                here.iter().zip(there).map(|(here, there)| (*kind, *here, *there))
            })
            .collect();
        let mut order = Order::default();
        for (index, (kind, here, there)) in flat.iter().enumerate() {
            for (other_kind, other_here, other_there) in &flat[index + 1..] {
                let (Some(a), Some(b)) = (first(*here, *other_here), first(*there, *other_there))
                else {
                    continue;
                };
                let counts = if kind == other_kind { &mut order.engine } else { &mut order.across };
                counts.pairs += 1;
                counts.same += u64::from(a == b);
            }
        }
        Some(order)
    }
}

/// Start and end of an operation, in ns.
type Time = (u64, u64);

/// Whether the first of two is over before the second begins; none where they overlap.
fn first(a: Time, b: Time) -> Option<bool> {
    match (a.1 <= b.0, b.1 <= a.0) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None, // they overlap, or are two empty ones at the same instant
    }
}
