//! The caching allocator: held against PyTorch's, and against a plain model of it.
//!
//! `pytorch.json` is what `book/pytorch/caching_allocator.py` printed on a GPU; the steps of a sequence are explained there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::CudaStream;
use lab::caching::{Allocator, Tensor};
use lab::how_many_lanes::Kernel;
use lab::{Instant, Lab, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use trace::program::{Call, Site};
use trace::{Record, env};

const STREAMS: usize = 4;
/// Steps of a sequence that chance makes.
const STEPS: usize = 40;
/// Sequences that chance makes.
const SEQUENCES: u64 = 1000;
/// Half a tick: what a long kernel takes.
const HALF: Duration = Duration::from_millis(10);
/// What short work takes at the most, with the calls around it. An allocation comes so long after the step before.
const SHORT: Duration = Duration::from_micros(100);
/// Words of a tensor.
const WORDS: usize = 1024;

/// This process is to play all sequences.
const PLAY: &str = "SWIM_TEST_PLAY";

fn main() -> ExitCode {
    if std::env::var_os(PLAY).is_some() {
        return lab::exercise::run_puzzle(env!("CARGO_MANIFEST_DIR"), play);
    }
    let trials = vec![Trial::test("blocks_go_where_pytorch_and_the_model_have_them_go", agrees)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A generator that is easily written twice: the program for PyTorch has the same.
struct Numbers(u32);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % limit
    }
}

/// The steps of a sequence that chance makes.
fn sequence(seed: u64) -> Vec<String> {
    let mut numbers = Numbers((seed * 2_654_435_761) as u32);
    let (mut tensors, mut live) = (0, Vec::new());
    let mut step = |_| match numbers.below(12) {
        kind if kind < 4 || live.is_empty() => {
            live.push(tensors);
            tensors += 1;
            format!("allocate {}", numbers.below(STREAMS))
        }
        kind @ 4..8 => {
            let (name, tensor) = (["use", "record"][kind / 6], live[numbers.below(live.len())]);
            format!("{name} {tensor} {}", numbers.below(STREAMS))
        }
        8..10 => format!("free {}", live.remove(numbers.below(live.len()))),
        10 => format!("busy {} {}", numbers.below(STREAMS), 1 + numbers.below(3)),
        _ => "tick".to_owned(),
    };
    (0..STEPS).map(&mut step).collect()
}

fn kept() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/caching/pytorch.json");
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("it is JSON")
}

/// All sequences: those with a name, then those of chance.
fn sequences() -> Vec<Vec<String>> {
    let kept = kept();
    let cases = kept["cases"].as_object().expect("cases").values();
    let steps = |case: &Value| case["steps"].as_str().expect("steps").to_owned();
    let named = cases.map(|case| steps(case).split("; ").map(str::to_owned).collect());
    named.chain((0..SEQUENCES).map(sequence)).collect()
}

/// The name of a step and its numbers.
fn parts(step: &str) -> (&str, Vec<usize>) {
    let mut words = step.split(' ');
    (words.next().unwrap_or_default(), words.map(|it| it.parse().expect("a number")).collect())
}

/// When what is in each stream is over, in half ticks.
#[derive(Default)]
struct Time {
    ticks: usize,
    ends: [usize; STREAMS],
}

impl Time {
    fn now(&self) -> usize {
        2 * self.ticks
    }

    /// How many half ticks of work a stream lacks, so that it is busy until shortly before a tick.
    fn busy(&mut self, stream: usize, ticks: usize) -> usize {
        let end = self.now() + 2 * ticks - 1;
        let lacks = end.saturating_sub(self.ends[stream].max(self.now()));
        self.ends[stream] = end.max(self.ends[stream]);
        lacks
    }

    fn waits(&mut self, stream: usize, other: usize) {
        self.ends[stream] = self.ends[stream].max(self.ends[other]);
    }
}

/// When a stream that was recorded has done what was in it, and which uses that comes after.
type End = (usize, BTreeSet<usize>);

/// Which blocks a sequence gets by the rules, and which of its uses nothing orders after the last use of the same block:
/// what the allocator is held to, in as few words as there are.
#[derive(Default)]
struct Model {
    time: Time,
    /// Of each block: whose it is, and what has to be over before it is free; none while a tensor has it.
    blocks: Vec<(usize, Option<Vec<End>>)>,
    /// Of each tensor: its block, who used it last, who was recorded.
    tensors: Vec<(usize, Option<usize>, BTreeSet<usize>)>,
    /// What each stream comes after, and the host.
    knows: [BTreeSet<usize>; STREAMS + 1],
    last_uses: std::collections::BTreeMap<usize, usize>,
    uses: usize,
    given: Vec<usize>,
    racy: Vec<usize>,
}

impl Model {
    fn step(&mut self, step: &str) {
        let (name, of) = parts(step);
        match (name, &of[..]) {
            ("allocate", &[stream]) => {
                for (_, ends) in &mut self.blocks {
                    let (now, host) = (self.time.now(), &mut self.knows[STREAMS]);
                    let Some(ends) = ends else { continue };
                    ends.extract_if(.., |end| end.0 <= now).for_each(|end| host.extend(end.1));
                }
                let free = Some(Vec::new());
                let found = self.blocks.iter().position(|it| it.0 == stream && it.1 == free);
                let block = found.unwrap_or(self.blocks.len());
                self.blocks.resize(self.blocks.len().max(block + 1), (stream, None));
                self.blocks[block].1 = None;
                self.tensors.push((block, None, BTreeSet::new()));
                self.given.push(block);
            }
            ("use", &[tensor, stream]) => {
                let (block, last, _) = self.tensors[tensor];
                self.time.waits(stream, last.unwrap_or(stream));
                let more = &self.knows[last.unwrap_or(stream)] | &self.knows[STREAMS];
                self.knows[stream].extend(more);
                let before = self.last_uses.insert(block, self.uses);
                self.racy.extend(
                    before.filter(|it| !self.knows[stream].contains(it)).map(|_| self.uses),
                );
                self.knows[stream].insert(self.uses);
                self.uses += 1;
                self.tensors[tensor].1 = Some(stream);
            }
            ("record", &[tensor, stream]) => _ = self.tensors[tensor].2.insert(stream),
            ("free", &[tensor]) => {
                let (block, _, recorded) = &self.tensors[tensor];
                let others = recorded.iter().filter(|it| **it != self.blocks[*block].0);
                let ends = others.map(|&it| (self.time.ends[it], self.knows[it].clone())).collect();
                self.blocks[*block].1 = Some(ends);
            }
            ("busy", &[stream, ticks]) => _ = self.time.busy(stream, ticks),
            _ => self.time.ticks += 1,
        }
    }
}

/// Plays all sequences with the allocator, and prints which block each request got.
fn play(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let mut busy = Kernel::long(lab, STREAMS)?;
    let streams = (0..STREAMS).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    // In one region: the device is idle between two sequences, as it is between two regions.
    lab.region(|| {
        sequences().iter().try_for_each(|steps| play_one(lab, steps, &streams, &mut busy))
    })?;
    Ok(())
}

fn play_one(
    lab: &Lab,
    steps: &[String],
    streams: &[Arc<CudaStream>],
    busy: &mut [Kernel],
) -> Result<()> {
    let memory = Allocator::new(lab.context());
    let (mut time, mut addresses, mut given) = (Time::default(), Vec::new(), Vec::new());
    let mut tensors: Vec<Option<(Tensor, Option<usize>)>> = Vec::new();
    let began = Instant::now()?;
    for step in steps {
        let (name, of) = parts(step);
        match (name, &of[..]) {
            ("allocate", &[stream]) => {
                lab::host_work(SHORT)?;
                let tensor = memory.allocate(&streams[stream], WORDS)?;
                let address = address(&tensor);
                let known = addresses.iter().position(|it| *it == address);
                given.push(known.unwrap_or(addresses.len()));
                addresses.extend(known.is_none().then_some(address));
                tensors.push(Some((tensor, None)));
            }
            ("use", &[tensor, stream]) => {
                let (tensor, last) = tensors[tensor].as_mut().expect("it is not freed");
                if let Some(last) = last.filter(|last| *last != stream) {
                    streams[stream].wait(&streams[last].record_event(None)?)?;
                }
                time.waits(stream, last.unwrap_or(stream));
                *last = Some(stream);
                streams[stream].memset_zeros(tensor)?;
            }
            ("record", &[tensor, stream]) => {
                let (tensor, _) = tensors[tensor].as_ref().expect("it is not freed");
                tensor.record_stream(&streams[stream]);
            }
            ("free", &[tensor]) => tensors[tensor] = None,
            ("busy", &[stream, ticks]) => {
                for _ in 0..time.busy(stream, ticks) {
                    busy[stream].launch(&streams[stream])?;
                }
            }
            _ => {
                time.ticks += 1;
                let next = 2 * HALF * time.ticks as u32;
                lab::host_work(next.saturating_sub(began.elapsed()?))?;
            }
        }
    }
    lab.context().synchronize()?;
    say(&letters(&given));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn say(what: &str) {
    println!("{what}");
}

fn address(tensor: &Tensor) -> u64 {
    use cudarc::driver::{DevicePtr, DeviceSlice};
    tensor.device_ptr(tensor.stream()).0
}

/// Numbers of blocks as `pytorch.json` has them.
fn letters(blocks: &[usize]) -> String {
    blocks.iter().map(|&block| char::from(b'a' + block as u8)).collect()
}

fn agrees() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("record.json");
    let output = Command::new(std::env::current_exe()?)
        .env(PLAY, "")
        .env(env::RECORD, &path)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    assert!(output.status.success(), "{}", output.status);
    let played = String::from_utf8(output.stdout)?;
    // What else is printed says how long it took.
    let blocks = played.lines().filter(|line| !line.contains(' '));
    let raced = races(serde_json::from_slice(&std::fs::read(&path)?)?);

    let kept = kept();
    let cases = kept["cases"].as_object().expect("cases").iter();
    let numbers = |case: &Value| -> Vec<usize> {
        let blocks = case["blocks"].as_array().expect("blocks").iter();
        blocks.map(|it| it.as_u64().expect("a number") as usize).collect()
    };
    let named = cases.map(|(name, case)| (name.clone(), letters(&numbers(case))));
    let random = kept["sequences"].as_array().expect("sequences").iter().enumerate();
    let random = random.map(|(seed, it)| (seed.to_string(), it.as_str().unwrap_or("").to_owned()));
    let pytorch: Vec<(String, String)> = named.chain(random).collect();
    let all = sequences();
    assert_eq!(all.len(), pytorch.len(), "as many as there are here");
    let (mut reused, mut late, mut racy) = (0, 0, 0);
    for ((steps, (name, theirs)), (ours, raced)) in all.iter().zip(pytorch).zip(blocks.zip(raced)) {
        let mut model = Model::default();
        steps.iter().for_each(|step| model.step(step));
        assert_eq!(ours, letters(&model.given), "the model has it otherwise: {name}: {steps:?}");
        assert_eq!(ours, theirs, "PyTorch has it otherwise: {name}: {steps:?}");
        assert_eq!(raced, model.racy, "other uses are hazards: {name}: {steps:?}");
        reused += model.given.len() - model.blocks.len();
        late += model.knows[STREAMS].len();
        racy += raced.len();
    }
    // What the sequences are about does come up in them.
    assert!(reused > 2000 && late > 1000 && racy > 150, "{reused} {late} {racy}");
    Ok(())
}

/// Of each sequence, the uses of tensors that come second in a hazard, by their numbers in the sequence.
fn races(record: Record) -> Vec<Vec<usize>> {
    let mut program = record.program;
    // Each step at a line of its own: hazards at the same lines are counted and not told apart.
    let site = |line| Site { file: String::new(), line, column: None };
    program.sites = (0..program.steps.len() as u32).map(site).collect();
    let mut uses = Vec::new();
    // A sequence ends when the host waits for everything.
    let (mut sequence, mut number, mut has_begun) = (0, 0, false);
    for (index, step) in program.steps.iter_mut().enumerate() {
        step.site = Some(index as u32);
        match step.call {
            Call::RegionBegin => has_begun = true,
            Call::ContextSynchronize if has_begun => (sequence, number) = (sequence + 1, 0),
            Call::Memset { .. } if has_begun => number += 1,
            _ => {}
        }
        uses.push((sequence, number));
    }
    let mut races = vec![BTreeSet::new(); sequence];
    for hazard in trace::hazards::find(&program) {
        let (sequence, number) = uses[hazard.second.call.step as usize];
        races[sequence].insert(number - 1);
    }
    races.into_iter().map(|it| it.into_iter().collect()).collect()
}
