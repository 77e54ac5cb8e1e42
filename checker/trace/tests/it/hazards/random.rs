//! Random small programs, checked by the detector and by the oracle.

use std::collections::BTreeSet;

use trace::Program;
use trace::hazards::{self, Code};
use trace::program::{
    Access, AccessKind, BlockId, Call, EventId, Extent, KernelId, Launch, Mode, Place, Range, Site,
    Step, StreamId, StreamKind, Timing,
};

use super::oracle::{Frees, Oracle};

/// Programs to try.
const PROGRAMS: u64 = 6000;

#[test]
fn random_programs_are_judged_as_the_oracle_judges_them() {
    let (mut racy, mut warned, mut clean) = (0, 0, 0);
    for seed in 1..=PROGRAMS {
        let program = random(seed);
        let found = hazards::find(&program);
        let mut oracle = Oracle::new(&program, Frees::Return);
        let all = oracle.pairs();
        let mut waiting = Oracle::new(&program, Frees::Wait);
        let left = waiting.pairs();
        let context = || format!("seed {seed}\n{}\n{found:#?}\n{all:?}", listing(&program));

        assert_eq!(found.is_empty(), all.is_empty(), "{}", context());
        let mut freed_first = BTreeSet::new();
        for hazard in &found {
            let pair = (hazard.first.call.step, hazard.second.call.step);
            // It is true, it is of the right kind, and an error is one whatever waits.
            let name = serde_json::to_value(hazard.kind).expect("a name");
            let name = name.as_str().expect("a name");
            assert!(all.get(&pair).is_some_and(|names| names.contains(name)), "{}", context());
            if hazard.code == Code::UnspecifiedBlocking {
                warned += 1;
            } else {
                assert!(left.contains_key(&pair), "{}", context());
                waiting.connect(pair.0, pair.1);
            }
            if oracle.is_freed_first(pair.0) {
                freed_first.insert(pair);
            } else {
                oracle.connect(pair.0, pair.1);
            }
        }
        // With all missing edges put in, nothing is left but what uses memory that is gone.
        let rest: BTreeSet<(u32, u32)> = oracle.pairs().into_keys().collect();
        assert_eq!(rest, freed_first, "{}", context());
        // With the errors put right, what is a warning is in order as long as the calls wait.
        let rest = waiting.pairs();
        for hazard in found.iter().filter(|hazard| hazard.code == Code::UnspecifiedBlocking) {
            let pair = (hazard.first.call.step, hazard.second.call.step);
            assert!(!rest.contains_key(&pair), "{}", context());
        }
        racy += u32::from(!found.is_empty());
        clean += u32::from(found.is_empty());
    }
    // The generator is worth something only if it makes all kinds.
    assert!(racy > 1000 && clean > 1000 && warned > 300, "{racy} {clean} {warned}");
}

#[test]
fn the_first_racing_step_of_each_program_is_among_those_found() {
    for seed in 1..=PROGRAMS / 4 {
        let program = random(seed);
        let first =
            Oracle::new(&program, Frees::Return).pairs().into_keys().map(|pair| pair.1).min();
        let found = hazards::find(&program);
        let found = found.iter().map(|hazard| hazard.second.call.step).min();
        assert_eq!(found, first, "seed {seed}\n{}", listing(&program));
    }
}

#[test]
fn how_long_anything_took_makes_no_difference() {
    for seed in 1..=PROGRAMS / 10 {
        let program = random(seed);
        let mut slower = program.clone();
        for (index, step) in slower.steps.iter_mut().enumerate() {
            step.gap_ns = 1_000_003 * index as u64 % 7919;
            if let Call::Launch(launch) = &mut step.call {
                launch.units *= 1 + index as u64;
                launch.grid = [1 + index as u32, 1, 1];
            }
        }
        assert_eq!(hazards::find(&program), hazards::find(&slower));
    }
}

/// Xorshift, which is enough here and the same everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Blocks, by where they come from.
pub(super) struct Blocks {
    pub(super) device: Vec<BlockId>,
    pub(super) host: Vec<BlockId>,
    pub(super) next: u32,
}

pub(super) fn random(seed: u64) -> Program {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..4 {
        dice.below(2);
    }
    let mut program = Program::new(1);
    let mut streams = vec![StreamId::LEGACY, StreamId::PER_THREAD];
    let mut blocks = Blocks { device: Vec::new(), host: Vec::new(), next: 0 };
    let threads = 1;
    let events = [EventId(0), EventId(1), EventId(2)];
    let created = 1 + dice.below(3) as u32;
    let mut next_stream = StreamId::FIRST_CREATED;
    for _ in 0..created {
        streams.push(StreamId(next_stream));
        push(&mut program, stream_create(&mut dice, next_stream), 0, 0);
        next_stream += 1;
    }
    if dice.below(2) == 0 {
        streams.drain(..2);
    }
    for event in events {
        push(&mut program, Call::EventCreate { event, timing: Timing::Enabled }, 0, 0);
    }
    for _ in 0..1 + dice.below(2) {
        let block = blocks.add();
        blocks.device.push(block);
        push(&mut program, Call::Alloc { block, bytes: 64 }, 0, 0);
    }
    let block = blocks.add();
    blocks.host.push(block);
    push(&mut program, Call::AllocHost { block, bytes: 64 }, 0, 0);

    let quiet = dice.below(3); // how much of it synchronises
    for _ in 0..6 + dice.below(18) {
        let thread = dice.below(threads) as u32;
        let stream = dice.of(&streams);
        let event = dice.of(&events);
        let mut result = 0;
        let call = match dice.below(if quiet == 0 { 24 } else { 35 }) {
            0..=6 => launch(&mut dice, &blocks, stream),
            7..=9 => copy(&mut dice, &blocks, stream),
            10 => {
                let mode = dice.of(&[Mode::Asynchronous, Mode::Synchronous]);
                let stream = if mode == Mode::Synchronous { StreamId::LEGACY } else { stream };
                let all = [blocks.device.clone(), blocks.host.clone()].concat();
                Call::Memset { stream, mode, target: range(&mut dice, &all) }
            }
            11..=14 => Call::EventRecord { event, stream },
            15..=19 => Call::StreamWait { stream, event },
            20 => {
                let block = blocks.add();
                blocks.device.push(block);
                Call::AllocAsync { block, bytes: 64, stream }
            }
            21 => {
                let block = dice.of(&blocks.device);
                match dice.below(4) {
                    0 => Call::FreeAsync { block, stream },
                    1 => Call::Free { block },
                    2 => Call::FreeHost { block: dice.of(&blocks.host) },
                    _ => Call::ModuleLoad,
                }
            }
            22 => Call::HostFunction { stream, accesses: vague(&mut dice, &blocks) },
            33 | 34 => Call::HostAccess {
                accesses: vague(&mut dice, &blocks),
                extent: dice.of(&[Extent::Whole, Extent::Part]),
            },
            23 => {
                let block = blocks.add();
                blocks.device.push(block);
                Call::Alloc { block, bytes: 64 }
            }
            24 | 25 => Call::StreamSynchronize { stream },
            26 => Call::EventSynchronize { event },
            27 => Call::ContextSynchronize,
            28 => Call::RegionBegin,
            29 => {
                result = dice.of(&[0, 600]);
                match dice.below(2) {
                    0 => Call::StreamQuery { stream },
                    _ => Call::EventQuery { event },
                }
            }
            30 => {
                let end = dice.of(&events);
                result = dice.of(&[0, 600]);
                Call::EventElapsed { start: event, end }
            }
            31 => Call::EventDestroy { event },
            32 | 35.. => {
                let at = dice.below(streams.len() as u64) as usize;
                if streams[at].0 < StreamId::FIRST_CREATED {
                    Call::RegionEnd
                } else {
                    push(&mut program, Call::StreamDestroy { stream: streams[at] }, thread, 0);
                    streams[at] = StreamId(next_stream);
                    next_stream += 1;
                    stream_create(&mut dice, next_stream - 1)
                }
            }
        };
        if dice.below(40) == 0
            && !matches!(call, Call::AllocAsync { .. } | Call::StreamCreate { .. })
        {
            result = 1;
        }
        push(&mut program, call, thread, result);
    }
    if seed.is_multiple_of(2) {
        on_two_devices(&mut program, &mut dice);
    }
    program
}

/// Moves about half of the streams, of the blocks of device memory and of what names neither to a second device.
pub(super) fn on_two_devices(program: &mut Program, dice: &mut Dice) {
    let (streams, blocks) = (dice.below(1 << 32), dice.below(1 << 32));
    let host: BTreeSet<BlockId> = program
        .steps
        .iter()
        .filter_map(|step| match step.call {
            Call::AllocHost { block, .. } => Some(block),
            _ => None,
        })
        .collect();
    let bit = |bits: u64, number: u32| (bits >> (number % 32) & 1) as u32;
    let block = |block: &mut BlockId| {
        if !host.contains(block) {
            *block = BlockId::on(bit(blocks, block.0), block.0);
        }
    };
    for step in &mut program.steps {
        let current = dice.below(2) as u32;
        let stream = |stream: &mut StreamId| {
            let is_default = stream.0 < StreamId::FIRST_CREATED;
            let device = if is_default { current } else { bit(streams, stream.0) };
            *stream = StreamId::on(device, stream.0);
        };
        let place = |place: &mut Place| {
            if let Place::Device(range) = place {
                block(&mut range.block);
            }
        };
        match &mut step.call {
            Call::StreamCreate { stream: it, .. }
            | Call::StreamDestroy { stream: it }
            | Call::StreamSynchronize { stream: it }
            | Call::StreamQuery { stream: it }
            | Call::StreamWait { stream: it, .. }
            | Call::EventRecord { stream: it, .. }
            | Call::HostFunction { stream: it, .. } => stream(it),
            Call::AllocAsync { stream: it, block: of, .. }
            | Call::FreeAsync { stream: it, block: of } => {
                stream(it);
                block(of);
            }
            Call::Alloc { block: of, .. } | Call::Free { block: of } => block(of),
            Call::Copy { stream: it, source, target, .. } => {
                stream(it);
                place(source);
                place(target);
            }
            Call::Memset { stream: it, target, .. } => {
                stream(it);
                block(&mut target.block);
            }
            Call::Launch(launch) => {
                stream(&mut launch.stream);
                launch.accesses.iter_mut().for_each(|access| block(&mut access.range.block));
            }
            Call::AllocHost { block: of, .. } | Call::FreeHost { block: of } => {
                step.device = bit(blocks, of.0);
            }
            Call::ContextSynchronize | Call::ModuleLoad => step.device = current,
            _ => {}
        }
    }
}

pub(super) fn push(program: &mut Program, call: Call, thread: u32, result: u32) {
    let site = program.sites.len() as u32;
    program.sites.push(Site { file: "src/lib.rs".to_owned(), line: site + 1, column: None });
    program.steps.push(Step { call, site: Some(site), thread, gap_ns: 0, result, device: 0 });
}

impl Blocks {
    pub(super) fn add(&mut self) -> BlockId {
        self.next += 1;
        BlockId(self.next - 1)
    }
}

pub(super) fn stream_create(dice: &mut Dice, number: u32) -> Call {
    let kind = dice.of(&[StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::NonBlocking]);
    Call::StreamCreate { stream: StreamId(number), kind, priority: 0 }
}

fn range(dice: &mut Dice, blocks: &[BlockId]) -> Range {
    let (offset, bytes) = dice.of(&[(0, 64), (0, 64), (0, 32), (32, 32), (16, 32), (40, 8)]);
    Range { block: dice.of(blocks), offset, bytes }
}

/// What the host uses, by parts that every other use holds or does not meet: as it is where pages are
/// watched for the copies in flight.
pub(super) fn vague(dice: &mut Dice, blocks: &Blocks) -> Vec<Access> {
    let block = dice.of(&blocks.host);
    let kind = dice.of(&[AccessKind::Read, AccessKind::Write]);
    let (offset, bytes) = dice.of(&[(0, 16), (16, 16), (32, 8), (40, 8), (48, 16)]);
    vec![Access { kind, range: Range { block, offset, bytes } }]
}

pub(super) fn launch(dice: &mut Dice, blocks: &Blocks, stream: StreamId) -> Call {
    let mut accesses = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let kind = dice.of(&[AccessKind::Read, AccessKind::Read, AccessKind::Write]);
        accesses.push(Access { kind, range: range(dice, &blocks.device) });
    }
    Call::Launch(Launch {
        kernel: KernelId(0),
        stream,
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        units: 1,
        bytes: 1,
        accesses,
    })
}

pub(super) fn copy(dice: &mut Dice, blocks: &Blocks, stream: StreamId) -> Call {
    let mode = dice.of(&[Mode::Asynchronous, Mode::Asynchronous, Mode::Synchronous]);
    let stream = if mode == Mode::Synchronous { StreamId::LEGACY } else { stream };
    let device = Place::Device(range(dice, &blocks.device));
    let other = Place::Device(range(dice, &blocks.device));
    let pinned = Place::Pinned(range(dice, &blocks.host));
    let (source, target) = dice.of(&[
        (pinned, device),
        (device, pinned),
        (device, other),
        (Place::Pageable, device),
        (device, Place::Pageable),
        (pinned, Place::Pageable),
    ]);
    Call::Copy { stream, mode, source, target, bytes: 8 }
}

/// One line a step.
pub(super) fn listing(program: &Program) -> String {
    let lines = program.steps.iter().enumerate().map(|(index, step)| {
        format!("{index:3} @{} {:?} = {}\n", step.thread, step.call, step.result)
    });
    lines.collect()
}
