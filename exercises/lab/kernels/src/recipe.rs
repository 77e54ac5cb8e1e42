//! Tasks that are lists of launches: what a network computes, kernel by kernel.
//!
//! A [`Task`](crate::Task) says of each element through which maps it goes. Here several arrays go
//! into a kernel, and what comes out depends on all of them. So a recipe names every launch that
//! there has to be: which parts of which arrays it reads, and which it writes. It is what the
//! outputs are computed by, and what a launch of a student is compared with. In which order
//! launches are issued, where in memory the arrays are and which streams do the work is not in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::network::{Operation, Shape};
use crate::pipes::Pipe;
use crate::{Argument, Kernel};

/// One of the two sides of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host's memory.
    Host,
    /// The device's memory.
    Device,
}

/// Elements of an array, as they are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The array.
    pub array: u32,
    /// First element.
    pub first: u64,
    /// How many.
    pub elements: u64,
}

/// An array of 32-bit words. What is made of it in the course of the work, step by step, follows
/// one after the other.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its name, in the plural.
    pub name: &'static str,
    /// Where its given elements are.
    pub side: Side,
    /// How many elements it has.
    pub elements: u64,
    /// How many of them are given: the first ones.
    pub given: u64,
    /// The time in which the host loads its given elements, in ns; none where it is in memory
    /// from the beginning.
    pub loading_ns: Option<u64>,
    /// The kind of values in those.
    pub values: Values,
    /// First of the elements that have to be on the device at the end: from here on all, and none
    /// for the length of it.
    pub wanted_from: u64,
    /// Parts of it that have to be in host memory at the end: the first element of each, and how
    /// many.
    pub on_host: Vec<(u64, u64)>,
}

impl Array {
    /// One that is given as a whole.
    #[must_use]
    pub fn given(name: &'static str, side: Side, elements: u64, values: Values) -> Self {
        let (given, wanted_from) = (elements, elements);
        let on_host = Vec::new();
        Self { name, side, elements, given, loading_ns: None, values, wanted_from, on_host }
    }

    /// One that is made on the device, and is no output.
    #[must_use]
    pub fn made(name: &'static str, elements: u64) -> Self {
        Self { given: 0, ..Self::given(name, Side::Device, elements, Values::Any) }
    }
}

/// Part number `number` of an array that is called `array`, of `parts` that are equally long.
#[must_use]
pub fn part(array: u32, it: &Array, number: u64, parts: u64) -> Span {
    let elements = it.elements / parts;
    Span { array, first: number * elements, elements }
}

/// The kind of values in given elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// All words.
    Any,
    /// So many bits: from 0 on.
    Bits(u32),
    /// So many bits, and a sign.
    Signed(u32),
}

impl Values {
    fn of(self, word: u32) -> u32 {
        match self {
            Self::Any => word,
            Self::Bits(bits) => word.checked_shr(32 - bits.min(32)).unwrap_or(0),
            Self::Signed(bits) => ((word as i32) >> (31 - bits.min(31))) as u32,
        }
    }
}

/// A launch that there has to be.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which kernel.
    pub kernel: &'static Kernel,
    /// Its arguments, as if all pointers were 0, with the sizes that are in memory.
    arguments: Vec<Argument>,
    /// How many blocks it has; none where the grid is up to who launches it.
    blocks: Option<u64>,
    /// The memory that it reads, in the order of the kernel's accesses.
    pub reads: Vec<Span>,
    /// The memory that it writes, in the same order.
    pub writes: Vec<Span>,
}

impl Launch {
    /// One over a layer of this shape, its rows as they are in memory, where one stands for
    /// `scale`.
    #[must_use]
    pub fn of_layer(
        operation: Operation,
        shape: Shape,
        scale: u64,
        reads: Vec<Span>,
        writes: Vec<Span>,
    ) -> Self {
        let nominal = Shape { rows: shape.rows * scale, ..shape };
        Self {
            kernel: known(operation.name()),
            arguments: operation.arguments(&[0; 4], &shape),
            blocks: Some(operation.blocks(&nominal)),
            reads,
            writes,
        }
    }

    /// One of a kernel that is bound by this pipe, between two arrays of one length.
    #[must_use]
    pub fn of_pipe(pipe: Pipe, rounds: u32, read: Span, write: Span) -> Self {
        let arguments = Pipe::arguments([0, 0], read.elements as u32, rounds);
        let (reads, writes) = (vec![read], vec![write]);
        Self { kernel: known(pipe.name()), arguments, blocks: None, reads, writes }
    }
}

fn known(name: &str) -> &'static Kernel {
    crate::find(name).expect("all operations are kernels")
}

/// A kernel's share of the work.
#[derive(Clone, Debug)]
pub struct Share {
    /// Which kernel.
    pub kernel: &'static Kernel,
    /// Blocks of a launch; none where its grid is up to who launches it.
    pub blocks: Option<u64>,
    /// Launches, which are all of one size.
    pub launches: u64,
    /// Nominal units of its rate, over all launches.
    pub units: u64,
    /// Nominal bytes of device memory, over all launches.
    pub bytes: u64,
}

/// A task that is a list of launches, for a device on which one word in memory stands for `scale`.
#[derive(Clone, Debug)]
pub struct Recipe {
    name: &'static str,
    scale: u32,
    /// The name of a part of the arrays, such as "batch".
    part: &'static str,
    arrays: Vec<Array>,
    launches: Vec<Launch>,
    host_ns: u64,
}

impl Recipe {
    /// A task of these launches, in an order in which they may be done.
    #[must_use]
    pub fn new(
        name: &'static str,
        scale: u32,
        part: &'static str,
        arrays: Vec<Array>,
        launches: Vec<Launch>,
    ) -> Self {
        Self { name, scale, part, arrays, launches, host_ns: 0 }
    }

    /// The same, with so much work of the host's beside loading, in ns.
    #[must_use]
    pub fn with_host_work(self, host_ns: u64) -> Self {
        Self { host_ns, ..self }
    }

    /// The host's own work, in ns.
    #[must_use]
    pub fn host_ns(&self) -> u64 {
        self.host_ns + self.arrays.iter().filter_map(|it| it.loading_ns).sum::<u64>()
    }

    /// The name of the exercise that sets it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How many nominal elements one in memory stands for.
    #[must_use]
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// The arrays, which are called by their place in this list.
    #[must_use]
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// The launches.
    #[must_use]
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// The time in which the host loads so many elements of an array, in ns; none for an array that
    /// is not loaded.
    #[must_use]
    pub fn loading_ns(&self, array: u32, elements: u64) -> Option<u64> {
        let it = self.arrays.get(array as usize)?;
        let share = u128::from(it.loading_ns?) * u128::from(elements);
        Some(u64::try_from(share.div_ceil(it.given.max(1).into())).unwrap_or(u64::MAX))
    }

    /// The elements that a launch of this kernel over these writes; none if there is no such
    /// launch in the recipe.
    #[must_use]
    pub fn made(&self, kernel: &str, reads: &[Span]) -> Option<&[Span]> {
        let is_it = |it: &&Launch| it.kernel.name == kernel && it.reads == reads;
        self.launches.iter().find(is_it).map(|launch| launch.writes.as_slice())
    }

    /// Which of the elements that a launch reads do not belong to the others, in words; none where
    /// no launch of the kernel reads parts of these arrays.
    #[must_use]
    pub fn misfit(&self, kernel: &str, reads: &[Span]) -> Option<String> {
        let arrays = |reads: &[Span]| reads.iter().map(|it| it.array).collect::<Vec<_>>();
        let alike = |it: &&Launch| it.kernel.name == kernel && arrays(&it.reads) == arrays(reads);
        // Of the launches of this kind, the one in which most is right, what it reads first above
        // all.
        let right = |it: &&Launch| {
            let same = it.reads.iter().zip(reads).filter(|(meant, found)| meant == found);
            (same.count(), it.reads.first() == reads.first())
        };
        let nearest = self.launches.iter().filter(alike).max_by_key(right)?;
        let of = |span: &Span| {
            let name = self.arrays[span.array as usize].name;
            format!("{name} of {} {}", self.part, span.first / span.elements.max(1))
        };
        let wrong = nearest.reads.iter().zip(reads).find(|(meant, found)| meant != found)?.1;
        let other = reads.iter().zip(&nearest.reads).find(|(found, meant)| found == meant)?.0;
        Some(format!("{} with {}", of(wrong), of(other)))
    }

    /// The work, kernel by kernel and shape by shape.
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        let scale = u64::from(self.scale);
        let mut shares: BTreeMap<(&str, Option<u64>, u64), Share> = BTreeMap::new();
        for Launch { kernel, arguments, blocks, .. } in &self.launches {
            let (kernel, blocks) = (*kernel, *blocks);
            let work = kernel.work(arguments, self.scale);
            let share = shares.entry((kernel.name, blocks, work.units)).or_insert(Share {
                kernel,
                blocks,
                launches: 0,
                units: 0,
                bytes: 0,
            });
            share.launches += 1;
            share.units += work.units * scale;
            share.bytes += work.bytes * scale;
        }
        shares.into_values().collect()
    }

    /// Fills elements of an array with what is given in it, from `first` on. Elements that are made
    /// are 0.
    pub fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let Some(it) = self.arrays.get(array as usize) else { return elements.fill(0) };
        let seed = seed.wrapping_add(u64::from(array)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (index, element) in (first..).zip(elements) {
            // As the inputs of other tasks, and mixed once more: labels and weights are made of the
            // upper bits.
            let mut mixed = (index ^ seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
            mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            let value = it.values.of((mixed ^ (mixed >> 32)) as u32);
            *element = if index < it.given { value } else { 0 };
        }
    }

    /// The values that elements of an array must have at the end, from `first` on.
    pub fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let results = self.results(seed);
        let all = results.get(&array).map_or(&[][..], Vec::as_slice);
        let known = all.get(first as usize..).unwrap_or(&[]);
        elements.fill(0);
        elements.iter_mut().zip(known).for_each(|(element, known)| *element = *known);
    }

    /// The arrays that are wanted, as the twins make them. They are kept, since outputs are
    /// compared part by part and pass by pass.
    fn results(&self, seed: u64) -> Arc<Results> {
        type Kept = (&'static str, u64, u32, Arc<Results>);
        static LAST: Mutex<Option<Kept>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((name, of, scale, results)) = &*last
            && (*name, *of, *scale) == (self.name, seed, self.scale)
        {
            return Arc::clone(results);
        }
        let results = Arc::new(self.run(seed));
        *last = Some((self.name, seed, self.scale, Arc::clone(&results)));
        results
    }

    /// Runs all launches, one after the other. What is made is kept until it has been read for the
    /// last time, or where it is wanted: all of it at once would be gigabytes.
    fn run(&self, seed: u64) -> Results {
        let mut results: Results = BTreeMap::new();
        for (array, it) in (0..).zip(&self.arrays) {
            if it.wanted_from < it.elements || !it.on_host.is_empty() {
                let mut words = vec![0; it.elements as usize];
                self.input(array, seed, 0, &mut words[..it.given as usize]);
                results.insert(array, words);
            }
        }
        let reads = self
            .launches
            .iter()
            .enumerate()
            .flat_map(|(number, launch)| launch.reads.iter().map(move |span| (*span, number)));
        let last_read: BTreeMap<Span, usize> = reads.collect();
        let mut made: BTreeMap<Span, Vec<u8>> = BTreeMap::new();
        for (number, launch) in self.launches.iter().enumerate() {
            let Some(twin) = launch.kernel.twin() else { continue };
            for span in &launch.reads {
                made.entry(*span).or_insert_with(|| {
                    let mut words = vec![0; span.elements as usize];
                    self.input(span.array, seed, span.first, &mut words);
                    words.iter().flat_map(|word| word.to_le_bytes()).collect()
                });
            }
            let inputs: Vec<&[u8]> =
                launch.reads.iter().filter_map(|span| made.get(span)).map(Vec::as_slice).collect();
            let empty = |span: &Span| vec![0; 4 * span.elements as usize];
            let mut writes: Vec<Vec<u8>> = launch.writes.iter().map(empty).collect();
            twin(&launch.arguments, &inputs, &mut writes);
            for (span, written) in launch.writes.iter().zip(writes) {
                if let Some(words) = results.get_mut(&span.array) {
                    let written = written.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it));
                    let place = &mut words[span.first as usize..];
                    place.iter_mut().zip(written).for_each(|(word, written)| *word = written);
                }
                made.insert(*span, written);
            }
            made.retain(|span, _| last_read.get(span).is_some_and(|last| *last > number));
        }
        results
    }
}

type Results = BTreeMap<u32, Vec<u32>>;

/// Checks that each launch reads and writes what its kernel does, and that nothing is read before
/// it is made.
///
/// # Panics
///
/// Where that is not so.
#[cfg(test)]
pub(crate) fn assert_sound(recipe: &Recipe) {
    use crate::Mode;
    let mut made: std::collections::BTreeSet<Span> = std::collections::BTreeSet::new();
    for launch in recipe.launches() {
        let name = launch.kernel.name;
        let accesses = launch.kernel.accesses(&launch.arguments, recipe.scale);
        let of = |mode| {
            let accesses = accesses.iter().filter(move |it| it.mode == mode);
            accesses.map(|it| it.bytes / 4).collect::<Vec<_>>()
        };
        let spans = |spans: &[Span]| spans.iter().map(|it| it.elements).collect::<Vec<_>>();
        assert_eq!(spans(&launch.reads), of(Mode::Read), "{name} reads");
        assert_eq!(spans(&launch.writes), of(Mode::Write), "{name} writes");
        for span in &launch.reads {
            let array = &recipe.arrays[span.array as usize];
            let is_given = span.first + span.elements <= array.given;
            assert!(is_given || made.contains(span), "{name} reads {span:?} too early");
        }
        for span in &launch.writes {
            let array = &recipe.arrays[span.array as usize];
            assert!(span.first >= array.given, "{name} writes what is given: {span:?}");
            assert!(span.first + span.elements <= array.elements, "{name} writes {span:?}");
            assert!(made.insert(*span), "{name} writes {span:?} again");
        }
    }
}
