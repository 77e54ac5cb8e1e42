//! Where values come from.
//!
//! What a student's process computes itself takes no time on the simulated device, so that a right
//! output says little: what counts is that it came about as the task wants it. While a region with
//! a task is open, each range of memory that the machine itself wrote to carries the origin of its
//! values. The origin says which elements of which given array they were, and how far they have
//! come on the way that the task's kernels take them. Every operation works element by element, so
//! that neither the cutting into chunks nor the order nor the streams make a difference.
//!
//! Memory of the host can be written by the student's process at any time. What is known of it is a
//! claim, and bytes that are read from there have to bear it out. Words that nothing is known of
//! are looked for in the task's input: the host may have moved them, and has nothing from it.

mod claims;
mod goal;

use std::collections::BTreeMap;
use std::sync::Arc;

use trace::lab_protocol::Region;
use trace::program::AccessKind;
use trace::record::{Misled, Origin, Output};

use super::handles::Address;
use super::library::{KernelAccess, Span, Task};
use claims::{Claims, Elements, Source, Station, given};
pub(super) use claims::{Piece, WORD};
use goal::{BATCH, Goal};

/// A launch, as far as it matters for where its results come from.
pub(super) struct Launched {
    pub(super) kernel: String,
    /// The rounds of a map that it does to each element, if it is one.
    pub(super) rounds: Option<u64>,
    /// Of its grid.
    pub(super) blocks: u64,
    /// That it goes over.
    pub(super) elements: u64,
}

/// The most ranges that are tracked at once: a thousand chunks in each of ten buffers, and ten
/// times as many for those who experiment. It bounds the memory used.
const MOST_CLAIMS: usize = 1 << 17;

/// The most searches of the input for words of unknown origin. It is enough for every chunk of a
/// thousand to have been moved by the host, and few enough not to take all the time there is.
const MOST_SEARCHES: u32 = 4096;

/// The whole words of some bytes.
fn whole_words(pieces: &[Piece]) -> Vec<Piece> {
    pieces.iter().filter_map(Piece::words).collect()
}

/// Where the values in memory come from, as far as the open region's task goes.
#[derive(Default)]
pub(super) struct Provenance {
    goal: Option<Goal>,
    device: Claims,
    pinned: Claims,
    pageable: Claims,
    /// Data that host threads are about to have loaded, each by its last request.
    loading: BTreeMap<u32, (Address, Piece)>,
    /// Elements that have been loaded, by array.
    loaded: BTreeMap<u32, Elements>,
    /// Elements of arrays that are made that some kernel has brought to where they should come.
    reached: BTreeMap<u32, Elements>,
    /// Elements of arrays that are made that have come, finished, to pageable memory of the host:
    /// the call that brought them there returned when they were there, so that the host may have
    /// moved them since.
    delivered: BTreeMap<u32, Elements>,
    /// The first kernel that was given data that does not belong together.
    misled: Option<Misled>,
    searches: u32,
    /// There were more pieces than are kept account of: nothing is known any more.
    untold: bool,
}

impl Provenance {
    /// A region with a task begins: what was before has no part in it.
    pub(super) fn begin(&mut self, task: Arc<dyn Task>, seed: u64) {
        *self = Self { goal: Some(Goal::new(task, seed)), ..Self::default() };
    }

    /// The region is over.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    fn claims(&mut self, address: Address) -> (&mut Claims, u64) {
        match address {
            Address::Device(at) => (&mut self.device, at),
            Address::Pinned(at) => (&mut self.pinned, at),
            Address::Pageable(at) => (&mut self.pageable, at),
        }
    }

    /// The origin of some memory, as far as it is known.
    pub(super) fn of(&self, address: Address, bytes: u64) -> Vec<Piece> {
        match address {
            Address::Device(at) => self.device.of(at, bytes),
            Address::Pinned(at) => self.pinned.of(at, bytes),
            Address::Pageable(at) => self.pageable.of(at, bytes),
        }
    }

    /// All of this memory has been written, and this is what is in it now.
    pub(super) fn land(&mut self, address: Address, bytes: u64, pieces: &[Piece]) {
        let (Address::Device(at) | Address::Pinned(at) | Address::Pageable(at)) = address;
        // Nothing lies beyond the end of an address space, whatever a program says.
        if self.goal.is_none() || self.untold || bytes == 0 || at.checked_add(bytes).is_none() {
            return;
        }
        let (claims, at) = self.claims(address);
        claims.forget(at, bytes);
        for piece in pieces.iter().filter_map(|piece| piece.within(0, bytes)) {
            claims.put(at, piece);
        }
        if [&self.device, &self.pinned, &self.pageable].iter().map(|it| it.0.len()).sum::<usize>()
            > MOST_CLAIMS
        {
            let goal = self.goal.take();
            *self = Self { goal, untold: true, ..Self::default() };
        }
    }

    /// A copy from the device has delivered this to the host. Only pageable memory counts: the call
    /// blocks until the data is there, while data that the host moves itself does not show that it
    /// waited.
    pub(super) fn deliver(&mut self, address: Address, pieces: &[Piece]) {
        let (Address::Pageable(_), Some(goal)) = (address, &self.goal) else { return };
        for piece in &whole_words(pieces) {
            for array in goal.finished(piece) {
                let elements = self.delivered.entry(array).or_default();
                elements.add(piece.first, piece.first + piece.bytes / WORD);
            }
        }
    }

    /// The machine has put elements of a given array into memory.
    pub(super) fn fill(&mut self, address: Address, bytes: u64, array: u32, first: u64) {
        self.land(address, bytes, &[given(array, first, bytes)]);
    }

    /// A host thread is about to have loaded this, when it returns.
    pub(super) fn load(
        &mut self,
        thread: u32,
        address: Address,
        bytes: u64,
        array: u32,
        first: u64,
    ) {
        // Until then there is nothing in there that anyone could rely on.
        self.land(address, bytes, &[]);
        self.loading.insert(thread, (address, given(array, first, bytes)));
    }

    /// A host thread makes a request: what it did before that is done.
    pub(super) fn settle(&mut self, thread: u32) {
        if self.loading.is_empty() {
            return;
        }
        if let Some((address, piece)) = self.loading.remove(&thread)
            && let Source::Given { array, .. } = piece.source
        {
            let loaded = self.loaded.entry(array).or_default();
            loaded.add(piece.first, piece.first + piece.bytes / WORD);
            self.land(address, piece.bytes, &[piece]);
        }
    }

    /// Where the values come from that a copy has just read.
    pub(super) fn copied(&mut self, source: Address, data: &[u8], step: u32) -> Vec<Piece> {
        let known = self.of(source, data.len() as u64);
        if let Address::Device(_) = source {
            return known; // nobody but the machine writes there
        }
        if self.goal.is_none() || self.untold {
            return Vec::new();
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        for piece in known {
            self.look_for(data, at, piece.offset, step, &mut pieces);
            let end = piece.offset + piece.bytes;
            if self.bears_out(&piece, data) {
                pieces.push(piece);
            } else {
                self.look_for(data, piece.offset, end, step, &mut pieces);
            }
            at = end;
        }
        self.look_for(data, at, data.len() as u64, step, &mut pieces);
        pieces
    }

    /// Whether the bytes that were read are what is claimed of them.
    fn bears_out(&self, piece: &Piece, data: &[u8]) -> bool {
        let Some(goal) = &self.goal else { return false };
        let Source::Given { array, station } = piece.source else { return true };
        let bytes = &data[piece.offset as usize..(piece.offset + piece.bytes) as usize];
        goal.bears_out(array, station, (piece.first, piece.lead), bytes)
    }

    /// Looks for words of the host's in what the host has been given, from byte `from` to byte
    /// `to`.
    fn look_for(&mut self, data: &[u8], from: u64, to: u64, step: u32, pieces: &mut Vec<Piece>) {
        let mut at = from.next_multiple_of(WORD);
        let to = to / WORD * WORD;
        // Most likely it goes on with the element after the last.
        let mut guess = pieces.last().and_then(|last| match last.source {
            Source::Given { array, .. } => {
                Some((array, last.first + (last.lead + last.bytes) / WORD))
            }
            Source::Foreign { .. } => None,
        });
        while at < to {
            let bytes = &data[at as usize..to as usize];
            let Some((array, first, words)) = self.find(bytes, guess.take()) else { break };
            let piece = Piece { offset: at, ..given(array, first, words * WORD) };
            pieces.push(piece);
            at += piece.bytes;
        }
        if at < to {
            let source = Source::Foreign { origin: Origin::Upload, step };
            pieces.push(Piece { offset: at, bytes: to - at, source, first: 0, lead: 0 });
        }
    }

    /// The elements that these words begin with, and how many they are.
    fn find(&mut self, bytes: &[u8], guess: Option<(u32, u64)>) -> Option<(u32, u64, u64)> {
        let goal = self.goal.as_ref()?;
        // How many of an array's elements are the words, from this one on.
        let run = |array: u32, element: u64| {
            let end = match goal.task.loading_ns(array, 0) {
                Some(_) => self.loaded.get(&array)?.end_of(element)?,
                None => goal.task.elements(array),
            };
            let most = end.checked_sub(element)?.saturating_mul(WORD).min(bytes.len() as u64);
            let alike = goal.alike(array, Station::default(), element, &bytes[..most as usize]);
            (alike > 0).then_some((array, element, alike as u64))
        };
        if let Some(found) = guess.and_then(|(array, element)| run(array, element)) {
            return Some(found);
        }
        if self.searches >= MOST_SEARCHES {
            return None;
        }
        self.searches += 1;
        let word = u32::from_le_bytes(*bytes.first_chunk()?);
        let mut batch = [0; BATCH];
        let mut best: Option<(u32, u64, u64)> = None;
        for array in goal.task.on_host() {
            let elements = goal.task.elements(array);
            for first in (0..elements).step_by(BATCH) {
                let batch = &mut batch[..(elements - first).min(BATCH as u64) as usize];
                goal.task.passed(array, goal.seed, first, &[], batch);
                let alike = (first..).zip(&*batch).filter(|(_, element)| **element == word);
                for (element, _) in alike {
                    let found = run(array, element);
                    let is_longer = |it: &(u32, u64, u64)| best.is_none_or(|best| best.2 < it.2);
                    best = found.filter(is_longer).or(best);
                }
            }
        }
        best
    }

    /// The first kernel of the region that was given data that does not belong together.
    pub(super) fn misled(&self) -> Option<Misled> {
        self.misled.clone()
    }

    /// Where the results of a launch come from, range by range of what it writes.
    pub(super) fn results(
        &mut self,
        launched: &Launched,
        accesses: &[KernelAccess],
        step: u32,
    ) -> Vec<Vec<Piece>> {
        let known = |it: &KernelAccess| self.of(Address::Device(it.address), it.bytes);
        match (launched.rounds, accesses) {
            (Some(rounds), [from, _]) => vec![self.mapped(&known(from), launched, rounds, step)],
            _ => self.made(&launched.kernel, accesses, step),
        }
    }

    /// The origin of a kernel's results, of several ranges of which each has to be a part of one
    /// array.
    fn made(&mut self, kernel: &str, accesses: &[KernelAccess], step: u32) -> Vec<Vec<Piece>> {
        let Some(goal) = &self.goal else { return Vec::new() };
        let reads = accesses.iter().filter(|it| it.kind == AccessKind::Read);
        let spans: Option<Vec<Span>> = reads.map(|it| self.span(it)).collect();
        let made = match spans.map(|spans| goal.task.made(kernel, &spans)) {
            Some(Ok(made)) => made,
            Some(Err(Some(reads))) => {
                let kernel = kernel.to_owned();
                self.misled.get_or_insert(Misled { step, kernel, reads });
                Vec::new()
            }
            Some(Err(None)) | None => Vec::new(),
        };
        let writes = accesses.iter().filter(|it| it.kind == AccessKind::Write);
        let piece = |(number, write): (usize, &KernelAccess)| {
            let span = made.get(number).filter(|it| it.elements * WORD == write.bytes);
            let foreign = Source::Foreign { origin: Origin::Kernel, step };
            let nobodys =
                Piece { offset: 0, bytes: write.bytes, source: foreign, first: 0, lead: 0 };
            vec![span.map_or(nobodys, |it| given(it.array, it.first, write.bytes))]
        };
        writes.enumerate().map(piece).collect()
    }

    /// The elements that all of a range is, one after the other.
    fn span(&self, access: &KernelAccess) -> Option<Span> {
        let known = self.of(Address::Device(access.address), access.bytes);
        let &[Piece { bytes, source: Source::Given { array, station }, first, lead: 0, .. }] =
            known.as_slice()
        else {
            return None;
        };
        let is_whole = bytes == access.bytes && station == Station::default();
        is_whole.then_some(Span { array, first, elements: bytes / WORD })
    }

    /// The origin of values once a kernel has gone over them, element by element.
    fn mapped(
        &self,
        pieces: &[Piece],
        Launched { kernel, blocks, elements, .. }: &Launched,
        rounds: u64,
        step: u32,
    ) -> Vec<Piece> {
        let Some(goal) = &self.goal else { return Vec::new() };
        let map = |piece: &Piece| {
            let Source::Given { array, station } = piece.source else { return *piece };
            match goal.advance(array, station, kernel, rounds, (*blocks, *elements)) {
                Ok(station) => Piece { source: Source::Given { array, station }, ..*piece },
                Err(origin) => {
                    let source = Source::Foreign { origin, step };
                    Piece { source, first: 0, lead: 0, ..*piece }
                }
            }
        };
        whole_words(pieces).iter().map(map).collect()
    }

    /// A kernel has written these values.
    pub(super) fn reached(&mut self, pieces: &[Piece]) {
        let Self { goal: Some(goal), reached, .. } = self else { return };
        for piece in &whole_words(pieces) {
            let Source::Given { array, station } = piece.source else { continue };
            let there = |&&(_, from, end): &&(u32, u32, Station)| {
                from == array && end == station && station.steps > 0
            };
            for (made, ..) in goal.made.iter().filter(there) {
                let elements = reached.entry(*made).or_default();
                elements.add(piece.first, piece.first + piece.bytes / WORD);
            }
        }
    }

    /// The arrays that kernels have not finished, each with the number of elements that are done.
    pub(super) fn unreached(&self) -> Vec<(u32, u64)> {
        let Some(goal) = &self.goal else { return Vec::new() };
        let counts = goal
            .made
            .iter()
            .filter(|(.., end)| end.steps > 0)
            .map(|&(array, ..)| (array, self.reached.get(&array).map_or(0, Elements::count)));
        counts.filter(|&(array, count)| count < goal.task.elements(array)).collect()
    }

    /// Finished elements of output arrays that the host had in its own memory and could copy from
    /// there: those delivered to pageable memory, and those that pinned memory holds at the end.
    /// Overwritten elements do not count: a host that did not wait for them never had them.
    fn at_hand(&self) -> BTreeMap<u32, Elements> {
        let Some(goal) = &self.goal else { return BTreeMap::new() };
        let mut at_hand: BTreeMap<u32, Elements> = BTreeMap::new();
        for (&array, delivered) in &self.delivered {
            let elements = at_hand.entry(array).or_default();
            delivered.0.iter().for_each(|(&first, &end)| elements.add(first, end));
        }
        for piece in self.pinned.0.values().filter_map(Piece::words) {
            let piece = &piece;
            for array in goal.finished(piece) {
                let elements = at_hand.entry(array).or_default();
                elements.add(piece.first, piece.first + piece.bytes / WORD);
            }
        }
        at_hand
    }

    /// Finds what is wrong with the origin of a region's outputs; none if nothing is. `place` says
    /// where a buffer is. Outputs on the host may have been moved there by the host, from where a
    /// copy brought them.
    pub(super) fn check(
        &self,
        region: &Region,
        place: impl Fn(&trace::lab_protocol::Buffer) -> Address,
    ) -> Option<Output> {
        let goal = self.goal.as_ref()?;
        let (mut wrong, mut unfounded, mut of) = (None, 0, 0);
        let at_hand = self.at_hand();
        for buffer in &region.outputs {
            let words = buffer.bytes / WORD;
            of += words;
            let moved = match place(buffer) {
                Address::Device(_) => None,
                Address::Pinned(_) | Address::Pageable(_) => at_hand.get(&buffer.array),
            };
            let made = goal.made.iter().find(|(array, ..)| *array == buffer.array);
            // Where no way leads there, it is the host's own answer, which is compared.
            let Some(&(_, from, end)) = made else { continue };
            let mut at = 0;
            let mut note = |offset: u64, bytes: u64, origin, step| {
                unfounded += bytes / WORD;
                wrong.get_or_insert((buffer.array, buffer.first + offset / WORD, origin, step));
            };
            let nobody = if self.untold { Origin::Untold } else { Origin::Host };
            // Nothing is known of these bytes, but perhaps of where the host had them from.
            let note_unknown = |from: u64, to: u64, note: &mut dyn FnMut(u64, u64)| {
                let (mut element, end) = (buffer.first + from / WORD, buffer.first + to / WORD);
                while element < end {
                    let (start, stop) = match moved {
                        Some(moved) => moved.next_from(element).unwrap_or((end, end)),
                        None => (end, end),
                    };
                    let gap = start.min(end);
                    if element < gap {
                        note((element - buffer.first) * WORD, (gap - element) * WORD);
                    }
                    element = stop.min(end).max(gap);
                }
            };
            for piece in whole_words(&self.of(place(buffer), buffer.bytes)) {
                if at < piece.offset {
                    note_unknown(at, piece.offset, &mut |at, bytes| note(at, bytes, nobody, None));
                }
                at = piece.offset + piece.bytes;
                let origin = match piece.source {
                    Source::Foreign { origin, step } => Some((origin, Some(step))),
                    Source::Given { array, station } => {
                        let element = buffer.first + piece.offset / WORD;
                        let is_its_own = piece.offset % WORD == 0 && piece.first == element;
                        match () {
                            () if array != from || !is_its_own => Some((Origin::Elsewhere, None)),
                            () if station != end => Some((Origin::Unfinished, None)),
                            () => None,
                        }
                    }
                };
                if let Some((origin, step)) = origin {
                    note(piece.offset, piece.bytes, origin, step);
                }
            }
            if at < words * WORD {
                note_unknown(at, words * WORD, &mut |at, bytes| note(at, bytes, nobody, None));
            }
        }
        let (block, element, origin, step) = wrong?;
        Some(Output::Unfounded { block, element, origin, step, unfounded, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::library::KernelStep;

    /// An array on the host that goes through one kernel, and comes back.
    struct There;

    impl Task for There {
        fn work(&self) -> crate::bounds::TaskWork {
            unreachable!("nobody asks for times")
        }
        fn kernel_units(&self) -> Vec<(String, u64)> {
            Vec::new()
        }
        fn elements(&self, _array: u32) -> u64 {
            8
        }
        fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
            let step = KernelStep { kernel: "map".to_owned(), rounds: 1, small: None };
            [(0, Vec::new()), (0, vec![step])].get(array as usize).cloned()
        }
        fn on_host(&self) -> Vec<u32> {
            vec![0]
        }
        fn input(&self, _array: u32, _seed: u64, first: u64, elements: &mut [u32]) {
            (first as u32..).zip(elements).for_each(|(word, element)| *element = word);
        }
        fn expected(&self, _array: u32, _seed: u64, _first: u64, _elements: &mut [u32]) {
            unreachable!("the values are right")
        }
    }

    /// Eight finished elements are copied somewhere, and four others over them; the output, at 1000, is
    /// written by the host. How many of its elements nobody knows the origin of.
    fn unfounded(landed: Address, over: Option<Address>) -> u64 {
        let mut provenance = Provenance::default();
        provenance.begin(Arc::new(There), 0);
        let end = Station { steps: 1, rounds: 0 };
        let finished = |first, bytes| {
            let source = Source::Given { array: 0, station: end };
            Piece { offset: 0, bytes, source, first, lead: 0 }
        };
        let mut copy = |target, first, bytes| {
            provenance.land(target, bytes, &[finished(first, bytes)]);
            provenance.deliver(target, &[finished(first, bytes)]);
        };
        copy(landed, 0, 32);
        if let Some(over) = over {
            copy(over, 4, 16);
        }
        let output = trace::lab_protocol::Buffer { array: 1, first: 0, address: 1000, bytes: 32 };
        let region = Region { outputs: vec![output], ..Region::default() };
        match provenance.check(&region, |buffer| Address::Pageable(buffer.address)) {
            None => 0,
            Some(Output::Unfounded { unfounded, origin: Origin::Host, .. }) => unfounded,
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_host_may_move_what_it_has_from_the_device() {
        assert_eq!(unfounded(Address::Pageable(0), None), 0);
        assert_eq!(unfounded(Address::Pinned(0), None), 0);
        // It is on the device, and the host has never had it.
        assert_eq!(unfounded(Address::Device(0), None), 8);
    }

    #[test]
    fn what_was_written_over_was_had_only_where_the_host_had_to_wait_for_it() {
        let over = |address: fn(u64) -> Address| unfounded(address(0), Some(address(0)));
        assert_eq!(over(Address::Pageable), 0);
        assert_eq!(over(Address::Pinned), 4);
    }

    /// Two arrays that a kernel makes a third of, four elements at a time.
    struct Joined;

    impl Task for Joined {
        fn work(&self) -> crate::bounds::TaskWork {
            unreachable!("nobody asks for times")
        }
        fn kernel_units(&self) -> Vec<(String, u64)> {
            Vec::new()
        }
        fn elements(&self, _array: u32) -> u64 {
            8
        }
        fn origin(&self, array: u32) -> Option<(u32, Vec<KernelStep>)> {
            (array < 3).then(|| (array, Vec::new()))
        }
        fn made(&self, kernel: &str, reads: &[Span]) -> Result<Vec<Span>, Option<String>> {
            match *reads {
                [Span { array: 0, first, elements: 4 }, Span { array: 1, first: other, .. }]
                    if kernel == "join" && first % 4 == 0 =>
                {
                    let made = Span { array: 2, first, elements: 4 };
                    if first == other { Ok(vec![made]) } else { Err(Some(format!("{other}"))) }
                }
                _ => Err(None),
            }
        }
        fn input(&self, _array: u32, _seed: u64, first: u64, elements: &mut [u32]) {
            (first as u32..).zip(elements).for_each(|(word, element)| *element = word);
        }
        fn expected(&self, _array: u32, _seed: u64, _first: u64, _elements: &mut [u32]) {
            unreachable!("the values are right")
        }
    }

    /// Where the four words come from that a kernel leaves at 200, having read four at each of two addresses: array 0 is
    /// at 0, array 1 at 100. And what it is said to have read that does not belong together.
    fn joined(kernel: &str, reads: [u64; 2]) -> (Option<(u32, u64)>, Option<String>) {
        let mut provenance = Provenance::default();
        provenance.begin(Arc::new(Joined), 0);
        provenance.fill(Address::Device(0), 32, 0, 0);
        provenance.fill(Address::Device(100), 32, 1, 0);
        let access = |kind, address| KernelAccess { kind, address, bytes: 16 };
        let accesses = [
            access(AccessKind::Read, reads[0]),
            access(AccessKind::Read, reads[1]),
            access(AccessKind::Write, 200),
        ];
        let kernel = kernel.to_owned();
        let launched = Launched { kernel, rounds: None, blocks: 1, elements: 4 };
        let results = provenance.results(&launched, &accesses, 7);
        provenance.land(Address::Device(200), 16, &results[0]);
        let found = provenance.of(Address::Device(200), 16);
        let [Piece { source, first, bytes: 16, .. }] = found[..] else { panic!("{found:?}") };
        let from = match source {
            Source::Given { array, .. } => Some((array, first)),
            Source::Foreign { origin: Origin::Kernel, step: 7 } => None,
            Source::Foreign { .. } => panic!("{source:?}"),
        };
        (from, provenance.misled().map(|it| it.reads))
    }

    #[test]
    fn a_kernel_makes_an_array_of_parts_of_others_that_belong_together() {
        assert_eq!(joined("join", [0, 100]), (Some((2, 0)), None));
        assert_eq!(joined("join", [16, 116]), (Some((2, 4)), None));
    }

    #[test]
    fn parts_that_do_not_belong_together_are_named_and_anything_else_makes_nothing() {
        assert_eq!(joined("join", [0, 116]), (None, Some("4".to_owned())));
        // Other arrays, another kernel, parts of two parts, and memory of which nothing is known.
        assert_eq!(joined("join", [100, 0]), (None, None));
        assert_eq!(joined("add", [0, 100]), (None, None));
        assert_eq!(joined("join", [8, 108]).0, None);
        assert_eq!(joined("join", [0, 300]), (None, None));
    }
}
