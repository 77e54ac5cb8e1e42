//! Which operation of the device belongs to which call of the program.
//!
//! CUPTI gives the number that was pushed around each call together with its own correlation id,
//! which the operation carries too. Where it does not, operations are matched to calls in the order
//! in which each thread made them, provided that both sides agree on what each of them is.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::Direction;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum Kind {
    Kernel,
    Memset,
    Copy(Direction),
    /// A copy of a kind that this library's calls do not make.
    OtherCopy,
}

/// An operation that the program issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Wanted {
    /// The number that was pushed around its call.
    pub(in crate::gpu) number: u64,
    pub(in crate::gpu) step: u32,
    pub(in crate::gpu) thread: u32,
    pub(in crate::gpu) kind: Kind,
}

impl Wanted {
    /// The device has no part in a copy between two places in host memory.
    fn may_be_missing(&self) -> bool {
        self.kind == Kind::Copy(Direction::HostToHost)
    }
}

/// An activity record, as far as it is of use. Times are CUPTI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum Activity {
    /// The device did something.
    Operation { kind: Kind, correlation: u32, start: u64, end: u64 },
    /// The host called the driver.
    Call { correlation: u32, thread: u32, start: u64 },
    /// A number was pushed around the call of this correlation id.
    Pushed { correlation: u32, number: u64 },
}

impl Activity {
    /// Whether it began at or after this moment of CUPTI's clock. Numbers have no time.
    pub(in crate::gpu) fn is_since(&self, moment: u64) -> bool {
        match self {
            Self::Operation { start, .. } | Self::Call { start, .. } => *start >= moment,
            Self::Pushed { .. } => true,
        }
    }
}

/// An operation and the step that issued it. Times are CUPTI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) struct Found {
    pub(in crate::gpu) step: u32,
    pub(in crate::gpu) start: u64,
    pub(in crate::gpu) end: u64,
}

/// The outcome of joining.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::gpu) struct Joined {
    pub(in crate::gpu) found: Vec<Found>,
    /// How many calls have no operation.
    pub(in crate::gpu) missing: usize,
    /// How many operations have no call.
    pub(in crate::gpu) foreign: usize,
}

/// Joins the two; an error says where they contradict each other.
pub(in crate::gpu) fn join(wanted: &[Wanted], activities: &[Activity]) -> Result<Joined, String> {
    let steps: BTreeMap<u64, u32> = wanted.iter().map(|want| (want.number, want.step)).collect();
    let mut pushed = BTreeMap::new();
    for activity in activities {
        if let Activity::Pushed { correlation, number } = activity
            && let Some(step) = steps.get(number)
        {
            pushed.insert(*correlation, *step);
        }
    }
    // Where all work is in graphs, no call of the program's is told, and all operations are
    // others'.
    if pushed.is_empty() && !wanted.is_empty() {
        by_order(wanted, activities)
    } else {
        Ok(by_number(wanted, activities, &pushed))
    }
}

fn by_number(wanted: &[Wanted], activities: &[Activity], pushed: &BTreeMap<u32, u32>) -> Joined {
    let mut joined = Joined::default();
    for activity in activities {
        let Activity::Operation { correlation, start, end, .. } = *activity else { continue };
        match pushed.get(&correlation) {
            Some(&step) => joined.found.push(Found { step, start, end }),
            None => joined.foreign += 1,
        }
    }
    let found: BTreeSet<u32> = joined.found.iter().map(|found| found.step).collect();
    let is_missing = |want: &&Wanted| !want.may_be_missing() && !found.contains(&want.step);
    joined.missing = wanted.iter().filter(is_missing).count();
    joined
}

fn by_order(wanted: &[Wanted], activities: &[Activity]) -> Result<Joined, String> {
    let mut operations: BTreeMap<u32, Vec<(Kind, u64, u64)>> = BTreeMap::new();
    for activity in activities {
        if let Activity::Operation { kind, correlation, start, end } = *activity {
            operations.entry(correlation).or_default().push((kind, start, end));
        }
    }
    // The calls that led to operations, by thread, in the order in which they were made.
    let mut calls: Vec<(u64, u32, u32)> = Vec::new();
    for activity in activities {
        if let Activity::Call { correlation, thread, start } = *activity
            && operations.contains_key(&correlation)
        {
            calls.push((start, correlation, thread));
        }
    }
    calls.sort_unstable();
    let calls = by_thread(calls.into_iter().map(|(_, correlation, thread)| (thread, correlation)));
    let asked = by_thread(wanted.iter().map(|want| (want.thread, *want)));
    if calls.len() != asked.len() {
        return Err(format!(
            "it shows calls from {} threads where {} made some",
            calls.len(),
            asked.len()
        ));
    }

    let mut joined = Joined::default();
    for (asked, calls) in asked.into_iter().zip(calls) {
        let mut calls = calls.into_iter().peekable();
        for want in &asked {
            let matching = calls.peek().and_then(|correlation| operations.get(correlation));
            let matching = matching.filter(|all| all.iter().all(|(kind, ..)| *kind == want.kind));
            match matching {
                Some(all) => {
                    let found = |&(_, start, end): &_| Found { step: want.step, start, end };
                    joined.found.extend(all.iter().map(found));
                    calls.next();
                }
                None if want.may_be_missing() => {}
                None => return Err(contradiction(want, calls.peek(), &operations)),
            }
        }
        if calls.next().is_some() {
            return Err(format!("it shows more than the {} operations asked for", asked.len()));
        }
    }
    Ok(joined)
}

fn contradiction(
    want: &Wanted,
    call: Option<&u32>,
    operations: &BTreeMap<u32, Vec<(Kind, u64, u64)>>,
) -> String {
    let shown = call.and_then(|correlation| operations.get(correlation)?.first());
    match shown {
        Some((kind, ..)) => {
            format!("it shows {kind:?} where step {} asked for {:?}", want.step, want.kind)
        }
        None => format!("it does not show the {:?} of step {}", want.kind, want.step),
    }
}

/// Groups, in the order in which their first members come.
fn by_thread<T>(items: impl Iterator<Item = (u32, T)>) -> Vec<Vec<T>> {
    let mut threads: Vec<u32> = Vec::new();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for (thread, item) in items {
        let index = threads.iter().position(|known| *known == thread).unwrap_or_else(|| {
            threads.push(thread);
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[index].push(item);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Kind = Kind::Copy(Direction::HostToDevice);

    fn want(number: u64, thread: u32, kind: Kind) -> Wanted {
        Wanted { number, step: 100 + number as u32, thread, kind }
    }

    /// An operation of 10 ns that starts at ten times its correlation id.
    fn operation(correlation: u32, kind: Kind) -> Activity {
        let start = u64::from(correlation) * 10;
        Activity::Operation { kind, correlation, start, end: start + 10 }
    }

    fn call(correlation: u32, thread: u32, start: u64) -> Activity {
        Activity::Call { correlation, thread, start }
    }

    fn steps(joined: &Joined) -> Vec<(u32, u64)> {
        joined.found.iter().map(|found| (found.step, found.start)).collect()
    }

    #[test]
    fn numbers_join_whatever_the_order() {
        let wanted = [want(1, 0, UP), want(2, 0, Kind::Kernel)];
        let activities = [
            operation(8, Kind::Kernel),
            operation(7, UP),
            Activity::Pushed { correlation: 8, number: 2 },
            Activity::Pushed { correlation: 7, number: 1 },
        ];
        let joined = join(&wanted, &activities).expect("they agree");
        assert_eq!(steps(&joined), [(102, 80), (101, 70)]);
        assert_eq!((joined.missing, joined.foreign), (0, 0));
    }

    #[test]
    fn with_numbers_a_gap_on_either_side_is_counted_and_no_more() {
        let wanted = [want(1, 0, UP), want(2, 0, Kind::Kernel), want(3, 0, Kind::Memset)];
        let activities = [
            Activity::Pushed { correlation: 7, number: 1 },
            operation(7, UP),
            // A call that copies in pieces.
            operation(7, UP),
            // A graph that was launched, and something from before the region.
            operation(9, Kind::Kernel),
            Activity::Pushed { correlation: 4, number: 0 },
            operation(4, Kind::Kernel),
        ];
        let joined = join(&wanted, &activities).expect("they agree");
        assert_eq!(steps(&joined), [(101, 70), (101, 70)]);
        assert_eq!((joined.missing, joined.foreign), (2, 2));
    }

    #[test]
    fn without_numbers_calls_are_matched_in_the_order_of_each_thread() {
        let wanted = [
            want(1, 0, UP),
            want(2, 1, Kind::Memset),
            want(3, 0, Kind::Kernel),
            want(4, 0, Kind::Copy(Direction::HostToHost)),
            want(5, 1, Kind::Kernel),
        ];
        let activities = [
            operation(5, Kind::Kernel),
            operation(3, UP),
            operation(4, Kind::Memset),
            operation(6, Kind::Kernel),
            call(3, 77, 1_000),
            // A call that did nothing on the device.
            call(2, 77, 1_005),
            call(4, 78, 1_010),
            call(5, 77, 1_020),
            call(6, 78, 1_030),
        ];
        let joined = join(&wanted, &activities).expect("they agree");
        assert_eq!(steps(&joined), [(101, 30), (103, 50), (102, 40), (105, 60)]);
    }

    #[test]
    fn without_numbers_any_contradiction_is_an_error() {
        let wanted = [want(1, 0, UP), want(2, 0, Kind::Kernel)];
        let swapped =
            [operation(3, Kind::Kernel), operation(4, UP), call(3, 7, 1_000), call(4, 7, 1_010)];
        let error = join(&wanted, &swapped).expect_err("they differ");
        assert_eq!(error, "it shows Kernel where step 101 asked for Copy(HostToDevice)");

        let short = [operation(3, UP), call(3, 7, 1_000)];
        let error = join(&wanted, &short).expect_err("one is missing");
        assert_eq!(error, "it does not show the Kernel of step 102");

        let long = [
            operation(3, UP),
            operation(4, Kind::Kernel),
            operation(5, Kind::Kernel),
            call(3, 7, 1_000),
            call(4, 7, 1_010),
            call(5, 7, 1_020),
        ];
        let error = join(&wanted, &long).expect_err("one is too many");
        assert_eq!(error, "it shows more than the 2 operations asked for");

        let all_in_graphs = join(&[], &long).expect("no call says otherwise");
        assert_eq!((all_in_graphs.found.len(), all_in_graphs.foreign), (0, 3));

        let error = join(&wanted, &[]).expect_err("there is nothing");
        assert_eq!(error, "it shows calls from 0 threads where 1 made some");
    }

    #[test]
    fn nothing_asked_for_and_nothing_done_agree() {
        assert_eq!(join(&[], &[]), Ok(Joined::default()));
    }
}
